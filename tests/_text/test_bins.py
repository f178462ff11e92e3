"""Names of bins and bin rules."""

import pytest

import trueness as tn
from trueness._text.bins import bin_name, rule_in_words


def test_bins_have_digits_enough_to_tell_their_edges_apart():
    assert bin_name(0.25, 0.5, last=False) == "[0.25, 0.5)"
    assert bin_name(1 / 3, 2 / 3, last=False) == "[0.3333, 0.6667)"
    assert bin_name(0.99991, 0.99993, last=False) == "[0.99991, 0.99993)"
    assert bin_name(0.99999, 1.0, last=True) == "[0.99999, 1]"
    assert bin_name(1.0, 1.0, last=True) == "[1, 1]"


@pytest.mark.parametrize(
    ("rule", "words"),
    [
        (tn.EqualWidth(1), "1 bin of equal width"),
        (tn.EqualMass(1500), "1,500 bins of equal mass"),
        (tn.Edges([0, 0.25, 1]), "2 bins between the edges 0, 0.25, 1"),
        (tn.Edges([i / 20 for i in range(21)]), "20 bins between given edges"),
        (tn.Distinct(), "one bin per distinct score"),
        (tn.Isotonic(), "isotonic bins"),
        (tn.BlockIsotonic(), "isotonic blocks (PAVA-BC)"),
    ],
)
def test_a_rule_is_named_in_words(rule, words):
    assert rule_in_words(rule) == words


def test_a_rule_is_named_from_its_repr():
    assert rule_in_words(repr(tn.EqualMass(7))) == "7 bins of equal mass"
    assert rule_in_words(repr(tn.Edges([0, 1]))) == "given edges"
