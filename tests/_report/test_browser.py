"""The page in a browser: what it shows, computes and lets a keyboard do."""

import base64
from pathlib import Path

import numpy as np
import pytest
from _assess.test_leading_finding import too_extreme_in_the_north
from _report.conftest import HOSTILE

import trueness as tn

Keys = pytest.importorskip(
    "selenium.webdriver.common.keys", reason="selenium is not installed"
).Keys
CONTRAST = Path(__file__).with_name("contrast.js")
RULES = {"width": tn.EqualWidth, "mass": tn.EqualMass}
OFFERED = (2, 3, 4, 5, 6, 7, 8, 9, 10, 12, 15, 18, 20, 25, 30, 40, 50)


def colours(page, theme):
    features = [{"name": "prefers-color-scheme", "value": theme}]
    page.execute_cdp_cmd("Emulation.setEmulatedMedia", {"features": features})


def resize(page, width):
    metrics = {"width": width, "height": 900, "deviceScaleFactor": 1, "mobile": False}
    page.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", metrics)


def unfold(page):
    """Open everything that is folded."""
    page.execute_script(
        "document.querySelectorAll('details').forEach((one) => { one.open = true; })"
    )


@pytest.fixture
def opened(browser, tmp_path):
    """Open a report from disk and unfold it; at the end, nothing has been complained of and nothing fetched."""

    def open_page(report, theme="light", width=1280, folded=False):
        path = report.to_html(tmp_path / "page.html")
        colours(browser, theme)
        resize(browser, width)
        browser.get(path.as_uri())
        if not folded:
            unfold(browser)
        return browser

    yield open_page
    assert browser.get_log("browser") == []
    assert browser.execute_script("return performance.getEntriesByType('resource').length") == 0
    assert browser.execute_script("return window.hacked") is None


def one(page, css):
    return page.find_element("css selector", css)


def every(page, css):
    return page.find_elements("css selector", css)


def column(page, table, i):
    script = "return [...document.querySelectorAll(arguments[0])].map(r => r.cells[arguments[1]].textContent)"
    return page.execute_script(script, f"table.{table} tbody tr", i)


def places_of_marks(page):
    """The centre of each point, circle or diamond."""
    script = """return [...document.querySelectorAll(".explorer .marks .point")].map((p) => p.tagName === "circle"
        ? [Number(p.getAttribute("cx")), Number(p.getAttribute("cy"))]
        : [0, 1].map((i) => p.getAttribute("points").split(" ").map((c) => Number(c.split(",")[i]))
            .reduce((a, b) => a + b / 4, 0)))"""
    return np.array(page.execute_script(script))


def shown_ece(page):
    return float(one(page, ".ece").get_attribute("data-value"))


SHOWN = """
const [ece, what] = [".ece", ".what"].map((css) => document.querySelector(css));
const marks = document.querySelectorAll(".explorer .marks .bin");
return [ece.dataset.value, ece.innerText, what.innerText, marks.length];
"""


def choose(page, rule, n, offered=OFFERED):
    """With the keyboard only: the radio button of the rule, then arrows on the slider."""
    if not one(page, f"input[value={rule}]").is_selected():
        one(page, ".rules input:checked").send_keys(Keys.ARROW_RIGHT)
    slider = one(page, ".number")
    slider.send_keys(Keys.HOME, *[Keys.ARROW_RIGHT] * offered.index(n))


SCREEN = """
const parts = document.querySelectorAll("article:not([hidden]) :is(.verdict, .overview, .answer, .command, .sections)");
const boxes = [...document.querySelectorAll(".top, .switch"), ...parts].map((one) => one.getBoundingClientRect());
return [boxes.length, Math.max(...boxes.map((box) => box.bottom)), Math.max(...boxes.map((box) => box.right))];
"""


@pytest.mark.slow
@pytest.mark.parametrize("which", ["off", "two", "calibrated", "few"])
def test_one_screen_holds_verdict_diagram_answers_and_links(opened, request, which):
    report = request.getfixturevalue(which)
    page = opened(report[2] if which == "calibrated" else report, width=1200)
    parts, bottom, right = page.execute_script(SCREEN)
    assert parts >= 8
    assert bottom <= 900
    assert right <= 1200
    shown = [one.text for one in every(page, "article:not([hidden]) .answer")]
    assert [text.splitlines()[0] for text in shown] == [
        "How far off?",
        "Where?",
        "What does it cost?",
        "What to do?",
    ]
    assert all(len(text.splitlines()) >= 3 for text in shown)


def test_the_screen_says_what_was_judged_and_what_to_type_and_leads_to_the_sections(opened, off):
    page = opened(off, width=1200)
    assert one(page, "h1").text == "Calibration report"
    assert one(page, ".verdict .headline").text.startswith("Not calibrated")
    head = one(page, ".sub").text
    assert head.startswith("predictions.csv · 2,000 rows · event: 1 (")
    assert f"trueness {tn.__version__}" in head
    assert "tn.AutoCalibration().fit(" in one(page, ".command code").text
    one(page, ".copy").click()
    assert page.execute_script("return String(getSelection())").startswith("calibrator = ")
    chance = next(term for term in every(page, ".term") if term.text == "by chance")
    page.execute_script(
        "arguments[0].dispatchEvent(new MouseEvent('mouseenter', {clientX: 5, clientY: 5}))", chance
    )
    assert "chance alone produces" in one(page, ".tip").text
    for link in every(page, "nav.sections a"):
        link.click()
        top = "return document.getElementById(arguments[0]).getBoundingClientRect().top"
        wanted = link.get_attribute("hash") or link.get_attribute("href").partition("#")[2]
        assert -1 <= page.execute_script(top, wanted.removeprefix("#")) < 900


def test_the_page_opens_with_the_worst_model_and_the_lines_choose_another(opened, two):
    page = opened(two)
    assert [line.get_attribute("aria-selected") for line in every(page, ".line")] == [
        "false",
        "true",
    ]
    assert one(page, "article:not([hidden]) .headline").text.startswith("Not calibrated")
    every(page, ".line")[0].click()
    assert one(page, "article:not([hidden]) .name").text == "fine"
    assert one(page, "article:not([hidden]) .answer:last-child .phrase").text == (
        "Leave the scores as they are"
    )


@pytest.mark.slow
def test_the_slider_shows_what_the_library_computes_for_every_number_of_bins(opened, binary, edges):
    page = opened(binary)
    assert tuple(binary.to_dict()["settings"]["offered"]) == OFFERED
    assert shown_ece(page) == tn.ace(*edges)  # other bins than those of the first diagram
    for rule in RULES:
        choose(page, rule, OFFERED[0])
        for n in OFFERED:
            if n > OFFERED[0]:
                one(page, ".number").send_keys(Keys.ARROW_RIGHT)
            bins = RULES[rule](n)
            error, table = tn.ece(*edges, bins=bins), tn.bin_table(*edges, bins=bins)
            value, text, what, marks = page.execute_script(SHOWN)
            assert float(value) == error, (rule, n)
            assert text == f"{error:.4f}"
            assert f"in {n} bins of equal {rule}" in what
            assert marks == (table.n > 0).sum()


@pytest.mark.slow
def test_marks_bands_and_flags_follow_the_slider(opened, binary, edges):
    page = opened(binary)
    for rule, n in (("mass", 5), ("width", 20), ("width", 2)):
        choose(page, rule, n)
        bands = tn.curve_band(
            *edges, bins=RULES[rule](n), band="simultaneous-consistency", method="bins"
        )
        filled = bands.n > 0
        wanted = np.column_stack(
            [68 + 380 * bands.score[filled], 12 + 380 * (1 - bands.rate[filled])]
        )
        np.testing.assert_allclose(places_of_marks(page), wanted, atol=1e-4)
        corners = one(page, ".explorer .marks .band").get_attribute("points").split()
        drawn = np.array([[float(part) for part in corner.split(",")] for corner in corners])
        ends = np.concatenate([bands.low[filled], bands.high[filled][::-1]])
        np.testing.assert_allclose(drawn[:, 1], 12 + 380 * (1 - ends), atol=1e-3)
        flags = [
            "flagged" in mark.get_attribute("class")
            for mark in every(page, ".explorer .marks .bin")
        ]
        assert flags == bands.outside[filled].tolist()
        assert any(flags)


@pytest.mark.slow
def test_a_class_can_be_looked_at_alone_with_its_own_band(opened, multiclass, classes):
    y, P = classes
    page = opened(multiclass)
    choose(page, "width", 10)
    assert shown_ece(page) == tn.ece(y, P, kind="confidence")
    one(page, ".view").send_keys("Class 3")
    bands = tn.curve_band(y == 3, P[:, 3], band="simultaneous-consistency", method="bins")
    flags = [
        "flagged" in mark.get_attribute("class") for mark in every(page, ".explorer .marks .bin")
    ]
    assert every(page, ".explorer .marks .band")
    assert flags == bands.outside[bands.n > 0].tolist()
    assert one(page, ".what").text.endswith("Class 3")
    choose(page, "mass", 20)
    assert shown_ece(page) == tn.ace(y == 3, P[:, 3], bins=20)
    # By keyboard: under load, a click may miss a button that the layout is still moving.
    every(page, "table.classes th button")[0].send_keys(Keys.ENTER)
    names = column(page, "classes", 0)
    assert names == sorted(names)


@pytest.mark.slow
def test_bins_that_were_asked_for_are_offered_beside_the_usual_ones(opened, edges):
    asked = [0, 0.3, 0.5, 1]
    page = opened(tn.report(tn.tally(*edges), bins=asked, intervals=False))
    one(page, "input[value=given]").click()
    assert shown_ece(page) == tn.ece(*edges, bins=asked)
    assert not one(page, ".number").is_enabled()
    one(page, "input[value=width]").click()
    choose(page, "width", 10)
    assert shown_ece(page) == tn.ece(*edges)


@pytest.mark.slow
def test_an_unusual_number_of_bins_is_offered(opened, edges):
    page = opened(tn.report(tn.tally(*edges), bins=tn.EqualMass(13), intervals=False))
    assert shown_ece(page) == tn.ece(*edges, bins=13)
    offered = tuple(sorted((*OFFERED, 13)))
    choose(page, "mass", 50, offered)
    assert shown_ece(page) == tn.ace(*edges, bins=50)


@pytest.mark.parametrize("kind", ["whole", "fractional"])
def test_weights_enter_the_sums_of_the_page(opened, edges, kind):
    y, p = edges
    w = np.random.default_rng(0).integers(0, 4, y.size) * (1 if kind == "whole" else 0.37)
    page = opened(tn.report(tn.tally(y, p, sample_weight=w), intervals=False))
    choose(page, "mass", 7)
    assert shown_ece(page) == pytest.approx(tn.ace(y, p, bins=7, sample_weight=w), abs=1e-13)


def test_sums_of_bins_offer_no_others(opened, binned):
    page = opened(binned)
    assert not one(page, ".explorer").is_displayed()
    assert len(every(page, ".overview .marks .bin")) == 10
    assert every(page, ".overview .marks .band") == []


def test_a_sketch_offers_other_bins(opened, sketch, edges):
    page = opened(sketch)
    choose(page, "mass", 5)
    assert shown_ece(page) == pytest.approx(tn.ace(tn.sketch(*edges), bins=5))


def test_models_are_switched_with_mouse_and_keyboard(opened, hostile):
    page = opened(hostile)
    articles = every(page, "article.model")
    selected = [tab.get_attribute("aria-selected") == "true" for tab in every(page, "[role=tab]")]
    assert [article.is_displayed() for article in articles] == selected
    assert sum(selected) == 1
    every(page, "[role=tab]")[1].click()
    assert [article.is_displayed() for article in articles] == [False, True, False, False]
    page.switch_to.active_element.send_keys(Keys.ARROW_RIGHT)
    assert [article.is_displayed() for article in articles] == [False, False, True, False]
    page.switch_to.active_element.send_keys(Keys.END)
    assert page.switch_to.active_element.get_attribute("aria-selected") == "true"
    assert articles[3].is_displayed()


def test_tables_sort_up_and_down_and_gaps_come_last(opened, binary):
    page = opened(binary)
    head = every(page, "table.bins th")[2]
    head.find_element("css selector", "button").send_keys(Keys.ENTER)
    up = [int(n.replace(",", "")) for n in column(page, "bins", 2)]
    assert up == sorted(up)
    assert head.get_attribute("aria-sort") == "ascending"
    head.find_element("css selector", "button").send_keys(Keys.SPACE)
    assert [int(n.replace(",", "")) for n in column(page, "bins", 2)] == up[::-1]
    assert head.get_attribute("aria-sort") == "descending"
    i, head = next(
        (i, th) for i, th in enumerate(every(page, "table.remedies th")) if "Gain" in th.text
    )
    button = head.find_element("css selector", "button")
    assert "" in column(page, "remedies", i)[:-1]  # the scores as they are have no gain
    for direction in ("ascending", "descending"):
        button.send_keys(Keys.ENTER)
        assert head.get_attribute("aria-sort") == direction
        gains = column(page, "remedies", i)
        assert gains[-1] == ""
        assert "" not in gains[:-1]


def test_hovering_and_focusing_a_bin_tells_its_numbers(opened, binary):
    page = opened(binary)
    first = one(page, ".explorer .marks .bin")
    page.execute_script("arguments[0].focus()", first)
    tip = one(page, ".tip")
    assert tip.is_displayed()
    assert "mean score" in tip.text
    before = tip.text
    page.switch_to.active_element.send_keys(Keys.ARROW_RIGHT)
    assert one(page, ".tip").text != before
    page.switch_to.active_element.send_keys(Keys.ESCAPE)
    assert not tip.is_displayed()
    page.execute_script(
        "arguments[0].dispatchEvent(new MouseEvent('mouseenter', {clientX: 5, clientY: 5}))", first
    )
    assert tip.text == before


def test_the_tab_key_reaches_every_control_and_a_button_changes_the_colours(opened, binary):
    page = opened(binary)
    page.execute_script("""window.seen = []; document.addEventListener("focusin", ({ target: e }) =>
        window.seen.push(e.className.baseVal ?? e.className + e.type));""")
    one(page, "body").send_keys(Keys.TAB * 60)
    seen = page.execute_script("return window.seen")
    assert seen[0].startswith("theme")
    assert {"radio", "numberrange"} <= set(seen)
    assert any(name.startswith("bin") for name in seen)
    assert any(name.startswith("block") for name in seen)
    ground = "return getComputedStyle(document.body).backgroundColor"
    light = page.execute_script(ground)
    one(page, ".theme").click()
    assert page.execute_script(ground) != light
    one(page, ".theme").click()
    assert page.execute_script(ground) == light


@pytest.mark.slow
@pytest.mark.parametrize("which", ["binary", "hostile", "multiclass", "sketch", "binned"])
def test_texts_stand_out_nothing_sticks_out_and_flags_are_visible(opened, request, which):
    page = opened(request.getfixturevalue(which))
    within = "return document.documentElement.scrollWidth <= innerWidth"
    for theme in ("light", "dark"):
        colours(page, theme)
        contrast, *where = page.execute_script(CONTRAST.read_text(encoding="utf-8"))
        assert contrast >= 4.5, where
        ground = page.execute_script("return getComputedStyle(document.body).backgroundColor")
        assert (ground == "rgb(255, 255, 255)") == (theme == "light")
    assert page.execute_script(within)
    resize(page, 390)
    assert page.execute_script(within)
    if which == "binned":  # has no flags
        return
    script = """return [...document.querySelectorAll("td.flag, td.good")].filter((cell) => cell.offsetParent)
        .map((cell) => cell.getBoundingClientRect().right)"""
    ends = page.execute_script(script)
    assert ends
    assert max(ends) <= 390
    shadow = "return [...document.querySelectorAll('.scroll')].map(s => getComputedStyle(s).backgroundAttachment)"
    assert set(page.execute_script(shadow)) == {"local, local, scroll, scroll"}


@pytest.mark.slow
def test_a_range_off_by_chance_is_not_in_the_colour_of_errors(opened, off):
    rng = np.random.default_rng(19)
    p = rng.beta(1.5, 3, 1_500)
    calm = tn.report(tn.tally((rng.random(p.size) < p).astype(int), p), intervals=False)
    fill = "return getComputedStyle(document.querySelector('.overview .flagged .point')).fill"
    of_chance, of_error = (opened(one).execute_script(fill) for one in (calm, off))
    assert calm.to_dict()["verdict"]["code"] == "no-evidence"
    assert of_chance != of_error


@pytest.mark.slow
def test_the_better_model_is_not_in_the_colour_of_errors(opened):
    d = tn.simulate.demo(4_000)
    page = opened(tn.report(d.y_true, {"a": d.y_prob, "b": d.columns["recalibrated"]}))
    colour = "return getComputedStyle(document.querySelector(arguments[0])).color"
    assert one(page, "table.comparison td.good").text == "b is better"
    assert page.execute_script(colour, "table.comparison td.good") != page.execute_script(
        colour, "td.flag"
    )


@pytest.mark.slow
def test_rare_events_show_more_than_one_point(opened):
    rng = np.random.default_rng(0)
    p = rng.beta(1, 700, 20_000)
    y = (rng.random(p.size) < p).astype(int)
    page = opened(tn.report(y, p, intervals=False))
    assert len(every(page, ".overview .marks .bin")) == 10
    assert shown_ece(page) == tn.ece(y, p)
    choose(page, "mass", 10)
    assert every(page, ".explorer .marks .band")
    assert shown_ece(page) == tn.ece(y, p, bins=tn.EqualMass(10))


def test_hostile_names_are_shown_as_text(opened, hostile):
    page = opened(hostile)
    assert page.title == HOSTILE["script"]
    assert one(page, "h1").text == HOSTILE["script"]
    names = [
        article.get_attribute("textContent").strip()
        for article in every(page, ".verdict .name bdi")
    ]
    assert names == [*list(HOSTILE.values())[:3], "עברית \\u202e text"]
    values = page.execute_script(
        "return [...document.querySelectorAll('table.segments tbody tr')].map(r => r.cells[1].textContent)"
    )
    assert set(values) == set(names)
    assert every(page, "main script, main b, main img") == []


def test_without_javascript_everything_can_be_read(opened, hostile):
    browser = opened(hostile)
    browser.execute_cdp_cmd("Emulation.setScriptExecutionDisabled", {"value": True})
    try:
        browser.refresh()
        assert all(article.is_displayed() for article in every(browser, "article.model"))
        assert len(every(browser, ".overview svg.reliability .bin")) > 4
        assert not any(one.is_displayed() for one in every(browser, ".explorer"))
        assert not any(one.is_displayed() for one in every(browser, ".controls, .copy, .theme"))
        assert every(browser, ".bin title")
    finally:
        browser.execute_cdp_cmd("Emulation.setScriptExecutionDisabled", {"value": False})


def test_the_script_draws_what_the_page_came_with(opened, binary):
    page = opened(binary)
    choose(page, "width", 10)
    marks, still = (
        [
            (p.tag_name, p.get_attribute("cx"), p.get_attribute("cy"))
            for p in every(page, f"{where} .marks .point")
        ]
        for where in (".explorer", ".overview")
    )
    assert [name for name, _, _ in marks] == [name for name, _, _ in still]
    circles = [
        [np.array(m[1:], dtype=float) for m in drawn if m[0] == "circle"]
        for drawn in (marks, still)
    ]
    assert circles[0]
    np.testing.assert_allclose(*circles, atol=0.006)


@pytest.mark.parametrize("which", ["two", "off"])
def test_the_appendix_is_folded_links_have_the_words_of_headings_and_tables_fit(
    opened, request, which
):
    page = opened(request.getfixturevalue(which), width=1200, folded=True)
    assert not any(control.is_displayed() for control in every(page, ".controls, .blocks, .how dl"))
    links = {
        a.text: a.get_attribute("hash") or a.get_attribute("href")
        for a in every(page, "article:not([hidden]) nav a")
    }
    heads = {h.text: h.get_attribute("id") for h in every(page, "h2[id]") if h.is_displayed()}
    assert {words: target.partition("#")[2] for words, target in links.items()} == heads
    fits = "return [...document.querySelectorAll('.scroll')].every((one) => one.scrollWidth <= one.clientWidth)"
    assert page.execute_script(fits)
    unfold(page)
    assert page.execute_script(fits)


@pytest.mark.slow
def test_on_paper_every_model_is_printed_headings_stay_with_tables_and_no_control_is_left(
    opened, hostile
):
    page = opened(hostile, "dark", folded=True)
    page.execute_cdp_cmd("Emulation.setEmulatedMedia", {"media": "print"})
    try:
        assert all(article.is_displayed() for article in every(page, "article.model"))
        assert not any(one.is_displayed() for one in every(page, ".controls, .copy, .theme"))
        assert (
            page.execute_script("return getComputedStyle(document.body).backgroundColor")
            == "rgb(255, 255, 255)"
        )
        style = "return [...document.querySelectorAll(arguments[0])].map(e => getComputedStyle(e)[arguments[1]])"
        for what, when, how in (
            ("h1, h2, h3, caption, thead, section > h2 + p", "breakAfter", "avoid"),
            ("table", "breakInside", "auto"),
            ("tr, figure", "breakInside", "avoid"),
        ):
            assert set(page.execute_script(style, what, when)) == {how}
        paper = base64.b64decode(page.execute_cdp_cmd("Page.printToPDF", {})["data"])
        assert paper.startswith(b"%PDF")
        assert one(page, ".how").get_attribute("open")  # on paper nothing can be unfolded
    finally:
        page.execute_cdp_cmd("Emulation.setEmulatedMedia", {"media": ""})


@pytest.mark.slow
def test_a_notebook_shows_the_page_in_a_frame_of_its_own(browser, binary, edges, tmp_path):
    notebook = tmp_path / "notebook.html"
    notebook.write_text(
        f"<!doctype html><meta charset=utf-8><p id=cell>cell</p>{binary._repr_html_()}",
        encoding="utf-8",
    )
    browser.get(notebook.as_uri())
    before = browser.execute_script(
        "return getComputedStyle(document.getElementById('cell')).fontFamily"
    )
    assert "system-ui" not in before
    browser.switch_to.frame(0)
    unfold(browser)
    assert shown_ece(browser) == tn.ace(*edges)
    choose(browser, "mass", 4)
    assert shown_ece(browser) == tn.ace(*edges, bins=4)
    browser.switch_to.default_content()
    assert browser.get_log("browser") == []


@pytest.mark.slow
def test_a_page_about_clusters_shows_which_numbers_allow_for_them(opened):
    rng = np.random.default_rng(0)
    p = np.repeat(rng.random(80), 3)
    y = np.repeat(rng.random(80) < p[::3], 3).astype(int)
    page = opened(tn.report(y, p, cluster=np.arange(240) // 3, by=np.arange(240) % 2))
    clusters = dict(zip(column(page, "summary", 0), column(page, "summary", 5), strict=True))
    assert clusters["Typical error"] == clusters["Test of calibration"] == "yes"
    assert clusters["ECE"] == "not the noise floor"
    assert "as if rows were independent" in one(page, "figcaption").text
    choose(page, "mass", OFFERED[0])
    assert shown_ece(page) == tn.ece(y, p, bins=tn.EqualMass(OFFERED[0]))
    for width in (1280, 390):
        resize(page, width)
        assert page.execute_script("return document.documentElement.scrollWidth") <= width


def test_on_a_telephone_no_table_is_wider_than_the_screen(opened, off):
    page = opened(off, width=400)
    too_wide = """return [...document.querySelectorAll(".scroll")].filter((box) => box.scrollWidth > box.clientWidth + 1)
        .map((box) => box.getAttribute("aria-label"))"""
    assert page.execute_script(too_wide) == []
    bins = one(page, "table.bins")
    assert not one(bins, "thead").is_displayed()
    first = one(bins, "tbody td:nth-child(3)")
    label = "return getComputedStyle(arguments[0], '::before').content"
    assert page.execute_script(label, first) == '"Rows "'


@pytest.mark.slow
def test_on_a_telephone_the_line_of_a_model_whose_segments_are_off_is_not_cut(opened):
    """The size is then a phrase with the name of a segment, not a number."""
    y, p, region = too_extreme_in_the_north()
    place = {"quarter of the town": np.where(region == "north", "north of the river", "south")}
    page = opened(tn.report(y, {"a": p, "b": p.round(2)}, by=place), width=400)
    assert "slope" in one(page, ".line .error").text
    for line in page.find_elements("css selector", ".line"):
        widths = "return [arguments[0].scrollWidth, arguments[0].clientWidth]"
        needed, given = page.execute_script(widths, line)
        assert needed <= given + 1
        error = line.find_element("css selector", ".error")
        assert error.rect["x"] + error.rect["width"] <= 400
