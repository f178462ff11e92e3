"""What comes piece by piece is what came at once, also after a kill."""

import os
import random
import signal
import subprocess
import sys
import time

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st
from strategies import arrays, rows

import trueness as tn
from trueness._tally import store

pytestmark = pytest.mark.filterwarnings("ignore::trueness.TruenessWarning")
SKETCH = tn.sketch([0, 1], [0.2, 0.7])
KEPT = {"sketch": tn.sketch, "distinct": tn.tally, 10: tn.binned}


@pytest.mark.parametrize("bins", KEPT)
@given(rows=rows, cut=st.integers(0, 40))
def test_pieces_are_the_whole(bins, rows, cut):
    y, p = arrays(rows)
    seen = tn.Accumulator(bins)
    seen.update(y[:cut], p[:cut])
    seen.update(y[cut:], p[cut:])
    assert seen.total == KEPT[bins](y, p)
    assert seen.compute(tn.ece, bins=10) == tn.ece(KEPT[bins](y, p), bins=10)


@pytest.mark.parametrize("bins", ["sketch", "distinct", [0, 0.25, 1]])
@given(rows=rows, seed=st.integers(0, 9))
def test_groups_are_kept_apart_and_come_back(bins, rows, seed):
    y, p = arrays(rows)
    g = np.random.default_rng(seed).integers(0, 3, y.size)
    seen = tn.Accumulator(bins, by="shop", about={"model": 7})
    seen.update(y, p, group=g, position={"row": y.size})
    found = tn.Accumulator.from_bytes(seen.to_bytes())
    assert found.groups == seen.groups
    assert list(found.groups) == sorted(set(g.tolist()))
    assert (found.position, found.about, found.by, found.n) == (
        {"row": y.size},
        {"model": 7},
        "shop",
        y.size,
    )
    assert found.compute_by(tn.brier) == {k: tn.brier(sums) for k, sums in seen.groups.items()}
    assert sum(found.groups.values()) == found.total


@pytest.mark.parametrize("bins", KEPT)
@given(rows=rows, cut=st.integers(0, 40), seed=st.integers(0, 9))
def test_sums_made_elsewhere_are_added_as_rows_are(bins, rows, cut, seed):
    y, p = arrays(rows)
    g = np.random.default_rng(seed).integers(0, 3, y.size)
    alone, split, by = (
        tn.Accumulator(bins),
        tn.Accumulator(bins, by="shop"),
        tn.Accumulator(bins, by="shop"),
    )
    alone.update(y[:cut], p[:cut])
    alone.merge(KEPT[bins](y[cut:], p[cut:]))
    assert alone.total == KEPT[bins](y, p)
    rest = tn.Accumulator(bins)
    rest.update(y[cut:], p[cut:])
    rest.merge(KEPT[bins](y[:cut], p[:cut]))
    assert rest.to_bytes() == alone.to_bytes()
    split.update(y, p, group=g)
    by.update(y[:cut], p[:cut], group=g[:cut])
    by.merge(
        {k: KEPT[bins](y[cut:][g[cut:] == k], p[cut:][g[cut:] == k]) for k in set(g[cut:].tolist())}
    )
    assert by.to_bytes() == split.to_bytes()


def test_a_merge_that_fails_leaves_everything_as_it_was():
    seen = tn.Accumulator(by="shop")
    seen.update([0, 1], [0.2, 0.7], group="b")
    before = seen.to_bytes()
    with pytest.raises(
        tn.InputError, match="All batches must be of one kind, with the same classes"
    ):
        seen.merge({"a": SKETCH, "b": tn.sketch([0, 1], np.eye(2))})
    assert seen.to_bytes() == before


@pytest.mark.parametrize("kind", ["classwise", "confidence", "top-label"])
def test_matrices_by_group_and_weight(kind):
    rng = np.random.default_rng(0)
    P = rng.dirichlet([1, 1, 1], 60)
    y, g, w = rng.integers(0, 3, 60), rng.choice(["a", "b"], 60), rng.integers(1, 4, 60)
    seen = tn.Accumulator(kind=kind, by="shop")
    for i in range(0, 60, 17):
        at = slice(i, i + 17)
        seen.update(y[at], P[at], sample_weight=w[at], group=g[at])
    assert seen.groups["a"] == tn.sketch(
        y[g == "a"], P[g == "a"], kind=kind, sample_weight=w[g == "a"]
    )
    assert tn.Accumulator.from_bytes(seen.to_bytes()).to_bytes() == seen.to_bytes()


def test_a_bad_piece_leaves_everything_as_it_was():
    seen = tn.Accumulator(by="shop")
    seen.update([0, 1], [0.2, 0.7], group="a", position=2)
    before = seen.to_bytes()
    with pytest.raises(tn.InputError, match="`y_prob` must lie in"):
        seen.update([0, 1, 1], [0.2, 0.7, 1.5], group=["a", "a", "b"], position=5)
    assert seen.to_bytes() == before
    with pytest.raises(tn.InputError, match=r"the first is 1\.5 at row 2"):
        seen.update([0, 1, 1], [0.2, 0.7, 1.5], group=["a", "a", "b"], position=5)
    seen.update([0, 1], [0.2, 0.7], group=["a", "z"], sample_weight=[1, 0], position=4)
    seen.update([], [], group=[], position=7)
    assert (seen.n, seen.position) == (3, 7)
    seen.reset()
    assert (seen.n, seen.position) == (0, None)


@pytest.mark.parametrize(
    ("act", "message"),
    [
        (
            lambda: tn.Accumulator("quantiles"),
            "`bins` must be 'sketch', 'distinct' or bins with fixed edges",
        ),
        (lambda: tn.Accumulator(tn.EqualMass(3)), "`bins` must have fixed edges"),
        (
            lambda: tn.Accumulator(by="a", missing="drop"),
            "`missing='drop'` cannot be combined with `by`",
        ),
        (
            lambda: tn.Accumulator(by=["a", "a"]),
            "`by` must be a string that names the groups, a list of different",
        ),
        (
            lambda: tn.Accumulator(by=[]),
            r"`by` must be a string that names the groups, a list .*; got \[\]",
        ),
        (
            lambda: tn.Accumulator(by=["a", "b"]).update([0], [0.5], group={"a": 1}),
            "with the columns 'a', 'b'; got d",
        ),
        (
            lambda: tn.Accumulator(by=["a", "b"]).update([0], [0.5], group=[(1, 2)]),
            "`group` must be a dict or frame",
        ),
        (
            lambda: tn.Accumulator(by=["a"]).update([0], [0.5], group={"a": [None]}),
            "Column 'a': `group` must not have",
        ),
        (
            lambda: tn.Accumulator(by=["a", "b"]).merge({"x": SKETCH}),
            "`group` must be a tuple of 2 names; got 'x'",
        ),
        (
            lambda: tn.Accumulator(by="a").subtract({"x": SKETCH}),
            "`other` must have rows that are here; there is no",
        ),
        (
            lambda: tn.Accumulator().suppress(2),
            "`min_rows` needs an Accumulator that was made with `by`",
        ),
        (lambda: tn.Accumulator(about=[1]), r"`about` must be a dict, or None; got \[1\]"),
        (
            lambda: tn.Accumulator(missing="perhaps"),
            "`missing` must be 'raise' or 'drop'; got 'perhaps'",
        ),
        (
            lambda: tn.Accumulator(sum_tolerance="x"),
            "`sum_tolerance` must be a number between 0 and 1; got 'x'",
        ),
        (lambda: tn.Accumulator(clip_tolerance=-1), "`clip_tolerance` must be a number"),
        (
            lambda: tn.Accumulator(from_logits="yes"),
            "`from_logits` must be True or False; got 'yes'",
        ),
        (
            lambda: tn.Accumulator().update([0], [0.5], position={1}),
            "`position` must be ready for JSON",
        ),
        (
            lambda: tn.Accumulator().update([0], [0.5], group="a"),
            "`group` needs an Accumulator that was made with `by`",
        ),
        (
            lambda: tn.Accumulator(by="x").update([0], [0.5]),
            "`group` must be passed with every batch",
        ),
        (
            lambda: tn.Accumulator(by="x").update([0, 1], [0.5, 0.5], group=["a"]),
            "`group` must have one entry per row",
        ),
        (lambda: tn.Accumulator(labels="ab"), "`labels` must be a list of the classes"),
        (lambda: tn.Accumulator(pos_label=b"a"), "`pos_label` must be ready for JSON"),
        (lambda: tn.Accumulator().total, "An empty Accumulator has no sums"),
        (
            lambda: tn.Accumulator().merge(tn.tally([0], [0.5])),
            "must be an Accumulator or a Sketch; got Tally",
        ),
        (
            lambda: tn.Accumulator(5).merge({"a": SKETCH}),
            "must be an Accumulator or a Binned; got dict of Sketch",
        ),
        (lambda: tn.Accumulator(by="x").merge(SKETCH), "or a dict of Sketch by x; got Sketch"),
        (
            lambda: tn.Accumulator("distinct", by="x").merge({"a": SKETCH}),
            "of Tally by x; got dict of Sketch",
        ),
        (
            lambda: tn.Accumulator(by="x").merge({None: SKETCH}),
            "`group` must hold text, whole numbers",
        ),
        (
            lambda: tn.Accumulator(kind="confidence").merge(SKETCH),
            "`kind` is 'confidence' here and 'binary' there",
        ),
        (
            lambda: tn.Accumulator(labels=["a", "b"]).merge(tn.sketch([0, 1], np.eye(2))),
            r"`labels` is \['a', 'b'\] here and \[0, 1\] there",
        ),
        (
            lambda: tn.Accumulator(5).merge(tn.binned([0], [0.5])),
            "`bins` is 5 here, and the edges differ there",
        ),
        (lambda: tn.Accumulator(5).merge(tn.Accumulator(6)), "`bins` is 5 here and 6 there"),
        (lambda: tn.Accumulator(by="a").merge(tn.Accumulator()), "`by` is 'a' here and None there"),
        (
            lambda: tn.Accumulator(missing="drop").merge(tn.Accumulator()),
            "`missing` is 'drop' here and 'raise' there",
        ),
        (
            lambda: tn.Accumulator(about={"m": 1}).merge(tn.Accumulator()),
            "`about` is {'m': 1} here and {} there",
        ),
    ],
)
def test_messages(act, message):
    with pytest.raises(tn.InputError, match=message):
        act()


def pieces(*labels, **options):
    """One accumulator for each lot of labels."""
    made = []
    for some in labels:
        made.append(tn.Accumulator(**options))
        made[-1].update(some, np.full(len(some), 0.5))
    return made


def stored(seen):
    return tn.Accumulator.from_bytes(seen.to_bytes())


THIRD = r"must hold two labels in all batches; earlier batches have 'yes' \(`pos_label`\) and 'no', .* has 'maybe'"


@pytest.mark.parametrize("again", [lambda seen: seen, stored], ids=["at once", "after a save"])
def test_a_third_label_is_refused_whenever_it_comes(again):
    (seen,) = pieces(["yes", "yes"], pos_label="yes")
    seen = again(seen)
    seen.update(["no"], [0.5])
    seen = again(seen)
    seen.update(["yes"], [0.5])
    before = seen.to_bytes()
    with pytest.raises(tn.InputError, match=THIRD):
        again(seen).update(["maybe", "yes"], [0.5, 0.5])
    assert seen.to_bytes() == before
    seen.update(["no", "yes"], [0.5, 0.5])
    seen.reset()
    seen.update(["maybe"], [0.5])
    assert seen.n == 1


def test_a_third_label_is_refused_in_merge():
    first, second, third, only = pieces(["no", "yes"], ["maybe"], ["no"], ["yes"], pos_label="yes")
    with pytest.raises(tn.InputError, match=THIRD):
        first.merge(stored(second))
    first.merge(third)
    only.merge(second)
    with pytest.raises(tn.InputError, match="and 'maybe', the other one has 'no'"):
        only.merge(third)


def test_a_third_label_is_found_behind_rows_that_are_dropped():
    seen = tn.Accumulator(pos_label="yes", missing="drop")
    seen.update(["no", "yes"], [0.5, 0.5])
    with pytest.raises(tn.InputError, match=THIRD):
        seen.update([None, "yes", "maybe"], [0.5, 0.5, 0.5])


@pytest.mark.parametrize(
    ("first", "second", "message"),
    [
        ([0, 1], ["0", "1"], "which holds strings; got 1"),
        ([1, 1], [2, 3], r"must be a value of `y_true` \(2, 3\); got 1"),
        ([1, 0], [2, 0, 1], "must hold two values"),
        ([0, 1], [1, 2], r"earlier batches have 1 \(`pos_label`\) and 0, this batch has 2"),
    ],
)
def test_labels_of_another_kind_are_refused(first, second, message):
    (seen,) = pieces(first, pos_label=1)
    with pytest.raises(tn.InputError, match=message):
        seen.update(second, np.full(len(second), 0.5))
    seen.update([True, False, 1.0], [0.5, 0.5, 0.5])  # what equals a label is that label
    assert seen.n == 5


def test_classes_of_a_matrix_are_those_of_earlier_pieces_in_every_group():
    P = np.eye(3)
    seen = tn.Accumulator(by="shop")
    seen.update(["a", "b", "c"], P, group="x")
    refused = r"earlier batches are classwise of 3 classes \('a', 'b', 'c'\), this one is"
    for labels, scores in ((["a", "b", "d"], P), ([0, 1, 2], P), ([0, 1], np.eye(2))):
        with pytest.raises(tn.InputError, match=refused):
            seen.update(labels, scores, group="y")
    with pytest.raises(tn.InputError, match="this one is binary of two classes"):
        seen.update([0, 1], [0.5, 0.5], group="y")
    other = tn.Accumulator(by="shop")
    other.update([0, 1, 2], P, group="y")
    with pytest.raises(tn.InputError, match=refused):
        seen.merge(other)
    seen.update([], [], group="x")
    seen.update([], np.zeros((0, 3)), group="y")
    assert list(seen.groups) == ["x"]
    with pytest.raises(
        tn.InputError, match=r"3 classes \('a', 'b', 'c'\) and classwise of 3 classes \(0, 1, 2\)"
    ):
        seen.total + other.total


def test_merging_with_itself_is_refused_and_about_can_be_made_the_same():
    first, second = pieces([0], [1])
    with pytest.raises(tn.InputError, match="`other` must be another Accumulator; it is this one"):
        first.merge(first)
    second.about = {"machine": 2}
    with pytest.raises(tn.InputError, match=r"`about` is {} here and {'machine': 2} there"):
        first.merge(second)
    second.about = first.about
    first.merge(second)
    assert (first.n, second.n) == (2, 1)
    first.about = {"x": {1}}
    with pytest.raises(tn.InputError, match="`about` must be ready for JSON"):
        first.to_bytes()


def test_a_position_that_was_passed_once_is_required_ever_after():
    seen = tn.Accumulator()
    seen.update([0], [0.5], position=1)
    with pytest.raises(
        tn.InputError,
        match="`position` must be passed with every batch or with none; the last one is 1",
    ):
        seen.update([0], [0.5])
    seen.update([], [], position=2)
    assert (seen.n, seen.position) == (1, 2)


def test_nothing_has_no_measure():
    seen = tn.Accumulator(by="shop")
    seen.update([], [], group=[])
    assert (seen.n, seen.groups, seen.compute_by(tn.ece)) == (0, {}, {})
    with pytest.raises(tn.InputError, match="An empty Accumulator has no sums"):
        seen.compute(tn.ece)
    assert stored(seen).n == 0


def test_a_link_is_followed(tmp_path):
    (tmp_path / "link").symlink_to(tmp_path / "state.tally")
    (seen,) = pieces([0, 1])
    seen.save(tmp_path / "link")
    assert (tmp_path / "link").is_symlink()
    assert tn.Accumulator.load(tmp_path / "state.tally").n == 2


# Adds rows in pieces of random length, each saved with where it ends; goes on from there when started again.
STREAM = """
import sys
import numpy as np
import trueness as tn
from pathlib import Path
rows, state, seed = sys.argv[1], Path(sys.argv[2]), int(sys.argv[3])
data = np.load(rows)
y, p, g = data["y"], data["p"], data["g"]
seen = tn.Accumulator.load(state) if state.exists() else tn.Accumulator(by="shop")
rng = np.random.default_rng(seed)
at = seen.position or 0
print("started", flush=True)
while at < y.size:
    end = min(y.size, at + int(rng.integers(1, 400)))
    seen.update(y[at:end], p[at:end], group=g[at:end], position=end)
    seen.save(state)
    at = end
"""


@pytest.mark.slow
def test_a_stream_killed_at_any_moment_counts_every_row_once(tmp_path):
    rng = np.random.default_rng(4)
    n = 25_000
    p = rng.random(n)
    y, g = rng.random(n) < p, rng.integers(0, 3, n)
    np.savez(tmp_path / "rows.npz", y=y, p=p, g=g)
    (tmp_path / "stream.py").write_text(STREAM)
    state, delays = tmp_path / "state.tally", random.Random(4)
    kills = ended = 0
    for attempt in range(60):
        command = [sys.executable, "stream.py", "rows.npz", "state.tally", str(attempt)]
        with subprocess.Popen(command, cwd=tmp_path, stdout=subprocess.PIPE) as process:
            process.stdout.read(7)  # until it has begun
            time.sleep(delays.uniform(0, 0.15) if kills < 6 else 0)
            if kills < 6 and process.poll() is None:
                os.kill(process.pid, signal.SIGKILL)
                kills += 1
            process.wait()
            ended = process.returncode == 0
        if ended:
            break
    assert ended
    assert kills >= 3
    whole = tn.Accumulator(by="shop")
    whole.update(y, p, group=g, position=n)
    assert state.read_bytes() == whole.to_bytes()


@pytest.mark.parametrize("bins", ["sketch", "distinct", 4])
def test_a_piece_of_which_no_row_is_left_adds_nothing_and_says_where_it_ends(bins):
    seen = tn.Accumulator(bins, missing="drop")
    seen.update([], [], sample_weight=[], position=0)
    seen.update([0, 1], [0.25, 0.5], position=2)
    before = seen.total
    seen.update([1, 0], [0.5, 0.75], sample_weight=[0, 0], position=4)
    seen.update([1, None], [float("nan"), 0.75], position=6)
    assert (seen.total, seen.position) == (before, 6)
    with pytest.raises(
        tn.InputError, match=r"must lie in \[0, 1\]; 1 of 2 values does not, the first is 1.5"
    ):
        seen.update([1, 0], [0.5, 1.5], sample_weight=[0, 0], position=8)


@pytest.mark.parametrize("bins", ["sketch", "distinct", 4])
def test_a_group_of_no_weight_is_left_out(bins):
    seen = tn.Accumulator(bins, by="shop")
    seen.update([0, 1, 1], [0.25, 0.5, 0.75], sample_weight=[1, 0, 0], group=["a", "b", "b"])
    assert seen.compute_by(tn.ece, bins=4) == {"a": 0.25}
    with pytest.raises(tn.InputError, match=r"1 of 3 values does not, the first is 1.5 at row 2"):
        seen.update([0, 1, 1], [0.25, 0.5, 1.5], sample_weight=[1, 0, 0], group=["a", "b", "b"])


@pytest.mark.parametrize("bins", ["sketch", "distinct", 4])
def test_weights_of_a_group_that_vanish_when_squared_are_refused(bins):
    seen = tn.Accumulator(bins, by="shop")
    with pytest.raises(
        tn.InputError, match=r"must be 0 or at least 1e-100 of the largest weight.* 1e-301 to 1"
    ):
        seen.update(
            [0, 1, 1], [0.25, 0.5, 0.75], sample_weight=[1, 1e-300, 1e-301], group=["a", "b", "b"]
        )
    assert seen.n == 0


def crafted(seen, **entries):
    """The bytes of an accumulator with other entries in the header."""
    header = store.unpack(seen.to_bytes(), "accumulator")
    return store.pack(header | entries)


def group(sums, key=None):
    return [key, store.describe(sums)]


EMPTY, BINS = tn.Accumulator(), tn.Accumulator(7)
FIVE = tn.binned([0, 1], [0.2, 0.7], bins=5)
MATRIX = tn.sketch([0, 1], [[0.2, 0.8], [0.5, 0.5]])


@pytest.mark.parametrize(
    ("data", "message"),
    [
        (crafted(BINS, groups=[group(FIVE)]), "`bins` is 7 here, and the edges differ there"),
        (
            crafted(EMPTY, groups=[group(SKETCH)], options={"kind": "confidence"}),
            "'confidence' here and 'binary' there",
        ),
        (
            crafted(EMPTY, groups=[group(SKETCH)], bins="distinct"),
            "The groups do not agree with the settings",
        ),
        (
            crafted(EMPTY, groups=[group(tn.sketch([], []))]),
            "The groups do not agree with the settings",
        ),
        (crafted(EMPTY, groups=[group(SKETCH, "a")]), "The groups do not agree with the settings"),
        (
            crafted(EMPTY, groups=[group(SKETCH, "a")] * 2, by="g"),
            "The groups do not agree with the settings",
        ),
        (crafted(EMPTY, groups=[group(SKETCH)], by="g"), "`group` must hold text"),
        (
            crafted(EMPTY, groups=[group(SKETCH, "1"), group(SKETCH, 1)], by="g"),
            "`group` must be of one type",
        ),
        (
            crafted(EMPTY, groups=[group(SKETCH, "a"), group(MATRIX, "b")], by="g"),
            "All batches must be of one kind",
        ),
        (
            crafted(EMPTY, form="tally", groups=[group(tn.tally([1], [0.5]))]),
            "The groups do not agree",
        ),
        (crafted(EMPTY, form=["sketch"]), "its header is damaged"),
        (crafted(EMPTY, form="cake"), "its header is damaged"),
        (crafted(EMPTY, cake=1), "its header is damaged"),
        (crafted(EMPTY, options=[]), "its header is damaged"),
        (
            crafted(EMPTY, options={"missing": "perhaps"}),
            "`missing` must be 'raise' or 'drop'; got 'perhaps'",
        ),
        (crafted(EMPTY, options={"words": 1}), "unexpected keyword argument 'words'"),
        (crafted(EMPTY, other_label="no"), "its labels contradict each other"),
        (
            crafted(EMPTY, options={"pos_label": "no"}, other_label="no"),
            "its labels contradict each other",
        ),
        (
            crafted(EMPTY, options={"pos_label": "no"}, other_label=["yes"]),
            "its labels contradict each other",
        ),
    ],
)
def test_bytes_with_a_right_checksum_and_wrong_content_are_refused(data, message):
    with pytest.raises(tn.InputError, match=f"The sums cannot be read: .*{message}") as caught:
        tn.Accumulator.from_bytes(data)
    assert not str(caught.value).endswith("..")


def test_rows_are_read_as_elsewhere_unless_options_say_otherwise():
    with pytest.raises(tn.InputError, match="must lie in"):
        tn.Accumulator().update([0, 1], [0.5, 1.000001])
    for options, p, same in (
        ({"clip_tolerance": 0.01}, [0.5, 1.000001], [0.5, 1.0]),
        ({"percent": True}, [50.0, 20.0], [0.5, 0.2]),
        ({"from_logits": True}, [0.0, np.log(3)], [0.5, 0.75]),
    ):
        seen = tn.Accumulator("distinct", **options)
        seen.update([0, 1], p)
        assert seen.compute(tn.brier) == pytest.approx(tn.brier([0, 1], same), rel=1e-12)
        again = tn.Accumulator.from_bytes(seen.to_bytes())
        again.update([0, 1], p)
        assert again.n == 4


@pytest.mark.parametrize("bins", ["sketch", "distinct", 4, [0.0, 0.3, 1.0]])
def test_an_accumulator_says_what_it_holds(bins):
    seen = tn.Accumulator(bins)
    seen.update([0, 1], [0.2, 0.7])
    assert repr(seen) == f"Accumulator({bins!r}, 2 rows)"
    (last,) = pieces([0])
    last.about = {"pair": "\ud83d\ude00"}  # two bytes that are no UTF-8, not one character
    assert stored(last).about == last.about
    by = tn.Accumulator(bins, by="day")
    by.update([0, 1, 1], [0.2, 0.7, 0.8], group=["b", "a", "b"])
    assert repr(by) == f"Accumulator({bins!r}, 3 rows, 2 groups by 'day')"
    assert list(by.groups) == ["a", "b"]
    assert by.compute_by(lambda sums: sums.n) == {"a": 1, "b": 2}
    assert by.total.n == 3


def test_a_batch_at_an_earlier_position_is_refused_by_name():
    seen = tn.Accumulator()
    seen.update([0, 1], [0.25, 0.5], position=2)
    for position in (2, 1):
        with pytest.raises(
            tn.InputError,
            match=f"`position` must come after the last one, 2; got {position}, so that",
        ):
            seen.update([0, 1], [0.25, 0.5], position=position)
    seen.update([], [], position=2)  # nothing new in the stream
    assert (seen.n, seen.position) == (2, 2)
    files = tn.Accumulator()
    files.update([0], [0.5], position={"file": "b.csv"})
    with pytest.raises(tn.InputError, match="`position` must come after the last one"):
        files.update([0], [0.5], position={"file": "b.csv"})
    files.update(
        [0], [0.5], position={"file": "a.csv"}
    )  # only numbers and times are known to ascend
    assert files.n == 2
    files.position = None
    files.update([0], [0.5], position="2026-02-01")
    with pytest.raises(
        tn.InputError, match="must come after the last one, '2026-02-01'; got '2026-01-31', so that"
    ):
        files.update([0], [0.5], position="2026-01-31")
    with pytest.raises(
        tn.InputError, match="got '2026-02-01T00:00:00', so that these rows were added already"
    ):
        files.update([0], [0.5], position="2026-02-01T00:00:00")


@pytest.mark.parametrize("bins", KEPT)
@given(rows=rows, seed=st.integers(0, 9))
def test_groups_of_several_columns_are_those_of_a_scan(bins, rows, seed):
    y, p = arrays(rows)
    rng = np.random.default_rng(seed)
    groups = {
        "shop": np.array(["n", "s"])[rng.integers(0, 2, y.size)],
        "day": rng.integers(0, 3, y.size),
    }
    seen = tn.Accumulator(bins, by=["shop", "day"])
    seen.update(y[:1], p[:1], group={"shop": str(groups["shop"][0]), "day": groups["day"][:1]})
    seen.update(
        y[1:], p[1:], group=pl.DataFrame({name: values[1:] for name, values in groups.items()})
    )
    read = tn.Accumulator.from_bytes(seen.to_bytes())
    assert (read.by, read.groups, list(read.groups)) == (
        ("shop", "day"),
        seen.groups,
        sorted(seen.groups),
    )
    keys = list(zip(*(values.tolist() for values in groups.values()), strict=True))
    assert seen.groups.keys() == set(keys)
    for key, sums in seen.groups.items():
        at = [one == key for one in keys]
        assert sums == KEPT[bins](y[at], p[at])
    how = {"bins": None if bins == "distinct" else bins, "label": "y", "prob": "p"}
    frame = pl.DataFrame({"y": y, "p": p, **groups})
    assert tn.scan_groups(frame, by=["shop", "day"], **how) == seen.groups
    with pytest.raises(
        tn.InputError, match=r"must be grouped by \('shop', 'day'\); got \('day', 'shop'\)"
    ):
        read.merge(tn.scan_groups(frame, by=["day", "shop"], **how))
    read.merge(seen.groups)
    read.subtract(seen)
    assert read.to_bytes() == seen.to_bytes()
    read.subtract(seen.groups)
    assert (read.n, read.groups) == (0, {})


def test_small_groups_are_left_out_and_counted():
    seen = tn.Accumulator(by="shop")
    seen.update([0, 1, 1, 0], [0.25, 0.5, 0.5, 1.0], group=["a", "a", "b", "c"])
    with pytest.warns(
        tn.errors.DroppedRowsWarning,
        match="2 groups of fewer than 2 rows left out: 2 rows are hidden",
    ):
        seen.suppress(2)
    assert list(seen.groups) == ["a"]
    seen.suppress(2)  # nothing is hidden, and nothing said


@pytest.mark.parametrize("buckets", [None, 32])
@pytest.mark.parametrize("reads", [(), (1, 4)])
def test_many_small_groups_have_the_sums_of_each_batch_added_one_by_one(buckets, reads):
    rng = np.random.default_rng(1)
    seen = tn.Accumulator(by=["country", "app"], buckets=buckets)
    expected: dict = {}
    for batch in range(6):
        p = rng.uniform(size=400).round(3)
        y = rng.uniform(size=400) < p
        country = rng.choice(["FR", "JP", "US"][: 1 + batch], 400)
        app = rng.integers(0, 4, 400)
        user = rng.integers(0, 60, 400)
        group = {"country": country, "app": app}
        clusters = {} if buckets is None else {"cluster": user}
        seen.update(y, p, group=group, **clusters)
        if batch in reads:  # what was read is what the next batch is added to
            assert seen.n == sum(sums.n for sums in seen.groups.values()) == 400 * (1 + batch)
        for key in sorted(set(zip(country.tolist(), app.tolist(), strict=True))):
            rows = (country == key[0]) & (app == key[1])
            names = {} if buckets is None else {"cluster": user[rows], "buckets": buckets}
            sums = tn.sketch(y[rows], p[rows], **names)
            expected[key] = expected[key] + sums if key in expected else sums
    assert seen.n == 2400
    assert seen.groups == expected
    again = tn.Accumulator.from_bytes(seen.to_bytes())
    assert again.groups == expected
    with pytest.raises(tn.InputError, match=r"the first is 1\.5 at row 1"):
        seen.update(
            [0, 1], [0.5, 1.5], group={"country": ["FR", "US"], "app": [1, 1]},
            **({} if buckets is None else {"cluster": [1, 2]}),
        )  # fmt: skip
    with pytest.raises(tn.InputError, match="must be of one type throughout"):
        seen.update(
            [0, 1], [0.5, 0.5], group={"country": [1, 2], "app": [1, 1]},
            **({} if buckets is None else {"cluster": [1, 2]}),
        )  # fmt: skip
    assert seen.groups == expected
