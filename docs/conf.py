"""How Sphinx builds the site: `make docs`. Pages with code cells are executed; an error in one fails the build."""

import os
import re
import sys
from html import escape
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path

from docutils import nodes
from docutils.utils.math import MathError
from docutils.utils.math.latex2mathml import tex2mathml
from sphinx.application import Sphinx
from sphinx.ext.autodoc import ismock
from sphinx.util import logging
from sphinx.writers.html5 import HTML5Translator

from trueness._version import __version__

project = "trueness"
author = "The trueness developers"
copyright = author
version = release = __version__

extensions = [
    "myst_nb",
    "sphinx.ext.autodoc",
    "sphinx.ext.autosummary",
    "numpydoc",
    "sphinx_click",
    "sphinx_copybutton",
    "sphinx_design",
]
exclude_patterns = ["_build", "_ipython", "gallery/generated", "**/.ipynb_checkpoints"]
templates_path = ["_templates"]
nitpicky = True
smartquotes = False  # they turn --prob into a dash

# Pages
myst_enable_extensions = ["attrs_block", "attrs_inline", "colon_fence", "deflist", "dollarmath"]
myst_heading_anchors = 3
nb_execution_mode = "force"
nb_execution_raise_on_error = True
nb_execution_timeout = 300  # seconds for a cell, on a busy machine
nb_ipywidgets_js: dict[str, dict[str, str]] = {}  # they would be fetched from elsewhere
nb_merge_streams = True
os.environ["IPYTHONDIR"] = str(Path(__file__).parent / "_ipython")  # pictures are drawn as SVG
copybutton_exclude = ".linenos, .gp, .go"

# Reference
autosummary_generate = True
autodoc_typehints = "none"  # the docstrings name them in words
autodoc_mock_imports = [name for name in ("torch", "torchmetrics", "triton") if not find_spec(name)]
_Mock = vars(sys.modules[ismock.__module__])["_MockObject"]
_Mock.__or__ = _Mock.__ror__ = lambda self, _: self  # annotations such as Tensor | None
autodoc_default_options = {"member-order": "bysource"}
add_module_names = False
numpydoc_show_class_members = False  # autodoc lists them, with the docstrings of fields
default_role = "code"

# Looks
DOCUMENTS = ("ece-help-page", "gupta", "matsubara", "sun")
html_theme = "pydata_sphinx_theme"
html_title = "trueness"
html_static_path = ["_static"]
html_css_files = ["trueness.css"]
html_favicon = "_static/favicon.svg"
html_copy_source = False
html_show_sourcelink = False
html_math_renderer = "mathml"
html_theme_options = {
    "logo": {"text": "trueness"},
    "header_links_before_dropdown": 7,
    "navbar_align": "left",
    "navbar_end": ["theme-switcher"],
    "navigation_with_keys": False,
    # Pages of wide tables take the room of the right column.
    "secondary_sidebar_items": {"**": ["page-toc"]}
    | {
        page: []
        for page in (
            "evidence/papers",
            "howto/rating-grades",
            *(f"evidence/completeness/{document}" for document in DOCUMENTS),
        )
    },
    "show_prev_next": False,
    "footer_start": ["copyright"],
    "footer_end": [],
    "pygments_light_style": "a11y-high-contrast-light",
    "pygments_dark_style": "a11y-high-contrast-dark",
}
html_sidebars = {
    page: []
    for page in (
        "index", "start", "gallery/index", "comparison", "limits", "changelog", "citation",
    )
}  # fmt: skip


def _mathml(node: nodes.Node, *, as_block: bool = False) -> str:
    # The converter knows no \dots; brackets and fractions find their size in the browser.
    tex = node.astext().replace(r"\dots", r"\ldots")
    tex = re.sub(r"\\(?:[bB]igg?[lrm]?|textstyle)\b", "", tex)
    try:
        return tex2mathml(tex, as_block=as_block)
    except MathError as error:
        logging.getLogger(__name__).warning("%s in the formula %r", error, tex, location=node)
        return f"<code>{escape(tex)}</code>"


def _visit_math(self: HTML5Translator, node: nodes.math) -> None:
    self.body.append(_mathml(node))
    raise nodes.SkipNode


def _visit_math_block(self: HTML5Translator, node: nodes.math_block) -> None:
    self.body.append(f'<div class="formula">{_mathml(node, as_block=True)}</div>')
    raise nodes.SkipNode


def _examples_as_code(_app: Sphinx, _command: object, lines: list[str]) -> None:
    """In the help of a command, examples are lines of their own: literal blocks. Asterisks are no emphasis."""
    found: list[str] = []
    for line in lines:
        if line.startswith("| "):
            found += [] if found and found[-1].startswith("   ") else ["::", ""]
            found.append(f"   {line[2:].strip()}")
        else:
            found.append(line.replace("*", r"\*"))
    lines[:] = found


def _plain_asterisks(_app: Sphinx, _command: object, lines: list[str]) -> None:
    # A name such as p_* is no reference and no emphasis; **Required** is.
    lines[:] = [re.sub(r"(?<=\w)_(?!\w)|(?<!\*)\*(?!\*)", r"\\\g<0>", line) for line in lines]


# Names whose method is our own, and the page that derives it.
METHODS = {
    "score-interval": ("ece_interval", "equivalence_test"),
    "ece-limits": ("estimate",),
    "omnibus-test": ("calibration_test",),
    "verdict-and-gate": ("verdict", "gate"),
    "auto-calibration": ("AutoCalibration", "CalibratedClassifier"),
    "decisions": ("accept_threshold", "route", "decision_certificate", "net_benefit"),
    "watch": ("Watch",),
    "worst-slices": ("worst_slices", "segments"),
    "powered": ("powered",),
    "cluster-buckets": ("tally", "sketch", "binned", "scan"),
}


def _with_methods(
    _app: Sphinx, _what: str, name: str, _object: object, _options: object, lines: list[str]
) -> None:
    """The page of a name leads to that of its method."""
    pages = [
        page for page, names in METHODS.items() if name in [f"trueness.{one}" for one in names]
    ]
    lines += [
        line
        for page in pages
        for line in ("", f".. seealso:: Derived in :doc:`/methods/{page}`.", "")
    ]


def _prose(source: str) -> str:
    """The text of a page without its front matter."""
    if source.startswith("---\n"):
        source = source.split("\n---\n", 1)[1]
    return source.strip()


def _summary(source: str) -> str:
    """The first paragraph of plain text after the title."""
    for paragraph in _prose(source).split("\n\n")[1:]:
        if paragraph[0] not in "#`:|<!-+>[":
            return " ".join(paragraph.split())
    return ""


def _write_pages_for_language_models(app: Sphinx, error: Exception | None) -> None:
    """`llms.txt`, a list of the pages, and `llms-full.txt`, their text: see llmstxt.org."""
    if error is not None or app.builder.format != "html":
        return
    environment = app.env
    pages = {
        page: environment.doc2path(page).read_text(encoding="utf-8")
        for page in sorted(environment.found_docs)
        if "/generated/" not in page
    }
    links = []
    for page, source in pages.items():
        title = environment.titles[page].astext()
        links.append(f"- [{title}]({page}.html): {_summary(source)}".rstrip(": "))
    about = "Calibration of predicted probabilities: measures, intervals, tests, guarantees, recalibration."
    index = [f"# trueness\n\n> {about}\n", "## Pages\n", *links, ""]
    everything = [f"<!-- {page} -->\n\n{_prose(source)}\n" for page, source in pages.items()]
    folder = Path(app.outdir)
    (folder / "llms.txt").write_text("\n".join(index), encoding="utf-8")
    (folder / "llms-full.txt").write_text("\n".join(everything), encoding="utf-8")


def _write_thumbnails(app: Sphinx) -> None:
    """The small pictures at the top of the gallery."""
    gallery = Path(app.srcdir) / "gallery"
    sys.path.insert(0, str(gallery))
    module = import_module("make")
    sys.path.remove(str(gallery))
    module.write_thumbnails(gallery / "index.md", gallery / "generated")


def _write_index_of_names(app: Sphinx) -> None:
    """Every public name with its first sentence, a table for each page of the reference."""
    reference = Path(app.srcdir) / "reference"
    index = (reference / "index.md").read_text(encoding="utf-8")
    lines = [".. currentmodule:: trueness", ""]
    for page in re.findall(r"^[a-z]+$", index.split("{toctree}")[1], re.MULTILINE):
        names = _names_of((reference / f"{page}.md").read_text(encoding="utf-8"))
        if names:
            lines += [f".. rubric:: :doc:`/reference/{page}`", ""]
            lines += [".. autosummary::", "   :nosignatures:", ""]
            lines += [f"   {name}" for name in names]
            lines += [""]
    (reference / "generated").mkdir(exist_ok=True)
    (reference / "generated" / "names.inc").write_text("\n".join(lines), encoding="utf-8")


def _names_of(page: str) -> list[str]:
    """The names in the tables of a page, with their package unless they are `tn.` names."""
    table = r"currentmodule:: trueness\.?(\S*)\n\.\. autosummary::\n(?:   :.*\n)*\n((?:   \w+\n)+)"
    return [
        f"{package}.{name}" if package else name
        for package, names in re.findall(table, page)
        for name in names.split()
    ]


def setup(app: Sphinx) -> None:
    """Formulas become MathML, which browsers draw themselves: no script is loaded from elsewhere."""
    app.connect("autodoc-process-docstring", _with_methods, priority=900)  # after numpydoc
    app.connect("sphinx-click-process-description", _examples_as_code)
    app.connect("sphinx-click-process-options", _plain_asterisks)
    app.connect("builder-inited", _write_index_of_names, priority=100)  # before autosummary
    app.connect("builder-inited", _write_thumbnails)
    app.connect("build-finished", _write_pages_for_language_models)
    app.add_html_math_renderer("mathml", (_visit_math, None), (_visit_math_block, None))
