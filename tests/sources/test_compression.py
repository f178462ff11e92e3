"""Compressed text is read as it is unpacked, gives the same numbers, and is never taken for whole when it is not."""

import bz2
import gzip
import json
import lzma
from pathlib import Path

import numpy as np
import pytest
from tables_on_disk import write_columns

from trueness.sources import _compression

PACK = {
    "gz": gzip.compress,
    "bz2": bz2.compress,
    "xz": lzma.compress,
    "zst": lambda data: pytest.importorskip("backports.zstd").compress(data),
}


@pytest.fixture
def plain(tmp_path, grouped):
    """A table in three formats, of which texts are packed."""
    return {kind: write_columns(tmp_path / f"x.{kind}", grouped) for kind in ("csv", "tsv", "jsonl")}


def packed(path: Path, suffix: str) -> Path:
    target = path.with_name(f"{path.name}.{suffix}")
    target.write_bytes(PACK[suffix](path.read_bytes()))
    return target


@pytest.mark.parametrize("kind", ["csv", "tsv", "jsonl"])
@pytest.mark.parametrize("suffix", PACK)
@pytest.mark.parametrize("way", [[], ["--stream"], ["--by", "region"]])
def test_packed_text_gives_the_same_numbers(call, plain, monkeypatch, kind, suffix, way):
    monkeypatch.setattr(_compression, "BLOCK_BYTES", 1_000)
    given = ["--prob", "p", "--weight", "w", "--format", "csv", *way]
    found = call("measure", "--no-intervals", packed(plain[kind], suffix), *given)
    assert found.exit_code == 0, found.stderr
    assert found.stdout == call("measure", "--no-intervals", plain[kind], *given).stdout


@pytest.mark.parametrize(
    "verb",
    [
        ["report", "--format", "text", "--no-intervals"],
        ["measure", "--no-intervals"],
        ["test"],
        ["compare", "--prob", "q"],
        ["gate", "--max-ece", "0.9"],
        ["plot"],
        ["fit"],
    ],
)
def test_every_command_reads_packed_text(call, plain, verb):
    name, *more = verb
    given = ["--prob", "p", *more]
    found = call(name, packed(plain["csv"], "gz"), *given)
    assert found.exit_code == 0, found.stderr
    # Lines break elsewhere after a longer name.
    assert found.stdout.replace("x.csv.gz", "x.csv").split() == call(name, plain["csv"], *given).stdout.split()


@pytest.mark.parametrize("suffix", PACK)
def test_apply_writes_packed_text_where_the_name_says_so(call, fails, plain, tmp_path, suffix):
    call("fit", plain["csv"], "--prob", "p", "-o", "map.json")
    asked = ["--prob", "p", "--calibrator", "map.json"]
    expected = call("apply", plain["csv"], *asked).stdout
    assert call("apply", packed(plain["csv"], suffix), *asked).stdout == expected
    assert call("apply", plain["csv"], *asked, "-o", f"new.csv.{suffix}").exit_code == 0
    assert call("measure", "--no-intervals", f"new.csv.{suffix}", "--prob", "p_calibrated").exit_code == 0
    with _compression.open_decompressed(
        tmp_path / f"new.csv.{suffix}", "", _compression.compression_by_name(f"x.{suffix}")
    ) as (file, _):
        assert file.read().decode() == expected
    message = fails("apply", plain["csv"], *asked, "-o", f"new.jsonl.{suffix}")
    assert message.startswith("`--output` must end in .csv or .tsv or .tab or .txt: the output is text")


def test_apply_packs_no_binary_rows(fails, grouped, call, tmp_path):
    write_columns(tmp_path / "x.npz", grouped)
    call("fit", "x.npz", "--prob", "p", "-o", "map.json")
    message = fails("apply", "x.npz", "--prob", "p", "--calibrator", "map.json", "-o", "y.npz.gz")
    assert message == "`--output` must end in .npz: only text is compressed; got 'y.npz.gz'."


@pytest.mark.parametrize("suffix", PACK)
@pytest.mark.parametrize("way", [["--stream"], ["--no-stream"]])
@pytest.mark.parametrize("kind", ["csv", "jsonl"])
@pytest.mark.parametrize("share", [0.2, 0.7, 0.999])
def test_a_file_that_ends_too_early_is_refused_in_one_paragraph(fails, plain, tmp_path, suffix, way, kind, share):
    whole = packed(plain[kind], suffix).read_bytes()
    (tmp_path / f"cut.{kind}.{suffix}").write_bytes(whole[: int(share * len(whole))])
    message = fails("measure", f"cut.{kind}.{suffix}", "--prob", "p", *way)
    assert message.startswith(f"cut.{kind}.{suffix} cannot be unpacked: it is truncated or damaged (")


def test_a_damaged_file_is_refused(fails, plain, tmp_path):
    data = bytearray(packed(plain["csv"], "gz").read_bytes())
    data[-6] ^= 1  # in the checksum
    (tmp_path / "x.csv.gz").write_bytes(data)
    assert "truncated or damaged (gzip: a checksum or a block is wrong)" in fails("measure", "x.csv.gz", "--prob", "p")
    (tmp_path / "x.csv.gz").write_bytes(gzip.compress(b"y,p\n0,0.5\n") + b"more")
    assert "truncated or damaged" in fails("measure", "x.csv.gz", "--prob", "p")


def test_several_packed_parts_in_a_row_are_one_text_and_padding_is_none(call, tmp_path):
    (tmp_path / "x.csv.gz").write_bytes(
        b"".join(map(gzip.compress, [b"y,p\n0,0.2\n", b"", b"1,0.", b"7\n"])) + bytes(9)
    )
    found = call("measure", "--no-intervals", "x.csv.gz", "--format", "json")
    assert json.loads(found.stdout)["models"][0]["measures"]["n"] == 2


def test_labels_are_read_of_all_pieces_together(call, tmp_path, monkeypatch):
    monkeypatch.setattr(_compression, "BLOCK_BYTES", 50)
    rows = ["1,0.9\n"] * 40 + ["no,0.1\n"] * 40
    (tmp_path / "x.csv.gz").write_bytes(gzip.compress(("y,p\n" + "".join(rows)).encode()))
    assert call("measure", "--no-intervals", "x.csv.gz", "--pos-label", "1", "--format", "csv").exit_code == 0


@pytest.mark.parametrize(
    ("content", "words"),
    [
        (gzip.compress(b""), "x.csv.gz is empty once unpacked."),
        (gzip.compress(b"PAR1...."), "compressed by itself, or of arrays; unpack it first."),
        (gzip.compress(gzip.compress(b"y,p\n")), "compressed by itself"),
        (gzip.compress(b"y,p\n0,0.5\n1,x\n"), "x.csv.gz: column 'p' must hold numbers; line 3 has 'x'."),
        (gzip.compress(b"y,p\n"), "x.csv.gz has no rows."),
        (gzip.compress(b'[{"y": 1}]'), "x.csv.gz is one JSON array"),
    ],
    ids=["empty", "parquet", "twice", "cell", "no rows", "array"],
)
def test_what_is_wrong_inside_is_said_of_the_packed_file(fails, tmp_path, content, words):
    (tmp_path / "x.csv.gz").write_bytes(content)
    assert words in fails("measure", "x.csv.gz")


def test_packed_standard_input_is_unpacked(call, plain):
    found = call("measure", "--no-intervals", "-", "--prob", "p", stdin=gzip.compress(plain["csv"].read_bytes()))
    assert found.exit_code == 0, found.stderr


def test_zstd_without_its_library_says_which(fails, tmp_path, without):
    without("backports.zstd", "compression.zstd")
    (tmp_path / "x.csv.zst").write_bytes(b"\x28\xb5\x2f\xfd....")
    assert "needs Python 3.14 or the package backports.zstd: `pip install backports.zstd`" in fails(
        "measure", "x.csv.zst"
    )


@pytest.mark.slow
@pytest.mark.skipif(not Path("/proc/self/status").exists(), reason="needs the peak of memory that Linux tells")
def test_a_packed_file_is_read_in_bounded_memory(peak_of, tmp_path):
    rng = np.random.default_rng(0)
    lines = "".join(
        f"{y},{p},{'x' * 300}\n" for y, p in zip(rng.integers(0, 2, 1000), rng.random(1000).round(3), strict=True)
    )
    with gzip.open(tmp_path / "x.csv.gz", "wt", compresslevel=1) as file:
        file.write("y,p,text\n")
        for _ in range(400):  # 125 MB of text
            file.write(lines)
    done, peak = peak_of("measure", "x.csv.gz", "--stream", "--format", "csv")
    assert "\nn,400000\n" in done.stdout
    assert peak < 400_000  # kilobytes


def test_a_file_that_is_there_but_packed_is_named(fails, plain, tmp_path):
    packed(plain["csv"], "gz").rename(tmp_path / "rows.csv.gz")
    assert fails("measure", "rows.csv") == "There is no file 'rows.csv'. There is 'rows.csv.gz' in that folder."


@pytest.mark.parametrize("suffix", PACK)
@pytest.mark.parametrize("junk", [b"XX", b"y,p\n1,0.5\n", b"\x01" * 100_000])
def test_bytes_after_the_last_stream_are_refused(fails, tmp_path, suffix, junk):
    whole = PACK[suffix](b"y,p\n0,0.5\n1,0.6\n")
    for tail in (junk, junk + whole):
        (tmp_path / f"x.csv.{suffix}").write_bytes(whole + tail)
        assert "it is truncated or damaged (" in fails("measure", f"x.csv.{suffix}")


@pytest.mark.parametrize("suffix", PACK)
def test_streams_in_a_row_are_one_text(call, tmp_path, suffix):
    parts = [b"y,p\n0,0.2\n", b"1,0.", b"7\n" + b"1,0.9\n" * 50_000]
    (tmp_path / f"x.csv.{suffix}").write_bytes(b"".join(map(PACK[suffix], parts)))
    found = call("measure", "--no-intervals", f"x.csv.{suffix}", "--format", "json")
    assert json.loads(found.stdout)["models"][0]["measures"]["n"] == 50_002


@pytest.mark.parametrize(
    ("suffix", "change", "words"),
    [
        ("gz", lambda data: data[:-3], "(gzip: the end is missing)."),
        ("bz2", lambda data: data[:-3], "(bzip2: the end is missing)."),
        ("xz", lambda data: data[:-3], "(xz: the end is missing)."),
        ("zst", lambda data: data[:-3], "(zstd: the end is missing)."),
        ("gz", lambda data: data + b"more", "(a part of it is not gzip)."),
        ("gz", lambda data: data[:-8] + b"1234" + data[-4:], "(gzip: a checksum or a block is wrong)."),
        ("bz2", lambda data: data[:12] + b"1234" + data[16:], "(bzip2: a checksum or a block is wrong)."),
        ("xz", lambda data: data[:30] + b"1234" + data[34:], "(xz: a checksum or a block is wrong)."),
    ],
)
def test_damage_is_named_in_our_words(fails, tmp_path, suffix, change, words):
    data = PACK[suffix](b"y,p\n" + b"0,0.5\n1,0.6\n" * 50)
    (tmp_path / f"x.csv.{suffix}").write_bytes(change(data))
    assert (
        fails("measure", f"x.csv.{suffix}") == f"x.csv.{suffix} cannot be unpacked: it is truncated or damaged {words}"
    )
