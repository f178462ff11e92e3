"""The list of versions that belongs in a bug report."""

import trueness as tn


def test_versions_can_be_shown(capsys):
    tn.show_versions()
    shown = capsys.readouterr().out
    assert f"trueness      {tn.__version__}" in shown
    assert "kernels       " in shown
