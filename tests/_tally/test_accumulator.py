"""What comes piece by piece is what came at once, also after a kill."""

import os
import random
import signal
import subprocess
import sys
import time

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from strategies import arrays, rows

import trueness as tn

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


@pytest.mark.parametrize("bins", ["sketch", "distinct", 4, [0, 0.25, 1]])
@given(rows=rows, seed=st.integers(0, 9))
def test_groups_are_kept_apart_and_come_back(bins, rows, seed):
    y, p = arrays(rows)
    g = np.random.default_rng(seed).integers(0, 3, y.size)
    seen = tn.Accumulator(bins, by="shop", about={"model": 7})
    seen.update(y, p, group=g, position={"row": y.size})
    found = tn.Accumulator.from_bytes(seen.to_bytes())
    assert found.groups == seen.groups
    assert list(found.groups) == sorted(set(g.tolist()))
    assert (found.position, found.about, found.by, found.n) == ({"row": y.size}, {"model": 7}, "shop", y.size)
    assert found.compute_by(tn.brier if bins != 4 else tn.mce, **({"bins": 4} if bins == 4 else {})).keys() == set(
        g.tolist()
    )


@given(rows=rows, cut=st.integers(0, 40), seed=st.integers(0, 9))
def test_merging_is_adding_in_any_order(rows, cut, seed):
    y, p = arrays(rows)
    order = np.random.default_rng(seed).permutation(y.size)
    whole, first, second = (tn.Accumulator() for _ in range(3))
    whole.update(y, p)
    first.update(y[order[cut:]], p[order[cut:]])
    second.update(y[order[:cut]], p[order[:cut]])
    first.merge(second)
    assert first.to_bytes() == whole.to_bytes()


@pytest.mark.parametrize("bins", KEPT)
@given(rows=rows, cut=st.integers(0, 40), seed=st.integers(0, 9))
def test_sums_made_elsewhere_are_added_as_rows_are(bins, rows, cut, seed):
    y, p = arrays(rows)
    g = np.random.default_rng(seed).integers(0, 3, y.size)
    alone, split, by = tn.Accumulator(bins), tn.Accumulator(bins, by="shop"), tn.Accumulator(bins, by="shop")
    alone.update(y[:cut], p[:cut])
    alone.merge(KEPT[bins](y[cut:], p[cut:]))
    assert alone.total == KEPT[bins](y, p)
    split.update(y, p, group=g)
    by.update(y[:cut], p[:cut], group=g[:cut])
    by.merge({k: KEPT[bins](y[cut:][g[cut:] == k], p[cut:][g[cut:] == k]) for k in set(g[cut:].tolist())})
    assert by.to_bytes() == split.to_bytes()


def test_a_merge_that_fails_leaves_everything_as_it_was():
    seen = tn.Accumulator(by="shop")
    seen.update([0, 1], [0.2, 0.7], group="b")
    before = seen.to_bytes()
    with pytest.raises(tn.InputError, match="Only sums of one kind add"):
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
    assert seen.groups["a"] == tn.sketch(y[g == "a"], P[g == "a"], kind=kind, sample_weight=w[g == "a"])
    assert tn.Accumulator.from_bytes(seen.to_bytes()).to_bytes() == seen.to_bytes()


def test_a_window_is_a_sum_of_days():
    rng = np.random.default_rng(0)
    p, day = rng.random(500), np.sort(rng.integers(1, 8, 500))
    y = rng.random(500) < p
    seen = tn.Accumulator("distinct", by="day")
    seen.update(y, p, group=day)
    last = day > 4
    assert tn.ece(sum(seen.groups[d] for d in (5, 6, 7))) == tn.ece(y[last], p[last])


def test_a_bad_piece_leaves_everything_as_it_was():
    seen = tn.Accumulator(by="shop")
    seen.update([0, 1], [0.2, 0.7], group="a", position=2)
    before = seen.to_bytes()
    with pytest.raises(tn.InputError, match="`y_prob` must lie in"):
        seen.update([0, 1, 1], [0.2, 0.7, 1.5], group=["a", "a", "b"], position=5)
    assert seen.to_bytes() == before
    with pytest.raises(tn.InputError, match=r"the first is 1\.5 at row 2"):
        seen.update([0, 1, 1], [0.2, 0.7, 1.5], group=["a", "a", "b"])
    seen.update([0, 1], [0.2, 0.7], group=["a", "z"], sample_weight=[1, 0])
    seen.update([], [], group=[], position=7)
    assert (seen.n, seen.position) == (3, 7)
    seen.reset()
    assert (seen.n, seen.position) == (0, None)


@pytest.mark.parametrize(
    ("act", "message"),
    [
        (lambda: tn.Accumulator("quantiles"), "`bins` must be 'sketch', 'distinct' or bins with fixed edges"),
        (lambda: tn.Accumulator(tn.EqualMass(3)), "`bins` must have fixed edges"),
        (lambda: tn.Accumulator(by="a", missing="drop"), "`missing='drop'` cannot say of which group a row was"),
        (lambda: tn.Accumulator(kind="binary"), "`kind` must be 'classwise', 'confidence' or 'top-label'"),
        (lambda: tn.Accumulator(by=["a"]), "`by` must be the name of the groups"),
        (lambda: tn.Accumulator(about={"x": {1, 2}}), "`about` must be ready for JSON"),
        (lambda: tn.Accumulator().update([0], [0.5], position={1}), "`position` must be ready for JSON"),
        (
            lambda: tn.Accumulator().update([0], [0.5], group="a"),
            "`group` needs an Accumulator that was made with `by`",
        ),
        (lambda: tn.Accumulator(by="x").update([0], [0.5]), "`group` must be said with every piece"),
        (lambda: tn.Accumulator(by="x").update([0, 1], [0.5, 0.5], group=["a"]), "`group` must have one entry per row"),
        (lambda: tn.Accumulator(by="x").update([0], [0.5], group=[float("nan")]), "`group` must hold text or numbers"),
        (lambda: tn.Accumulator().total, "An empty Accumulator has no sums"),
        (lambda: tn.Accumulator().merge(tn.tally([0], [0.5])), "must be an Accumulator or a Sketch; got Tally"),
        (lambda: tn.Accumulator().merge(3), "must be an Accumulator or a Sketch; got int"),
        (lambda: tn.Accumulator(5).merge({"a": SKETCH}), "must be an Accumulator or a Binned; got dict of Sketch"),
        (lambda: tn.Accumulator().merge({"a": SKETCH}), "must be an Accumulator or a Sketch; got dict"),
        (lambda: tn.Accumulator(by="x").merge(SKETCH), "or a dict of Sketch by x; got Sketch"),
        (lambda: tn.Accumulator("distinct", by="x").merge({"a": SKETCH}), "of Tally by x; got dict of Sketch"),
        (lambda: tn.Accumulator(by="x").merge({None: SKETCH}), "`group` must hold text or numbers"),
        (lambda: tn.Accumulator(kind="confidence").merge(SKETCH), "`kind` is 'confidence' here and 'binary' there"),
        (
            lambda: tn.Accumulator(labels=["a", "b"]).merge(tn.sketch([0, 1], np.eye(2))),
            r"`labels` is \['a', 'b'\] here and \[0, 1\] there",
        ),
        (lambda: tn.Accumulator(5).merge(tn.binned([0], [0.5])), "`bins` is 5 here and others there"),
        (lambda: tn.Accumulator(5).merge(tn.Accumulator(6)), "`bins` is 5 here and 6 there"),
        (lambda: tn.Accumulator(by="a").merge(tn.Accumulator()), "`by` is 'a' here and None there"),
    ],
)
def test_messages(act, message):
    with pytest.raises(tn.InputError, match=message):
        act()


@given(data=st.data())
def test_hostile_bytes_are_refused(data):
    import zlib

    seen = tn.Accumulator(by="shop")
    seen.update([0, 1, 1], [0.2, 0.7, 0.9], group=["a", "b", "b"], position=3)
    whole = bytearray(seen.to_bytes())
    for _ in range(data.draw(st.integers(1, 3))):
        whole[data.draw(st.integers(0, len(whole) - 1))] = data.draw(st.integers(0, 255))
    body = bytes(whole[: data.draw(st.integers(9, len(whole) - 4))])
    for hostile in (bytes(whole), body + zlib.crc32(body).to_bytes(4, "little")):
        try:
            found = tn.Accumulator.from_bytes(hostile)
        except tn.InputError:
            continue
        assert found.n >= 0


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
def test_a_piece_of_no_rows_may_have_weights(bins):
    seen = tn.Accumulator(bins)
    seen.update([], [], sample_weight=[])
    seen.update([0, 1], [0.25, 0.5], sample_weight=[1, 3])
    assert seen.n == 2
    assert seen.compute(tn.ece, bins=4) == 0.4375
