"""Demands on every record."""

import ast
import inspect
import json
import math
import pickle
import re
import sys
import textwrap
from dataclasses import dataclass, fields, is_dataclass
from functools import partial
from html.parser import HTMLParser

import numpy as np
import pytest

import trueness as tn
from trueness import results
from trueness.infer import cumulative_walk
from trueness.recalibrate import SplineCalibration
from trueness.results._record import Record

Y, P = [0, 0, 1, 1, 1], [0.1, 0.2, 0.8, 0.9, 0.9]


@pytest.mark.parametrize("name", results.__all__)
def test_every_record_is_a_frozen_dataclass_with_a_text_of_its_own(name):
    record = getattr(results, name)
    assert is_dataclass(record)
    assert record.__dataclass_params__.frozen
    assert record.__str__ is not object.__str__


@pytest.mark.parametrize(
    "ask",
    [
        tn.bin_table,
        partial(tn.curve_band, method="bins"),
        partial(tn.curve_band, method="monotone"),
        tn.measure.estimation_error,
        tn.grade_table,
        tn.corp,
        tn.reliability_curve,
        cumulative_walk,
        tn.validity_curve,
        lambda y, p: tn.noise_floor(tn.ece, p, y_true=y, resamples=19, seed=1),
        lambda y, p: tn.calibration_test(y, p, seed=1),
        lambda y, p: tn.compare(y, {"a": p, "b": [0.5] * len(p)}, measure="brier"),
        lambda y, p: tn.net_benefit(y, {"a": p, "b": [0.5] * len(p)}, thresholds=[0.2]),
        lambda y, p: tn.risk_coverage(y, {"a": p, "b": [0.5] * len(p)}),
    ],
)
@pytest.mark.filterwarnings("ignore::trueness.TruenessWarning")
def test_records_print_a_text_and_become_json(ask):
    record = ask(Y, P)
    assert f"{type(record).__name__}(" not in str(record)
    assert json.dumps(record.to_dict(), allow_nan=False)


def test_undefined_numbers_are_null_in_json_and_nan_in_a_frame():
    table = tn.bin_table(Y, P, bins=4)
    assert table.to_dict()["rate"] == [0.0, None, None, 1.0]
    assert table.to_frame()["rate"].isna().tolist() == [False, True, True, False]
    assert tn.estimate("auc", Y, P).to_dict()["floor"] is None


def test_every_record_equals_itself_made_again_and_its_arrays_cannot_be_written():
    for name in results.__all__:
        record, again = example(name), example(name)
        assert record == again == pickle.loads(pickle.dumps(record)), name
        assert hash(record) == hash(again), name
        assert record != "a text", name
        arrays = [
            v for one in (record, pickle.loads(pickle.dumps(record))) for v in vars(one).values()
        ]
        assert not any(v.flags.writeable for v in arrays if isinstance(v, np.ndarray)), name
        assert "NaN" not in json.dumps(record.to_dict()), name
    table = tn.bin_table(Y, P, bins=4)
    assert table == tn.bin_table(Y, P, bins=4)  # with nan
    assert table != tn.bin_table(Y, [0.1, 0.2, 0.8, 0.9, 0.91], bins=4)
    assert tn.bin_table(Y, P, bins=5) != table


def test_a_record_within_a_record_becomes_a_dict():
    walk = cumulative_walk(Y, P)
    assert walk.to_dict()["ks"] == walk.ks.to_dict()


def test_small_records_print_a_sentence():
    assert str(tn.corp(Y, P)).startswith("brier score 0.0220 = miscalibration")
    assert str(tn.measure.estimation_error(Y, P, bins=2)) == (
        "within-bin error 0.0000 in total, 0.0000 on average over 2 bins"
    )
    assert tn.corp(Y, P).to_dict()["n"] == 5


def test_records_cannot_be_changed():
    with pytest.raises(AttributeError):
        tn.corp(Y, P).score = 0


# One of every record: by a call, or with made-up fields where a call would be slow.
SPECIAL = {
    "pairs": (
        results.Difference("a", "b", -0.012, 0.005, -0.02, -0.004, 0.017, 0.017, -0.02, -0.004),
    )
    * 3,
    "edges": np.array([0.0, 0.2, 0.6, 1.0]),
    "names": ("slope", "ece"),
    "estimates": (results.Estimate("<i>", 0.1, 0.05, 0.2, 0.95, "t", 9, "<i>"),) * 2,
    "tests": (results.Significance(1.5, 0.2, "cox", 9, "<i>"),),
    "each": {"a<b": results.Estimate("<i>", 0.1, 0.05, 0.2, 0.95, "t", 9, "<i>")},
    "differences": {"a<b": results.Estimate("<i>", 0.1, 0.05, 0.2, 0.95, "t", 9, "<i>")},
    "conditional": None,
    "decisive": None,
    "quantity": "l2",
    "code": "miscalibrated",
    "power": None,
    "flags": (),
    "findings": (results.Finding("<i>", "", "oe", "", 0.1, 9, 1.0, 0.9, 1.2, 0.95, "exceeded"),)
    * 3,
    "inversions": (("a<b", "b"),),
    "optimism": {"slope": 0.1, "ece": -0.02},
    "calibrator": SplineCalibration(),
    "parts": ({"name": "<i>", "share": 0.6}, {"name": "b", "share": 0.4}),
    "heterogeneity": {"slope": results.Heterogeneity(*[0.5] * 10, 9, 0.95)},
    "long_run": {"a<b": 0.1, "b": math.nan},
}


def _grade(name):
    return results.Grade(
        name, 9, 9.0, 0.1, 0.9, 2.0, *[0.25] * 15, "green", True, 0.9, float("nan")
    )


SPECIAL["segments"] = {}
SPECIAL["grades"] = tuple(map(_grade, ("a<b", "b", "c")))


def example(name):
    """A record with fields of the right type: numbers ascend, tuples and arrays have three entries."""
    record = getattr(results, name)
    return record(**{f.name: _value(f) for f in fields(record)})


def _value(field):
    # From NumPy 2.5 on, the type of an array is written NDArray[numpy.float64].
    array = r"numpy.ndarray[tuple[typing.Any, ...], numpy.dtype[\1]]"
    kind = re.sub(r"NDArray\[([\w.]+)\]", array, str(field.type))
    if field.name == "parts" and "ndarray" in kind:
        return np.array([0.25, 0.5, 1.0])
    if field.name in SPECIAL and "dict[" not in kind:
        return SPECIAL[field.name]
    if field.name == "differences" and "dict[" in kind:
        return {("a<b", "c"): np.array([0.25, 0.5, 1.0])}
    if field.name in ("places", "density") or (field.name == "epsilon" and "ndarray" in kind):
        return np.ones((3, 3))
    for word, value in (
        ("numpy.bool", np.array([True, False, True])),
        ("ndarray[tuple[typing.Any, ...], numpy.dtype[numpy.int64]]", np.array([1, 2, 3])),
        ("ndarray", np.array([0.25, 0.5, 1.0])),
        ("dict[", {"a": 0.1, "b": 0.2}),
        ("tuple[str", ("a<b", "b", "c")),
        ("Finding, ...", ("Finding",)),
        ("Flags, ...", ("Flags",)),
        ("Centre, ...", ("Centre",)),
        ("Remedy, ...", ("Remedy",)),
        ("tuple", (1, 2, 3)),
        ("Mapping[str, int]", {"<i>": 3}),
        ("str", "<i>text</i>"),
        ("float", 0.125),
        ("int", 1234),
        ("bool", True),
    ):
        if word in kind:
            return tuple(example(value[0]) for _ in range(3)) if word.endswith("...") else value
    other = next(
        (name for name in sorted(results.__all__, key=len, reverse=True) if name in kind), None
    )
    return "<i>text</i>" if other is None else example(other)


class _Tags(HTMLParser):
    def __init__(self, text):
        super().__init__()
        self.open, self.tags = [], []
        self.feed(text)

    def handle_starttag(self, tag, attrs):
        self.open.append(tag)
        self.tags.append(tag)

    def handle_endtag(self, tag):
        assert self.open.pop() == tag


# Each test looks at every record: the fast run would take only some cases of a grid.


def test_every_record_is_a_table_in_a_notebook():
    for name in results.__all__:
        page = example(name)._repr_html_()
        tags = _Tags(page)
        assert tags.open == [], name
        allowed = "div table thead tbody tr th td p pre details summary"
        assert set(tags.tags) <= set(allowed.split()), name
        assert tags.tags[1] in ("p", "pre"), name
        assert "<i>" not in page, name


def test_every_record_becomes_a_frame():
    rows = {"GuaranteePlan": 9, "Validation": 2, "Panel": 3, "Pooled": 2}
    for name in results.__all__:
        record = example(name)
        frame = record.to_frame()
        assert frame.shape == (len(record.rows()), len(record.columns())), name
        assert len(frame) == rows.get(name, 3 if record._columns else 1), name


def test_whatever_has_columns_or_rows_says_which_they_are():
    for name in set(results.__all__) - {"Verdict"}:  # its flags are grounds of one decision
        record = example(name)
        lengths = [
            len(v) for v in vars(record).values() if isinstance(v, np.ndarray) and v.ndim == 1
        ]
        records = [
            v for v in vars(record).values() if isinstance(v, tuple) and v and is_dataclass(v[0])
        ]
        if max(map(lengths.count, lengths), default=0) > 1 or records:
            assert type(record)._columns, name


def test_every_field_is_documented():
    """By a string below it, as all documentation tools read it."""
    bases = {
        base
        for name in results.__all__
        for base in getattr(results, name).__mro__
        if is_dataclass(base)
    }
    for base in bases:
        body = ast.parse(textwrap.dedent(inspect.getsource(base))).body[0].body
        for field, following in zip(body, [*body[1:], None], strict=True):
            if isinstance(field, ast.AnnAssign) and not field.target.id.startswith("_"):
                what = f"{base.__name__}.{field.target.id}"
                assert isinstance(following, ast.Expr), what
                assert isinstance(following.value, ast.Constant), what
                assert str(following.value.value).endswith("."), what


def test_a_notebook_shows_numbers_as_texts_do():
    page = tn.bin_table(Y, P, bins=2)._repr_html_()
    assert page.startswith('<div style="max-width:100%;overflow-x:auto">\n<p')
    assert '<th scope="col" style="text-align:right">low edge</th>' in page
    assert ">0.1500</td>" in page  # the mean score of the first bin
    assert "<details><summary>Fields</summary>" in page
    assert page.index("low edge") < page.index("<details>") < page.index("binary")
    estimate = results.Estimate(
        "ECE", 0.05, float("nan"), float("nan"), 0.95, "", 12345, "a <b", floor=1e-7
    )
    page = estimate._repr_html_()
    assert ">12,345</td>" in page
    assert ">a &lt;b</td>" in page
    assert ">low<" not in page  # there is none


def test_a_notebook_shows_the_ends_of_a_long_table():
    curve = cumulative_walk([0, 1] * 50, np.arange(1, 101) / 101)
    page = curve._repr_html_()
    assert page.partition("<details>")[0].count("<tr>") == 21
    assert "20 of 101 rows: the first 19 and the last." in page
    assert curve.to_frame("polars").shape == (101, 4)


def test_a_frame_of_pairs_has_a_row_per_pair_and_one_of_a_number_one_row():
    found = tn.compare(Y, {"a": P, "b": [0.5] * 5, "c": [0.4] * 5}, measure="brier")
    assert found.to_frame()["first"].tolist() == ["a", "a", "b"]
    assert tn.corp(Y, P).to_frame().shape == (1, 6)


def test_without_pandas_a_frame_is_of_polars_and_without_both_it_says_so(monkeypatch):
    record = tn.corp(Y, P)
    monkeypatch.setitem(sys.modules, "pandas", None)
    frame = record.to_frame()
    assert type(frame).__module__.startswith("polars")
    assert frame.shape == (1, 6)
    assert tn.panel(Y, P).to_frame()["ideal"].dtype.is_float()  # of 0, 1 and nan
    with pytest.raises(
        tn.errors.MissingLibraryError,
        match=r"`Decomposition.to_frame\('pandas'\)` needs pandas: `pip install",
    ):
        record.to_frame("pandas")
    monkeypatch.setitem(sys.modules, "polars", None)
    with pytest.raises(
        tn.errors.MissingLibraryError,
        match=r"`Decomposition.to_frame\(\)` needs pandas or polars: `pip install",
    ):
        record.to_frame()
    with pytest.raises(
        tn.InputError, match="`library` must be 'pandas', 'polars' or 'pyarrow'; got 'dask'"
    ):
        record.to_frame("dask")


def test_a_notebook_shows_whole_numbers_as_such_and_long_texts_in_a_readable_width():
    @dataclass(frozen=True)
    class Groups(Record):
        """Groups."""

        _columns = ("events", "rate")
        events: tuple[float, ...]
        rate: tuple[float, ...]

        def __str__(self):
            return "a caption " * 10

    page = Groups((148.0, 1200.0), (0.0, 1.0))._repr_html_()
    assert ">1,200</td>" in page or ">1,200</th>" in page
    assert ">1.0000</td>" in page
    assert "max-width:60em" in page


def test_a_notebook_shows_the_text_of_a_wide_table_and_its_columns_in_a_fold():
    y, p = [0, 1] * 50, np.linspace(0.1, 0.9, 100)
    compared = tn.compare(y, {"a": p, "b": p / 2})
    for record in (
        compared,
        tn.segments(y, p, by=np.arange(100) % 2),
        tn.gate(y, p, max_l2=0.5),
        tn.net_benefit(y, p),
    ):
        page = record._repr_html_()
        before, fold, after = page.partition("<details><summary>All columns</summary>")
        assert fold
        assert "<table>" not in before
        assert "<table>" in after
    page = compared._repr_html_().replace("&lt;", "<")
    assert page.index(compared.sentence) < page.index("<pre")
    assert page.count(compared.sentence) == 1
