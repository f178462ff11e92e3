"""Every input that a user may get wrong gives the documented error or the right number, never a silent wrong one."""

import re
import warnings
from decimal import Decimal
from fractions import Fraction
from functools import partial

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

import trueness as tn

try:
    import torch
except ImportError:  # tensors are tested where torch is installed
    torch = None

nan, inf = float("nan"), float("inf")

# Two bins of width 1/2 see mean scores 0.2 and 0.7 and rates 0 and 1: ECE = (0.2 + 0.3) / 2.
Y, P = [0, 1, 1, 0], [0.1, 0.8, 0.6, 0.3]
ECE = 0.25
WORDS = ["no", "yes", "yes", "no"]

# Three classes; the mean over classes of each column's ECE with two bins, worked out in ECE3.
Y3 = [0, 1, 2, 0]
P3 = np.array([[0.7, 0.2, 0.1], [0.1, 0.8, 0.1], [0.2, 0.2, 0.6], [0.5, 0.25, 0.25]])
WORDS3 = ["ant", "bee", "cow", "ant"]
# Class 0: scores .1 .2 | .5 .7 sum to .3 and 1.2 with 0 and 2 events. Class 1: .2 .2 .25 | .8. Class 2: .1 .1 .25 | .6.
ECE3 = np.mean([(0.3 + 0.8) / 4, (0.65 + 0.2) / 4, (0.45 + 0.4) / 4])
ALIKE = "auc ece ace mce tce gce brier scaled_brier log_loss smooth_ece ici squared_ece bin_table corp tally binned"
MEASURES = {
    name: getattr(tn, name) for name in (*ALIKE.split(), "calibration_slope", "observed_expected")
}
MEASURES["grade_table"] = partial(tn.grade_table, bins=2)
NO_ROWS_IS_FINE = ("tally", "binned")
NO_MATRIX = ("squared_ece", "grade_table")
ece2 = partial(tn.ece, bins=2)


def refused(what, message, y, p, **options):
    """Rows that every measure refuses with a message that contains these words."""
    return what, y, p, options, message


def measured(what, value, y, p, warning=None, **options):
    """Rows that have a right number, with two bins, and perhaps a warning."""
    return what, y, p, options, value, warning


def masked(values, mask):
    return np.ma.masked_array(values, mask)


def column_of(*values, dtype=object):
    cells = np.empty(len(values), dtype=dtype)
    cells[:] = values
    return cells


SCORES = [
    refused("a nan score", "`y_prob` must not have missing values; 1 of 4 is nan, the first at row 2.", Y, [0, 1, nan, 1]),
    refused("two nan scores", "2 of 4 are nan, the first at row 1. `missing=\"drop\"` leaves such rows out.", Y, [0.5, nan, 0.5, nan]),
    refused("a nan score of weight 0", "1 of 4 is nan, the first at row 0.", Y, [nan, 0.5, 0.5, 0.5], sample_weight=[0, 1, 1, 1]),
    refused("a None score", "`y_prob` must not have missing values; 1 of 4 rows has one, the first at row 1.", Y, [0.1, None, 0.2, 0.3]),
    refused("a Decimal nan score", "1 of 4 rows has one, the first at row 0.", Y, [Decimal("nan"), 0.5, 0.5, 0.5]),
    refused("a Polars null score", "1 of 4 rows has one, the first at row 0.", Y, pl.Series([None, 0.2, 0.3, 0.4])),
    refused("a PyArrow null score", "1 of 4 rows has one, the first at row 1.", Y, pa.array([0.1, None, 0.3, 0.4])),
    refused("a masked score", "1 of 4 rows has one, the first at row 1.", Y, masked(P, [0, 1, 0, 0])),
    refused("an infinite score", "`y_prob` must lie in [0, 1]; 1 of 4 values does not, the first is inf at row 1.", Y, [0.5, inf, 0, 1]),
    refused("a score above one", "1 of 4 values does not, the first is 1.2 at row 3.", Y, [0, 0, 0, 1.2]),
    refused("a score below zero", "2 of 4 values do not, the first is -0.25 at row 0.", Y, [-0.25, -0.5, 0, 0]),
    refused("a score one ulp above one", "is 1.0000000000000002 at row 0. The largest excess is 2.22e-16; `clip_tolerance=3e-16` allows it.", Y, [np.nextafter(1, 2), 0, 0, 0]),
    refused("the smallest score below zero", "The largest excess is 4.94e-324; `clip_tolerance=5e-324` allows it.", Y, [-5e-324, 0, 0, 0]),
    refused("a Decimal just above one", "the first is 1.0000000000000002 at row 0.", Y, [Decimal("1.000000000000000000001"), 0, 0, 0]),
    refused("a Fraction just below zero", "1 of 4 values does not", Y, [Fraction(-1, 10**400), 0, 0, 0]),
    refused("an int too large for a float", "the first is inf at row 0.", Y, [10**400, 0.5, 0.5, 0.5]),
    refused("percentages", "These look like percentages: say `percent=True` if they are.", Y, [12.5, 80, 99, 0]),
    refused("logits", "the first is -3.2 at row 0. These look like logits: say `from_logits=True` if they are.", Y, [-3.2, 4.1, 0, 1]),
    refused("predicted classes", "the first is 2 at row 1. These look like labels, not scores", Y, [0, 2, 1, 1]),
    refused("labels -1 and 1 as scores", "These look like labels, not scores.", Y, [-1, 1, 1, -1]),
    refused("a clip tolerance below the excess", "The largest excess is 1e-05; `clip_tolerance=2e-05` allows it.", Y, [1.00001, 0, 0, 0], clip_tolerance=1e-6),
    refused("strings as scores", "`y_prob` must hold numbers; got a str, '0.1', at row 0.", Y, ["0.1", "0.2", "0.3", "0.4"]),
    refused("one string among scores", "`y_prob` must hold numbers; got a str, 'n/a', at row 2.", Y, [0.1, 0.2, "n/a", 0.3]),
    refused("complex scores", "`y_prob` must hold numbers; got complex numbers.", Y, np.array(P) + 0j),
    refused("dates as scores", "`y_prob` must hold numbers; got dates.", Y, np.array(["2020-01-01"] * 4, "M8[D]")),
    refused("records as scores", "`y_prob` must hold numbers; got dtype", Y, np.zeros(4, [("p", "f8")])),
    refused("a column of lists", "got a list, [0.4, 0.6], at row 0. Stack the rows into a matrix (`np.stack`).", Y, pd.Series([[0.4, 0.6]] * 4)),
    refused("None for labels", "`y_true` must be an array, a list, a Series, a frame or a tensor; got None.", None, P),
    refused("None for scores", "`y_prob` is missing: pass labels and scores, or a Tally in place of both.", Y, None),
    refused("a number for scores", "got a float. One row is a list of one: `[0.5]`.", Y, 0.5),
    refused("a dict of scores", "got a dict. Use `list(y_prob.values())`.", Y, dict(enumerate(P))),
    refused("a set of scores", "got a set. A set has no order", Y, set(P)),
    refused("a generator of scores", "got a generator. Use `list(y_prob)`.", Y, (p for p in P)),
    refused("a string for scores", "`y_prob` must be an array, a list, a Series, a frame or a tensor; got a str.", Y, "0.5"),
    refused("a tally for scores", "got a Tally.", Y, tn.tally(Y, P)),
    refused("a lazy frame", "`y_prob` must be in memory; got a lazy frame. Collect it first.", Y, pl.LazyFrame({"p": P})),
    refused("an array without dimensions", "`y_prob` must have one or two dimensions, or dense ones (B, C, …); got a single number.", Y, np.array(0.5)),
    refused("scores of three dimensions", "`y_true` must have the shape of `y_prob` without its class axis, the second: (4, 1); got (4,) for scores of shape (4, 1, 1).", Y, np.zeros((4, 1, 1))),
    refused("classes in the last of four dimensions", "If classes stand last, `np.moveaxis(y_prob, -1, 1)` puts them second.", np.zeros((2, 3, 4), int), np.full((2, 3, 4, 2), 0.5)),
    refused("scores of pixels without a class axis", "For P(positive) of each pixel, `y_prob[:, None]` adds the class axis.", np.zeros((2, 3, 4), int), np.full((2, 3, 4), 0.5)),
    refused("masked pixels", "Give pixels without a label a code of their own, `ignore_index`.", np.zeros((1, 2, 2), int), masked(np.full((1, 2, 2, 2), 0.5), np.arange(8).reshape(1, 2, 2, 2) == 3)),
    refused("no column of scores", "`y_prob` must have a column per class, at least 2; got shape (4, 0).", Y, np.zeros((4, 0))),
    refused("a row of scores", "got 4 labels and 1 rows of scores. Transpose `y_prob`", Y, np.array([P])),
    refused("a frame without columns", "`y_prob` must have at least one column", Y, pd.DataFrame(index=range(4))),
    refused("fewer scores than labels", "`y_true` and `y_prob` must have one entry per row; got 4 labels and 3 scores.", Y, P[:3]),
    refused("no labels", "got 0 labels and 4 scores.", [], P),
]  # fmt: skip

LABELS = [
    refused("labels 1 and 2", "`y_true` must be 0 or 1; 2 of 4 labels are not, the first is 2 at row 1. Say which value is the event: `pos_label=2`.", [1, 2, 2, 1], P),
    refused("labels -1 and 1", "the first is -1 at row 0. Say which value is the event: `pos_label=1`.", [-1, 1, 1, -1], P),
    refused("three labels", "1 of 4 labels is not, the first is 2 at row 2. Several classes need a matrix of scores, one column per class.", [0, 1, 2, 0], P),
    refused("one label that is not 0 or 1", "Say what it means: `pos_label=2`, or `labels=[…]` with the event last.", [2, 2, 2, 2], P),
    refused("a huge unsigned label", "the first is 18446744073709551615 at row 1.", np.array([0, 2**64 - 1, 1, 0], "u8"), P),
    refused("a label beyond 64 bits", "it holds numbers (0, 1, 1180591620717411303424)", [2**70, 0, 1, 1], P),
    refused("an infinite label", "the first is inf at row 0.", [inf, 0, 1, 1], P),
    refused("soft labels", "the first is 0.9 at row 1. Labels say what happened, not how likely it was.", [0, 0.9, 1, 0], P),
    refused("a bad label of weight 0", "1 of 4 labels is not, the first is 7 at row 0.", [7, 1, 1, 0], P, sample_weight=[0, 1, 1, 1]),
    refused("a nan label", "`y_true` must not have missing values; 1 of 4 rows has one, the first at row 1.", [0, nan, 1, 0], P),
    refused("a None label", "1 of 4 rows has one, the first at row 2. `missing=\"drop\"` leaves such rows out.", [0, 1, None, 0], P),
    refused("a nan among strings", "`y_true` must not have missing values; 1 of 4 rows has one, the first at row 1.", ["no", nan, "yes", "no"], P, pos_label="yes"),
    refused("a pandas NA label", "the first at row 2.", pd.Series([0, 1, None, 0], dtype="Int64"), P),
    refused("a PyArrow null label", "the first at row 0.", pa.chunked_array([[None, 1], [1, 0]]), P),
    refused("a masked label", "the first at row 1.", masked(Y, [0, 1, 0, 0]), P),
    refused("strings without pos_label", "it holds strings ('no', 'yes'). With a vector of scores, say which of them the scores predict: `pos_label='yes'`.", WORDS, P),
    refused("bytes without pos_label", "it holds bytes (b'n', b'y')", np.array([b"n", b"y", b"y", b"n"]), P),
    refused("numbers in strings", "it holds strings ('0', '1')", ["0", "1", "1", "0"], P),
    refused("Decimal labels", "it holds numbers (Decimal('0'), Decimal('1'))", [Decimal(y) for y in Y], P),
    refused("labels of two types", "`y_true` must hold labels of one type; got int, str.", [0, "yes", "yes", 0], P),
    refused("complex labels", "`y_true` must hold 0/1, bool, integers or strings; got dtype complex128.", np.array(Y) + 0j, P),
    refused("lists as labels", "got entries of type list.", pd.Series([[0], [1], [1], [0]]), P),
    refused("one-hot labels", "`y_true` must have one dimension; got 2 (shape (4, 2)). `np.argmax(y_true, axis=1)` turns one-hot rows into labels.", np.eye(2)[Y], P),
    refused("labels of several columns", "`y_true` must have one dimension; got 2 (shape (4, 3)). `kind='multilabel'` reads each column as a label of its own.", np.ones((4, 3), int), P3),
    refused("one-hot labels beside a matrix", "turns one-hot rows into labels. `kind='multilabel'` reads", np.eye(3)[[0, 1, 2, 0]], P3),
    refused("a column of labels", "got 2 (shape (4, 1)). `np.ravel(y_true)` makes a vector of it.", [[0], [1], [1], [0]], P),
    refused("one label without dimensions", "`y_true` must have one dimension; got 0 (shape ()).", np.array(1), [0.5]),
    refused("pandas rows in another order", "`y_true` and `y_prob` have the same index in a different order; rows are paired by position. Align them (`y_prob.loc[y_true.index]`) or pass `.to_numpy()`.", pd.Series(Y), pd.Series(P, index=[3, 2, 1, 0])),
    refused("pandas weights in another order", "Align them (`sample_weight.loc[y_true.index]`)", pd.Series(Y), pd.Series(P), sample_weight=pd.Series([1, 2, 3, 4], index=[1, 0, 2, 3])),
    refused("a pos_label that does not occur", "`pos_label` must be a value of `y_true` ('no', 'yes'); got 'Yes'.", WORDS, P, pos_label="Yes"),
    refused("a number for pos_label of strings", "`pos_label` must be a value of `y_true`, which holds strings; got 1.", ["1", "1", "1", "1"], P, pos_label=1),
    refused("a string for pos_label of numbers", "`pos_label` must be a value of `y_true`, which holds numbers; got '1'.", Y, P, pos_label="1"),
    refused("a pos_label among three", "`y_true` must hold two values when the scores are a vector; got 3 (0, 1, 2).", [0, 1, 2, 0], P, pos_label=1),
    refused("a list for pos_label", "`pos_label` must be one label; got ['yes'].", WORDS, P, pos_label=["yes"]),
    refused("an array for pos_label", "`pos_label` must be one label; got array(", WORDS, P, pos_label=np.array(["no", "yes"])),
    refused("nan for pos_label", "`pos_label` must be one label; got nan.", Y, P, pos_label=nan),
    refused("pos_label against labels", "`labels` puts 2 last, as the positive class, but `pos_label` is 1. One of the two is enough.", [1, 2, 2, 1], P, labels=[1, 2], pos_label=1),
    refused("three names for a vector", "`labels` must name two classes for a vector of scores, the positive one last; got 3.", [1, 2, 2, 1], P, labels=[1, 2, 3]),
    refused("a name twice", "`labels` must name each class once; got 1, 1.", [1, 2, 2, 1], P, labels=[1, 1]),
    refused("a label that is not named", "`y_true` must hold values named in `labels` ('no', 'yes'); 1 of 4 labels is not, the first is 'maybe' at row 3.", ["no", "yes", "yes", "maybe"], P, labels=["no", "yes"]),
    refused("names of another type", "values named in `labels` ('0', '1'); 4 of 4 labels are not, the first is 0 at row 0.", Y, P, labels=["0", "1"]),
    refused("a set of names", "`labels` must be a list of the classes in column order; got {1, 2}.", [1, 2, 2, 1], P, labels={1, 2}),
    refused("a string of names", "`labels` must be a list of the classes in column order; got '01'.", Y, P, labels="01"),
    refused("names in lists", "`labels` must be a list of the classes in column order; got shape (2, 1).", Y, P, labels=[[0], [1]]),
    refused("a name that is missing", "got 0, None, of which one is missing.", Y, P, labels=[0, None]),
    refused("swapped arguments", "`y_true` looks like scores and `y_prob` like labels: the arguments seem swapped. Labels come first.", P, Y),
    refused("swapped arguments with strings", "the arguments seem swapped", P, WORDS),
    refused("swapped arguments with pos_label", "the arguments seem swapped", P, [1, 2, 2, 1], pos_label=2),
]  # fmt: skip

WEIGHTS = [
    refused("a number for weights", "`sample_weight` must be an array, a list, a Series, a frame or a tensor; got an int.", Y, P, sample_weight=2),
    refused("weights without dimensions", "`sample_weight` must have one entry per row (4); got shape ().", Y, P, sample_weight=np.array(2.0)),
    refused("three weights for four rows", "`sample_weight` must have one entry per row (4); got shape (3,).", Y, P, sample_weight=[1, 1, 1]),
    refused("a column of weights", "got shape (4, 1).", Y, P, sample_weight=np.ones((4, 1))),
    refused("a nan weight", "`sample_weight` must not have missing values; 1 of 4 is nan, the first at row 1. `missing=\"drop\"` leaves such rows out.", Y, P, sample_weight=[1, nan, 1, 1]),
    refused("a None weight", "`sample_weight` must not have missing values; 1 of 4 rows has one, the first at row 3.", Y, P, sample_weight=[1, 1, 1, None]),
    refused("an infinite weight", "`sample_weight` must be finite and at least 0; 1 of 4 weights is not, the first is inf at row 1.", Y, P, sample_weight=[1, inf, 1, 1]),
    refused("a negative weight", "1 of 4 weights is not, the first is -1 at row 2.", Y, P, sample_weight=[1, 1, -1, 1]),
    refused("weights that are all zero", "`sample_weight` must have a weight above zero; all 4 are zero.", Y, P, sample_weight=[0, 0, 0, 0]),
    refused("weights whose squares overflow", "`sample_weight` must have its largest weight between 1e-100 and 1e+100; it is 1e+200 at row 3.", Y, P, sample_weight=[1, 1, 1, 1e200]),
    refused("weights whose squares vanish", "Multiply all weights by one number: calibration errors do not change.", Y, P, sample_weight=[1e-200] * 4),
    refused("weights beside which others vanish", "`sample_weight` must be 0 or at least 1e-100 of the largest weight; they reach from 1e-300 to 1 at row 2.", Y, P, sample_weight=[0, 1, 1e-300, 1]),
    refused("strings as weights", "`sample_weight` must hold numbers; got a str, '1', at row 0.", Y, P, sample_weight=["1", "1", "1", "1"]),
]  # fmt: skip

ROW_OPTIONS = [
    refused("an unknown word for missing", "`missing` must be 'raise' or 'drop'; got 'ignore'.", Y, P, missing="ignore"),
    refused("None for missing", "`missing` must be 'raise' or 'drop'; got None.", Y, P, missing=None),
    refused("a word for from_logits", "`from_logits` must be True or False; got 'yes'.", Y, P, from_logits="yes"),
    refused("a nan logit", "`y_prob` must not have missing values; 1 of 4 is nan, the first at row 0.", Y, [nan, 1, 2, 3], from_logits=True),
    refused("logits to be clipped", "`clip_tolerance` is only for probabilities; logits (`from_logits=True`) need none.", Y, P, from_logits=True, clip_tolerance=0.01),
    refused("logits with a sum tolerance", "`sum_tolerance` is only for probabilities; logits (`from_logits=True`) need none.", Y, P, from_logits=True, sum_tolerance=0),
    refused("a negative clip tolerance", "`clip_tolerance` must be a number between 0 and 0.1; got -1.", Y, P, clip_tolerance=-1),
    refused("a large clip tolerance", "got 0.5.", Y, P, clip_tolerance=0.5),
    refused("a word for a clip tolerance", "got 'small'.", Y, P, clip_tolerance="small"),
    refused("a negative sum tolerance", "`sum_tolerance` must be a number between 0 and 1; got -1.", Y, P, sum_tolerance=-1),
    refused("a word for a sum tolerance", "got 'small'.", Y, P, sum_tolerance="small"),
    refused("an unknown kind", "`kind` must be 'classwise', 'confidence', 'top-label' or 'multilabel'; got 'top'.", Y, P, kind="top"),
    refused("confidence of a vector", "`kind='confidence'` needs a matrix of scores, one column per class; `y_prob` is a vector. It is P(positive) of one binary problem, where there is no top label to choose;", Y, P, kind="confidence"),
    refused("one label per row for several", "must have a column per label and one shape if `kind='multilabel'`; got (4,) and (4, 3). Class labels, one per row, need no `kind`.", [0, 1, 2, 0], P3, kind="multilabel"),
    refused("several labels and no column", "`y_prob` must have a column per label, at least 1; got shape (4, 0).", np.ones((4, 0), int), np.ones((4, 0)), kind="multilabel"),
    refused("images of no class", "`y_prob` must have at least one class on its class axis, the second; got (4, 0, 2).", np.ones((4, 2), int), np.ones((4, 0, 2))),
    refused("a label of 2 in a column", "Label 'b': `y_true` must be 0 or 1; 1 of 4 labels is not, the first is 2 at row 3.", pd.DataFrame({"a": Y, "b": [0, 1, 0, 2]}), P3[:, :2], kind="multilabel"),
    refused("a score of 2 in a column", "Label 1: `y_prob` must lie in [0, 1]", np.ones((4, 3), int), np.where(np.arange(12).reshape(4, 3) == 4, 2, P3), kind="multilabel"),
    refused("a column without a label", "`y_true` must not have missing values; 1 of 4 rows has one, the first at row 0.", [[nan, 1], [0, 1], [1, 1], [0, 0]], P3[:, :2], kind="multilabel"),
    refused("names of labels in another order", "must have their labels in the same order; they are named 'a', 'b' and 'b', 'a'.", pd.DataFrame({"a": Y, "b": Y}), pd.DataFrame({"b": P, "a": P}), kind="multilabel"),
    refused("two names for three labels", "`labels` must name the 3 labels in column order; got 2 names.", np.ones((4, 3), int), P3, kind="multilabel", labels=["a", "b"]),
    refused("an event for labels of 0 and 1", "`pos_label` does not go with `kind='multilabel'`", np.ones((4, 3), int), P3, kind="multilabel", pos_label=1),
    refused("a word to ignore", "`ignore_index` must be a whole number of 64 bits or None; got 'void'.", Y, P, ignore_index="void"),
    refused("all rows ignored", "all 4 have a missing value or are ignored.", [255] * 4, P, ignore_index=255),
    refused("a label to ignore that is not named", "`ignore_index=255` leaves rows without a class out.", [0, 0, 255, 255], P3),
    refused("all rows dropped", "`y_true` and `y_prob` must have at least one complete row; all 4 have a missing value.", [0, 1, nan, nan], [nan, nan, 0.1, 0.2], missing="drop"),
]  # fmt: skip

OFF = np.where(P3 == 0.7, 0.70001, P3)
MATRICES = [
    refused("rows that sum to 1.00001", "Rows of `y_prob` must sum to 1 within 1e-06; 1 of 4 does not, the first sums to 1.00001 at row 0. The largest difference is 1e-05; `sum_tolerance=2e-05` allows it.", Y3, OFF),
    refused("rows that do not sum to one", "4 of 4 do not, the first sums to 0.75 at row 0. Divide each row by its sum if its entries are shares of the whole; use `kind='multilabel'` if each column is a label of its own.", Y3, np.full((4, 3), 0.25)),
    refused("rows that sum to one only in float16", "Rows of `y_prob` must sum to 1 within 0.002", Y3, (P3 * 0.99).astype(np.float16)),
    refused("entries above one", "`y_prob` must lie in [0, 1]; 1 of 12 values does not, the first is 1.1 at row 2, column 0.", Y3, np.where(np.arange(12).reshape(4, 3) == 6, 1.1, P3)),
    refused("an entry that is nan", "1 of 12 is nan, the first at row 1, column 1.", Y3, np.where(P3 == 0.8, nan, P3)),
    refused("an entry that is None", "1 of 4 rows has one, the first at row 0.", Y3, [[None, 0.5, 0.5], *P3[1:].tolist()]),
    refused("an entry that is masked", "1 of 4 rows has one, the first at row 1.", Y3, masked(P3, P3 == 0.8)),
    refused("an entry that is a string", "`y_prob` must hold numbers; got a str, 'x', at row 0, column 1.", Y3, pd.DataFrame({"a": P3[:, 0], "b": ["x"] * 4})),
    refused("percentages in a matrix", "These look like percentages: say `percent=True` if they are.", Y3, P3 * 100),
    refused("counts in a matrix", "Divide each row by its sum if they are counts or other shares.", Y3, (P3 * 20).astype(int)),
    refused("logits in a matrix", "These look like logits: say `from_logits=True` if they are.", Y3, np.log(P3)),
    refused("an infinite logit", "`y_prob` as logits must be below +inf; 1 of 12 is not, the first at row 1, column 1.", Y3, np.where(P3 == 0.8, inf, P3), from_logits=True),
    refused("a row of logits without a finite one", "`y_prob` as logits must have a finite entry in every row; 1 of 4 rows has none, the first at row 2.", Y3, np.where([[0], [0], [1], [0]], -inf, P3), from_logits=True),
    refused("rows of different lengths", "`y_prob` must have rows of equal length; the first row has length 2, another has length 1 at row 1.", [0, 1], [[0.1, 0.9], [0.5]]),
    refused("a matrix with a row per class", "got 4 labels and 3 rows of scores. Transpose `y_prob` if it has a row per class.", Y3, P3.T),
    refused("fewer labels than rows", "got 2 labels and 4 rows of scores.", [0, 1], P3),
    refused("a class code out of range", "`y_true` must hold class codes 0 to 2, one per column of `y_prob`; 1 of 4 labels is not, the first is 3 at row 2.", [0, 1, 3, 0], P3),
    refused("class codes that begin at one", "Other labels are named in column order: `labels=[1, 2, 3]`.", [1, 2, 3, 1], P3),
    refused("a negative class code", "the first is -1 at row 1.", [0, -1, 2, 0], P3),
    refused("a class code of 1.5", "the first is 1.5 at row 1.", [0, 1.5, 2, 0], P3),
    refused("a nan class code", "`y_true` must not have missing values; 1 of 4 rows has one, the first at row 1.", [0, nan, 2, 0], P3),
    refused("a class code beyond 64 bits", "`y_true` must have one distinct value per column of `y_prob`", [0, 2**70, 1, 1], P3[:, :2] / P3[:, :2].sum(axis=1, keepdims=True)),
    refused("two words for three columns", "got 2 ('ant', 'bee') for 3 columns. `labels=` names the columns in order.", ["ant", "bee", "ant", "ant"], P3),
    refused("pos_label for a matrix", "`pos_label` is only for a vector of scores; `y_prob` is a matrix, so use `labels=`.", Y3, P3, pos_label=1),
    refused("two names for three columns", "`labels` must name the 3 columns of `y_prob` in order; got 2 names.", Y3, P3, labels=[0, 1]),
    refused("a class that is not named", "values named in `labels` (0, 1, 5); 1 of 4 labels is not, the first is 2 at row 2.", Y3, P3, labels=[0, 1, 5]),
    refused("a misspelt class beside named columns", "`y_true` must hold values named in the columns of `y_prob` ('cow', 'ant', 'bee'); 1 of 4 labels is not, the first is 'bea' at row 1.", ["ant", "bea", "cow", "ant"], pd.DataFrame(P3, columns=["cow", "ant", "bee"])),
    refused("names against the names of the columns", "`labels` must name the columns of `y_prob` in their order; it says 'ant', 'bee', 'cow', they are named 'cow', 'ant', 'bee'. Leave `labels` out to match columns by name.", WORDS3, pd.DataFrame(P3, columns=["cow", "ant", "bee"]), labels=["ant", "bee", "cow"]),
    refused("columns named by codes in another order", "they are named 2, 0, 1. Say `labels=[2, 0, 1]` to match columns by name, or pass the frame's `.to_numpy()` to match by position.", Y3, pd.DataFrame(P3, columns=[2, 0, 1])),
    refused("columns of one name", "`y_prob` must have columns of different names; some have the same.", Y3, pd.DataFrame(P3, columns=["a", "a", "b"])),
    refused("a swapped matrix", "the arguments seem swapped", P3, Y3),
]  # fmt: skip

TENSORS = [] if torch is None else [
    refused("a tensor without data", "`y_prob` must hold values; got a tensor on the device 'meta', which holds none.", Y, torch.empty(4, device="meta")),
    refused("a sparse tensor", "`y_prob` must be a dense tensor; got layout torch.sparse_coo. Use `.to_dense()`.", Y, torch.tensor(P).to_sparse()),
    refused("a tensor with a nan", "1 of 4 is nan, the first at row 0.", Y, torch.tensor([nan, 0.5, 0.5, 0.5])),
    refused("a list of tensors that need a gradient", "`y_prob` must be an array of numbers or labels; NumPy cannot make one", Y, [torch.tensor(p, requires_grad=True) for p in P]),
    refused("a bfloat16 matrix whose rows do not sum to one", "`sum_tolerance=2e-03` allows it.", Y3, torch.tensor(P3).bfloat16()),
]  # fmt: skip

if hasattr(np.dtypes, "StringDType"):
    text = np.dtypes.StringDType(na_object=nan)
    LABELS += [
        refused("a missing entry of NumPy's own strings", "1 of 4 rows has one, the first at row 1.", np.array(["no", nan, "yes", "no"], text), P, pos_label="yes"),
    ]  # fmt: skip
WIDE = np.finfo(np.longdouble).eps < 1e-18
if WIDE:
    SCORES += [
        refused("a long double just above one", "the first is 1.0000000000000002 at row 0.", Y, np.array([1, 0, 0, 0]) + np.longdouble(1e-19)),
        refused("a long double just below zero", "1 of 4 values does not", Y, np.array([-np.longdouble("1e-4000"), 0, 0, 0])),
        refused("a long double too large for a float", "the first is inf at row 0.", Y, np.array([np.longdouble("1e4000"), 0, 0, 0])),
    ]  # fmt: skip

REFUSED_VECTORS = SCORES + LABELS + WEIGHTS + ROW_OPTIONS
REFUSED = REFUSED_VECTORS + MATRICES + TENSORS


def error_of(measure, y, p, options):
    with pytest.raises(tn.InputError) as caught:
        measure(y, p, **options)
    return str(caught.value)


NAMED = r"`(y_true|y_prob|labels|pos_label|ignore_index|sample_weight|missing|kind(=.*)?|\w+_tolerance|from_logits)`"


def test_an_error_says_what_came_and_where():
    for what, y, p, options, message in REFUSED:
        text = error_of(tn.ece, y, p, options)
        assert message in text, what
        assert re.search(NAMED, text), what
        assert "\n" not in text
        assert text.endswith((".", "?")) or "NumPy cannot make one" in text
        assert len(text) < 400
        assert not re.search(r"invalid|please|np\.(int|float|str_)", text, re.IGNORECASE)


@pytest.mark.filterwarnings("ignore::trueness.errors.OneClassWarning")
def test_every_measure_gives_the_same_error():
    """Each case with some of the measures, in turn."""
    for i, (what, y, p, options, _) in enumerate(REFUSED):
        expected = error_of(tn.ece, y, p, options)
        for name in list(MEASURES)[i % 5 :: 5]:
            if name not in NO_MATRIX or is_vector(p):
                assert error_of(MEASURES[name], y, p, options) == expected, (what, name)


def is_vector(p):
    return getattr(p, "ndim", None) == 1 or (
        isinstance(p, list) and all(isinstance(v, float | int) for v in p)
    )


@pytest.mark.filterwarnings("ignore::trueness.errors.OneClassWarning")
def test_every_kind_gives_the_same_error():
    views = [
        (k, b)
        for k in ("classwise", "confidence", "top-label")
        for b in (10, tn.EqualMass(3), tn.Distinct())
    ]
    for i, (what, y, p, options, message) in enumerate(MATRICES):
        for kind, bins in views[i % 2 :: 2]:
            assert message in error_of(
                partial(tn.ece, bins=bins), y, p, options | {"kind": kind}
            ), what


@pytest.mark.parametrize("p", [[], pd.Series([], dtype=float), pl.Series([], dtype=pl.Float64)])
def test_no_rows_have_no_measure(p):
    for name, measure in MEASURES.items():
        if name not in NO_ROWS_IS_FINE:
            assert (
                error_of(measure, [], p, {})
                == "`y_true` and `y_prob` must have at least one row; both are empty."
            )


@pytest.mark.parametrize("p", [[], np.zeros((0, 3)), np.zeros(0, np.float32)])
def test_no_rows_are_the_zero_of_addition(p):
    assert tn.tally([], p).n == tn.binned([], p).n == 0


def test_labels_without_rows_may_be_of_any_type():
    assert tn.tally(np.array([], dtype=str), []).n == 0


ACCEPTED = [
    measured("lists", ECE, Y, P),
    measured("a range as labels", (0.05 + 0.3) / 2, range(2), [0.05, 0.7]),
    measured("0 and 1 as int scores", 0.0, Y, Y),
    measured("bool scores", 0.0, Y, [bool(y) for y in Y]),
    measured("scores of minus zero", 0.0, Y, [-0.0, 1, 1, -0.0]),
    measured("a subnormal score", 0.0, Y, [5e-324, 1, 1, 0]),
    measured("NumPy bools among bools", ECE, column_of(False, np.True_, True, np.False_), P),
    measured("strings with pos_label", ECE, WORDS, P, pos_label="yes"),
    measured("strings with the other pos_label", 0.75, WORDS, P, pos_label="no"),
    measured("strings with labels", ECE, WORDS, P, labels=["no", "yes"]),
    measured("labels and pos_label that agree", ECE, WORDS, P, labels=["no", "yes"], pos_label="yes"),
    measured("labels 1 and 2 with pos_label", ECE, [1, 2, 2, 1], P, pos_label=2),
    measured("bool labels with pos_label False", 0.75, [False, True, True, False], P, pos_label=False),
    measured("Decimal labels with pos_label", ECE, [Decimal(y) for y in Y], P, pos_label=1),
    measured("pairs with pos_label", ECE, pd.Series([("a", y) for y in Y]), P, pos_label=("a", 1)),
    measured("pairs that are all the pos_label", 0.55, pd.Series([("a", "b")] * 4), P, tn.errors.OneClassWarning, pos_label=("a", "b")),
    measured("labels of two types with labels", ECE, [0, "yes", "yes", 0], P, labels=[0, "yes"]),
    measured("int labels that floats cannot tell apart", ECE, [-1, 2**63 + 1, 2**63 + 1, -1], P, labels=[-1, 2**63 + 1]),
    measured("the negatives of a day", 0.45, ["no"] * 4, P, tn.errors.OneClassWarning, pos_label="yes"),
    measured("pandas rows with other names", ECE, pd.Series(Y, index=[5, 6, 7, 8]), pd.Series(P)),
    measured("pandas rows with the same names in the same order", ECE, pd.Series(Y, index=[3, 1, 2, 0]), pd.Series(P, index=[3, 1, 2, 0])),
    measured("a Polars Enum in another order", ECE, pl.Series(WORDS, dtype=pl.Enum(["yes", "no"])), P, pos_label="yes"),
    measured("scores within the clip tolerance", 0.0, Y, [-1e-7, 1 + 1e-7, 1, 0], clip_tolerance=1e-6),
    measured("float32 softmax slips with a clip tolerance", 0.0, Y, np.array([0, 1.0000001, 1, 0], np.float32), clip_tolerance=2e-7),
    measured("logits", ECE, Y, np.log(P) - np.log1p(-np.array(P)), from_logits=True),
    measured("logits of any size", 0.0, Y, [-1e308, 800, inf, -inf], from_logits=True),
    measured("bool weights", np.mean([0.2 * 2, 0.4]) * 2 / 3, Y, P, sample_weight=[True, False, True, True]),
    measured("int weights", (0.1 + 2 * 0.2 + 0.4 + 0.3) / 5, Y, P, sample_weight=[1, 2, 1, 1]),
    measured("a label that is missing and dropped", (0.1 + 0.4 + 0.3) / 3, [0, nan, 1, 0], P, tn.errors.DroppedRowsWarning, missing="drop"),
    measured("a score that is missing and dropped", (0.1 + 0.4 + 0.3) / 3, Y, [0.1, nan, 0.6, 0.3], tn.errors.DroppedRowsWarning, missing="drop"),
    measured("a weight that is missing and dropped", (0.1 + 0.4 + 0.3) / 3, Y, P, tn.errors.DroppedRowsWarning, missing="drop", sample_weight=[1, nan, 1, 1]),
    measured("a masked score out of range that is dropped", (0.1 + 0.4 + 0.3) / 3, Y, masked([0.1, 9, 0.6, 0.3], [0, 1, 0, 0]), tn.errors.DroppedRowsWarning, missing="drop"),
    measured("a nan logit that is dropped", 0.0, Y, [-1000, nan, 1000, -1000], tn.errors.DroppedRowsWarning, missing="drop", from_logits=True),
    measured("one class", 0.55, [1, 1, 1, 1], P, tn.errors.OneClassWarning),
]  # fmt: skip

ACCEPTED_MATRICES = [
    measured("lists of lists", ECE3, Y3, P3.tolist()),
    measured("a float16 matrix of the other byte order", ECE3, Y3, P3.astype(">f2")),
    measured("bool class codes for two columns", ECE, [False, True, True, False], np.column_stack([np.subtract(1, P), P])),
    measured("strings with labels in column order", ECE3, WORDS3, P3[:, [2, 0, 1]], labels=["cow", "ant", "bee"]),
    measured("class codes that begin at one with labels", ECE3, [1, 2, 3, 1], P3, labels=[1, 2, 3]),
    measured("unsigned codes that floats cannot tell apart", ECE3, np.array([0, 2**64 - 2, 2**64 - 1, 0], "u8"), P3, labels=[0, 2**64 - 2, 2**64 - 1]),
    measured("a pandas frame with names in another order", ECE3, WORDS3, pd.DataFrame(P3, columns=["ant", "bee", "cow"])[["cow", "ant", "bee"]]),
    measured("a pandas frame with codes for names, said by labels", ECE3, Y3, pd.DataFrame(P3)[[2, 0, 1]], labels=[2, 0, 1]),
    measured("a pandas frame with names that are no labels", ECE3, WORDS3, pd.DataFrame(P3, columns=["p1", "p2", "p3"])),
    measured("a pandas frame with names in two levels", ECE3, Y3, pd.DataFrame(P3, columns=pd.MultiIndex.from_product([["p"], [0, 1, 2]]))),
    measured("a pandas frame of bools and floats", 0.0, Y, pd.DataFrame({"no": [True, False, False, True], "yes": [0.0, 1, 1, 0]})),
    measured("a Polars frame with names in another order", ECE3, WORDS3, pl.DataFrame(P3, schema=["ant", "bee", "cow"]).select("cow", "ant", "bee")),
    measured("a Polars Enum, whose order is that of the columns", ECE3, pl.Series(WORDS3, dtype=pl.Enum(["cow", "bee", "ant"])), P3[:, ::-1]),
    measured("one class of three missing in the labels", 0.1875, ["ant", "bee", "ant", "ant"], [[0.75, 0.25, 0], [0.25, 0.75, 0], [0.625, 0.25, 0.125], [0.75, 0, 0.25]], labels=["ant", "bee", "cow"]),
    measured("sums within the sum tolerance", pytest.approx(ECE3, abs=1e-5), Y3, OFF, sum_tolerance=1e-4),
    measured("logits of a matrix", ECE3, Y3, np.log(P3), from_logits=True),
    measured("logits of minus infinity", 0.0, [0, 1], [[0, -inf], [-inf, 5]], from_logits=True),
    measured("a row of a matrix that is dropped", (1.0 + 0.65 + 0.75) / 9, Y3, np.where(P3 == 0.8, nan, P3), tn.errors.DroppedRowsWarning, missing="drop"),
    measured("one-hot scores", 0.0, Y3, np.eye(3, dtype=int)[Y3]),
]  # fmt: skip


@pytest.mark.filterwarnings("ignore::trueness.TruenessWarning")
def test_a_number_is_right():
    for what, y, p, options, value, warning in ACCEPTED + ACCEPTED_MATRICES:
        narrow = getattr(p, "dtype", None) in (np.float16, np.float32, ">f4", ">f2")
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            found = ece2(y, p, **options)
        assert found == pytest.approx(value, abs=2e-4 if narrow else 1e-12), what
        assert {(w.category, w.filename) for w in caught} == (
            {(warning, __file__)} if warning else set()
        ), what
        from_sums = ece2(tn.tally(y, p, **options))
        assert from_sums == (
            pytest.approx(found, rel=1e-12) if "sample_weight" in options else found
        ), what


@given(
    y=st.lists(st.sampled_from([0.0, 1.0, nan]), min_size=5, max_size=5),
    p=st.lists(st.sampled_from([0.0, 0.25, 0.7, 1.0, nan]), min_size=5, max_size=5),
    w=st.lists(st.sampled_from([0.0, 1.0, 3.0, nan]), min_size=5, max_size=5),
)
@pytest.mark.filterwarnings("ignore::trueness.TruenessWarning")
def test_dropping_is_leaving_out(y, p, w):
    y, p, w = [*y, 0.0], [*p, 0.5], [*w, 1.0]
    kept = ~(np.isnan(y) | np.isnan(p) | np.isnan(w))
    assert ece2(y, p, sample_weight=w, missing="drop") == ece2(
        np.array(y)[kept], np.array(p)[kept], sample_weight=np.array(w)[kept]
    )


def suggestion_in(error, name):
    found = re.search(rf"`{name}=(\S+)` allows it", str(error.value))
    assert found, str(error.value)
    return float(found[1])


@given(
    excess=st.floats(0, 9e-4, exclude_min=True),
    below=st.booleans(),
    dtype=st.sampled_from(["f4", "f8"]),
)
def test_the_suggested_clip_tolerance_is_enough_and_has_one_digit(excess, below, dtype):
    bad = np.array([-excess if below else 1 + excess, 1, 1, 0], dtype)
    if 0 <= bad[0] <= 1:
        return
    with pytest.raises(tn.InputError) as error:
        tn.ece(Y, bad)
    tolerance = suggestion_in(error, "clip_tolerance")
    assert tolerance == float(f"{tolerance:.0e}")
    assert ece2(Y, bad, clip_tolerance=tolerance) == ece2(Y, np.clip(bad, 0, 1))


@given(
    excess=st.floats(-9e-3, 9e-3).filter(lambda e: abs(e) > 2e-6),
    kind=st.sampled_from(["classwise", "confidence"]),
)
def test_the_suggested_sum_tolerance_is_enough(excess, kind):
    bad = np.array([[0.5 + excess, 0.5], [0.25, 0.75]])
    with pytest.raises(tn.InputError) as error:
        ece2([0, 1], bad, kind=kind)
    assert ece2([0, 1], bad, kind=kind, sum_tolerance=suggestion_in(error, "sum_tolerance")) >= 0


@given(st.integers(0, 10_000))
@pytest.mark.filterwarnings("ignore::trueness.TruenessWarning")
def test_a_sum_at_the_very_limit_is_explained_whatever_the_memory_order(seed):
    rows = np.random.default_rng(seed).dirichlet(np.ones(60), 3)
    total = rows[0].sum()
    tolerance = max(abs(total - 1) - 2**-54, 0.0)
    for matrix in (rows, np.asfortranarray(rows), rows[:, ::-1]):
        try:
            tn.ece([0, 1, 2], matrix, sum_tolerance=tolerance)
        except tn.InputError as error:
            assert re.match(r"Rows of `y_prob` must sum to 1 within \S+; [1-3] of 3 do", str(error))  # noqa: PT017


@given(
    p=st.lists(st.floats(0, 1), min_size=2, max_size=20).filter(
        lambda p: any(0 < v < 1 for v in p)
    ),
    labels=st.sampled_from([(0, 1), (False, True), (0.0, 1.0), (-1, 1), ("a", "b")]),
)
def test_swapped_arguments_are_recognised(p, labels):
    y = [labels[i % 2] for i in range(len(p))]
    with pytest.raises(tn.InputError, match="seem swapped"):
        tn.ece(p, y)


GOOD_LABELS = [0, 1, 0.0, 1.0, -0.0, True, False, np.int8(1), np.float32(0), np.True_]
BAD_LABELS = [
    2,
    -1,
    nan,
    None,
    "yes",
    b"yes",
    0.5,
    inf,
    2**70,
    Decimal(1),
    1j,
    [1],
    {},
    pd.NA,
    np.datetime64("2020"),
]
GOOD_SCORES = [
    0,
    1,
    0.25,
    -0.0,
    5e-324,
    True,
    Decimal("0.5"),
    Fraction(1, 3),
    np.float16(0.75),
    np.int64(1),
]
BAD_SCORES = [
    1.5,
    -0.5,
    nan,
    None,
    "0.5",
    b"0",
    1j,
    2**70,
    -inf,
    Decimal("1.5"),
    [0.5],
    {},
    pd.NaT,
    1 + 2**-52,
]


@given(data=st.data(), n=st.integers(1, 6), spoil=st.booleans())
@pytest.mark.filterwarnings("ignore::trueness.TruenessWarning")
def test_a_list_of_anything_is_measured_rightly_or_refused(data, n, spoil):
    y = data.draw(st.lists(st.sampled_from(GOOD_LABELS), min_size=n, max_size=n))
    p = data.draw(st.lists(st.sampled_from(GOOD_SCORES), min_size=n, max_size=n))
    if spoil:
        rows, bad = data.draw(st.sampled_from([(y, BAD_LABELS), (p, BAD_SCORES)]))
        rows[data.draw(st.integers(0, n - 1))] = data.draw(st.sampled_from(bad))
        with pytest.raises(tn.InputError):
            ece2(y, p)
        return
    excess = np.array([float(a) - float(b) for a, b in zip(y, p, strict=True)])
    high = np.array([b >= 0.5 for b in p])
    assert ece2(y, p) == pytest.approx(
        (abs(excess[high].sum()) + abs(excess[~high].sum())) / n, abs=1e-15
    )


def test_an_unknown_keyword_is_named():
    for name, measure in MEASURES.items():
        with pytest.raises(TypeError, match="weights"):
            measure(Y, P, weights=[1, 1, 1, 1])
        if name not in ("tally", "binned"):
            with pytest.raises(TypeError, match="weights"):
                measure(tn.tally(Y, P), weights=[1, 1, 1, 1])


def test_options_go_by_keyword():
    with pytest.raises(TypeError, match="positional"):
        tn.ece(Y, P, 10)


def wrong(what, call, message):
    return what, call, message


WHOLE = "`bins` must be a whole number ≥ 1"
EDGES = "`bins` as edges must"
NORM = "`norm` must be 'l1', 'l2', 'max' or a number ≥ 1; got "
OPTIONS = [
    *(wrong(f"bins={b!r:.20}", partial(tn.ece, bins=b), f"{WHOLE}; got {b!r}") for b in (0, -1)),
    *(
        wrong(f"bins={b!r:.20}", partial(tn.ece, bins=b), f"{WHOLE}, a sequence of edges or a bin rule; got {b!r}")
        for b in (1.5, 10.0, True, None, "10", inf, nan, 1j, np.float64(10), np.True_, Decimal(3), tn.EqualWidth)
    ),
    wrong("bins=10**9", partial(tn.ece, bins=10**9), "`bins` must be at most 1,048,576; got 1,000,000,000. `Distinct()`"),
    wrong("bins=10**30", partial(tn.ece, bins=10**30), "`bins` must be at most 1,048,576"),
    wrong("no edges", partial(tn.ece, bins=[]), f"{EDGES} be a sequence of at least 2 numbers; got shape (0,)."),
    wrong("one edge", partial(tn.ece, bins=[0.5]), "got shape (1,)."),
    wrong("an edge without dimensions", partial(tn.ece, bins=np.array(10)), "got shape ()."),
    wrong("edges in two dimensions", partial(tn.ece, bins=[[0, 1]]), "got shape (1, 2)."),
    wrong("an edge twice", partial(tn.ece, bins=[0, 0.5, 0.5, 1]), f"{EDGES} increase strictly inside [0, 1]; got [0."),
    wrong("falling edges", partial(tn.ece, bins=[1, 0]), f"{EDGES} increase strictly"),
    wrong("an edge above one", partial(tn.ece, bins=[0, 2]), f"{EDGES} increase strictly"),
    wrong("an edge below zero", partial(tn.ece, bins=[-0.1, 1]), f"{EDGES} increase strictly"),
    wrong("an edge that is nan", partial(tn.ece, bins=[0, nan, 1]), f"{EDGES} increase strictly"),
    wrong("an edge that is None", partial(tn.ece, bins=[0, None, 1]), f"{EDGES} "),
    wrong("strings as edges", partial(tn.ece, bins=["0", "1"]), f"{EDGES} be numbers; got ['0', '1']."),
    wrong("complex edges", partial(tn.ece, bins=np.array([0, 1j])), f"{EDGES} be numbers"),
    wrong("a set of edges", partial(tn.ece, bins={0, 1}), f"{EDGES} be numbers"),
    wrong("edges that miss a score", partial(tn.ece, bins=[0.2, 1]), "`bins` must cover every score; its edges run from 0.2 to 1 and a score is 0.1."),
    *(
        wrong(f"ace of bins={b!r:.20}", partial(tn.ace, bins=b), f"{WHOLE} or an EqualMass rule; got {b!r}.")
        for b in (0, -1, 1.5, True, None, "10", [0, 1], tn.EqualWidth(3))
    ),
    wrong("ace of 10**9 bins", partial(tn.ace, bins=10**9), "must be at most 16,777,216"),
    *(wrong(f"n_min={n!r}", lambda y, p, n=n: tn.tce(y, p, bins=tn.BlockIsotonic(n_min=n)), f"`n_min` must be a whole number ≥ 0; got {n!r}.") for n in (-1, 2.5, True, "3")),
    wrong("n_min above the rows", partial(tn.tce, bins=tn.BlockIsotonic(n_min=10)), "`n_min` must be at most the number of rows (4); got 10."),
    wrong("n_max below n_min", partial(tn.tce, bins=tn.BlockIsotonic(n_min=2, n_max=1)), "`n_max` must be at least `n_min` (2); got 1."),
    *(wrong(f"norm={n!r:.20}", partial(tn.ece, norm=n), NORM + repr(n)) for n in ("rms", "L1", "1", 0, 0.5, -1, nan, True, None, [1], 1j, b"l1")),
    *(wrong(f"alpha={a!r:.20}", partial(tn.tce, alpha=a), f"`alpha` must lie between 0 and 1; got {a!r}.") for a in (-1e-9, 1 + 1e-9, 5, nan, True, None, "0.05", [0.05])),
    *(wrong(f"level={a!r:.20}", partial(tn.bin_table, level=a), f"`level` must lie strictly between 0 and 1; got {a!r}.") for a in (0, 1, -0.1, 95, nan, True, None, "0.95")),
    *(wrong(f"test={t!r}", partial(tn.tce, test=t), f"`test` must be 'binomial', 't', 't-variance-for-deviation' or a function; got {t!r}.") for t in ("z", "Binomial", None, True)),
    *(wrong(f"interval={i!r}", partial(tn.bin_table, interval=i), f"`interval` must be 'exact', 'wilson' or 'jeffreys'; got {i!r}.") for i in ("wald", None)),
    *(wrong(f"score={s!r}", partial(tn.corp, score=s), f"`score` must be 'brier' or 'log'; got {s!r}.") for s in ("crps", None)),
    *(wrong(f"loss={v!r}", partial(tn.gce, loss=v), f"`loss` must be 'absolute', 'squared', 'rejection' or a function of one bin; got {v!r}.") for v in ("l1", None, 3)),
    *(wrong(f"a loss of {v!r}", partial(tn.gce, loss=lambda _, v=v: v), f"`loss` must return a number for every bin; it returned {v!r} for bin ") for v in (None, nan, "x", [1, 2])),
    *(wrong(f"a test that returns {v!r}", partial(tn.tce, test=lambda *_, v=v: v), "`test` must return a p-value between 0 and 1 for each score, or whether it is rejected; it returned ") for v in (None, 0.5, [2.0], "x", ["x"], 4 * [-1.0], 4 * [2.0], 4 * [1j])),
    *(wrong(f"a norm of {v!r}", partial(tn.gce, norm=lambda *_, v=v: v), f"`norm` must return a number; it returned {v!r}.") for v in (None, nan, "x")),
    wrong("rejection at alpha=7", partial(tn.gce, loss="rejection", alpha=7), "`alpha` must lie between 0 and 1; got 7."),
    *(wrong(f"k={k!r}", partial(tn.squared_ece, k=k), "`k` must be") for k in (0, 2, -1, 1.5, "1", True)),
    *(wrong(f"an array as {o}", partial(f, **{o: np.arange(3)}), f"`{o}` must be") for f, o in ((tn.ece, "norm"), (tn.tce, "test"))),
    wrong("weight_type='row'", partial(tn.squared_ece, weight_type="row"), "`weight_type` must be 'auto', 'frequency' or 'importance'; got 'row'."),
    wrong("bins that look at labels", partial(tn.squared_ece, bins=tn.Isotonic()), "`bins` must not depend on the labels"),
    wrong("parts of weights in a binomial test", partial(tn.tce, sample_weight=[0.5, 1, 1, 1]), "`sample_weight` must be whole numbers that sum to less than 2³⁵ for the binomial test"),
]  # fmt: skip


@pytest.mark.filterwarnings("ignore::trueness.errors.FewRowsWarning")
def test_an_option_out_of_bounds_is_refused():
    for what, call, message in OPTIONS:
        assert message in error_of(call, Y, P, {}), what


@pytest.mark.parametrize(
    "bins",
    [np.int32(2), np.uint8(2), [0, 0.5, 1], np.array([0, 0.5, 1], object), pd.Series([0, 0.5, 1])],
)
def test_bins_may_be_numbers_of_any_type(bins):
    assert tn.ece(Y, P, bins=bins) == ece2(Y, P)


def test_many_bins_are_few_rows():
    with pytest.warns(
        tn.errors.FewRowsWarning, match=r"There are fewer rows \(4\) than bins \(1,000,000\)"
    ):
        assert tn.ece(Y, P, bins=1_000_000) == pytest.approx((0.1 + 0.2 + 0.4 + 0.3) / 4)


ONE_ROW = {
    "ece": 0.25,
    "ace": 0.25,
    "mce": 0.25,
    "gce": 0.25,
    "tce": 0.0,
    "brier": 0.0625,
    "log_loss": -np.log(0.75),
    "squared_ece": 0.0,
    "observed_expected": 4 / 3,
}


@pytest.mark.filterwarnings("ignore::trueness.errors.FewRowsWarning")
def test_one_row_has_a_number_and_a_warning():
    for name, value in ONE_ROW.items():
        with pytest.warns(tn.errors.OneClassWarning, match="There is one label"):
            assert MEASURES[name]([1], [0.75]) == pytest.approx(value, abs=1e-15)


def test_one_row_has_no_slope():
    with (
        pytest.warns(tn.errors.OneClassWarning),
        pytest.warns(tn.errors.NoEstimateWarning, match="returning nan"),
    ):
        assert np.isnan(tn.calibration_slope([1], [0.75]))


@pytest.mark.filterwarnings("ignore::trueness.errors.FewRowsWarning")
def test_more_classes_than_rows_are_fine():
    P = np.full((3, 7), 1 / 7)
    assert tn.ece([0, 3, 6], P, kind="confidence") == pytest.approx(1 / 3 - 1 / 7)


@pytest.mark.filterwarnings("ignore::PendingDeprecationWarning")
def test_a_numpy_matrix_is_a_matrix():
    assert ece2(Y3, np.matrix(P3)) == ece2(Y3, P3)


@pytest.mark.skipif(torch is None, reason="torch is not installed")
@pytest.mark.parametrize(
    "dtype", ["float64", "float32", "float16", "bfloat16", "float8_e4m3fn", "float8_e5m2"]
)
def test_a_tensor_is_the_number_it_denotes(dtype):
    scores = torch.tensor([0.0, 0.5, 1.0, 0.25], requires_grad=True).to(getattr(torch, dtype))
    assert ece2(torch.tensor(Y), scores) == ece2(Y, [0.0, 0.5, 1.0, 0.25])


@pytest.mark.skipif(torch is None, reason="torch is not installed")
@pytest.mark.filterwarnings("ignore:ComplexHalf:UserWarning")
def test_a_tensor_of_a_type_that_numpy_lacks_is_refused():
    with pytest.raises(
        tn.InputError, match=r"a tensor that NumPy can read; got dtype torch\.complex32"
    ):
        tn.ece(Y, torch.zeros(4, dtype=torch.complex32))
