"""The contract on a real PostgreSQL, through Ibis; and its SQL maps. It is started here, where its programs exist.

`pytest -m cluster tests/sources/test_postgres.py` says why, where it cannot be started.
"""

import contextlib
import os
import shutil
import socket
import subprocess
import tempfile
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
def connection():
    ibis = pytest.importorskip("ibis")
    pytest.importorskip(
        "psycopg", reason="Ibis needs psycopg: pip install 'ibis-framework[postgres]'"
    )
    folder = programs()
    if folder is None:
        pytest.skip("PostgreSQL is not installed: apt-get install postgresql")
    home = Path(
        tempfile.mkdtemp(prefix="postgres")
    )  # not one of pytest's, which another run may remove
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    options: dict = {}
    if os.getuid() == 0:  # it refuses to run as root
        options["user"] = "nobody"
        shutil.chown(home, "nobody")

    def call(*command):
        subprocess.run(
            command, check=True, stdout=subprocess.DEVNULL, cwd=home, timeout=60, **options
        )

    data = str(home / "data")
    call(folder / "initdb", "-D", data, "-A", "trust", "-U", "tester", "-E", "UTF8")
    setup = f"-p {port} -k {home} -c listen_addresses=127.0.0.1 -c fsync=off"
    call(folder / "pg_ctl", "-D", data, "-o", setup, "-l", home / "log", "-w", "start")
    try:
        found = ibis.postgres.connect(
            host="127.0.0.1", port=port, user="tester", database="postgres"
        )
        yield found
        found.disconnect()
    finally:
        call(folder / "pg_ctl", "-D", data, "-m", "immediate", "stop")
        shutil.rmtree(home)


def of_postgres(connection, table):
    """PostgreSQL has no unsigned numbers, and no type for NULL alone."""
    fields = [
        pa.field(f.name, pa.int16() if f.type == pa.uint8() else f.type) for f in table.schema
    ]
    connection.raw_sql("DROP TABLE IF EXISTS predictions").close()
    return connection.create_table("predictions", table.cast(pa.schema(fields)))


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


def test_a_query_that_fails_is_an_input_error(connection):
    table = of_postgres(connection, pa.table({"p": [0.2, 0.7], "y": [0, 1], "w": [0, 1]}))
    with pytest.raises(tn.InputError, match=r"`source` \(Table\) cannot be read: division by zero"):
        tn.scan(table.mutate(w=1 / table.w), label="y", prob="p", weight="w")


def test_a_lost_connection_is_an_input_error(connection):
    table = of_postgres(connection, pa.table({"p": [0.2, 0.7], "y": [0, 1]}))
    connection.con.close()
    try:
        with pytest.raises(
            tn.InputError, match=r"`source` \(Table\) cannot be read: the connection is closed"
        ):
            tn.scan(table, label="y", prob="p")
    finally:
        connection.reconnect()


MAPS = {
    "platt": tn.PlattScaling(),
    "beta": tn.BetaCalibration(),
    "isotonic": tn.IsotonicCalibration(),
    "histogram": tn.HistogramBinning(n_bins=8),
    "spline": tn.SplineCalibration(),
    "auto": tn.AutoCalibration(),
}


@pytest.mark.parametrize("name", MAPS)
@pytest.mark.filterwarnings("ignore::trueness.TruenessWarning")
def test_the_sql_of_maps_gives_what_predict_gives(connection, name):
    rng = np.random.default_rng(1)
    p = np.round(rng.beta(1, 3, 600), 4)
    fitted = MAPS[name].fit(p, (rng.random(600) < p**1.3).astype(int))
    of_postgres(connection, pa.table({"p": p, "i": np.arange(600)}))
    sql = fitted.to_sql("postgresql", column="p")
    with contextlib.closing(
        connection.raw_sql(f"SELECT {sql} FROM predictions ORDER BY i")
    ) as cursor:
        found = np.array([float(row[0]) for row in cursor.fetchall()])
    np.testing.assert_allclose(found, fitted.predict(p), rtol=0, atol=1e-14)


@pytest.mark.filterwarnings("ignore::trueness.TruenessWarning")
def test_the_query_of_maps_of_classes_gives_what_predict_gives(connection):
    rng = np.random.default_rng(1)
    p = rng.dirichlet([1, 2, 3], 600)
    fitted = tn.OneVsRest(tn.IsotonicCalibration()).fit(
        p, (p.cumsum(axis=1) > rng.random((600, 1))).argmax(axis=1)
    )
    of_postgres(connection, pa.table({f"p{k}": p[:, k] for k in range(3)} | {"i": np.arange(600)}))
    sql = fitted.to_sql("postgresql", column=["p0", "p1", "p2"], table="predictions")
    names = ", ".join(f"p{k}_calibrated" for k in range(3))
    with contextlib.closing(
        connection.raw_sql(f"SELECT {names} FROM ({sql}) AS rows ORDER BY i")
    ) as cursor:
        found = np.array(cursor.fetchall(), dtype=float)
    np.testing.assert_allclose(found, fitted.predict(p), rtol=0, atol=1e-14)
