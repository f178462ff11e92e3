"""Verdicts as the page says them."""

import trueness as tn


def test_several_models_get_one_sentence_and_one_each():
    d = tn.simulate.demo(3_000)
    found = tn.report(d.y_true, {"model": d.y_prob, "better": d.columns["recalibrated"]}, intervals=False)
    assert found.verdict == "“model” is miscalibrated; “better” shows no miscalibration."
    assert found.to_dict()["verdict"]["code"] == "miscalibrated"
    assert found.verdicts == {"model": "miscalibrated", "better": "no-evidence"}
    first = found.to_dict()["models"][0]["verdict"]
    assert first["code"] == "miscalibrated"
    assert first["headline"].startswith("Not calibrated: the predictions are too")
    assert first["sentence"] == f"“model”: n{first['headline'][1:]} {first['certainty']}"


def test_the_sentence_has_the_evidence(binary):
    summary = binary.to_dict()["models"][0]["summary"]
    low, high = summary["ece_interval"]["low"], summary["ece_interval"]["high"]
    assert f"lies between {100 * low:.1f} and {100 * high:.1f} points (95 % confidence)" in binary.verdict
