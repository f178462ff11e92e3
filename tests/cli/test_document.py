"""``trueness document``: the headings of each style, the numbers of the functions, and blank judgement."""

import hashlib
import re
from html.parser import HTMLParser
from pathlib import Path

import numpy as np
import pytest

import trueness as tn

CREDIT = (
    *("Data", "Definition of default", "Discrimination", "Calibration", "Stability"),
    *("Limits of use", "Decision", "Receipt"),
)
CLINICAL = ("Data", "Discrimination", "Calibration", "Limits of use", "Decision", "Receipt")


class Page(HTMLParser):
    """Text by section, the headings, and whether every tag is closed."""

    VOID = frozenset(("meta", "br", "hr", "link", "img", "input", "wbr"))

    def __init__(self, text):
        super().__init__()
        self.open, self.headings, self.scripts = [], [], 0
        self.text = ""
        self.feed(text)

    def handle_starttag(self, tag, attrs):
        if tag not in self.VOID:
            self.open.append(tag)
        self.scripts += tag == "script"
        if tag == "h2":
            self.headings.append("")

    def handle_endtag(self, tag):
        assert self.open.pop() == tag

    def handle_data(self, data):
        self.text += data + " "
        if self.open and self.open[-1] == "h2":
            self.headings[-1] += data


@pytest.fixture
def loans(tmp_path, monkeypatch):
    """A file of loans, and its columns."""
    monkeypatch.chdir(tmp_path)
    rng = np.random.default_rng(0)
    p = rng.beta(1, 15, 400).round(4)
    y = (rng.random(400) < p).astype(int)
    rating, year = np.array(list("AB"))[(p > 0.05).astype(int)], 2022 + np.arange(400) % 3
    lines = ["default,pd,rating,year"]
    lines += [f"{a},{b},{c},{d}" for a, b, c, d in zip(y, p, rating, year, strict=True)]
    Path("loans.csv").write_text("\n".join(lines) + "\n", encoding="utf-8")
    return y, p, rating, year


COLUMNS = ("loans.csv", "--label", "default", "--prob", "pd")


@pytest.mark.slow
def test_a_credit_document_has_its_sections_and_the_numbers_of_the_functions(call, loans):
    y, p, rating, year = loans
    options = ("--grades", "rating", "--over", "year", "-o", "x.html")
    result = call("document", *COLUMNS, *options)
    assert result.exit_code == 0, result.stderr
    html = Path("x.html").read_text(encoding="utf-8")
    page = Page(html)
    assert page.open == []
    assert page.scripts == 0
    assert [re.sub(r"^\d\. ", "", one) for one in page.headings] == list(CREDIT)
    auc = tn.estimate("auc", y, p)
    assert f"{auc.low:.4f} to {auc.high:.4f}" in page.text
    stability = tn.psi(p[year == 2022], p[year == 2024])
    assert f"{stability.value:.4f}" in page.text
    assert f"{stability.floor_high:.4f}" in page.text
    table = tn.grade_table(y, p, grades=rating)
    for cells in table.texts():
        assert cells["low"] in page.text
    assert hashlib.sha256(Path("loans.csv").read_bytes()).hexdigest() in page.text
    assert "trueness document loans.csv --label default --prob pd --grades rating" in page.text
    assert "☐ approved" in page.text
    assert html.count('class="blank"') == 11


@pytest.mark.slow
def test_a_clinical_document_has_neither_default_nor_stability(call, loans):
    result = call("document", *COLUMNS, "--style", "clinical", "--title", "Risk <b>x</b>")
    assert result.exit_code == 0, result.stderr
    html = Path("trueness-document.html").read_text(encoding="utf-8")
    page = Page(html)
    assert [re.sub(r"^\d\. ", "", one) for one in page.headings] == list(CLINICAL)
    assert "<b>x</b>" not in html


def test_several_models_and_one_period_are_refused(call, loans):
    result = call("document", *COLUMNS, "--prob", "pd")
    assert result.exit_code == 2
    Path("one.csv").write_text("default,pd,year\n0,0.1,1\n1,0.2,1\n0,0.3,1\n", encoding="utf-8")
    result = call("document", "one.csv", *COLUMNS[1:], "--over", "year")
    assert result.exit_code == 2
    assert "must have two periods or more" in result.stderr
