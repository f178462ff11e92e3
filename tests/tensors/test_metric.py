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
        return (
            torch.rand(n, generator=generator) < 0.4
        ), z if "from_logits" in options else torch.sigmoid(z)
    z = torch.randn(n, 4, generator=generator, dtype=torch.float64)
    return torch.randint(
        0, 4, (n,), generator=generator
    ), z if "from_logits" in options else torch.softmax(z, 1)


def rows_of(options):
    return {
        k: v for k, v in options.items() if k == "from_logits" or (k == "kind" and v != "binary")
    }


@pytest.mark.parametrize("options", KINDS, ids=str)
def test_batches_give_what_all_rows_give(options):
    y, p = some_rows(options)
    metrics = [
        CalibrationError(bins=15, norm=norm, moments=True, **options)
        for norm in ("l1", "l2", "max", 3.0)
    ]
    for metric in metrics:
        for part in (slice(0, 100), slice(100, 101), slice(101, 101), slice(101, None)):
            metric.update(y[part], p[part])
        value = metric.compute()
        assert value.dtype == torch.float64
        assert value.item() == tn.ece(y, p, bins=15, norm=metric.norm, **rows_of(options))
    assert metric.binned == tn.binned(y, p, bins=15, **rows_of(options))
    expected = metric.binned
    metric.merge_state(reversed(metrics[:2]))
    metrics[0].merge_state(metrics[1])
    metrics[0].merge_state(metrics[2])
    assert metric.binned == metrics[0].binned == expected + expected + expected


def test_a_call_returns_the_error_of_the_batch_and_keeps_it():
    y, p = some_rows(KINDS[0])
    w = torch.arange(600) % 4
    metric = CalibrationError()
    assert metric(y[:300], p[:300]).item() == tn.ece(y[:300], p[:300])
    assert metric.forward(y[300:], p[300:]).item() == tn.ece(y[300:], p[300:])
    assert metric.compute().item() == tn.ece(y, p)
    assert metric(y, p, sample_weight=w).item() == pytest.approx(
        tn.ece(y, p, sample_weight=w), rel=1e-12
    )
    assert metric.compute().item() == pytest.approx(tn.ece(y, p, sample_weight=w + 1), rel=1e-12)
    metric.reset()
    with pytest.raises(tn.InputError, match="An empty Binned has no calibration error"):
        metric.compute()


@pytest.mark.parametrize("options", [KINDS[0], KINDS[3]], ids=str)
@pytest.mark.parametrize("weighted", [False, True])
def test_a_state_is_saved_loaded_copied_and_pickled(tmp_path, options, weighted):
    y, p = some_rows(options)
    w = torch.rand(600, generator=torch.Generator().manual_seed(2)) if weighted else None
    metric = CalibrationError(**options)
    metric.update(y, p, sample_weight=w)
    expected = metric.compute()
    torch.save(metric.state_dict(), tmp_path / "state.pt")
    loaded = CalibrationError(**options)
    loaded.load_state_dict(torch.load(tmp_path / "state.pt", weights_only=True))
    others = [loaded, copy.deepcopy(metric), pickle.loads(pickle.dumps(metric)), loaded.to("cpu")]
    state = metric.state_dict()
    metric.load_state_dict(state)
    metric.update(y, p, sample_weight=w)
    assert metric.binned.n == 1200
    for other in others:
        assert other.compute() == expected
        assert other.binned.n == 600
    assert loaded.device == torch.device("cpu")
    loaded.load_state_dict(state)  # a copy, which the update above has not changed
    assert loaded.compute() == expected


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


def test_weights_that_are_zero_or_vanish():
    y, p = some_rows(KINDS[0])
    metric = CalibrationError()
    metric.update(y, p, sample_weight=torch.zeros(600))
    with pytest.raises(tn.InputError, match="An empty Binned has no calibration error"):
        metric.compute()
    metric.update(y, p, sample_weight=torch.full((600,), 1e-3, dtype=torch.float64))
    state = metric.state_dict()
    state["weighted"][..., 1:7] *= 1e-120
    state["weighted"][..., 2] *= 1e-120
    metric.load_state_dict(state)
    with pytest.raises(
        tn.InputError, match="`sample_weight` must add up to at least 1e-100; got 6e-121"
    ):
        metric.compute()


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
        tn.InputError,
        match="`others` must have the same `ignore_index` as this metric, -100; got None",
    ):
        metric.merge_state(CalibrationError(**options))


def test_sums_made_in_inference_mode_are_added_to_outside_of_it():
    generator = torch.Generator().manual_seed(0)
    x, y = (
        torch.randn(100, 3, generator=generator),
        torch.randint(0, 4, (100,), generator=generator),
    )
    w = torch.rand(100, generator=generator)
    model = torch.nn.Linear(3, 4)
    model.metric = metric = CalibrationError(kind="confidence", from_logits=True)
    expected = tn.ece(y, model(x), kind="confidence", from_logits=True, sample_weight=w)
    with torch.inference_mode():
        for rows in torch.arange(100).split(32):
            metric.update(y[rows], model(x[rows]), sample_weight=w[rows])
        metric.to("cpu").load_state_dict(metric.state_dict())
    metric.update(y, model(x), sample_weight=w)
    assert metric.compute().item() == pytest.approx(expected, rel=1e-6)
    metric.reset()
    metric.update(y, model(x), sample_weight=w)
    assert metric.compute().item() == pytest.approx(expected, rel=1e-6)
    assert list(model.state_dict()) == ["weight", "bias"]


def test_it_says_what_it_is():
    assert repr(CalibrationError()) == "CalibrationError(bins=10, norm='l1', kind='binary')"
    text = "CalibrationError(bins=10, norm=2.5, kind='top-label', from_logits=True, n_classes=4, ignore_index=-100)"
    assert repr(eval(text)) == text


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


def test_other_sums_are_refused_and_a_refused_merge_adds_nothing():
    metric, same = CalibrationError(), CalibrationError()
    same.update(torch.tensor([0, 1]), torch.tensor([0.25, 0.75]))
    for other, message in (
        (CalibrationError(bins=11), "`others` must have the same `edges` as this metric"),
        (1, "`others` must be metrics of this class; got int"),
        (metric, "must not contain this very metric"),
    ):
        with pytest.raises(tn.InputError, match=message):
            metric.merge_state([same, other])
    assert metric.binned.n == 0
    metric.merge_state([same, same])
    assert metric.binned.n == 4
    with pytest.raises(
        tn.InputError, match="must have the same `kind` as this metric, 'binary'; got 'confidence'"
    ):
        metric.load_state_dict(CalibrationError(kind="confidence").state_dict())
    with pytest.raises(tn.InputError, match="`state` must be what `state_dict` returned"):
        metric.load_state_dict({})
    state = metric.state_dict()
    with pytest.raises(
        tn.InputError, match=r"`state\['sums'\]` must be a tensor of int64 and shape \(105,\)"
    ):
        metric.load_state_dict(state | {"sums": state["sums"].float()})
    message = r"`state\['weighted'\]` must be a tensor of float64 and shape \(2, 1, 10, 8\)"
    with pytest.raises(tn.InputError, match=message):
        metric.load_state_dict(state | {"weighted": torch.zeros(1, 10, 8, dtype=torch.float64)})


def changed(column, by, *, weighted=False):
    """Sums of a few rows, one of them changed."""
    y, p = some_rows(KINDS[0])
    metric = CalibrationError(moments=True)
    metric.update(
        y, p, sample_weight=torch.full((600,), 1.5, dtype=torch.float64) if weighted else None
    )
    state = metric.state_dict()
    sums = state["weighted"][0] if weighted else state["sums"][:-5].view(1, 10, 2, 5)
    (state["sums"][-5:] if column is None else sums.view(-1, sums.shape[-1])[3, column]).add_(by)
    return state


@pytest.mark.parametrize(
    ("state", "law"),
    [
        (lambda: changed(0, -1000), "finite and not below 0"),
        (lambda: changed(0, 2**62), "at most 68,719,476,736 rows in a bin"),
        (lambda: changed(1, 2**52), "exact sums are too large for its rows"),
        (lambda: changed(1, 2**28), "a mean score must lie in its bin"),
        (lambda: changed(None, -1), "its counts must be whole numbers"),
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
    metric, other = CalibrationError(bins=2), CalibrationError(bins=2)
    metric.update(torch.tensor([0, 1]), torch.tensor([0.25, 0.75]))
    state = metric.state_dict()
    state["sums"] *= 2**35 + 1
    other.load_state_dict(state)
    metric.merge_state([other, other])
    with pytest.raises(
        tn.InputError, match="at most 68,719,476,736 rows in a bin; one has 68,719,47"
    ):
        metric.compute()


def test_rows_that_were_left_out_raise_at_the_end():
    messages = (
        r"`y_prob` must lie in \[0, 1\]; 3 rows did not. `validate=True`",
        "`y_true` must hold 0/1 or class codes; 3 labels did not",
        "`bins` must cover every score; .* 3 scores were outside",
        "Rows of `y_prob` must sum to 1; 3 did not",
        "`sample_weight` must be finite, at least 0 and at most 1e100; 3 weights were not",
    )
    for fault, message in enumerate(messages):
        metric = CalibrationError()
        metric.update(*some_rows(KINDS[0]))
        state = metric.state_dict()
        state["sums"][-5 + fault] += 3
        metric.load_state_dict(state)
        with pytest.raises(tn.InputError, match=message):
            metric.compute()


def one_process(rank, folder, options, weighted):
    torch.distributed.init_process_group(
        "gloo", init_method=f"file://{folder}/meet", rank=rank, world_size=2
    )
    y, p = some_rows(options)
    w = torch.arange(600).double() / 7
    metric, own = CalibrationError(**options), CalibrationError(sync=False, **options)
    if rank == 0:  # the other has no rows at first, and never rows without weights
        for rows in (slice(0, 150), slice(150, 400)):
            metric.update(y[rows], p[rows], sample_weight=w[rows] if weighted else None)
    values = [metric.compute().item()]
    if rank == 1:
        metric.update(y[400:], p[400:], sample_weight=w[400:] if weighted else None)
    values.append(metric.compute().item())
    own.update(y[:50], p[:50])
    values.append(own.compute().item())
    if rank == 0:
        metric.update(y, p)
    values.append(metric.compute().item())
    torch.save(values, f"{folder}/{rank}.pt")
    torch.distributed.destroy_process_group()


@pytest.mark.skipif(
    not torch.distributed.is_available(), reason="this build of torch has no distributed package"
)
@pytest.mark.parametrize(("options", "weighted"), [(KINDS[0], True), (KINDS[3], False)], ids=str)
def test_two_processes_see_all_rows(tmp_path, options, weighted):
    y, p = some_rows(options)
    w = torch.arange(600).double() / 7 if weighted else torch.ones(600)
    cases = ((400, w), (600, w), (50, torch.ones(600)), (600, w + 1))
    expected = [tn.ece(y[:n], p[:n], sample_weight=v[:n], **rows_of(options)) for n, v in cases]
    context = torch.multiprocessing.get_context("fork")
    workers = [
        context.Process(target=one_process, args=(i, str(tmp_path), options, weighted))
        for i in range(2)
    ]
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join(60)
    first, second = (torch.load(tmp_path / f"{i}.pt") for i in range(2))
    assert first == second
    np.testing.assert_allclose(first, expected, rtol=1e-12)


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
    metric, other = (
        CalibrationError(device="cuda:0", ignore_index=ignored, **options) for _ in range(2)
    )
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
        expected, rel=1e-6 if options.get("from_logits") else 1e-12
    )
    assert metric.binned.n == 2 * int((kept if w is None else kept & (w > 0)).sum())
    assert metric.to("cpu").compute().item() == pytest.approx(expected, abs=1e-6)
    assert repr(other).endswith("device='cuda:0')")
