"""The page as a file: one piece, nothing from elsewhere, names as text."""

import json
import re
from html.parser import HTMLParser

import numpy as np
import pytest

import trueness as tn
from trueness._text.numbers import number

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


def read(report):
    reader = Reader()
    reader.feed(report.page())
    assert reader.open == []
    return reader


@pytest.mark.parametrize("which", ["binary", "hostile", "multiclass", "sketch", "binned"])
def test_every_element_is_closed_and_every_id_is_one(request, which):
    found = read(request.getfixturevalue(which))
    assert len(found.ids) == len(set(found.ids))


@pytest.mark.parametrize("which", ["binary", "hostile", "multiclass", "sketch", "binned"])
def test_nothing_is_fetched(request, which):
    report = request.getfixturevalue(which)
    tags = {tag for tag, _ in read(report).elements}
    assert not tags & {"link", "img", "iframe", "object", "embed", "audio", "video"}
    assert not any(name in attrs for _, attrs in read(report).elements for name in ("src", "action"))
    targets = [attrs["href"] for _, attrs in read(report).elements if "href" in attrs]
    assert targets
    assert {target.removeprefix("#") for target in targets} <= set(read(report).ids)
    assert not re.search(r"url\((?!#)|@import|https?://(?!www\.w3\.org/2000/svg)", report.page())


def test_names_cannot_become_markup(hostile):
    scripts = [attrs for tag, attrs in read(hostile).elements if tag == "script"]
    assert scripts == [{"type": "application/json", "id": "sums"}, {}]
    assert not any(name.startswith("on") for _, attrs in read(hostile).elements for name in attrs)


def test_only_the_script_of_the_page_may_run(binary):
    policy = re.search(r'Content-Security-Policy" content="([^"]*)"', binary.page())[1]
    assert "default-src &#39;none&#39;" in policy or "default-src 'none'" in policy
    assert "script-src 'sha256-" in policy
    assert "unsafe-inline" not in policy.split("script-src")[1]


def test_the_sums_are_json(binary, edges):
    text = re.search(r'id="sums">(.*?)</script>', binary.page(), re.DOTALL)[1]
    sums = json.loads(text)
    view = sums["models"][0]["views"][0]
    assert sum(view["n"]) == 600
    assert sum(view["events"]) == edges[0].sum()


def test_a_page_is_small(binary, hostile, multiclass):
    for report in (binary, hostile, multiclass):
        assert len(report.page().encode()) < 2_000_000


def test_the_frame_of_a_notebook_is_apart(binary):
    frame = binary._repr_html_()
    assert frame.startswith('<iframe srcdoc="')
    assert 'sandbox="allow-scripts"' in frame
    assert "<script" not in frame


def test_nothing_heavy_is_loaded_to_import_the_package():
    from test_light_import import loaded_after

    assert "jinja2" not in loaded_after("import trueness as tn; tn.ece([0, 1], [0.2, 0.8], bins=2)")


def test_a_title_is_shown():
    d = tn.simulate.demo(100)
    assert "<title>Churn &amp; co</title>" in tn.report(d.y_true, d.y_prob, title="Churn & co").page()


@pytest.mark.slow
def test_rare_events_begin_with_bins_of_equal_mass():
    rng = np.random.default_rng(0)
    p = rng.beta(1, 700, 20_000)
    y = (rng.random(p.size) < p).astype(int)
    found = tn.report(y, p, intervals=False)
    model = found.to_dict()["models"][0]
    assert model["summary"]["ece"] == tn.ece(y, p)
    assert any("picture and table show 10 bins of equal mass" in note for note in model["notes"])
    page = found.page()
    assert "Reliability diagram of 10 bins" in page
    assert (
        f'>{number(tn.ece(y, p, bins=tn.EqualMass(10)))}</strong> <span class="what">in 10 bins of equal mass' in page
    )
