"""A browser, where there is one, reports that several tests read, and ways to read them."""

import json
import re
import shutil
from xml.etree import ElementTree

import numpy as np
import pytest

import trueness as tn

FLAGS = (
    "--headless",
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
)
HOSTILE = {
    "script": "<script>window.hacked = 1</script>",
    "quotes": "a\"b'c` & <b onmouseover=window.hacked=1>| ${1} {{ 7 * 7 }}",
    "long": "x" * 300,
    "right-to-left": "עברית \u202e text",
}


def entry(report, i=0):
    """Everything about one model, as plain values."""
    return report.to_dict()["models"][i]


def answers(report, i=0):
    return entry(report, i)["answers"]


def plain(record):
    """A record of the library as the JSON of a report has it."""
    return {key: None if value != value else value for key, value in record.to_dict().items()}


def measures(report):
    """The lines of the tables of measures by name, each a dict by the head of its column."""
    lines = {}
    for table in re.findall(r"^\| Measure .*\n(?:\|.*\n)+", report.to_markdown(), re.MULTILINE):
        head, _, *rows = (
            [cell.strip() for cell in line.strip("|").split("|")] for line in table.splitlines()
        )
        lines |= {row[0]: dict(zip(head, row, strict=True)) for row in rows}
    return lines


def embedded(report, view=0):
    """The sums that the script of the page reads, of the first model."""
    text = re.search(r'id="sums">(.*?)</script>', report.page(), re.DOTALL)[1]
    return json.loads(text)["models"][0]["views"][view]


def charts(report, kind):
    """The pictures of one kind on the page."""
    found = re.findall(rf'<svg [^>]*class="chart {kind}".*?</svg>', report.page(), re.DOTALL)
    return [ElementTree.fromstring(one) for one in found]


def texts(svg, look):
    return [node.text for node in svg.iter("text") if look in node.get("class", "").split()]


@pytest.fixture(scope="session")
def browser(tmp_path_factory):
    """A headless Chromium whose network is off."""
    webdriver = pytest.importorskip("selenium.webdriver", reason="selenium is not installed")
    program = next(
        filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), None
    )
    driver = shutil.which("chromedriver")
    if program is None or driver is None:
        pytest.skip("there is no Chromium with its chromedriver on this machine")
    options = webdriver.ChromeOptions()
    options.binary_location = program
    for flag in (*FLAGS, f"--user-data-dir={tmp_path_factory.mktemp('profile')}"):
        options.add_argument(flag)
    options.set_capability("goog:loggingPrefs", {"browser": "ALL"})
    found = webdriver.Chrome(options=options, service=webdriver.ChromeService(driver))
    found.execute_cdp_cmd("Network.enable", {})
    nothing = {"latency": 0, "downloadThroughput": 0, "uploadThroughput": 0}
    found.execute_cdp_cmd("Network.emulateNetworkConditions", {"offline": True, **nothing})
    yield found
    found.quit()


@pytest.fixture(scope="session")
def edges():
    """Labels and scores of which many lie on edges of bins, with ties."""
    rng = np.random.default_rng(1)
    p = rng.choice(
        [0, 0.05, 0.1, 0.2, 0.25, 0.29, 0.3, 1 / 3, 0.5, 0.57, 0.6, 0.7, 0.75, 0.9, 1], 600
    )
    p[:200] = rng.random(200)
    return (rng.random(600) < 0.2 + 0.6 * p).astype(int), p


@pytest.fixture(scope="session")
def binary(edges):
    return tn.report(*edges)


@pytest.fixture(scope="session")
def demo():
    """A model that is too extreme."""
    return tn.simulate.demo(2_000)


@pytest.fixture(scope="session")
def off(demo):
    """Its report, in which a segment is flagged."""
    return tn.report(
        demo.y_true, demo.y_prob, by={"region": demo.y_prob > 0.3}, source="predictions.csv"
    )


@pytest.fixture(scope="session")
def calibrated():
    rng = np.random.default_rng(8)
    p = rng.random(3_000).round(1)
    y = (rng.random(p.size) < p).astype(int)
    return y, p, tn.report(y, p)


@pytest.fixture(scope="session")
def two(demo):
    """The worse model is the second."""
    return tn.report(
        demo.y_true, {"fine": demo.columns["recalibrated"], "off": demo.y_prob}, intervals=False
    )


@pytest.fixture(scope="session")
def few():
    rng = np.random.default_rng(0)
    p = rng.random(40)
    return tn.report((rng.random(40) < p).astype(int), p)


@pytest.fixture(scope="session")
def sketch(edges):
    """Sums of a sketch with groups."""
    sums = tn.Accumulator(by=HOSTILE["script"])
    sums.update(*edges, group=np.arange(600) % 3)
    return tn.report(sums)


@pytest.fixture(scope="session")
def binned(edges):
    """Sums of bins, which serve no others."""
    sums = tn.Accumulator(bins=10)
    sums.update(*edges)
    return tn.report(sums)


@pytest.fixture(scope="session")
def hostile():
    """Every name that a user gives is hostile."""
    d = tn.simulate.demo(150)
    rng = np.random.default_rng(0)
    models = {
        name: np.clip(d.y_prob * f, 0, 1)
        for name, f in zip(HOSTILE.values(), (1, 0.9, 1.1, 0.8), strict=True)
    }
    values = np.array(list(HOSTILE.values()))[rng.integers(0, 4, 150)]
    return tn.report(
        d.y_true, models, by={HOSTILE["script"]: values}, title=HOSTILE["script"], intervals=False
    )


@pytest.fixture(scope="session")
def classes():
    """Ten classes, of which the fourth comes more often than predicted."""
    rng = np.random.default_rng(3)
    z = rng.normal(size=(1_000, 10)) * 1.5
    truth = np.exp(0.6 * z + 0.5 * (np.arange(10) == 3))
    truth /= truth.sum(axis=1, keepdims=True)
    y = (rng.random(1_000)[:, None] >= np.cumsum(truth, axis=1)[:, :-1]).sum(axis=1)
    P = np.exp(z) / np.exp(z).sum(axis=1, keepdims=True)
    return y, P


@pytest.fixture(scope="session")
def multiclass(classes):
    return tn.report(*classes, labels=list(range(10)))
