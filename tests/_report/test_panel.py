"""The panel of a report: the numbers of a clinical or credit validation, a calibration curve, and text for a paper."""

import numpy as np
import pytest

import trueness as tn
from trueness._report.tables import model_tables


@pytest.fixture(scope="module")
def rows():
    d = tn.simulate.demo(500)
    return d.y_true, d.y_prob


@pytest.fixture(scope="module")
def found(rows):
    return tn.report(*rows)


def test_the_curve_and_its_bands_are_those_of_the_library(rows, found):
    curve = found.to_dict()["models"][0]["curve"]
    for band, prefix in (("pointwise", ""), ("simultaneous", "all_")):
        alone = tn.curve_band(*rows, band=band, at=curve["score"])
        np.testing.assert_allclose(curve["rate"], alone.y, rtol=1e-4)
        np.testing.assert_allclose(curve[f"{prefix}low"], alone.low, rtol=1e-3)
        np.testing.assert_allclose(curve[f"{prefix}high"], alone.high, rtol=1e-3)


def test_the_page_has_the_curve_and_the_text_for_a_paper(found):
    page, text = found.page(), found.to_dict()["models"][0]["panel"]["text"]
    assert "The numbers a clinical or credit validation asks for</h2>" in page
    assert page.count('class="curve flexible"') == 1
    assert page.count('class="confidence"') == 2
    assert "(TRIPOD+AI)</summary>" in page
    assert text.startswith("Methods. Calibration was assessed in 500 rows")
    assert text.partition("\n")[0] in page


def test_no_measure_is_in_both_tables(found):
    (model,) = found._contents.models
    tables = model_tables(model, found._contents)
    names = [str(row["measure"]) for table in ("summary", "panel") for row in map(dict, tables[table].rows)]
    assert len(names) == len(set(names))
    assert {"Calibration in the large", "Intercept (free slope)", "ICI", "AUC", "Spiegelhalter's test"} <= set(names)
