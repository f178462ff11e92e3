"""Plain English: phrases that a native speaker would not write, and docstrings that send their reader elsewhere."""

import importlib
import inspect
import re
from functools import cache
from pathlib import Path

ROOT = Path(__file__).parents[1]
PLACES = ("src", "docs", "README.md", "conformance", "papers")
SUFFIXES = {".py", ".md", ".html"}
BUILT = {"_build", "build", "jupyter_execute", ".jupyter_cache"}

# Each phrase, and an example of what to write instead.
FLAGGED = {
    r"so many": "that many, as many",
    r"whoever": "anyone who",
    r"surely": "at 95 % confidence; clearly",
    r"\b(?:how|be|is|are) sure": "how certain; at 95 % confidence",
    r"(?:events?|labels?|outcomes?) (?:that |which )?came": "occurred",
    r"(?:hold|holds|held) (?:it |them )?against": "compare with",
    r"as it is said": "as stated",
    r" (?:heard|heeded)": "received; collected",
    r"\b(?:is|are|was|were|be|been) told": "gets; is given; is distinguished",
    r"(?:to|can|cannot) be had": "available",
    r"had better": "should",
    r"(?:model|score)s?, too, (?:has|have|is|are|shows?)": "even a calibrated model",
    r"go(?:es)? by (?:their|its|the|these|place|position|number)": "are matched by",
    r"miss(?:es)? a value": "have a missing value",
    r"look(?:s|ed)? at (?:the )?labels": "depend on the labels",
    r"is no (?:JSON|list|array|text|\.tally|confidence interval)": "is not a",
    r"the very (?:same )?(?:sums|rows)": "exactly the same",
    r"the zero of addition": "the neutral element",
    r"[Ww]hose (?:frame|syntax)": "the library of the frame",
    r"without a word": "silently",
    r"weight 2 is the row twice": "a weight of 2 counts the row twice",
    r"as for (?:every|all) \w+s?": "what the argument is",
    r"(?:speaks? (?:of|against)|that spoke)": "is about",
    r"whether .{1,40} is as every other": "whether … are exchangeable",
    r"Of [a-z][^.\n]{1,60}, what": "subject, verb, object",
    r"What [a-z][^.?\n]{1,60}, is": "subject, verb, object",
}

# A phrase, where it may stay, and why.
ALLOWED = [
    (
        r"(?:to|can|cannot) be had",
        r"docs/evidence/completeness/|papers/",
        "a kind of verdict in the completeness tables",
    ),
    (
        r"\b(?:how|be|is|are) sure",
        r"docs/tutorials/language-models\.md",
        "how sure a language model is of its answer",
    ),
]


@cache
def texts():
    """The text of each file by its path from the root."""
    files = [
        f
        for place in PLACES
        for f in ([ROOT / place] if (ROOT / place).is_file() else (ROOT / place).rglob("*"))
    ]
    wanted = [
        f.relative_to(ROOT) for f in files if f.suffix in SUFFIXES and not BUILT & set(f.parts)
    ]
    written = [
        f for f in wanted if f.parts[1:2] != ("results",)
    ]  # pages of papers and conformance are generated
    return {f.as_posix(): (ROOT / f).read_text(encoding="utf-8") for f in written}


def matches(pattern):
    """Where a pattern is found, except where it may stay."""
    fine = [re.compile(where) for flagged, where, _ in ALLOWED if flagged == pattern]
    phrase = re.compile(rf"{pattern}\b", re.MULTILINE)
    for name, text in texts().items():
        if not any(where.match(name) for where in fine):
            for found in phrase.finditer(text):
                yield f"{name}:{text.count(chr(10), 0, found.start()) + 1}: {found[0]!r}"


def test_no_sentence_has_a_flagged_phrase():
    hits = {
        f"{pattern} → {instead}": list(matches(pattern)) for pattern, instead in FLAGGED.items()
    }
    assert not {pattern: places[:5] for pattern, places in hits.items() if places}


def test_pages_for_readers_call_it_the_typical_error():
    """`l2` is its name in code, and the l2 calibration error that of papers."""
    rooms = ("docs/index", "docs/start", "docs/tutorials/", "docs/howto/", "docs/concepts/")
    pages = {name: text for name, text in texts().items() if name.startswith(("README", *rooms))}
    assert pages
    assert not [
        name for name, text in pages.items() if re.search(r"\bl2 (?:calibration )?error", text)
    ]


ELSEWHERE = re.compile(
    r"^ +(?:As (?:for|in|by) (?::\w+:)?`|As for \w+ |[Ss]ee :\w+:`[\w.]+`\.?$)", re.MULTILINE
)


def public_docstrings():
    """The docstrings of public functions and classes, and of the methods of these classes."""
    for package in ("trueness", "trueness.plot", "trueness.simulate"):
        module = importlib.import_module(package)
        for name in module.__all__:
            thing = getattr(module, name)
            members = vars(thing).items() if inspect.isclass(thing) else ()
            for one, docstring in (
                (name, thing.__doc__),
                *((f"{name}.{key}", value.__doc__) for key, value in members),
            ):
                yield f"{package}.{one}", docstring or ""


def test_help_says_what_each_argument_is():
    """A reader of ``help(tn.X)`` is never sent to the help of another function for an argument."""
    assert not [name for name, text in public_docstrings() if ELSEWHERE.search(text)]
    tensors = {
        name: text for name, text in texts().items() if name.startswith("src/trueness/torch/_")
    }
    assert not [
        name
        for name in ("_binned", "_metric")
        if ELSEWHERE.search(tensors[f"src/trueness/torch/{name}.py"])
    ]
