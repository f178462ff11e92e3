"""Strings made safe and made to fit."""

import json
import math

import numpy as np
import pytest

import trueness as tn
from trueness._text.strings import align, display_width, json_ready, markdown_text, quoted, shorten, visible, wrap


@pytest.mark.parametrize("text", ["plain", "π [bold] 宽", "with space"])
def test_printable_text_is_unchanged(text):
    assert visible(text) == text


@pytest.mark.parametrize("text", ["\x1b", "\n", "\x00", "\x7f", "\u202e", "\udcff", "\u2028"])
def test_unseen_characters_are_spelled_out(text):
    assert visible(text).isascii()
    assert visible(text).isprintable()


def test_names_are_quoted_visibly():
    assert quoted("a\x00") == "“a\\x00”"


def test_long_names_lose_their_middle():
    assert shorten("x" * 50 + "y" * 50, 10) == "xxxxx…yyyy"
    assert shorten("x" * 10, 10) == "x" * 10
    assert len(shorten("x" * 100, 11)) == 11


def test_markdown_is_shown_as_text():
    assert markdown_text("[a](b) <i> *c* |\n") == r"\[a\](b) \<i\> \*c\* \|\\n"


def test_wide_letters_count_twice_and_marks_not_at_all():
    assert [display_width(text) for text in ("ab", "宽", "e\u0301")] == [2, 2, 1]
    assert align([["宽", "1"], ["a", "22"]], [False, True]) == "宽   1\na   22"


def test_words_longer_than_a_line_stay_whole():
    assert wrap("a " + "x" * 50, 40) == "a\n" + "x" * 50
    assert wrap("one " * 12, 40, hanging=True).splitlines()[1].startswith("  one")


def test_json_has_no_nan_and_no_arrays():
    found = json_ready({"a": np.array([1.0, math.nan]), "b": (math.inf, np.int64(3)), 4: tn.EqualWidth(2)})
    assert json.loads(json.dumps(found, allow_nan=False))["a"] == [1.0, None]
    assert found["b"] == [None, 3]
    assert list(found) == ["a", "b", "4"]


def test_a_number_and_its_percent_sign_stay_on_one_line():
    assert wrap("x" * 37 + " 95 % limits", 40) == "x" * 37 + "\n95 % limits"
