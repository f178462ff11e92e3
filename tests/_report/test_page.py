"""The page as a file: one piece, nothing from elsewhere, names as text."""

import re
from html.parser import HTMLParser

import numpy as np
import pytest

import trueness as tn

VOID = {"meta", "input", "br", "img", "link", "hr"}


class Reader(HTMLParser):
    """Elements, their attributes and whether they are closed."""

    def __init__(self):
        super().__init__()
        self.open, self.elements, self.ids = [], [], []

    def handle_starttag(self, tag, attrs):
        self.elements.append((tag, dict(attrs)))
        self.ids += [value for name, value in attrs if name == "id"]
        if tag not in VOID:
            self.open.append(tag)

    def handle_endtag(self, tag):
        assert self.open.pop() == tag


def read(page):
    reader = Reader()
    reader.feed(page)
    assert reader.open == []
    return reader


@pytest.mark.parametrize("which", ["binary", "hostile", "multiclass", "sketch", "binned"])
def test_a_page_is_small_and_whole_and_fetches_nothing(request, which):
    page = request.getfixturevalue(which).page()
    assert len(page.encode()) < 2_000_000
    found = read(page)
    assert len(found.ids) == len(set(found.ids))
    tags = {tag for tag, _ in found.elements}
    assert not tags & {"link", "img", "iframe", "object", "embed", "audio", "video"}
    assert not any(name in attrs for _, attrs in found.elements for name in ("src", "action"))
    targets = [attrs["href"] for _, attrs in found.elements if "href" in attrs]
    assert targets
    assert {target.removeprefix("#") for target in targets} <= set(found.ids)
    assert not re.search(r"url\((?!#)|@import|https?://(?!www\.w3\.org/2000/svg)", page)


def test_names_cannot_become_markup(hostile):
    elements = read(hostile.page()).elements
    assert [attrs for tag, attrs in elements if tag == "script"] == [
        {"type": "application/json", "id": "sums"},
        {},
    ]
    assert not any(name.startswith("on") for _, attrs in elements for name in attrs)


def test_only_the_script_of_the_page_may_run(binary):
    policy = re.search(r'Content-Security-Policy" content="([^"]*)"', binary.page())[1]
    assert "default-src &#39;none&#39;" in policy or "default-src 'none'" in policy
    assert "script-src 'sha256-" in policy
    assert "unsafe-inline" not in policy.split("script-src")[1]


def test_the_frame_of_a_notebook_is_apart(binary):
    frame = binary._repr_html_()
    assert frame.startswith('<iframe srcdoc="')
    assert 'sandbox="allow-scripts"' in frame
    assert "<script" not in frame


@pytest.mark.slow
def test_the_page_opens_with_the_worst_model_also_if_events_are_rare():
    p = np.random.default_rng(0).beta(1, 50, 3_000)
    y = (np.random.default_rng(1).random(p.size) < p).astype(int)
    page = tn.report(y, {"slightly": p / 1.5, "far": p * 4}, intervals=False).page()
    assert re.findall(r'<a role="tab"[^>]* aria-selected="(\w+)"', page) == ["false", "true"]
    assert "(opened first: the worst of the 2 models)" in page


def test_a_title_is_shown():
    d = tn.simulate.demo(100)
    found = tn.report(tn.tally(d.y_true, d.y_prob), title="Churn & co", intervals=False)
    assert "<title>Churn &amp; co</title>" in found.page()


@pytest.mark.slow
def test_the_page_states_the_smallest_p_value_as_a_bound_wherever_it_is():
    """Of one of four labels "p = 0.00063" stood above "p ≤ 0.00063"."""
    data = tn.simulate.demo(400)
    p = np.clip(data.y_prob, 0.02, 0.98)
    P = np.column_stack([1 / (1 + ((1 - p) / p) ** 1.3)] * 4)
    Y = np.column_stack([data.y_true] * 4)
    report = tn.report(Y, P, kind="multilabel", progress=False)
    for text in (report.page(), report.to_text()):
        bounds = set(re.findall(r"p ≤ (0\.[0-9]+)", text))
        assert bounds
        assert not bounds & set(re.findall(r"p = (0\.[0-9]+)", text))


@pytest.mark.slow
def test_the_tce_of_a_calibrated_model_is_the_same_in_table_and_picture():
    """With one score the TCE is 0 or 100 %, and its mean, 4.5 %, above the 95 % quantile, 0."""
    p = np.full(4_000, 0.9)
    y = (np.arange(4_000) < 3_590).astype(int)
    page = tn.report(y, p, progress=False).page()
    assert "of a calibrated model, up to 0.0 % with probability 95 %" in page
