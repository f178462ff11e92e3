"""``trueness plot`` writes the displays of the library."""

import pytest
from tables_on_disk import write_columns

from trueness.cli._plot import _DISPLAYS

pytest.importorskip("trueness.plot")

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
    assert "if the scores were calibrated, the whole curve would lie inside 95 % of the time" in whole
    assert "pointwise" in call(*plot, "--curve", "isotonic", "--band", "consistency").stdout
    assert "jointly" in call(*plot, "--band", "simultaneous").stdout
    assert "95 % confidence band, pointwise" in call(*plot, "--curve", "spline").stdout
    assert "if the event probability rises" in call(*plot, "--curve", "loess", "--band", "monotone").stdout
    assert "%" not in call(*plot, "--band", "none").stdout.splitlines()[-1]
    refused = call(*plot, "--curve", "smooth", "--band", "pointwise")
    assert refused.exit_code == 2
    assert "--band pointwise is not for --curve smooth, which takes simultaneous-consistency, cons" in refused.stderr
    assert "not for --display tested" in call(*plot, "--display", "tested", "--band", "none", "-o", "p.png").stderr


@pytest.mark.parametrize("form", STARTS)
def test_the_name_of_the_output_decides_its_form(call, grouped, tmp_path, form):
    pytest.importorskip("matplotlib")
    write_columns(tmp_path / "x.csv", grouped)
    result = call("plot", "x.csv", "--prob", "p", "-o", f"p.{form}")
    assert result.exit_code == 0, result.stderr
    assert (tmp_path / f"p.{form}").read_bytes().startswith(STARTS[form])
    call("plot", "x.csv", "--prob", "p", "--format", form, "-o", "p.picture")
    assert (tmp_path / "p.picture").read_bytes().startswith(STARTS[form])


@pytest.mark.parametrize("display", _DISPLAYS)
def test_every_display_is_drawn(call, grouped, tmp_path, display):
    pytest.importorskip("matplotlib")
    write_columns(tmp_path / "x.csv", grouped)
    more = ["--by", "region"] if display == "interval" else ["--bins", "5"] if display == "validity" else []
    result = call("plot", "x.csv", "--prob", "p", "--display", display, *more, "-o", "p.png")
    assert result.exit_code == 0, result.stderr
    assert (tmp_path / "p.png").stat().st_size > 5_000


def test_the_picture_repeats_itself(call, tmp_path):
    pytest.importorskip("matplotlib")
    for name in ("a.png", "b.png"):
        assert call("plot", "--demo", "--rows", "300", "-o", name).exit_code == 0
    assert (tmp_path / "a.png").read_bytes() == (tmp_path / "b.png").read_bytes()


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


@pytest.mark.parametrize(
    ("display", "words"),
    [
        ("bins", ["--bins", "5"]),
        ("tested", ["--level", "0.9"]),
        ("guarantee", ["--by", "g"]),
        ("tested", ["--curve", "smooth"]),
    ],
)
def test_an_option_that_a_display_does_not_take_is_refused(call, display, words):
    result = call("plot", "--demo", "--display", display, *words, "-o", "p.png")
    assert result.exit_code == 2
    assert f"{words[0]} is not for --display {display}." in result.stderr


def test_without_matplotlib_the_cure_is_named(fails, without):
    without("matplotlib")
    for display in ("reliability", "tested"):
        said = fails("plot", "--demo", "--rows", "100", "--prob", "overconfident", "--display", display, "-o", "p.png")
        assert "needs matplotlib to draw: `pip install 'trueness[plot]'`." in said
        assert len(said.strip().splitlines()) == 1


def test_a_report_needs_no_matplotlib(call, without):
    without("matplotlib")
    assert call("report", "--demo", "--rows", "200", "-o", "r.html").exit_code == 0


def test_a_picture_can_go_to_standard_output(call):
    pytest.importorskip("matplotlib")
    result = call("plot", "--demo", "--rows", "200", "--prob", "overconfident", "--format", "svg")
    assert result.stdout.startswith("<?xml")


def test_displays_of_one_model_take_the_first_of_the_demo(call):
    pytest.importorskip("matplotlib")
    assert call("plot", "--demo", "--rows", "200", "--display", "tested", "-o", "p.png").exit_code == 0


def test_there_is_room_for_one_column_of_groups(call):
    result = call("plot", "--demo", "--display", "interval", "--by", "a", "--by", "b", "-o", "p.png")
    assert "A picture can have only one --by." in result.stderr
