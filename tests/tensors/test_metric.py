"""The metric: batches, merges, processes and states."""

import copy
import pickle

import numpy as np
import pytest

import trueness as tn

torch = pytest.importorskip("torch", reason="torch is not installed")

from trueness.torch import CalibrationError  # noqa: E402

KINDS = [
    {"kind": "binary"},
    {"kind": "binary", "from_logits": True},
    {"kind": "confidence", "from_logits": True},
    {"kind": "classwise", "from_logits": True, "n_classes": 4},
    {"kind": "confidence"},
    {"kind": "classwise", "n_classes": 4},
    {"kind": "top-label", "from_logits": True, "n_classes": 4},
    {"kind": "top-label", "n_classes": 4},
]


def some_rows(options, n=600, seed=1):
    generator = torch.Generator().manual_seed(seed)
    if options["kind"] == "binary":
        z = 2 * torch.randn(n, generator=generator)
        return (torch.rand(n, generator=generator) < 0.4), z if "from_logits" in options else torch.sigmoid(z)
    z = torch.randn(n, 4, generator=generator, dtype=torch.float64)
    return torch.randint(0, 4, (n,), generator=generator), z if "from_logits" in options else torch.softmax(z, 1)


def rows_of(options):
    return {k: v for k, v in options.items() if k == "from_logits" or (k == "kind" and v != "binary")}


@pytest.mark.parametrize("options", KINDS, ids=str)
@pytest.mark.parametrize("norm", ["l1", "l2", "max", 3.0])
def test_batches_give_what_all_rows_give(options, norm):
    y, p = some_rows(options)
    metric = CalibrationError(bins=15, norm=norm, **options)
    for part in (slice(0, 100), slice(100, 101), slice(101, 101), slice(101, None)):
        metric.update(y[part], p[part])
    value = metric.compute()
    assert value.dtype == torch.float64
    assert value.item() == tn.ece(y, p, bins=15, norm=norm, **rows_of(options))


@pytest.mark.parametrize("options", KINDS, ids=str)
def test_its_sums_answer_any_measure(options):
    y, p = some_rows(options)
    metric = CalibrationError(moments=True, **options)
    metric.update(y, p)
    assert metric.binned == tn.binned(y, p, **rows_of(options))
    assert tn.squared_ece(metric.binned, bins=10) == tn.squared_ece(tn.binned(y, p, **rows_of(options)), bins=10)


def test_a_call_returns_the_error_of_the_batch_and_keeps_it():
    y, p = some_rows(KINDS[0])
    metric = CalibrationError()
    assert metric(y[:300], p[:300]).item() == tn.ece(y[:300], p[:300])
    assert metric(y[300:], p[300:]).item() == tn.ece(y[300:], p[300:])
    assert metric.compute().item() == tn.ece(y, p)


@pytest.mark.parametrize("options", KINDS, ids=str)
def test_metrics_merge_in_any_order(options):
    y, p = some_rows(options)
    parts = [CalibrationError(**options) for _ in range(3)]
    for metric, rows in zip(parts, (slice(0, 10), slice(10, 400), slice(400, None)), strict=True):
        metric.update(y[rows], p[rows])
    whole, other = CalibrationError(**options), CalibrationError(**options)
    whole.merge_state(parts)
    for metric in reversed(parts):
        other.merge_state(metric)
    assert whole.binned == other.binned
    assert whole.compute().item() == tn.ece(y, p, **rows_of(options))


def test_reset_forgets():
    y, p = some_rows(KINDS[0])
    metric = CalibrationError()
    metric.update(y, p)
    metric.reset()
    with pytest.raises(tn.InputError, match="An empty Binned has no calibration error"):
        metric.compute()


def test_a_state_is_saved_loaded_and_pickled(tmp_path):
    y, p = some_rows(KINDS[3])
    metric = CalibrationError(**KINDS[3])
    metric.update(y, p)
    torch.save(metric.state_dict(), tmp_path / "state.pt")
    again = CalibrationError(**KINDS[3])
    again.load_state_dict(torch.load(tmp_path / "state.pt", weights_only=True))
    again.update(y, p)
    metric.merge_state(pickle.loads(pickle.dumps(metric)))
    assert again.binned == metric.binned


def test_a_state_is_a_copy():
    y, p = some_rows(KINDS[0])
    metric, other = CalibrationError(), CalibrationError()
    metric.update(y, p)
    state = metric.state_dict()
    other.load_state_dict(state)
    other.update(y, p)
    assert state["sums"][:-5].view(10, 2, 5)[..., 0].sum() == 600
    assert metric.binned.n == 600


def test_moving_keeps_the_sums():
    y, p = some_rows(KINDS[0])
    metric = CalibrationError(device="cpu")
    metric.update(y, p)
    assert metric.to("cpu").compute().item() == tn.ece(y, p)
    assert metric.device == torch.device("cpu")


@pytest.mark.parametrize("options", KINDS, ids=str)
def test_batches_with_and_without_weights_add_up(options):
    y, p = some_rows(options)
    w = torch.rand(600, generator=torch.Generator().manual_seed(2), dtype=torch.float64)
    w[200:] = 1
    metric, parts = CalibrationError(**options), [CalibrationError(**options) for _ in range(3)]
    for part, rows in zip(parts, (slice(0, 100), slice(100, 200), slice(200, None)), strict=True):
        weight = {} if rows.start == 200 else {"sample_weight": w[rows]}
        for each in (metric, part):
            each.update(y[rows], p[rows], **weight)
    expected = tn.ece(y, p, sample_weight=w, **rows_of(options))
    assert metric.compute().item() == pytest.approx(expected, rel=1e-12)
    assert metric.binned.weight == pytest.approx(w.sum().item(), rel=1e-14)
    whole = CalibrationError(**options)
    whole.merge_state(reversed(parts))
    assert whole.compute().item() == pytest.approx(expected, rel=1e-12)


def test_a_weighted_call_returns_the_error_of_the_batch():
    y, p = some_rows(KINDS[0])
    w = torch.arange(600) % 4
    metric = CalibrationError()
    assert metric(y, p, sample_weight=w).item() == pytest.approx(tn.ece(y, p, sample_weight=w), rel=1e-12)
    assert metric.forward(y, p).item() == tn.ece(y, p)
    expected = tn.ece(y, p, sample_weight=w + 1)
    assert metric.compute().item() == pytest.approx(expected, rel=1e-12)


def test_a_batch_of_no_weight_adds_nothing():
    y, p = some_rows(KINDS[0])
    metric = CalibrationError()
    metric.update(y, p, sample_weight=torch.zeros(600))
    with pytest.raises(tn.InputError, match="An empty Binned has no calibration error"):
        metric.compute()
    metric.update(y, p)
    assert metric.compute().item() == tn.ece(y, p)


def test_weights_whose_squares_vanish_are_refused():
    y, p = some_rows(KINDS[0])
    metric = CalibrationError()
    metric.update(y, p, sample_weight=torch.full((600,), 1e-3, dtype=torch.float64))
    state = metric.state_dict()
    state["weighted"][..., 1:7] *= 1e-120
    state["weighted"][..., 2] *= 1e-120
    metric.load_state_dict(state)
    with pytest.raises(tn.InputError, match="`sample_weight` must add up to at least 1e-100; got 6e-121"):
        metric.compute()


def test_weighted_states_are_saved_copied_and_reset(tmp_path):
    y, p = some_rows(KINDS[2])
    w = torch.rand(600, generator=torch.Generator().manual_seed(2))
    metric = CalibrationError(**KINDS[2])
    metric.update(y, p, sample_weight=w)
    expected = metric.compute()
    torch.save(metric.state_dict(), tmp_path / "state.pt")
    again = CalibrationError(**KINDS[2])
    again.load_state_dict(torch.load(tmp_path / "state.pt", weights_only=True))
    twin, unpickled = copy.deepcopy(metric), pickle.loads(pickle.dumps(metric))
    metric.update(y, p)
    for other in (again, twin, unpickled, again.to("cpu")):
        assert other.compute() == expected
    metric.reset()
    metric.update(y, p)
    assert metric.compute().item() == tn.ece(y, p, kind="confidence", from_logits=True)
    state = twin.state_dict()
    with pytest.raises(
        tn.InputError, match=r"`state\['weighted'\]` must be a tensor of float64 and shape \(2, 1, 10, 8\)"
    ):
        metric.load_state_dict(state | {"weighted": state["weighted"][0]})


@pytest.mark.parametrize("options", KINDS, ids=str)
def test_rows_of_the_ignored_label_are_left_out(options):
    y, p = some_rows(options)
    y = y.long()
    y[::5] = -100
    p[::10] = float("nan")
    kept = y != -100
    metric = CalibrationError(ignore_index=-100, **options)
    for rows in (slice(0, 100), slice(100, None)):
        metric.update(y[rows], p[rows])
    assert metric.compute().item() == tn.ece(y[kept], p[kept], **rows_of(options))
    with pytest.raises(
        tn.InputError, match="`others` must have the same `ignore_index` as this metric, -100; got None"
    ):
        metric.merge_state(CalibrationError(**options))


class Loop(torch.nn.Module):
    """What a training loop does with a metric: sums made in one mode, added to in another."""

    def __init__(self):
        super().__init__()
        self.layer = torch.nn.Linear(3, 4)
        self.metric = CalibrationError(kind="confidence", from_logits=True)

    def epoch(self, x, y, w):
        for rows in torch.arange(len(y)).split(32):
            self.metric.update(y[rows], self.layer(x[rows]), sample_weight=w[rows])
        value = self.metric.compute()
        self.metric.reset()
        return value


def test_a_metric_lives_in_a_training_loop():
    generator = torch.Generator().manual_seed(0)
    loop = Loop()
    x, y = torch.randn(100, 3, generator=generator), torch.randint(0, 4, (100,), generator=generator)
    w = torch.rand(100, generator=generator)
    expected = tn.ece(y, loop.layer(x), kind="confidence", from_logits=True, sample_weight=w)
    with torch.inference_mode():
        first = loop.epoch(x, y, w)
        loop.metric.update(y, loop.layer(x), sample_weight=w)
        loop.metric.to("cpu").load_state_dict(loop.metric.state_dict())
    loop.metric.update(y, loop.layer(x), sample_weight=w)
    assert loop.metric.compute().item() == pytest.approx(expected, rel=1e-6)
    assert first.item() == pytest.approx(expected, rel=1e-6)
    loop.metric.reset()
    assert loop.epoch(x, y, w).item() == pytest.approx(expected, rel=1e-6)
    assert list(loop.state_dict()) == ["layer.weight", "layer.bias"]


def test_it_says_what_it_is():
    assert repr(CalibrationError()) == "CalibrationError(bins=10, norm='l1', kind='binary')"
    metric = CalibrationError(kind="top-label", n_classes=4, from_logits=True, ignore_index=-100, norm=2.5)
    assert repr(metric) == (
        "CalibrationError(bins=10, norm=2.5, kind='top-label', from_logits=True, n_classes=4, ignore_index=-100)"
    )


MESSAGES = [
    ({"kind": "multiclass"}, "`kind` must be 'binary', 'confidence', 'top-label' or 'classwise'; got 'multiclass'"),
    ({"kind": "top-label"}, "`n_classes` must be a whole number ≥ 2 for kind='top-label'; got None"),
    ({"ignore_index": -100.0}, r"`ignore_index` must be a whole number or None; got -100\.0"),
    ({"kind": "classwise"}, "`n_classes` must be a whole number ≥ 2 for kind='classwise'; got None"),
    ({"kind": "classwise", "n_classes": 1.0}, "`n_classes` must be a whole number"),
    ({"bins": tn.EqualMass(3)}, "`bins` must have fixed edges"),
    ({"bins": 0}, "`bins` must be a whole number ≥ 1"),
    ({"norm": "rms"}, "`norm` must be 'l1', 'l2', 'max' or a number ≥ 1; got 'rms'"),
]


@pytest.mark.parametrize(("options", "message"), MESSAGES)
def test_options_that_cannot_be_are_refused(options, message):
    with pytest.raises(tn.InputError, match=message):
        CalibrationError(**options)


def test_rows_of_another_shape_are_refused_and_change_nothing():
    metric = CalibrationError(kind="confidence", from_logits=True)
    y, z = some_rows(KINDS[2])
    metric.update(y, z)
    for bad, message in (
        ((y, z[:, 0]), r"`logits` must have shape \(n, K\)"),
        ((y, z[:, :3]), r"`logits` must have 4 columns \(`n_classes`\); got 3"),
        ((y + 1, z), "class codes 0 to 3"),
        ((y, z * float("nan")), "no nan"),
    ):
        with pytest.raises(tn.InputError, match=message):
            metric.update(*bad)
    assert metric.binned.n == 600


def test_other_sums_are_refused():
    metric = CalibrationError(bins=10)
    with pytest.raises(tn.InputError, match="`others` must have the same `edges` as this metric"):
        metric.merge_state(CalibrationError(bins=11))
    with pytest.raises(tn.InputError, match="`others` must be metrics of this class; got int"):
        metric.merge_state([1])
    with pytest.raises(
        tn.InputError, match="`state` must have the same `kind` as this metric, 'binary'; got 'confidence'"
    ):
        metric.load_state_dict(CalibrationError(kind="confidence").state_dict())
    with pytest.raises(tn.InputError, match="`state` must be what `state_dict` returned"):
        metric.load_state_dict({})
    state = metric.state_dict()
    with pytest.raises(tn.InputError, match=r"`state\['sums'\]` must be a tensor of int64 and shape \(105,\)"):
        metric.load_state_dict(state | {"sums": state["sums"].float()})


def changed(column, by, *, weighted=False):
    """Sums of a few rows, one of them changed."""
    y, p = some_rows(KINDS[0])
    metric = CalibrationError(moments=True)
    metric.update(y, p, sample_weight=torch.full((600,), 1.5, dtype=torch.float64) if weighted else None)
    state = metric.state_dict()
    sums = state["weighted"][0] if weighted else state["sums"][:-5].view(1, 10, 2, 5)
    sums.view(-1, sums.shape[-1])[3, column] += by
    return state


@pytest.mark.parametrize(
    ("state", "law"),
    [
        (lambda: changed(0, -1000), "finite and not below 0"),
        (lambda: changed(0, 2**62), "at most 68,719,476,736 rows in a bin"),
        (lambda: changed(1, 2**52), "a mean score must lie in its bin"),
        (lambda: changed(0, 0.5, weighted=True), "its counts must be whole numbers"),
        (lambda: changed(0, float("nan"), weighted=True), "its counts must be whole numbers"),
        (lambda: changed(1, float("inf"), weighted=True), "finite and not below 0"),
        (lambda: changed(3, 1e9, weighted=True), "more events than rows"),
        (lambda: changed(4, 1e9, weighted=True), "a mean score must lie in its bin"),
    ],
)
def test_sums_that_no_rows_have_are_not_loaded(state, law):
    metric = CalibrationError(moments=True)
    metric.update(*some_rows(KINDS[0]))
    before = metric.compute()
    with pytest.raises(tn.InputError, match=law):
        metric.load_state_dict(state())
    assert metric.compute() == before


def test_sums_that_may_have_overflowed_are_no_result():
    metric = CalibrationError(bins=2)
    metric.update(*some_rows(KINDS[0]))
    metric._sums.table[0, 1, 1, 0] = 2**36 + 1
    with pytest.raises(tn.InputError, match="at most 68,719,476,736 rows in a bin; one has 68,719,47"):
        metric.compute()


def test_bins_of_all_classes_have_a_limit():
    with pytest.raises(tn.InputError, match="`bins` must be at most 8 with 1,000,000 classes"):
        CalibrationError(kind="classwise", n_classes=10**6)
    with pytest.raises(tn.InputError, match="`bins` must be at most 838,860 with 10 classes"):
        tn.torch.binned(torch.arange(10), torch.eye(10), bins=10**6, kind="classwise")


def test_a_number_of_left_out_rows_below_zero_is_not_loaded():
    metric = CalibrationError(kind="classwise", n_classes=3)
    metric.update(torch.tensor([0, 1, 2]), torch.eye(3))
    state = metric.state_dict()
    state["sums"][-5:] -= 1
    with pytest.raises(tn.InputError, match="its counts must be whole numbers"):
        metric.load_state_dict(state)


@pytest.mark.parametrize(
    ("fault", "message"),
    [
        (0, r"`y_prob` must lie in \[0, 1\]; 3 rows did not. `validate=True`"),
        (1, "`y_true` must hold 0/1 or class codes; 3 labels did not"),
        (2, "`bins` must cover every score; .* 3 scores were outside"),
        (3, "Rows of `y_prob` must sum to 1; 3 did not"),
        (4, "`sample_weight` must be finite, at least 0 and at most 1e100; 3 weights were not"),
    ],
)
def test_rows_that_were_left_out_raise_at_the_end(fault, message):
    metric = CalibrationError()
    metric.update(*some_rows(KINDS[0]))
    state = metric.state_dict()
    state["sums"][-5 + fault] += 3
    metric.load_state_dict(state)
    with pytest.raises(tn.InputError, match=message):
        metric.compute()
    with pytest.raises(tn.InputError, match=message):
        _ = metric.binned


def one_weighted_process(rank, folder, options):
    torch.distributed.init_process_group("gloo", init_method=f"file://{folder}/meet", rank=rank, world_size=2)
    y, p = some_rows(options)
    w = torch.arange(600).double() / 7
    metric = CalibrationError(**options)
    if rank == 0:  # the other has no weights at first, then no rows without them
        metric.update(y[:400], p[:400], sample_weight=w[:400])
    first = metric.compute().item()
    if rank == 1:
        metric.update(y[400:], p[400:], sample_weight=w[400:])
    second = metric.compute().item()
    metric.update(y, p)
    torch.save((first, second, metric.compute().item()), f"{folder}/{rank}.pt")
    torch.distributed.destroy_process_group()


def one_process(rank, folder, options):
    torch.distributed.init_process_group("gloo", init_method=f"file://{folder}/meet", rank=rank, world_size=2)
    y, p = some_rows(options)
    metric = CalibrationError(**options)
    if rank == 0:  # the other has no rows at first
        metric.update(y[:150], p[:150])
        metric.update(y[150:400], p[150:400])
    first = metric.compute().item()
    if rank == 1:
        metric.update(y[400:], p[400:])
    own = CalibrationError(sync=False, **options)
    own.update(y[:50], p[:50])
    torch.save((first, metric.compute().item(), own.compute().item()), f"{folder}/{rank}.pt")
    torch.distributed.destroy_process_group()


@pytest.mark.skipif(not torch.distributed.is_available(), reason="this build of torch has no distributed package")
@pytest.mark.parametrize("options", [KINDS[0], KINDS[3]], ids=str)
def test_two_processes_see_all_rows(tmp_path, options):
    y, p = some_rows(options)
    expected = tuple(tn.ece(y[:n], p[:n], **rows_of(options)) for n in (400, 600, 50))
    assert in_two_processes(one_process, tmp_path, options) == [expected, expected]


@pytest.mark.skipif(not torch.distributed.is_available(), reason="this build of torch has no distributed package")
@pytest.mark.parametrize("options", [KINDS[0], KINDS[6]], ids=str)
def test_two_processes_see_all_weights(tmp_path, options):
    y, p = some_rows(options)
    w = torch.arange(600).double() / 7
    weights = (w[:400], w, w + 2)
    expected = [tn.ece(y[: len(v)], p[: len(v)], sample_weight=v, **rows_of(options)) for v in weights]
    first, second = in_two_processes(one_weighted_process, tmp_path, options)
    assert first == second
    np.testing.assert_allclose(first, expected, rtol=1e-12)


def in_two_processes(work, folder, options):
    context = torch.multiprocessing.get_context("fork")
    workers = [context.Process(target=work, args=(rank, str(folder), options)) for rank in range(2)]
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join(60)
    return [torch.load(folder / f"{rank}.pt") for rank in range(2)]


@pytest.mark.skipif(not torch.cuda.is_available(), reason="needs a CUDA device")
@pytest.mark.filterwarnings("ignore:Synchronization debug mode")
@pytest.mark.parametrize("options", KINDS, ids=str)
@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("ignored", [None, -100])
def test_update_on_cuda_never_waits(options, weighted, ignored):
    y, p = some_rows(options)
    y = y.float()  # as losses of two classes want them
    w = torch.arange(600) % 5 if weighted else None
    kept = torch.arange(600) % 3 > 0 if ignored else torch.ones(600, dtype=torch.bool)
    y[~kept] = -100
    batch = {} if w is None else {"sample_weight": w.cuda()}
    rows = y.cuda(), p.cuda()
    metric, other = (CalibrationError(device="cuda:0", ignore_index=ignored, **options) for _ in range(2))
    metric.update(*rows, **batch)
    torch.cuda.set_sync_debug_mode("error")
    try:
        other.update(*rows, **batch)
        metric.merge_state(other)
    finally:
        torch.cuda.set_sync_debug_mode("default")
    weight = {} if w is None else {"sample_weight": w[kept]}
    expected = tn.ece(y[kept], p[kept], **weight, **rows_of(options))
    assert metric.compute().item() == pytest.approx(
        expected, rel=1e-12 if weighted or not options.get("from_logits") else 1e-6
    )
    assert metric.binned.n == 2 * int((kept if w is None else kept & (w > 0)).sum())
    assert metric.to("cpu").compute().item() == pytest.approx(expected, abs=1e-6)
    assert repr(other).endswith("device='cuda:0')")


def test_a_metric_does_not_merge_with_itself_and_a_refused_merge_adds_nothing():
    metric, same, other = CalibrationError(), CalibrationError(), CalibrationError(bins=5)
    for one in (metric, same, other):
        one.update(torch.tensor([0, 1]), torch.tensor([0.25, 0.75]))
    with pytest.raises(tn.InputError, match="this very metric"):
        metric.merge_state([same, metric])
    with pytest.raises(tn.InputError, match="the same `edges`"):
        metric.merge_state([same, other])
    assert metric.binned.n == 2
    metric.merge_state([same, same])
    assert metric.binned.n == 6
