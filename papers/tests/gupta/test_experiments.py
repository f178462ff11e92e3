"""The experiments of Gupta & Ramdas 2021 at their small size."""

import pytest

from trueness_papers.gupta.validity import validity_of_splits


def values(table):
    return {row.labels: row.ours for row in table.rows}


def test_example_1(recorded):
    errors, share = recorded("gupta-example-1").tables
    assert values(errors) == pytest.approx({("l1-ECE",): 0.11, ("l2-ECE",): 0.114018}, abs=1e-6)
    assert values(share)[("0.1",)] == pytest.approx(0.9, abs=4 * (0.09 / 2_000) ** 0.5)
    assert values(share)[("0.05",)] == 0
    assert values(share)[("0.2",)] == 1


def test_required_numbers_of_rows(recorded):
    claims, at, bins = recorded("gupta-sample-size").tables
    assert list(values(claims).values()) == [5393, 2860, 2660, 1709, 1510, 759]
    assert list(values(at).values()) == pytest.approx([0.09574, 0.09919, 0.1003, 0.09997], abs=6e-5)
    assert [row.agrees(at.within) for row in at.rows] == [None, True, False, None]
    assert list(values(bins).values()) == [1160, 2660, 4305, 6020]


def test_recommended_numbers_of_bins(recorded):
    (table,) = recorded("gupta-figure-2").tables
    assert list(values(table).values()) == pytest.approx([0.1076, 0.0729, 0.0579], abs=5e-5)
    assert table.agreement == (3, 3)


def test_splitting_costs_validity(recorded):
    (table,) = recorded("gupta-figure-1").tables
    found = values(table)
    # A split of the data moves the share by some hundredths; 40 runs by 0.02 each.
    assert found[("UMD",)] == pytest.approx(0.79, abs=0.07)
    assert found[("UMS",)] == pytest.approx(0.63, abs=0.07)
    assert found[("UMD",)] > found[("UMS",)] + 0.05


def test_the_order_of_the_methods(recorded):
    marginal, conditional = (values(table) for table in recorded("gupta-figures-3-4").tables)
    for n in ("3,000", "7,000"):
        order = ["UMD", "UMS", "scaling-binning of p", "Platt alone, 10 bins"]
        found = [marginal[n, method] for method in order]
        assert found == sorted(found, reverse=True)
        assert conditional[n, "UMD"] >= conditional[n, "UMS"] > conditional[n, "isotonic, steps"]


@pytest.mark.parametrize("method", ["UMD", "UMS", "scaling-binning of p"])
def test_splits_with_the_same_seed_give_the_same_numbers(method, data_folder):
    assert (data_folder / "credit_default.csv.gz").is_file()
    assert validity_of_splits(method, 2, 3) == validity_of_splits(method, 2, 3)


def test_more_rows_are_more_valid(recorded):
    by_size, splits = (values(table) for table in recorded("gupta-figures-5-6").tables)
    assert by_size["500", "UMD"] + 0.1 < by_size["3,000", "UMD"] < by_size["10,000", "UMD"] + 0.02
    assert by_size["10,000", "UMD"] > 0.9
    assert splits[("UMD",)] > splits[("Platt alone, 10 bins",)] + 0.1
