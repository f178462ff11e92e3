"""The built site has every page, asks no other host for anything, and every picture has words. `make docs` first."""

import re
import shutil
from functools import cache
from html.parser import HTMLParser
from pathlib import Path

import pytest

DOCS = Path(__file__).parents[1] / "docs"
SITE = DOCS / "_build" / "html"
PAGES = sorted(
    page.relative_to(SITE).as_posix()
    for page in SITE.rglob("*.html")
    if "_static" not in page.parts
)

pytestmark = pytest.mark.skipif(
    not (SITE / "index.html").is_file(), reason="the site is not built: make docs"
)


class Resources(HTMLParser):
    """What a page loads by itself, and its pictures; a link that one may follow is neither."""

    def __init__(self, page):
        super().__init__()
        self.loaded, self.pictures = [], []
        self.feed((SITE / page).read_text(encoding="utf-8"))

    def handle_starttag(self, tag, attrs):
        found = dict(attrs)
        if tag == "link" and found.get("rel") not in ("canonical", "author"):
            self.loaded.append(found.get("href", ""))
        if tag in ("script", "img", "iframe", "source", "object", "video"):
            self.loaded += [found[key] for key in ("src", "srcset", "data") if key in found]
        if tag == "img":
            self.pictures.append((found.get("src", "")[:80], found.get("alt")))


resources = cache(Resources)


def test_the_pages_for_language_models_name_every_page_with_a_source():
    index = (SITE / "llms.txt").read_text(encoding="utf-8")
    pages = {line.split("](")[1].split(")")[0] for line in index.splitlines() if "](" in line}
    assert {"start.html", "limits.html", "comparison.html", "howto/ci-gate.html"} <= pages
    assert all((SITE / page).is_file() for page in pages)
    assert "# What trueness does not do" in (SITE / "llms-full.txt").read_text(encoding="utf-8")


def test_every_source_has_its_page():
    sources = (source for source in DOCS.rglob("*") if source.suffix in (".md", ".rst"))
    rooms = (
        source.relative_to(DOCS)
        for source in sources
        if not {"_build", "_templates"} & set(source.parts)
    )
    assert {room.with_suffix(".html").as_posix() for room in rooms} <= set(PAGES)


def test_the_index_of_the_reference_links_every_name_of_its_pages():
    index = (SITE / "reference" / "index.html").read_text(encoding="utf-8")
    for page in (SITE / "reference").glob("*.html"):
        links = set(
            re.findall(r'href="(generated/trueness[\w.]*\.html)', page.read_text(encoding="utf-8"))
        )
        tables = re.findall(
            r'<table class="autosummary.*?</table>', page.read_text("utf-8"), re.DOTALL
        )
        named = {link for link in links if any(link in table for table in tables)}
        assert not {link for link in named if link not in index}, page.name


def test_pages_load_nothing_from_elsewhere():
    loaded = {
        page: [at for at in resources(page).loaded if re.match(r"(https?:)?//", at)]
        for page in PAGES
    }
    assert not {page: addresses for page, addresses in loaded.items() if addresses}


def test_pictures_are_described():
    bare = {
        page: [
            source
            for source, alt in resources(page).pictures
            if not alt or re.search(r"\.(svg|png)$", alt)
        ]
        for page in PAGES
    }
    assert not {page: sources for page, sources in bare.items() if sources}


def test_styles_load_nothing_from_elsewhere():
    for style in (SITE / "_static").rglob("*.css"):
        text = style.read_text(encoding="utf-8")
        assert not re.findall(r"(?:@import|url\()\s*[\"']?(?:https?:)?//[^)\"']*", text), style.name


@pytest.fixture(scope="module")
def browser(tmp_path_factory):
    webdriver = pytest.importorskip("selenium.webdriver", reason="selenium is not installed")
    program, driver = (
        shutil.which("chromium") or shutil.which("google-chrome"),
        shutil.which("chromedriver"),
    )
    if program is None or driver is None:
        pytest.skip("there is no Chromium with its chromedriver on this machine")
    options = webdriver.ChromeOptions()
    options.binary_location = program
    for flag in (
        "--headless",
        "--no-sandbox",
        "--disable-gpu",
        f"--user-data-dir={tmp_path_factory.mktemp('profile')}",
    ):
        options.add_argument(flag)
    found = webdriver.Chrome(options=options, service=webdriver.ChromeService(driver))
    yield found
    found.quit()


@pytest.mark.parametrize("width", [1200, 400])
def test_no_page_is_wider_than_the_screen_and_no_code_than_its_block(browser, width):
    """On a narrow screen blocks may scroll; the page may not."""
    screen = {"width": width, "height": 900, "deviceScaleFactor": 1, "mobile": False}
    browser.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", screen)
    wide = {}
    for page in (page for page in PAGES if "generated" not in page):
        browser.get((SITE / page).as_uri())
        seen, blocks = browser.execute_script(
            "return [document.documentElement.scrollWidth,"
            " [...document.querySelectorAll('article pre')].filter(e => e.scrollWidth > e.clientWidth).length]"
        )
        if seen > width or (blocks and width == 1200):
            wide[page] = seen, blocks
    assert not wide
