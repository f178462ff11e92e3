"""Which columns are read."""

import pytest

from trueness.cli._choice import choose
from trueness.errors import InputError


@pytest.mark.parametrize("label", ["label", "y", "y_true", "target", "Y"])
@pytest.mark.parametrize("score", ["prob", "p", "y_prob", "score", "probability", "Score"])
def test_usual_names_are_found_and_said(label, score):
    found = choose(["id", label, score], "x.csv")
    assert found.label == label
    assert [model.name for model in found.models] == [score]
    assert found.guesses == (f"labels from column {label!r}", f"scores from column {score!r}")


def test_named_columns_are_not_guesses():
    assert choose(["a", "b"], "x.csv", label="a", probs=["b"]).guesses == ()


@pytest.mark.parametrize(
    ("names", "asked", "message"),
    [
        (["y", "label", "p"], {}, r"several columns that may hold labels \('y', 'label'\); `--label` says which"),
        (["y", "p", "score"], {}, "several columns that may hold scores"),
        (["y", "p", "P"], {}, "several columns that may hold scores"),
        (["a", "p"], {}, "`--label` must name the column of labels in x.csv; its columns are 'a', 'p'"),
        (["y", "a"], {}, "`--prob` must name"),
        (["y"], {}, "its only column is 'y'"),
        (["churned", "p"], {"label": "churn"}, "no column 'churn'. Did you mean 'churned'?"),
        (["churned", "p"], {"label": "zzz"}, "Its columns are 'churned', 'p'"),
        (["Y_true_", "p"], {"label": "y_true"}, "Did you mean 'Y_true_'?"),
        (["y", "p"], {"weight": "w"}, "`--weight`: x.csv has no column 'w'"),
        (["y", "p"], {"probs": ["y"]}, "cannot be both scores and labels"),
        (["y", "p"], {"probs": ["p"], "weight": "p"}, "cannot be both scores and weights"),
        (["y", "p"], {"probs": ["p", "p"]}, "'p' were asked for twice"),
        (["y", "a", "b"], {"matrices": ["a"]}, "at least 2"),
        (["y", "a", "b"], {"matrices": ["a,a"]}, "each column once"),
        (["y", "a", "b"], {"matrices": ["a,c"]}, "`--prob-columns`: x.csv has no column 'c'"),
        (["y", "a", "b"], {"matrices": ["q_*"]}, r"no column of x.csv matches 'q_\*'"),
        ([f"c{i}" for i in range(50)], {}, "and 38 more"),
    ],
)
def test_what_cannot_be_chosen_is_explained(names, asked, message):
    with pytest.raises(InputError, match=message.replace("?", r"\?")):
        choose(names, "x.csv", **asked)


def test_a_star_finds_columns_but_not_labels_or_weights():
    (model,) = choose(["p_y", "p_b", "p_w", "p_a"], "x", label="p_y", weight="p_w", matrices=["p_*"]).models
    assert model.columns == ("p_b", "p_a")
    assert model.classes == ("b", "a")


def test_numbered_columns_come_in_the_order_of_their_numbers():
    (model,) = choose(["y", "p10", "p9", "p1"], "x", matrices=["p*"]).models
    assert model.columns == ("p1", "p9", "p10")


def test_a_column_whose_name_has_a_star_or_bracket_can_be_named():
    (model,) = choose(["y", "a*", "b[", "ab"], "x", matrices=["a*,b["]).models
    assert model.columns == ("a*", "b[")


def test_every_column_of_numbers_is_read_once():
    found = choose(["y", "a", "b", "w"], "x", matrices=["a,b", "b,a"], weight="w")
    assert found.numbers == ("a", "b", "w")
