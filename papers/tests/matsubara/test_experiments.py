"""Matsubara et al. 2023: every experiment at its small size, and the two procedures on data that fit in a head."""

from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import trueness as tn
from trueness._numerics.binomial import binomial_rejections
from trueness.errors import InputError
from trueness_papers import EXPERIMENTS, run_experiment
from trueness_papers.matsubara.imagenet import plain_binomial
from trueness_papers.matsubara.procedures import (
    MEASURES,
    Options,
    by_code,
    by_text,
    code_bins,
    tce_variant,
)
from trueness_papers.matsubara.published import SUPPLEMENT, UCI, read
from trueness_papers.matsubara.scale import tce_for_many_rows
from trueness_papers.matsubara.simulation import logistic_scores
from trueness_papers.matsubara.uci import FILES, MODELS, load_split, predict
from trueness_papers.page import read_records

RESULTS = Path(__file__).parents[2] / "results"


def numbers(table):
    return {row.labels: row.ours for row in table.rows}


def by_source(table, source):
    return {row.labels: getattr(row, source) for row in table.rows}


# By table: how many of how many printed numbers agree with ours by the code and by the text.
AGREEMENT = {
    6: [(98, 98), (89, 98)],
    7: [(98, 98), (85, 98)],
    8: [(70, 70), (63, 70)],
    9: [(84, 84), (84, 84)],
    10: [(84, 84), (84, 84)],
    11: [(60, 60), (26, 60)],
    12: [(84, 84), (82, 84)],
    13: [(126, 126), (125, 126)],
}


@pytest.mark.parametrize("number", AGREEMENT)
def test_the_numbers_of_the_supplement(recorded, number):
    (table,) = recorded(f"matsubara-table-{number}").tables
    assert [table.agreement_with("published", column) for column in ("code", "text")] == AGREEMENT[
        number
    ]
    assert table.agreement_with("authors") == AGREEMENT[number][0]
    assert table.note or AGREEMENT[number][0] == AGREEMENT[number][1]


def test_table_8_needs_cuts_that_floating_point_has_moved(recorded):
    (table,) = recorded("matsubara-table-8").tables
    places = [("40 %", "100", "TCE(Q)"), ("40 %", "50", "TCE(Q)")]
    assert [by_source(table, "code")[place] for place in places] == pytest.approx(
        [32.2833, 56.7667], abs=5e-5
    )
    assert [by_source(table, "text")[place] for place in places] == pytest.approx(
        [31.2833, 57.85], abs=5e-5
    )


def test_table_11_is_an_artefact_of_the_variance(recorded):
    (table,) = recorded("matsubara-table-11").tables
    code, text = by_source(table, "code"), by_source(table, "text")
    assert code["50 %", "300", "TCE(P)-T"] == pytest.approx(37.8, abs=5e-5)
    assert text["50 %", "300", "TCE(P)-T"] == pytest.approx(7.35, abs=5e-5)
    # The t test proper says what the binomial test says.
    for (test, n_min, column), value in text.items():
        if column.endswith("-T"):
            assert value == pytest.approx(text[test, n_min, column[:-1] + "B"], abs=4.2)


def test_table_2(recorded):
    printed, stored, means, spread = recorded("matsubara-table-2").tables
    # All 24 printed numbers by the code; those of the file below 1 % are of twice the prevalence.
    agree = [printed.agreement_with("published", column) for column in ("code", "text")]
    assert agree == [(24, 24), (23, 24)]
    assert printed.agreement_with("authors") == stored.agreement_with("authors") == (18, 18)
    # By the text, rows without an event are one bin.
    text = by_source(printed, "text")
    wrong = [row.labels for row in printed.rows if row.agrees(printed.within, "text") is False]
    assert wrong == [("1 %", "0 %", "TCE(P)")]
    assert text[wrong[0]] == 100
    assert by_source(printed, "code")["1 %", "1 %", "TCE(P)"] == pytest.approx(3.4, abs=5e-5)
    assert by_source(stored, "code")["01-01", "2 %", "2 %", "TCE(P)"] == pytest.approx(
        13.1167, abs=5e-5
    )
    assert means.agreement == (0, 0)
    assert numbers(means)["50 %", "50 %", "TCE(P)"] == pytest.approx(12.2667, abs=5e-5)
    rows = {row.labels: row for row in spread.rows}
    # Twenty data sets of a calibrated model: single ones show anything between 3 and 20 %.
    calibrated = rows["50 %", "50 %", "TCE(P)"]
    assert 3 < calibrated.low < 7 < 13 < calibrated.high < 21


def test_table_5(recorded):
    table, fused = recorded("matsubara-table-5").tables
    wrong = [row for row in table.rows if row.agrees(table.within) is False]
    assert [row.labels for row in wrong] == [("ResNet152", "MCE(Q)")]
    assert round(wrong[0].code, 4) == wrong[0].authors == 0.0101
    assert table.agreement_with("authors") == table.agreement_with("authors", "text") == (12, 12)
    assert {row.labels[0] for row in table.rows if row.code is None} == {
        "VGG19",
        "ResNet18",
        "ResNet50",
    }
    assert [row.labels for row in fused.rows if row.labels[1] == "Algorithm 3"] == [
        ("AlexNet", "Algorithm 3", "19,970"),
        ("ResNet152", "Algorithm 3", "30,000"),
    ]


def test_table_5_runs_over_the_networks_of_the_data_file(tmp_path, monkeypatch):
    monkeypatch.setenv("TRUENESS_DATA", str(tmp_path))
    rng = np.random.default_rng(0)
    networks = {
        name: rng.random(200) for name in ("alexnet", "vgg19", "resnet18", "resnet50", "resnet152")
    }
    networks["vgg19"][0] = 1 + 1e-9  # a sum of softmax entries
    for names in (list(networks), ["resnet18"]):
        chosen = {name: networks[name] for name in names}
        np.savez(tmp_path / "imagenet_dogs.npz", y_true=rng.integers(0, 2, 200), **chosen)
        experiment, options = (
            EXPERIMENTS["matsubara-table-5"],
            {"size": "quick", "fresh": True, "progress": False},
        )
        table, fused = run_experiment(
            experiment, tmp_path / "out", pictures=False, **options
        ).tables
        ran = {row.labels[0] for row in table.rows if row.code is not None}
        assert len(ran) == len(fused.rows) / 2 == len(names)
        assert {row.note for row in table.rows if "ResNet50" in row.labels} == (
            {""} if len(names) == 5 else {"not run here: no `resnet50` in imagenet_dogs.npz"}
        )
        assert ("facebookresearch/tce" in table.note) is (len(names) < 5)


def test_the_plain_loop_rejects_the_same_predictions(data_folder):
    with np.load(data_folder / "imagenet_dogs.npz") as data:
        y, p = data["y_true"].astype(int), data["resnet152"].astype(float)
    order = np.argsort(p, kind="stable")
    y, p = y[order], p[order]
    first = code_bins(y, Options(2_500, 10_000))["P"]
    refuted = binomial_rejections(
        np.add.reduceat(y, first), np.diff(np.append(first, y.size)), first, p, 0.05
    )
    # A part with predictions of both kinds.
    part = next(i for i in range(100) if 0 < refuted[500 * i : 500 * i + 500].sum() < 500)
    found = plain_binomial("resnet152", part, 100)
    assert found["rows"] == 500
    assert found["rejected"] == refuted[500 * part : 500 * part + 500].sum()


def test_bins_on_synthetic_data(recorded):
    table, _ = recorded("matsubara-bins").tables
    text = by_source(table, "text")
    # PAVA has the least total that rising rates can have.
    for data in ("prevalence 50 %", "prevalence 2 %"):
        assert text[data, "total", "PAVA"] <= min(
            text[data, "total", rule] for rule in ("PAVA-BC", "quantiles")
        )


@pytest.mark.slow
def test_the_end_of_the_fit_decides_the_digits(recorded):
    table, procedures = recorded("matsubara-fit").tables
    then, converged, now = (row.ours for row in table.rows)
    assert "of the 352 numbers" in table.title
    assert (then, converged) == (352, 348)
    assert now < 300
    assert [row.ours for row in procedures.rows] == [352, 325, 322]


@pytest.mark.slow
def test_all_732_numbers_of_the_supplement_agree_by_the_code_and_666_by_the_text(recomputed):
    """675 if every block is a bin."""
    fits, procedures = recomputed("matsubara-fit").tables
    assert [row.ours for row in procedures.rows] == [732, 675, 666]
    assert [row.ours for row in fits.rows][:2] == [732, 723]


def test_the_stored_numbers_of_the_supplement_agree_as_often():
    stored = read_records(RESULTS)
    tables = [stored[f"matsubara-table-{number}"].tables[0] for number in AGREEMENT]
    agreeing = [
        sum(t.agreement_with("published", column)[0] for t in tables) for column in ("code", "text")
    ]
    code, blocks, text = (row.ours for row in stored["matsubara-fit"].tables[1].rows)
    assert agreeing == [code, text] == [732, 666]
    assert blocks == 675
    readme = (RESULTS.parents[1] / "README.md").read_text(encoding="utf-8")
    assert "Of the 732 numbers" in readme
    assert "666 by the text to the letter" in readme
    assert "675 if blocks of equal rate are kept" in readme


@pytest.mark.parametrize("features", [1, 3])
def test_the_fit_of_then_is_the_optimum_but_for_its_last_step(features):
    rng = np.random.default_rng(5)
    x = rng.normal(size=(2_000, features))
    y = (rng.random(2_000) < 1 / (1 + np.exp(-x.sum(axis=1)))).astype(int)
    then, best = (logistic_scores(x, y, x, ended) for ended in ("then", "converged"))
    assert np.abs(then - best).max() < 1e-4
    assert np.abs(then - best).max() > 0


def test_tce_of_a_calibrated_model_grows(recorded):
    growth, orders, limits = recorded("matsubara-scale").tables
    found = {row.labels: row for row in growth.rows}
    for rows, value in (("1,000", 13.2), ("10,000", 51), ("100,000", 84.4)):
        row = found[rows, "TCE(Q), %"]
        assert row.low - 1 < value < row.high + 1
    assert found["100,000", "TCE(Q) by the formula, %"].ours == pytest.approx(84.46, abs=0.005)
    counts = {row.labels[:2]: int(row.labels[2]) for row in orders.rows}
    assert counts["200", "pooled (this library)"] == counts["1,000", "pooled (this library)"] == 1
    assert (
        min(
            counts["200", "split by row order (the code)"],
            counts["1,000", "split by row order (the code)"],
        )
        >= 10
    )
    code, text = limits.rows
    assert code.ours > 0
    assert text.ours == 0
    assert int(code.labels[1]) > 200 >= int(text.labels[1])


def test_the_formula_for_many_rows_goes_to_one_hundred():
    assert [round(tce_for_many_rows(10**k)) for k in (5, 6, 8)] == [84, 95, 100]


@given(st.integers(20, 300), st.integers(0, 10**6))
def test_on_distinct_scores_isotonic_bins_are_the_same_by_both_procedures(n, seed):
    rng = np.random.default_rng(seed)
    p = rng.permutation(np.linspace(0.01, 0.99, n))
    y = (rng.random(n) < p).astype(int)
    limits = Options(n // 20, n // 5, n_bins=4)
    code, text = by_code(y, p, limits), by_text(y, p, limits)
    assert tuple(code) == tuple(text) == MEASURES
    for measure in ("TCE(V)", "ECE", "MCE"):
        assert code[measure] == pytest.approx(text[measure], abs=1e-9)


@given(st.lists(st.integers(0, 1), min_size=20, max_size=200))
def test_bins_of_the_code_hold_every_row_once(labels):
    y = np.array(labels)
    for first in code_bins(y, Options(y.size // 20, y.size // 5)).values():
        assert first[0] == 0
        assert (np.diff(np.append(first, y.size)) > 0).all()


def test_the_code_lets_the_last_block_exceed_its_limit():
    y = np.array([1, 1, 1, 0, 0, 0, 0])
    assert code_bins(y, Options(2, 5))["P"].tolist() == [0]
    assert tn.bin_table(
        y, np.arange(7) / 10, bins=tn.BlockIsotonic(2, 5, fuse=False)
    ).n.tolist() == [5, 2]
    p, options = np.linspace(0.1, 0.7, 7), Options(2, 5, n_bins=2)
    assert tce_variant(y, p, options)["TCE(P)"] == by_code(y, p, options)["TCE(P)"]
    assert tce_variant(y, p, options, end="text")["TCE(P)"] == by_text(y, p, options)["TCE(P)"]


def test_the_code_cuts_quantiles_where_floating_point_has_moved_them():
    first = code_bins(np.zeros(6000, int), Options(300, 1200, 100))["Q"]
    exact = np.arange(100) * 60
    assert first[29] == 1739
    assert np.unique(exact - first).tolist() == [0, 1]


def test_published_blocks_have_a_number_for_every_column():
    for file, block in SUPPLEMENT.items():
        columns = range(6) if file.startswith("testtype") else range(7)
        assert all(len(line) == len(columns) for line in read(block, columns).values())
    assert {name: tuple(read(block, range(6))) for name, block in UCI.items()} == dict.fromkeys(
        FILES, MODELS
    )


@pytest.fixture
def benchmark(tmp_path, monkeypatch):
    """Made-up files in the form of the benchmark."""
    rng = np.random.default_rng(3)
    for name, file in FILES.items():
        columns = 57 if name == "spambase" else 4
        x = rng.normal(size=(200, columns))
        x[:, 1] = 7.0  # a feature that says nothing
        y = rng.random(200) < 1 / (1 + np.exp(1 - 2 * x[:, 0]))
        if name == "spambase":
            np.savetxt(tmp_path / file, np.column_stack([x, y]), delimiter=",", fmt="%.6g")
        else:
            np.savez(tmp_path / file, data=x, label=np.where(y, 1, -1))
    monkeypatch.setenv("TRUENESS_DATA", str(tmp_path))
    return tmp_path


def test_the_loader_scales_and_splits(benchmark):
    for name in ("spambase", "satimage"):
        data = load_split(name)
        x = np.concatenate([data.x_train, data.x_test])
        assert (data.x_train.shape[0], data.x_test.shape[0]) == (140, 60)
        assert x.mean(axis=0) == pytest.approx(0, abs=1e-12)
        ddof = 1 if name == "spambase" else 0
        assert x.std(axis=0, ddof=ddof)[[0, 2]] == pytest.approx(1)
        assert (x[:, 1] == 0).all()
        assert set(data.y_train) == {0, 1}


@pytest.mark.parametrize("model", [*MODELS[:-1], pytest.param(MODELS[-1], marks=pytest.mark.slow)])
def test_every_model_predicts(benchmark, model):
    p = predict(model, load_split("abalone"))
    assert p.shape == (60,)
    assert 0 <= p.min() < p.max() <= 1


@pytest.mark.parametrize("name", ["spambase", "optical-digits"])
def test_the_benchmark_tables_on_made_up_files(benchmark, name):
    done = run_experiment(
        EXPERIMENTS[f"matsubara-uci-{name}"], benchmark / "out", size="quick", progress=False
    )
    part, table, *orders = done.tables
    assert part.agreement_with("authors") == (0, 2)
    assert by_source(part, "code")["rows",] == 60
    assert {row.labels[0] for row in table.rows} == {"LR", "GB"}
    assert all(row.note for row in table.rows)
    # The table of orders is there if there are equal scores.
    assert all({row.labels[-2] for row in one.rows} == {"TCE(P)", "TCE(Q)"} for one in orders)


@pytest.mark.slow
@pytest.mark.parametrize(("name", "differing"), [("abalone", "GB"), ("mammography", "")])
def test_the_real_data(recorded, name, differing):
    part, table, *_ = recorded(f"matsubara-uci-{name}").tables
    assert part.agreement_with("authors") == (2, 2)
    # Gradient boosting depends on the version of scikit-learn.
    wrong = {
        row.labels[0] for row in table.rows if row.agrees(table.within, "code", "authors") is False
    }
    assert wrong <= set(filter(None, [differing]))
    assert all(row.note for row in table.rows if row.labels[0] in wrong)


def test_the_order_of_equal_scores_is_that_of_an_unstable_sort():
    # 40 rows of equal score: the sort of the authors' NumPy leaves them in an order of its own.
    rng = np.random.default_rng(2)
    y, p = rng.integers(0, 2, 40), np.repeat([0.3, 0.6], 20)
    options = Options(5, 10, n_bins=4)
    stable = tce_variant(y, p, options, ties="rows")
    assert stable == pytest.approx(
        {k: by_code(y, p + np.arange(40) * 1e-9, options)[k] for k in stable}
    )
    pooled = [
        by_text(y[order], p[order], options)["TCE(P)"]
        for order in (rng.permutation(40) for _ in range(5))
    ]
    assert len(set(pooled)) == 1


def test_table_1_on_made_up_files(benchmark):
    done = run_experiment(
        EXPERIMENTS["matsubara-table-1"], benchmark / "out", size="quick", progress=False
    )
    table, falls = done.tables
    assert table.agreement[1] == 12
    assert table.note
    assert [row.labels for row in falls.rows] == [("satimage",), ("coil_2000",)]
    assert len(done.pictures) == 2


def test_missing_data_files_are_named(tmp_path, monkeypatch):
    monkeypatch.setenv("TRUENESS_DATA", str(tmp_path))
    with pytest.raises(
        InputError, match=r"contains x3data\.npz.*The file has satimage of imbalanced-learn"
    ):
        run_experiment(EXPERIMENTS["matsubara-table-1"], tmp_path / "out", progress=False)
    with pytest.raises(
        InputError, match=r"contains spambase\.data.*The file has spambase, number 94 at the UCI"
    ):
        run_experiment(EXPERIMENTS["matsubara-uci-spambase"], tmp_path / "out", progress=False)
    with pytest.raises(
        InputError,
        match=r"preds_00\.npy to preds_04\.npy.* of https://github\.com/facebookresearch/tce",
    ):
        run_experiment(EXPERIMENTS["matsubara-table-5"], tmp_path / "out", progress=False)


def test_a_file_of_another_form_is_refused(benchmark):
    np.savez(benchmark / "x3data.npz", data=np.zeros((3, 2)), target=np.ones(3))
    with pytest.raises(
        InputError, match=r"x3data\.npz` must contain numeric arrays `data` and `label`"
    ):
        load_split("satimage")
    np.savez(benchmark / "x3data.npz", data=np.zeros((3, 2)), label=np.array([0, 1, 1]))
    with pytest.raises(
        InputError,
        match=r"a `label` of −1 or 1 for each row; got shapes \(3, 2\) and \(3,\), labels \[0, 1\]",
    ):
        load_split("satimage")
    (benchmark / "spambase.data").write_text("1,2,3\n")
    with pytest.raises(
        InputError,
        match=r"spambase\.data` must have 58 columns, the last one 0 or 1; got 3 columns",
    ):
        load_split("spambase")
    (benchmark / "spambase.data").write_text("word\n")
    with pytest.raises(InputError, match=r"spambase\.data` must contain comma-separated numbers"):
        load_split("spambase")
