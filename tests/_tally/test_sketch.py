"""A sketch is what its rows are, however they came; its bytes are safe to read."""

import itertools
import zlib

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from strategies import arrays, matrices, rows, weighted_rows

import trueness as tn
from trueness._tally.varint import packed, unpacked

pytestmark = pytest.mark.filterwarnings("ignore::trueness.TruenessWarning")


@given(rows=rows, cuts=st.lists(st.integers(0, 40), max_size=3), seed=st.integers(0, 9))
def test_order_and_partition_do_not_change_a_byte(rows, cuts, seed):
    y, p = arrays(rows)
    order = np.random.default_rng(seed).permutation(y.size)
    ends = [0, *sorted(min(c, y.size) for c in cuts), y.size]
    pieces = [tn.sketch(y[order][a:b], p[order][a:b]) for a, b in itertools.pairwise(ends)]
    assert sum(pieces).to_bytes() == sum(reversed(pieces)).to_bytes() == tn.sketch(y, p).to_bytes()


@given(a=rows, b=rows, c=rows)
def test_addition_is_associative_and_commutative(a, b, c):
    a, b, c = (tn.sketch(*arrays(part)) for part in (a, b, c))
    assert (a + b) + c == a + (b + c) == c + (b + a)
    assert a + tn.sketch([], []) == a == 0 + a


@given(rows=rows)
def test_bytes_bring_the_sketch_back(rows):
    s = tn.sketch(*arrays(rows))
    assert tn.Sketch.from_bytes(s.to_bytes()) == s


@given(weighted_rows(), st.booleans())
def test_weighted_sketches_come_back_too(rows, fractional):
    y, p, w = rows
    s = tn.sketch(y, p, sample_weight=w / 3 if fractional else w)
    assert tn.Sketch.from_bytes(s.to_bytes()) == s
    if not fractional:
        whole = tn.sketch(np.repeat(y, w.astype(int)), np.repeat(p, w.astype(int)))
        assert np.array_equal(s.parts[0].table, whole.parts[0].table)


@pytest.mark.parametrize("kind", ["classwise", "confidence", "top-label"])
@given(rows=matrices())
def test_a_matrix_has_a_part_for_each_problem(kind, rows):
    y, P = rows
    s = tn.sketch(y, P, kind=kind)
    assert tn.Sketch.from_bytes(s.to_bytes()) == s
    assert tn.brier(s) == pytest.approx(tn.brier(y, P, kind=kind), abs=1e-15)
    assert (s.n, s.kind) == (y.size, kind)


@given(rows=rows)
def test_what_needs_only_sums_is_exact(rows):
    y, p = arrays(rows)
    s = tn.sketch(y, p)
    assert tn.brier(s) == tn.brier(y, p)
    for bins in (1, 2, 8, 64, 512, [0, 0.25, 1]):
        assert tn.ece(s, bins=bins) == tn.ece(y, p, bins=bins)
        assert tn.squared_ece(s, bins=bins) == tn.squared_ece(y, p, bins=bins)


def test_memory_and_bytes_are_bounded():
    rng = np.random.default_rng(0)
    p = rng.beta(0.2, 0.2, 500_000)
    s = tn.sketch(rng.random(p.size) < p, p)
    assert s.parts[0].size <= 7684
    assert len(s.to_bytes()) < 52 * s.parts[0].size + 200


@pytest.mark.parametrize(("weights", "least", "most"), [("none", 35, 45), ("whole", 53, 75), ("other", 75, 80)])
def test_bytes_of_a_cell_are_as_many_as_the_page_says(weights, least, most):
    rng = np.random.default_rng(0)
    p = rng.beta(1, 3, 100_000)
    w = {"none": None, "whole": rng.integers(1, 400, p.size), "other": rng.random(p.size)}[weights]
    s = tn.sketch(rng.random(p.size) < p, p, sample_weight=w)
    assert least <= len(s.to_bytes()) / s.parts[0].size <= most
    for _ in range(18 if w is None else 0):
        s += s
    assert len(s.to_bytes()) / s.parts[0].size <= max(most, 65)


def test_weights_of_one_make_another_sketch_with_the_same_measures():
    y, p = [0, 1, 1], [0.2, 0.3001, 0.7]
    plain, weighted = tn.sketch(y, p), tn.sketch(y, p, sample_weight=[1, 1, 1])
    assert plain != weighted
    for measure in (tn.ece, tn.ace, tn.brier, tn.tce, tn.squared_ece):
        assert measure(plain) == measure(weighted)


def test_a_sketch_in_place_of_rows_takes_no_rows():
    s = tn.sketch([0, 1], [0.2, 0.7])
    with pytest.raises(tn.InputError, match="`y_prob` must be left out when a Sketch is passed"):
        tn.ece(s, [0.2, 0.7])
    with pytest.raises(tn.InputError, match="`sample_weight` describes rows; this Sketch already"):
        tn.ece(s, sample_weight=[1, 1])
    with pytest.raises(tn.InputError, match="`kind` is 'confidence', but this Sketch"):
        tn.ece(s, kind="confidence")
    with pytest.raises(tn.InputError, match="An empty Sketch has no calibration error"):
        tn.ece(tn.sketch([], []))
    with pytest.raises(tn.InputError, match=r"a Sketch has none\. Pass labels and scores"):
        tn.squared_ece(s, k=2)
    with pytest.raises(tn.InputError, match='`ties="split"` needs the rows in order; a sketch has none'):
        tn.tce(s, bins=tn.BlockIsotonic(ties="split"))
    with pytest.raises(TypeError, match="unsupported operand"):
        s + tn.tally([0, 1], [0.2, 0.7])


def test_bad_rows_are_named_as_elsewhere():
    with pytest.raises(tn.InputError, match="`y_prob` must lie in"):
        tn.sketch([0, 1], [0.2, 1.7])
    with pytest.raises(tn.InputError, match="`y_prob` must lie in"):
        tn.sketch([0, 1], [0.2, 1.7], sample_weight=[0.5, 0])
    with pytest.raises(tn.InputError, match="`y_true`"):
        tn.sketch([0, 3], [0.2, 0.7], sample_weight=[1, 1])


def test_more_rows_than_sixty_four_bits_hold_are_refused():
    s = tn.sketch([1, 1], [0.7, 0.7])
    s.parts[0].table[0, 1, 0] = 2**36
    with pytest.raises(tn.InputError, match="at most 68,719,476,736 rows of one cell"):
        s + tn.sketch([1], [0.7])


def sample_bytes():
    y, p = np.arange(40) % 2, np.linspace(0, 1, 40)
    return tn.sketch(y, p).to_bytes()


def resealed(body):
    return body + zlib.crc32(body).to_bytes(4, "little")


@settings(max_examples=300)
@given(data=st.data())
def test_changed_bytes_are_refused_or_make_a_valid_sketch(data):
    whole = bytearray(sample_bytes())
    for _ in range(data.draw(st.integers(1, 4))):
        whole[data.draw(st.integers(0, len(whole) - 1))] = data.draw(st.integers(0, 255))
    cut = data.draw(st.integers(0, len(whole)))
    for hostile in (bytes(whole), bytes(whole[:cut]), resealed(bytes(whole[:-4])), resealed(bytes(whole[:cut]))):
        try:
            found = tn.Sketch.from_bytes(hostile)
        except tn.InputError:
            continue
        assert 0 <= tn.brier(found) <= 1
        assert 0 <= tn.ece(found) <= 1


@given(st.binary(max_size=300))
def test_any_bytes_are_refused(noise):
    for hostile in (noise, resealed(b"TNSKETCH\x01" + noise)):
        with pytest.raises(tn.InputError, match="The sums cannot be read"):
            tn.Sketch.from_bytes(hostile)


def test_messages_of_what_cannot_be_read(tmp_path):
    whole = sample_bytes()
    with pytest.raises(tn.InputError, match="not a trueness sketch"):
        tn.Sketch.from_bytes(b"PAR1" + whole)
    with pytest.raises(tn.InputError, match="its checksum is wrong"):
        tn.Sketch.from_bytes(whole[:-1])
    with pytest.raises(tn.InputError, match="its format is number 9, of a newer trueness; this version reads number 1"):
        tn.Sketch.from_bytes(whole[:8] + b"\x09" + whole[9:])
    with pytest.raises(tn.InputError, match="must be bytes; got str"):
        tn.Sketch.from_bytes("text")
    with pytest.raises(tn.InputError, match="A class written to a file must be a string or a finite number"):
        tn.Sketch("classwise", (tn.sketch([0], [0.5]).parts * 2), ((1, 2), (3, 4))).to_bytes()
    for made in (tn.sketch, tn.tally):
        endless = made([1.0], [[0.5, 0.5]], labels=[1.0, float("inf")])
        with pytest.raises(tn.InputError, match="must be a string or a finite number; got inf"):
            endless.to_bytes() if made is tn.sketch else endless.to_json()
    path = tmp_path / "day.sketch"
    tn.sketch([0, 1], [0.2, 0.7]).save(path)
    assert tn.Sketch.load(path) == tn.sketch([0, 1], [0.2, 0.7])


def test_the_format_stays_as_it_is():
    """A change here is a change of format, and needs a new number."""
    assert tn.sketch([0, 1, 1], [0.0, 0.25, 0.3]).to_bytes().hex() == FORMAT_1


FORMAT_1 = (
    "544e534b4554434801397b226b696e64223a2262696e617279222c22636c6173736573223a6e756c6c2c227061727473223a"
    "5b5b332c747275652c66616c73655d5d7d00821d190101010000b3e6cc99b3e6040000000100000100010000000000000000"
    "000000000000000000000000b3e60499b3e60cf5ef02e1f5d1308d3e45d6"
)


@given(st.lists(st.integers(0, 2**63 - 1)))
def test_numbers_come_back(numbers):
    data = packed(np.array(numbers, dtype=np.int64))
    found, rest = unpacked(memoryview(data + b"rest"), len(numbers))
    assert found.tolist() == numbers
    assert bytes(rest) == b"rest"
