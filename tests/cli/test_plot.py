"""``trueness plot`` writes the displays of the library."""

import pytest
from grids import fast
from tables_on_disk import write_columns

pytest.importorskip("trueness.plot")

DISPLAYS = ("reliability", "tested", "bins", "cumulative", "interval", "validity", "guarantee")
FEW = "y,p\n" + "".join(f"{i % 3 // 2},0.{i % 9 + 1}\n" for i in range(90))
STARTS = {"png": b"\x89PNG", "svg": b"<?xml", "pdf": b"%PDF"}


def test_a_terminal_gets_a_diagram_in_letters(call, grouped, tmp_path):
    write_columns(tmp_path / "x.csv", grouped)
    result = call("plot", "x.csv", "--prob", "p", "--prob", "q")
    assert result.exit_code == 0, result.stderr
    assert result.stdout.count("event rate") == 2
    assert "●" in result.stdout
    assert max(map(len, result.stdout.splitlines())) <= 80
    assert call("plot", "x.csv", "--prob", "p", "-o", "p.txt").exit_code == 0
    assert "●" in (tmp_path / "p.txt").read_text(encoding="utf-8")


def test_a_band_is_chosen_and_named(call, grouped, tmp_path):
    write_columns(tmp_path / "x.csv", grouped)
    plot = ("plot", "x.csv", "--prob", "p")
    whole = " ".join(call(*plot, "--curve", "isotonic").stdout.split())
    assert (
        "if the scores were calibrated, the whole curve would lie inside 95 % of the time" in whole
    )
    assert "pointwise" in call(*plot, "--curve", "isotonic", "--band", "consistency").stdout
    assert "jointly" in call(*plot, "--band", "simultaneous").stdout
    assert "95 % confidence band, pointwise" in call(*plot, "--curve", "spline").stdout
    assert (
        "if the event probability rises"
        in call(*plot, "--curve", "loess", "--band", "monotone").stdout
    )
    assert "%" not in call(*plot, "--band", "none").stdout.splitlines()[-1]
    refused = call(*plot, "--curve", "smooth", "--band", "pointwise")
    assert refused.exit_code == 2
    assert (
        "--band pointwise is not for --curve smooth, which takes simultaneous-consistency, cons"
        in refused.stderr
    )
    assert (
        "not for --display tested"
        in call(*plot, "--display", "tested", "--band", "none", "-o", "p.png").stderr
    )


@pytest.mark.parametrize("form", fast(list(STARTS), "svg"))
def test_the_name_of_the_output_decides_its_form(call, tmp_path, form):
    pytest.importorskip("matplotlib")
    given = ("plot", "-", "--prob", "p", "--band", "none")
    result = call(*given, "-o", f"p.{form}", stdin=FEW)
    assert result.exit_code == 0, result.stderr
    picture = (tmp_path / f"p.{form}").read_bytes()
    assert picture.startswith(STARTS[form])
    if form == "png":  # the same again, to standard output
        assert call(*given, "--format", "png", stdin=FEW).stdout_bytes == picture


@pytest.mark.parametrize(
    "display", [pytest.param(d, marks=() if d == "tested" else pytest.mark.slow) for d in DISPLAYS]
)
def test_every_display_is_drawn(call, grouped, tmp_path, display):
    pytest.importorskip("matplotlib")
    write_columns(tmp_path / "x.csv", grouped)
    more = (
        ["--by", "region"]
        if display == "interval"
        else ["--bins", "5"]
        if display == "validity"
        else []
    )
    result = call("plot", "x.csv", "--prob", "p", "--display", display, *more, "-o", "p.png")
    assert result.exit_code == 0, result.stderr
    assert (tmp_path / "p.png").stat().st_size > 5_000


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["--display", "tested"], "`--display` tested cannot be drawn as text"),
        (["-o", "p.gif"], "`--output` must end in .png, .svg, .pdf or .txt"),
        (["-o", "p"], "`--output` must end in .png"),
        (["--display", "bins", "-o", "p.png"], "draws one model; `--prob` names 2."),
        (["--curve", "smooth", "--bins", "5"], "`--bins` is only for"),
    ],
)
def test_what_cannot_be_drawn_is_refused(fails, grouped, tmp_path, words, message):
    write_columns(tmp_path / "x.csv", grouped)
    assert message in fails("plot", "x.csv", "--prob", "p", "--prob", "q", *words)
    assert [p.name for p in tmp_path.iterdir()] == ["x.csv"]


def test_an_option_that_a_display_does_not_take_is_refused(call):
    refused = [("bins", "--bins", "5"), ("tested", "--level", "0.9"), ("guarantee", "--by", "g")]
    for display, *words in [*refused, ("tested", "--curve", "smooth")]:
        result = call("plot", "--demo", "--display", display, *words, "-o", "p.png")
        assert result.exit_code == 2
        assert f"{words[0]} is not for --display {display}." in result.stderr


@pytest.mark.slow
def test_without_matplotlib_the_cure_is_named_and_a_report_does_without(call, fails, without):
    without("matplotlib")
    said = fails(
        "plot", "--demo", "--rows", "100", "--display", "tested", "-o", "p.png"
    )  # the first model
    assert "needs matplotlib to draw: `pip install 'trueness[plot]'`." in said
    assert (
        call("report", "--demo", "--rows", "100", "--prob", "truth", "--no-intervals").exit_code
        == 0
    )


def test_there_is_room_for_one_column_of_groups(call):
    result = call(
        "plot", "--demo", "--display", "interval", "--by", "a", "--by", "b", "-o", "p.png"
    )
    assert "A picture can have only one --by." in result.stderr
