"""A process that is forked after its parent scanned with Polars: an error at once, and two ways that work."""

import subprocess
import sys

import pytest

CODE = """
import multiprocessing, sys
import polars as pl
import trueness as tn

def scan(how):
    path, engine = how
    try:
        return repr(tn.scan(path, label="y", prob="p", engine=engine))
    except tn.InputError as error:
        return str(error)

if __name__ == "__main__":
    path = sys.argv[1]
    pl.DataFrame({"p": [0.2, 0.7] * 50, "y": [0, 1] * 50}).write_parquet(path)
    scan((path, "auto"))
    with multiprocessing.get_context("fork").Pool(1) as pool:
        print(*pool.map(scan, [(path, "auto"), (path, "duckdb")]), sep="\\n")
    with multiprocessing.get_context("spawn").Pool(1) as pool:
        print(*pool.map(scan, [(path, "auto")]))
"""


@pytest.mark.slow
@pytest.mark.skipif(sys.platform == "win32", reason="there is no fork")
def test_a_fork_says_what_to_do_and_a_fresh_process_works(tmp_path):
    script = tmp_path / "forked.py"
    script.write_text(CODE)
    command = [sys.executable, "-W", "ignore", str(script), str(tmp_path / "rows.parquet")]
    done = subprocess.run(command, capture_output=True, text=True, timeout=120, check=True)
    forked, duckdb, spawned = done.stdout.splitlines()
    assert forked.startswith(
        "Polars cannot be used in a forked process once its parent has used it"
    )
    assert "get_context('spawn')" in forked
    assert duckdb == spawned == "Binned(binary, 100 rows, 10 bins)"
