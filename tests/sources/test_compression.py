"""Compressed text gives the same numbers, and is never taken for whole when it is not."""

import bz2
import gzip
import json
import lzma
from pathlib import Path

import pytest
from grids import slow
from tables_on_disk import write_columns

import trueness as tn
from trueness.sources.tables import _files


def codec(suffix):
    """The module that packs and unpacks."""
    return {"gz": gzip, "bz2": bz2, "xz": lzma}.get(suffix) or pytest.importorskip("backports.zstd")


each = pytest.mark.parametrize("suffix", ["gz", "bz2", "xz", "zst"])


@pytest.fixture
def plain(tmp_path, grouped):
    """A table in three formats, of which texts are packed."""
    return {
        kind: write_columns(tmp_path / f"x.{kind}", grouped) for kind in ("csv", "tsv", "jsonl")
    }


def packed(path: Path, suffix: str) -> Path:
    target = path.with_name(f"{path.name}.{suffix}")
    target.write_bytes(codec(suffix).compress(path.read_bytes()))
    return target


@pytest.mark.parametrize("kind", ["csv", *slow("tsv", "jsonl")])
@each
@pytest.mark.parametrize("way", [["--stream"], *slow([], ["--by", "region"])])
def test_packed_text_gives_the_same_numbers(call, plain, kind, suffix, way):
    given = ["--prob", "p", "--weight", "w", "--format", "csv", *way]
    found = call("measure", "--no-intervals", packed(plain[kind], suffix), *given)
    assert found.exit_code == 0, found.stderr
    assert found.stdout == call("measure", "--no-intervals", plain[kind], *given).stdout


@each
def test_apply_writes_packed_text_where_the_name_says_so(call, fails, plain, tmp_path, suffix):
    call("fit", plain["csv"], "--prob", "p", "-o", "map.json")
    asked = ["--prob", "p", "--calibrator", "map.json"]
    expected = call("apply", plain["csv"], *asked).stdout
    assert call("apply", packed(plain["csv"], suffix), *asked).stdout == expected
    assert call("apply", plain["csv"], *asked, "-o", f"new.csv.{suffix}").exit_code == 0
    assert (
        codec(suffix).decompress((tmp_path / f"new.csv.{suffix}").read_bytes()).decode() == expected
    )
    message = fails("apply", plain["csv"], *asked, "-o", f"new.jsonl.{suffix}")
    assert message.startswith(
        "`--output` must end in .csv or .tsv or .tab or .txt: the output is text"
    )


def test_apply_packs_no_binary_rows_and_names_what_it_lacks(
    fails, grouped, call, tmp_path, without
):
    write_columns(tmp_path / "x.npz", grouped)
    call("fit", "x.npz", "--prob", "p", "-o", "map.json")
    asked = ["--prob", "p", "--calibrator", "map.json", "-o"]
    message = fails("apply", "x.npz", *asked, "y.npz.gz")
    assert message == "`--output` must end in .npz: only text is compressed; got 'y.npz.gz'."
    write_columns(tmp_path / "x.csv", grouped)
    without("backports.zstd", "compression.zstd", "zstandard")
    message = fails("apply", "x.csv", *asked, "y.csv.zst")
    assert message == "Writing y.csv.zst needs Python 3.14 or `pip install backports.zstd`."


@each
@pytest.mark.parametrize("way", [["--stream"], ["--no-stream"]])
@pytest.mark.parametrize("kind", ["csv", *slow("jsonl")])
@pytest.mark.parametrize("share", [0.7, *slow(0.2, 0.999)])
def test_a_file_that_ends_too_early_is_refused(fails, plain, tmp_path, suffix, way, kind, share):
    whole = packed(plain[kind], suffix).read_bytes()
    (tmp_path / f"cut.{kind}.{suffix}").write_bytes(whole[: int(share * len(whole))])
    message = fails("measure", f"cut.{kind}.{suffix}", "--prob", "p", *way)
    assert message.startswith(f"cut.{kind}.{suffix} cannot be ")


@each
def test_a_damaged_file_is_refused(fails, tmp_path, suffix):
    data = bytearray(codec(suffix).compress(b"y,p\n" + b"0,0.5\n1,0.6\n" * 50))
    data[-6] ^= 1
    (tmp_path / f"x.csv.{suffix}").write_bytes(data)
    assert "cannot be unpacked: it is truncated or damaged (" in fails(
        "measure", f"x.csv.{suffix}", "--prob", "p"
    )


@each
@pytest.mark.parametrize("junk", [b"XX", b"y,p\n1,0.5\n", b"\x01" * 100_000])
def test_bytes_after_the_last_stream_are_refused(fails, tmp_path, suffix, junk):
    whole = codec(suffix).compress(b"y,p\n0,0.5\n1,0.6\n")
    for tail in (junk, junk + whole):
        (tmp_path / f"x.csv.{suffix}").write_bytes(whole + tail)
        assert "it is truncated or damaged (" in fails("measure", f"x.csv.{suffix}")


@each
def test_streams_in_a_row_are_one_text(call, tmp_path, suffix):
    parts = [b"y,p\n0,0.2\n", b"1,0.", b"7\n" + b"1,0.9\n" * 50_000]
    padding = bytes(8) if suffix == "xz" else b""
    (tmp_path / f"x.csv.{suffix}").write_bytes(
        b"".join(codec(suffix).compress(part) + padding for part in parts)
    )
    found = call("measure", "--no-intervals", f"x.csv.{suffix}", "--format", "json")
    assert json.loads(found.stdout)["models"][0]["measures"]["n"] == 50_002


def test_packed_standard_input_is_unpacked(call, plain):
    for pack in (gzip.compress, bz2.compress):
        found = call(
            "measure", "--no-intervals", "-", "--prob", "p", stdin=pack(plain["csv"].read_bytes())
        )
        assert found.exit_code == 0, found.stderr


def long_line(kind, n):
    """A table whose second row has n characters in its third column."""
    if kind == "jsonl":
        return (
            '{"y": 1, "p": 0.7}\n{"y": 0, "p": 0.2, "t": "' + "a" * n + '"}\n{"y": 1, "p": 0.4}\n'
        )
    return "y,p,t\n1,0.7,a\n0,0.2," + "a" * n + "\n1,0.4,b\n"


@pytest.fixture
def short_lines_only(monkeypatch):
    monkeypatch.setattr(_files, "_LONGEST_LINE", 1000)


@pytest.mark.parametrize("kind", ["csv", "jsonl"])
@pytest.mark.parametrize("suffix", ["", "gz", "bz2", "xz", "zst"])
def test_a_line_that_does_not_fit_the_memory_is_refused_before_it_is_read(
    fails, call, tmp_path, short_lines_only, kind, suffix
):
    """Of a line of 1.2 GB, Polars asks for 19 GB and ends the process: 5 MB of gzip suffice."""
    for n, fits in ((900, True), (1000, False), (5000, False)):
        path = tmp_path / f"x.{kind}"
        path.write_text(long_line(kind, n))
        path = packed(path, suffix) if suffix else path
        if fits:
            assert call("measure", path, "--prob", "p", "--no-intervals").exit_code == 0
            continue
        begin = 14 if kind == "csv" else 19
        message = fails("measure", path, "--prob", "p")
        assert message.startswith(
            f"{path} must have lines of at most 1,000 bytes; that at byte {begin} is longer."
        )
        with pytest.raises(tn.InputError, match="must have lines of at most 1,000 bytes"):
            tn.scan(path, label="y", prob="p")


def test_many_lines_may_be_longer_together_than_one_may_be(call, tmp_path, short_lines_only):
    rows = [f'{{"y": {i % 2}, "p": 0.{i % 9}}}' for i in range(500)]
    (tmp_path / "x.jsonl").write_text("\n".join(rows))
    assert call("measure", "x.jsonl", "--prob", "p", "--no-intervals").exit_code == 0
    quoted = "y,p,t\n" + "".join(f'{i % 2},0.{i % 9},"a, ""b""\nc"\n' for i in range(500))
    (tmp_path / "x.csv").write_text(quoted)
    assert call("measure", "x.csv", "--prob", "p", "--no-intervals").exit_code == 0


def test_an_open_quote_makes_the_rest_of_a_file_one_line(fails, tmp_path, short_lines_only):
    (tmp_path / "x.csv").write_text('y,p,t\n1,0.7,"a\n' + "0,0.2,b\n" * 500)
    message = fails("measure", "x.csv", "--prob", "p")
    assert "that at byte 6 is longer. In CSV, a line goes on while a quote is open." in message


@pytest.fixture
def zstandard(without):
    library = pytest.importorskip("zstandard")
    without("backports.zstd", "compression.zstd")
    return library


def test_zstandard_reads_and_writes_in_place_of_the_backport(zstandard, tmp_path):
    from trueness.sources.tables._files import _unpacking, compress_into

    path = tmp_path / "x.csv.zst"
    rows = b"y,p\n" + b"1,0.5\n" * 5000
    with path.open("wb") as file:
        compress_into(str(path), lambda stream: stream.write(rows))(file)
    assert zstandard.ZstdDecompressor().decompressobj().decompress(path.read_bytes()) == rows
    with path.open("ab") as file:  # a second frame
        file.write(zstandard.ZstdCompressor().compress(b"0,0.25\n"))
    with _unpacking(path, path.read_bytes()[:8]) as stream:
        assert stream.read() == rows + b"0,0.25\n"


def test_zstandard_reads_logs_of_inspect(tmp_path, request):
    from eval_logs import inspect_sample, write_eval

    packed = pytest.importorskip("backports.zstd.zipfile")
    samples = [inspect_sample(i, "CI"[i % 2], metadata={"confidence": i / 8}) for i in range(5)]
    path = write_eval(tmp_path / "x.eval", samples, zipped=packed, method=93)
    expected = tn.sources.eval_log(path)
    zstandard = request.getfixturevalue("zstandard")
    assert zstandard.__version__
    request.getfixturevalue("without")("backports.zstd.zipfile")
    found = tn.sources.eval_log(path)
    assert found.confidence.tolist() == expected.confidence.tolist()
    data = bytearray(path.read_bytes())
    data[data.rindex(b"\x28\xb5\x2f\xfd", 0, data.index(b"header.json")) + 30] ^= 1
    path.write_bytes(bytes(data))
    with pytest.raises(tn.errors.InputError, match="damaged"):
        tn.sources.eval_log(path)
