"""The built site has every page, asks no other host for anything, and every picture has words. `make docs` first."""

import re
from functools import cache
from html.parser import HTMLParser
from pathlib import Path

import pytest

DOCS = Path(__file__).parents[1] / "docs"
SITE = DOCS / "_build" / "html"
PAGES = sorted(page.relative_to(SITE).as_posix() for page in SITE.rglob("*.html") if "_static" not in page.parts)

pytestmark = pytest.mark.skipif(not (SITE / "index.html").is_file(), reason="the site is not built: make docs")


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


def test_every_source_has_its_page():
    sources = (source for source in DOCS.rglob("*") if source.suffix in (".md", ".rst"))
    rooms = (source.relative_to(DOCS) for source in sources if not {"_build", "_templates"} & set(source.parts))
    assert {room.with_suffix(".html").as_posix() for room in rooms} <= set(PAGES)


def test_pages_load_nothing_from_elsewhere():
    loaded = {page: [at for at in resources(page).loaded if re.match(r"(https?:)?//", at)] for page in PAGES}
    assert not {page: addresses for page, addresses in loaded.items() if addresses}


def test_pictures_are_described():
    bare = {
        page: [source for source, alt in resources(page).pictures if not alt or re.search(r"\.(svg|png)$", alt)]
        for page in PAGES
    }
    assert not {page: sources for page, sources in bare.items() if sources}


def test_styles_load_nothing_from_elsewhere():
    for style in (SITE / "_static").rglob("*.css"):
        text = style.read_text(encoding="utf-8")
        assert not re.findall(r"(?:@import|url\()\s*[\"']?(?:https?:)?//[^)\"']*", text), style.name
