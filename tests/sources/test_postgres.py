"""The contract on a real PostgreSQL, through Ibis; and its SQL maps. It is started here, where its programs exist.

`pytest -m cluster tests/sources/test_postgres.py` says why, where it cannot be started.
"""

import contextlib
import os
import shutil
import socket
import subprocess
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest
from engine_cases import CASES, run

import trueness as tn

pytestmark = [
    pytest.mark.cluster,
    pytest.mark.filterwarnings("ignore::DeprecationWarning"),
    pytest.mark.filterwarnings("ignore::FutureWarning"),
    pytest.mark.filterwarnings("ignore::ResourceWarning"),
]


def programs():
    """The folder of initdb and pg_ctl; Debian keeps them off the path."""
    found = shutil.which("pg_ctl")
    folders = [Path(found).resolve().parent] if found else []
    folders += sorted(Path("/usr/lib/postgresql").glob("*/bin"), reverse=True)
    return next((folder for folder in folders if (folder / "initdb").exists()), None)


@pytest.fixture(scope="session")
def connection(tmp_path_factory):
    ibis = pytest.importorskip("ibis")
    pytest.importorskip("psycopg", reason="Ibis needs psycopg: pip install 'ibis-framework[postgres]'")
    folder = programs()
    if folder is None:
        pytest.skip("PostgreSQL is not installed: apt-get install postgresql")
    home = tmp_path_factory.mktemp("postgres")
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    options: dict = {}
    if os.getuid() == 0:  # it refuses to run as root
        options["user"] = "nobody"
        for above in (home, home.parent, home.parent.parent):
            above.chmod(0o755)
        shutil.chown(home, "nobody")

    def call(*command):
        subprocess.run(command, check=True, stdout=subprocess.DEVNULL, cwd=home, timeout=60, **options)

    data = str(home / "data")
    call(folder / "initdb", "-D", data, "-A", "trust", "-U", "tester", "-E", "UTF8")
    setup = f"-p {port} -k {home} -c listen_addresses=127.0.0.1 -c fsync=off"
    call(folder / "pg_ctl", "-D", data, "-o", setup, "-l", home / "log", "-w", "start")
    try:
        yield ibis.postgres.connect(host="127.0.0.1", port=port, user="tester", database="postgres")
    finally:
        call(folder / "pg_ctl", "-D", data, "-m", "immediate", "stop")


def of_postgres(connection, table):
    """PostgreSQL has no unsigned numbers, and no type for NULL alone."""
    fields = [pa.field(f.name, pa.int16() if f.type == pa.uint8() else f.type) for f in table.schema]
    return connection.create_table("rows", table.cast(pa.schema(fields)), overwrite=True)


@pytest.mark.all_cases
@pytest.mark.parametrize("one", CASES, ids=lambda one: one.name)
def test_postgres_gives_what_memory_gives(connection, one):
    run(one, of_postgres(connection, one.table))


def test_postgres_writes_no_boolean_as_a_number(connection):
    """The default call, and a boolean label: PostgreSQL casts no boolean to bigint or double precision."""
    rng = np.random.default_rng(0)
    p = rng.random(500)
    y = rng.random(500) < p
    found = tn.scan(of_postgres(connection, pa.table({"p": p, "y": y})), label="y", prob="p")
    assert found == tn.binned(y, p)


def test_a_lost_connection_is_an_input_error(connection):
    table = of_postgres(connection, pa.table({"p": [0.2, 0.7], "y": [0, 1]}))
    found = connection.raw_sql("SELECT pg_backend_pid()").fetchone()[0]
    other = type(connection)()
    other.do_connect(**{name: connection._con_kwargs[name] for name in ("host", "port", "user", "database")})
    with contextlib.suppress(Exception):
        other.raw_sql(f"SELECT pg_terminate_backend({found})")
    with pytest.raises(tn.InputError, match=r"`source` \(Table\) cannot be read: .+"):
        tn.scan(table, label="y", prob="p")
    connection.reconnect()
