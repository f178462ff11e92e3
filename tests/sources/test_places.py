"""Where tables lie: folders of Parquet, and addresses."""

import functools
import http.server
import json
import re
import threading

import numpy as np
import pytest

import trueness as tn

pl = pytest.importorskip("polars")
rng = np.random.default_rng(3)
P = rng.random(300)
Y = (rng.random(300) < P).astype(int)


def frame(part=slice(None)):
    return pl.DataFrame({"y": Y[part], "p": P[part]})


@pytest.fixture
def ece(call):
    def measured(name):
        columns = ("--label", "y", "--prob", "p", "--no-intervals")
        result = call("measure", name, *columns, "--format", "json")
        assert result.exit_code == 0, result.stderr
        (model,) = json.loads(result.stdout)["models"]
        return model["measures"]["ece"]

    return measured


@pytest.fixture
def hive(tmp_path):
    for i, region in enumerate(("north", "south")):
        for day in (1, 2):
            folder = tmp_path / "rows[1]" / f"region={region}" / f"day={day}"
            folder.mkdir(parents=True)
            frame(slice(i * 150 + (day - 1) * 75, i * 150 + day * 75)).write_parquet(
                folder / "0.parquet"
            )
    (tmp_path / "rows[1]" / "_SUCCESS").write_text("")
    return str(tmp_path / "rows[1]")


def test_a_folder_of_parquet_is_a_table_and_its_partitions_are_columns(hive):
    sums = tn.scan(hive, label="y", prob="p")
    assert tn.ece(sums) == tn.ece(Y, P)
    groups = tn.scan_groups(hive, label="y", prob="p", by="region")
    assert tn.ece(groups["south"]) == tn.ece(Y[150:], P[150:])
    groups = tn.scan_groups(hive, label="y", prob="p", by="region", engine="polars")
    assert set(groups) == {"north", "south"}


def test_a_folder_of_parquet_is_a_table_for_duckdb(hive):
    pytest.importorskip("duckdb")
    assert tn.ece(tn.scan(hive, label="y", prob="p", engine="duckdb")) == tn.ece(Y, P)
    groups = tn.scan_groups(hive, label="y", prob="p", by="region", engine="duckdb")
    assert groups == tn.scan_groups(hive, label="y", prob="p", by="region")


def test_commands_read_a_folder_of_parquet(hive, ece):
    assert ece(hive) == pytest.approx(tn.ece(Y, P))


def test_a_folder_with_a_log_is_a_log_and_one_without_either_is_refused(tmp_path, fails):
    row = {"doc_id": 0, "doc": {}, "target": "x", "resps": [["4. Confidence: 60 %"]]}
    row |= {"filtered_resps": ["4"], "metrics": ["exact_match"], "exact_match": 1}
    (tmp_path / "samples_t.jsonl").write_text(json.dumps(row))
    frame().write_parquet(tmp_path / "answers.parquet")
    assert tn.sources.eval_log(tmp_path).confidence.tolist() == [0.6]
    (tmp_path / "empty").mkdir()
    assert "has no log" in fails("measure", str(tmp_path / "empty"))
    with pytest.raises(tn.errors.InputError, match="holds no file that can be read"):
        tn.scan(str(tmp_path / "empty"), label="y", prob="p")


def test_a_map_is_applied_to_a_folder(hive, call, tmp_path):
    assert call("fit", hive, "--label", "y", "--prob", "p", "-o", "map.json").exit_code == 0
    applied = call("apply", hive, "--prob", "p", "--calibrator", "map.json", "-o", "o.parquet")
    assert applied.exit_code == 0, applied.stderr
    columns = pl.read_parquet(tmp_path / "o.parquet").columns
    assert columns[:4] == ["y", "p", "region", "day"]


# Addresses


class Ranges(http.server.SimpleHTTPRequestHandler):
    """A server of files that gives the bytes a request asks for, as object stores do."""

    def log_message(self, *_):
        pass

    def do_GET(self):
        content = (self.root / self.path.lstrip("/").partition("?")[0]).read_bytes()
        asked = re.match(r"bytes=(\d*)-(\d*)", self.headers.get("Range") or "bytes=0-")
        first, last = asked.groups()
        size = len(content)
        start = int(first) if first else max(size - int(last), 0)
        stop = min(int(last) + 1, size) if first and last else size
        self.send_response(206)
        self.send_header("Content-Range", f"bytes {start}-{stop - 1}/{size}")
        self.send_header("Content-Length", str(stop - start))
        self.end_headers()
        self.wfile.write(content[start:stop])

    def do_HEAD(self):
        size = (self.root / self.path.lstrip("/")).stat().st_size
        self.send_response(200)
        self.send_header("Content-Length", str(size))
        self.send_header("Accept-Ranges", "bytes")
        self.end_headers()


@pytest.fixture
def address(tmp_path):
    handler = type("Handler", (Ranges,), {"root": tmp_path})
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), functools.partial(handler))
    threading.Thread(target=server.serve_forever, args=(0.01,), daemon=True).start()
    yield f"http://127.0.0.1:{server.server_port}"
    server.shutdown()
    server.server_close()


@pytest.mark.parametrize("form", ["parquet", "arrow", "csv", "jsonl"])
def test_commands_read_an_address(tmp_path, address, form, ece):
    writers = {"parquet": "parquet", "arrow": "ipc", "csv": "csv", "jsonl": "ndjson"}
    getattr(frame(), f"write_{writers[form]}")(tmp_path / f"x.{form}")
    assert ece(f"{address}/x.{form}") == pytest.approx(tn.ece(Y, P))


def test_what_cannot_be_fetched_is_named_with_the_way_out(tmp_path, fails):
    address = f"file://{tmp_path}/none.parquet"
    assert f"{address} cannot be fetched" in fails("measure", address)
    assert "Download it and name the file" in fails("measure", address)
    assert "must be Parquet, Arrow IPC, CSV, TSV" in fails("measure", "hf://datasets/a/b/x.npz")


def test_a_watch_reads_an_address_and_counts_its_rows_once(tmp_path, address, call):
    frame().write_parquet(tmp_path / "x.parquet")
    first = call("watch", "w.json", f"{address}/x.parquet", "--label", "y", "--prob", "p")
    again = call("watch", "w.json", f"{address}/x.parquet")
    assert (first.exit_code, again.exit_code) == (0, 0)
    assert first.stdout == again.stdout
    assert "has no new rows" in again.stderr
