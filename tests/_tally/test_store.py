"""Sums of every kind are written in one format, come back to the same bits, and are safe to read."""

import json
import zlib

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from strategies import matrices, weighted_rows

import trueness as tn
from trueness._tally import store

pytestmark = pytest.mark.filterwarnings("ignore::trueness.TruenessWarning")


def examples():
    y, p = np.array([0, 1, 1, 0]), np.array([0.1, 0.1, 0.7, 1.0])
    P = np.column_stack([1 - p, p / 2, p / 2])
    for name, make in {"tally": tn.tally, "binned": tn.binned, "sketch": tn.sketch}.items():
        yield name, make(y, p)
        yield f"{name}, other weights", make(y, p, sample_weight=[0.5, 2, 1, 4])
        yield f"{name}, class-wise", make(y, P)
        yield f"{name}, top-label", make(y, P, kind="top-label")
        names = ["a", "\udc80", "\ud83d\ude00"]
        yield (
            f"{name}, names that are not UTF-8",
            make(["a", "\udc80"] * 2, P, labels=names, kind="confidence"),
        )
        yield f"{name}, empty", make([], [])
    yield "binned by mass", tn.binned(y, p, bins=tn.EqualMass(2))
    yield "binned without second moments", tn.tally(y, p).coarsen(3)


EXAMPLES = dict(examples())
every_example = pytest.mark.parametrize("sums", EXAMPLES.values(), ids=EXAMPLES)


def accumulator(bins="sketch", by="shop"):
    seen = tn.Accumulator(bins, by=by, about={"model": 7})
    seen.update([0, 1, 1], [0.2, 0.7, 0.9], group=["a", "b", "b"] if by else None, position=3)
    return seen


ACCUMULATORS = {f"accumulator of {bins}": accumulator(bins) for bins in ("sketch", "distinct", 4)}
STORED = EXAMPLES | ACCUMULATORS
every_kind = pytest.mark.parametrize("sums", STORED.values(), ids=STORED)


@every_example
def test_a_dict_reads_back_to_the_same_bits(sums):
    data = json.loads(json.dumps(sums.to_dict(), ensure_ascii=False))
    assert type(sums).from_dict(data) == sums
    assert (data["schema"], data["what"]) == (
        store.FORMAT,
        f"trueness.{type(sums).__name__.lower()}",
    )


@every_kind
def test_a_file_reads_back_to_the_same_bits(sums, tmp_path):
    sums.save(tmp_path / "x.tally")
    found = type(sums).load(tmp_path / "x.tally")
    assert found.to_bytes() == sums.to_bytes() == (tmp_path / "x.tally").read_bytes()
    if isinstance(sums, tn.Accumulator):
        assert (found.groups, found.position, found.about) == (sums.groups, 3, {"model": 7})
    else:
        assert found == sums
    assert [f.name for f in tmp_path.iterdir()] == ["x.tally"]


@pytest.mark.parametrize("make", [tn.tally, tn.binned, tn.sketch])
@given(data=weighted_rows(), scale=st.sampled_from([None, 1, 1 / 3, 1e-100, 1e90]))
def test_any_rows_come_back(make, data, scale):
    y, p, w = data
    sums = make(y, p) if scale is None else make(y, p, sample_weight=w * scale)
    assert type(sums).from_bytes(sums.to_bytes()) == sums == type(sums).from_dict(sums.to_dict())
    sums += sums
    assert type(sums).from_bytes(sums.to_bytes()) == sums


@pytest.mark.parametrize("make", [tn.tally, tn.binned, tn.sketch])
@given(data=matrices())
def test_any_matrix_comes_back(make, data):
    sums = make(*data)
    assert type(sums).from_bytes(sums.to_bytes()) == sums


def test_tables_of_too_many_rows_for_whole_sums_come_back():
    sums = tn.binned([0, 1], [0.2, 0.7])
    for _ in range(40):
        sums += sums
    assert sums.parts[0].table is None
    assert tn.sources.Binned.from_bytes(sums.to_bytes()) == sums


def test_files_are_small():
    rng = np.random.default_rng(0)
    p = rng.beta(1, 3, 20_000)
    y = rng.random(p.size) < p
    assert len(tn.sketch([0, 1, 1], [0.0, 0.25, 0.3]).to_bytes()) < 250
    assert len(tn.binned(y, p).to_bytes()) < 1000
    plain = tn.sketch(y, p)
    whole = tn.sketch(y, p, sample_weight=rng.integers(1, 400, p.size))
    other = tn.sketch(y, p, sample_weight=rng.random(p.size))
    for sums, most in ((plain, 45), (whole, 60), (other, 70)):
        assert len(sums.to_bytes()) <= most * sums.parts[0].size + 200


def body_of(data):
    return zlib.decompress(data[17:-4])


def test_the_format_stays_as_it_is():
    """A change here is a change of format, and needs a new number."""
    data = tn.tally([0, 1, 1], [0.5, 0.25, 0.25]).to_bytes()
    assert data[:9] == b"TNTALLYS\x05"
    assert int.from_bytes(data[9:17], "little") == len(body_of(data))
    header = (
        '{"what":"tally","kind":"binary","classes":null,"largest_cluster":null,'
        '"parts":[{"whole":true,"score":2,"count":2,"weight":2,"events":2}]}'
    )
    columns = bytes(12) + bytes.fromhex("d0e0 3f3f")  # 0.25 and 0.5, byte by byte
    columns += bytes.fromhex("0201") + bytes(14)  # rows
    columns += bytes.fromhex("0201") + bytes(14)  # weight
    columns += bytes.fromhex("0200") + bytes(14)  # events
    assert body_of(data) == len(header).to_bytes(8, "little") + header.encode() + columns


def sealed(body, *, number=store.FORMAT, length=None):
    """A file with this body and a right checksum."""
    size = len(body) if length is None else length
    whole = b"TNTALLYS" + bytes([number]) + size.to_bytes(8, "little") + zlib.compress(body)
    return whole + zlib.crc32(whole).to_bytes(4, "little")


def resealed(data, edit):
    """The file with its header changed by a function, and a right checksum."""
    body = body_of(data)
    end = 8 + int.from_bytes(body[:8], "little")
    header = json.loads(body[8:end])
    edit(header)
    text = json.dumps(header).encode()
    return sealed(len(text).to_bytes(8, "little") + text + body[end:])


@pytest.mark.parametrize(
    "sums", [EXAMPLES["sketch, class-wise"], EXAMPLES["tally, other weights"], accumulator()]
)
@given(data=st.data())
def test_changed_bytes_are_refused_or_make_valid_sums(sums, data):
    whole, body = bytearray(sums.to_bytes()), bytearray(body_of(sums.to_bytes()))
    for changed in (whole, body):
        for _ in range(data.draw(st.integers(1, 4))):
            changed[data.draw(st.integers(0, len(changed) - 1))] = data.draw(st.integers(0, 255))
    cut = data.draw(st.integers(0, len(body)))
    for hostile in (
        bytes(whole),
        bytes(whole[:cut]),
        sealed(bytes(body)),
        sealed(bytes(body[:cut])),
    ):
        try:
            found = type(sums).from_bytes(hostile)
        except tn.InputError:
            continue
        found = found.total if isinstance(found, tn.Accumulator) else found
        if found.n:
            assert 0 <= tn.ece(found) <= 1 + 1e-9


@given(st.binary(max_size=300))
def test_any_bytes_are_refused(noise):
    for hostile in (noise, sealed(noise), sealed(len(noise).to_bytes(8, "little") + noise)):
        for kind in (tn.Tally, tn.sources.Binned, tn.sources.Sketch, tn.Accumulator):
            with pytest.raises(tn.InputError, match="The sums cannot be read"):
                kind.from_bytes(hostile)


OTHERS = {
    "another kind": (
        lambda _: tn.sketch([0], [0.5]).to_bytes(),
        "it holds a trueness sketch, which `Sketch.load` reads.*`Accumulator.save` and `trueness tally` write",
    ),
    "text": (lambda _: b"y,p\n1,0.5\n", r"these bytes are not the sums of trueness\.$"),
    "nothing": (lambda _: b"", "there are no bytes"),
    "its name alone": (lambda whole: whole[:10], "it is cut off"),
    "truncated": (lambda whole: whole[:-7], "its checksum is wrong: bytes were changed or lost"),
    "a flipped bit": (
        lambda whole: whole[:40] + bytes([whole[40] ^ 1]) + whole[41:],
        "its checksum is wrong",
    ),
    "newer": (
        lambda whole: sealed(body_of(whole), number=6),
        "6, of a newer trueness; this version reads number 5",
    ),
    "older": (
        lambda whole: sealed(body_of(whole), number=2),
        "2, of an older trueness; this version reads number 5",
    ),
    "a bomb": (
        lambda whole: sealed(body_of(whole), length=2**40),
        "it claims to hold 1,099,511,627,776 bytes",
    ),
    "too long": (
        lambda whole: sealed(body_of(whole), length=10**6),
        "its length is not what it says",
    ),
    "too short": (
        lambda whole: sealed(body_of(whole), length=10),
        "its length is not what it says",
    ),
    "more than columns": (
        lambda whole: sealed(body_of(whole) + b"x"),
        "its columns are not as long as it says",
    ),
    "long columns": (
        lambda whole: resealed(
            whole, lambda header: header["groups"][0][1]["parts"][0].update(cell=2**60)
        ),
        "its columns are not as long as it says",
    ),
}


@pytest.mark.parametrize(("spoil", "message"), OTHERS.values(), ids=OTHERS)
def test_other_and_damaged_files_are_refused_by_name(tmp_path, spoil, message):
    path = tmp_path / "x.tally"
    path.write_bytes(spoil(accumulator().to_bytes()))
    with pytest.raises(tn.InputError, match=rf"x\.tally': The sums cannot be read: .*{message}"):
        tn.Accumulator.load(path)


@pytest.mark.parametrize("kind", [tn.Tally, tn.Accumulator])
def test_what_is_no_file_is_an_error_of_the_system(kind, tmp_path):
    with pytest.raises(FileNotFoundError, match="nowhere"):
        kind.load(tmp_path / "nowhere")
    with pytest.raises(
        OSError, match=tmp_path.name
    ):  # a folder; Windows says that it may not be opened
        kind.load(tmp_path)


@pytest.mark.parametrize("name", [(1, 2), float("inf"), object()])
def test_a_class_that_json_cannot_hold_is_an_error(name):
    sums = EXAMPLES["tally, class-wise"]
    odd = type(sums)(sums.kind, sums.parts, (name, 1, 2))
    for write in (odd.to_bytes, odd.to_dict):
        with pytest.raises(
            tn.InputError,
            match="A class written to a file must be a string or a finite number; got",
        ):
            write()


def changed(**columns):
    return lambda data: data["parts"][0].update(columns)


SPOILT = {
    "another schema": (lambda d: d.update(schema=2), "its schema is 2, and this version reads 5"),
    "bins, not cells": (lambda d: d.update(what="trueness.binned"), "this is not a trueness tally"),
    "unknown kind": (lambda d: d.update(kind="ternary"), "its kind is 'ternary'"),
    "parts no list": (lambda d: d.update(parts=3), "header is damaged"),
    "a part no dict": (lambda d: d.update(parts=[3]), "header is damaged"),
    "no part": (lambda d: d.update(parts=[]), "should have 1 parts and has 0"),
    "an unknown key": (lambda d: d.update(cake=1), "header is damaged"),
    "classes of a binary tally": (lambda d: d.update(classes=["a"]), "classes do not fit"),
    "column missing": (lambda d: d["parts"][0].pop("events"), "has the columns"),
    "half the squares": (lambda d: d["parts"][0].pop("squares"), "has the columns"),
    "a number for a column": (changed(weight=3), "header is damaged"),
    "strings": (changed(weight=["a", "b"]), "numbers that it should"),
    "columns of columns": (changed(weight=[[1.0], [1.0]]), "numbers that it should"),
    "whole weights that are not": (changed(whole=True), "numbers that it should"),
    "count is a fraction": (changed(count=[0.5, 1]), "numbers that it should"),
    "lengths differ": (changed(count=[1]), "different lengths"),
    "nan": (changed(weight=[float("nan"), 1.0]), "finite and not below 0"),
    "squares below zero": (changed(squares=[-0.1, 1.0]), "finite and not below 0"),
    "count is zero": (changed(count=[0, 1]), "rows and their weights contradict"),
    "weight is zero": (changed(weight=[0.0, 1.0]), "rows and their weights contradict"),
    "more events than rows": (changed(events=[0.75, 1.0]), "more events than rows"),
    "scores descend": (changed(score=[0.5, 0.25]), r"must ascend in \[0, 1\]"),
    "score above 1": (changed(score=[0.5, 1.5]), r"must ascend in \[0, 1\]"),
}


@pytest.mark.parametrize(("spoil", "message"), SPOILT.values(), ids=SPOILT)
def test_spoilt_tallies_are_refused(spoil, message):
    data = tn.tally([0, 1], [0.25, 0.5], sample_weight=[0.5, 1]).to_dict()
    spoil(data)
    with pytest.raises(tn.InputError, match=rf"The sums cannot be read: .*{message}"):
        tn.Tally.from_dict(data)


SPOILT_SUMS = [
    (tn.tally, ("count", 0), 2, "rows and their weights contradict"),
    (tn.binned, ("table", 0, 0, 0), -1, "finite and not below 0"),
    (tn.binned, ("count", 0), 3, "rows and their weights contradict"),
    (tn.binned, ("table", 0, 0, 1), 2**26, "a mean score must lie in its bin"),
    (tn.binned, ("table", 1, 1, 1), 0, "a mean score must lie in its bin"),
    (tn.binned, ("edges", 0), 0.7, "must ascend"),
    (tn.binned, ("edges", 2), 1.5, "must ascend"),
    (tn.sketch, ("cell", 1), 10**6, "must ascend"),
    (tn.sketch, ("cell", 0), 9000, "must ascend"),
    (tn.sketch, ("ends", 1, 0), 0.1, "must ascend"),
    (tn.sketch, ("ends", 1, 0), 0.7505, "must ascend"),
    (tn.sketch, ("count", 0), 0, "rows and their weights contradict"),
    (tn.sketch, ("table", 1, 1, 1), 0, "a mean score must lie in its bin"),
]


@pytest.mark.parametrize(("make", "place", "number", "message"), SPOILT_SUMS)
def test_sums_that_no_rows_have_are_refused(make, place, number, message):
    sums = make([0, 1], [0.25, 0.75], **({"bins": 2} if make is tn.binned else {}))
    data = sums.to_dict()
    name, *at, last = place
    values = data["parts"][0][name]
    for i in at:
        values = values[i]
    values[last] = number
    with pytest.raises(tn.InputError, match=f"The sums cannot be read: .*{message}"):
        type(sums).from_dict(data)


@pytest.mark.parametrize("scale", [1 - 1e-6, 1 + 1e-6])
def test_a_mean_score_may_differ_from_an_edge_by_rounding_alone(scale):
    data = tn.binned([0, 1], [0.5, 1.0], bins=2, sample_weight=[0.3, 0.7]).to_dict()
    assert tn.sources.Binned.from_dict(data).n == 2
    row = data["parts"][0]["floats"][1]
    score = 0.5 if scale < 1 else 1.0
    row[3:] = [score * row[0], score**2 * row[0], score * row[2]]
    assert tn.sources.Binned.from_dict(data).n == 2
    row[3:] = [row[3] * scale, row[4] * scale**2, row[5] * scale]
    with pytest.raises(tn.InputError, match="a mean score must lie in its bin"):
        tn.sources.Binned.from_dict(data)


@pytest.mark.parametrize("make", [tn.tally, tn.binned, tn.sketch])
def test_more_rows_than_can_be_counted_are_refused_when_sums_are_added(make):
    sums = make([0] * 64, np.arange(64) / 64, sample_weight=np.full(64, 0.5))
    for _ in range(47):
        sums += sums
    with pytest.raises(
        tn.InputError, match=r"hold at most 9,007,199,254,740,992 rows; these have about 1\.8e\+16"
    ):
        sums + sums


def test_bytes_after_the_packed_ones_are_refused():
    whole = EXAMPLES["tally"].to_bytes()
    for more in (b"x", b"xxxxx"):
        longer = whole[:-4] + more
        with pytest.raises(tn.InputError, match="its length is not what it says"):
            tn.Tally.from_bytes(longer + zlib.crc32(longer).to_bytes(4, "little"))


def test_as_many_classes_as_can_be_read_can_be_written():
    parts = {"kind": "classwise", "classes": None, "parts": [{}] * 2**18}
    assert len(store.to_dict("tally", parts)["parts"]) == 2**18
    with pytest.raises(
        tn.InputError, match="at most 262,144 classes can be written or read; these have 262,145"
    ):
        store.to_dict("tally", parts | {"parts": [{}] * (2**18 + 1)})


@pytest.mark.parametrize(
    ("kind", "classes", "message"),
    [
        ("classwise", None, "its classes do not fit its kind"),
        ("confidence", None, "its classes do not fit its kind"),
        ("binary", [0, 1, 2], "its classes do not fit its kind"),
        ("classwise", "abc", "its classes do not fit its kind"),
        ("classwise", [0, 1, None], "its classes are not strings or numbers"),
        ("classwise", [0, 1, 1], "it names a class twice"),
        ("classwise", [0, 1], "it should have 2 parts and has 3"),
        ("classwise", [0], "it has too few classes"),
        ("multilabel", [], "it has too few classes"),
        ("top-label", [0, 1, 2, 3], "it should have 4 parts and has 3"),
        ("confidence", [0, 1, 2], "it should have 1 parts and has 3"),
    ],
)
def test_classes_that_do_not_fit_the_parts_are_refused(kind, classes, message):
    sums = tn.tally([0, 1, 2], np.eye(3) * 0.4 + 0.2)
    with pytest.raises(tn.InputError, match=message):
        tn.Tally.from_dict({**sums.to_dict(), "kind": kind, "classes": classes})


def test_sums_of_a_single_label_are_stored_and_read():
    sums = tn.tally(np.array([[1], [0], [1]]), np.array([[0.2], [0.3], [0.9]]), kind="multilabel")
    assert tn.Tally.from_bytes(sums.to_bytes()) == sums
