"""A map by segment: shifts by hand, laws, unknown segments, and advice only where held-out rows gain."""

import json

import numpy as np
import pytest
from scipy.special import expit, logit

import trueness as tn
from trueness.errors import FewRowsWarning, InputError


def rows(seed=0, n=2_000, shift=0.8):
    rng = np.random.default_rng(seed)
    p, region = rng.uniform(0.1, 0.7, n), rng.choice(["north", "south", "west"], n)
    return p, rng.random(n) < expit(logit(p) + shift * (region == "north")), region


def test_a_large_segment_gets_its_own_shift_and_a_small_one_next_to_none():
    p, y, region = rows(n=8_000)
    region[:8] = "tiny"
    fitted = tn.SegmentCalibration(tn.PriorCorrection(weight=1.0)).fit(p, y, by={"region": region})
    for name in ("north", "south"):
        (own,) = fitted.predict([0.4], by={"region": [name]})
        at = region == name
        # The shift that makes expected events equal to observed ones, of thousands of rows.
        shift = logit(own) - logit(0.4)
        assert expit(logit(p[at]) + shift).sum() == pytest.approx(y[at].sum(), rel=0.01)
    assert np.abs(logit(fitted.predict([0.4], by={"region": ["tiny"]})) - logit(0.4)) < 0.5
    assert not fitted.leave_alone_
    assert 0 < fitted.gain_low_ < fitted.gain_ < fitted.gain_high_


def test_neither_order_nor_repetition_nor_json_change_the_map():
    p, y, region = rows()
    new, by = (
        np.linspace(0, 1, 9),
        {"region": np.resize(["north", "south", "west"], 9), "x": np.resize([1, 2], 9)},
    )
    columns = {"region": region, "x": np.resize([1, 2], y.size)}
    fitted = tn.SegmentCalibration().fit(p, y, by=columns)
    known = fitted.predict(new, by=by)
    order, twice = np.random.default_rng(1).permutation(y.size), np.repeat(np.arange(y.size), 2)
    weight = np.full(y.size, 2)

    def of(at, weight=None):
        some = {name: values[at] for name, values in columns.items()}
        return tn.SegmentCalibration().fit(p[at], y[at], weight, by=some).predict(new, by=by)

    assert of(order) == pytest.approx(known, abs=1e-9)
    assert of(order, weight) == pytest.approx(of(twice), abs=1e-9)
    again = tn.recalibrate.calibrator_from_dict(json.loads(fitted.to_json()))
    assert again.predict(new, by=dict(reversed(by.items()))).tolist() == known.tolist()


def test_values_that_look_alike_when_joined_or_missing_are_segments_of_their_own():
    p, y, region = rows(seed=2)
    north = region == "north"
    plain = tn.SegmentCalibration().fit(p, y, by={"u": north})
    joined = {"u": np.where(north, "a × b", "a"), "v": np.where(north, "c", "b × c")}
    for pair in (joined, {"u": np.where(north, "(missing)", None)}):
        fitted = tn.SegmentCalibration().fit(p, y, by=pair)
        assert len(fitted.segments_) == 2
        assert sorted(fitted.shifts_) == pytest.approx(sorted(plain.shifts_))
        again = tn.recalibrate.calibrator_from_dict(json.loads(fitted.to_json()))
        assert again.predict(
            p[::2], by={name: v[::2] for name, v in pair.items()}
        ) == pytest.approx(plain.predict(p[::2], by={"u": north[::2]}))


def test_a_gain_by_rounding_is_none():
    p, y, _ = rows()
    fitted = tn.SegmentCalibration().fit(p, y, by=np.arange(y.size))
    assert (fitted.gain_, fitted.leave_alone_) == (0, True)
    assert "does not fall" in fitted.summary()


def test_unknown_segments_get_the_map_of_all_rows_and_a_warning():
    p, y, region = rows()
    fitted = tn.SegmentCalibration().fit(p, y, by=region)
    with pytest.warns(FewRowsWarning, match="has not seen get the map of all rows: 2 of 3 rows"):
        found = fitted.predict([0.2, 0.3, 0.4], by=["east", None, "north"])
    assert found[:2] == pytest.approx(tn.PlattScaling().fit(p, y).predict([0.2, 0.3]))


def test_what_cannot_be_used_is_refused_by_name():
    p, y, region = rows()
    fitted = tn.SegmentCalibration().fit(p, y, by={"region": region})
    with pytest.raises(InputError, match="`by` must have the columns of `fit`: 'region'; got none"):
        fitted.predict(p[:5])
    with pytest.raises(InputError, match=r"got 'by'\. A dict or frame names them, such as `by="):
        fitted.predict(p[:5], by=region[:5].tolist())
    with pytest.raises(InputError, match="`by` must hold names or whole numbers; 'age' has many"):
        tn.SegmentCalibration().fit(p, y, by={"age": p + 1})
    with pytest.raises(InputError, match="depends on its segment"):
        fitted.to_sql()


def test_calibrated_segments_and_clusters_are_left_alone():
    p, y, region = rows(shift=0.0)
    assert tn.SegmentCalibration().fit(p, y, by=region).leave_alone_
    assert "does not fall" in tn.SegmentCalibration().fit(p, y, by=np.arange(y.size) % 40).summary()
    p, y, region = rows(n=600)
    four = [np.repeat(one, 4) for one in (p, y, region)]
    alone = tn.SegmentCalibration().fit(four[0], four[1], by=four[2])
    together = tn.SegmentCalibration().fit(
        four[0], four[1], by=four[2], cluster=np.repeat(np.arange(600), 4)
    )
    assert together.gain_high_ - together.gain_low_ > 1.8 * (alone.gain_high_ - alone.gain_low_)
    assert abs(together.shifts_).max() < abs(alone.shifts_).max()


@pytest.mark.slow
@pytest.mark.parametrize(
    ("n", "segments", "spread"), [(900, 5, 0.0), (2_500, 9, 0.0), (2_500, 9, 0.25)]
)
def test_the_limits_of_the_gain_contain_that_in_the_population(n, segments, spread):
    """120 fits: at most three standard errors below 0.95."""
    inside = []
    for run in range(120):
        rng = np.random.default_rng([n, run])
        shift = spread * rng.normal(size=segments)

        def gain(fitted, rng=rng, shift=shift):
            p, segment = rng.uniform(0.05, 0.8, 20_000), rng.integers(0, segments, 20_000)
            truth, plain = expit(logit(p) + shift[segment]), fitted.overall_.predict(p)
            own = fitted.predict(p, by=segment)
            return np.mean(
                truth * np.log(own / plain) + (1 - truth) * np.log((1 - own) / (1 - plain))
            )

        p, segment = rng.uniform(0.05, 0.8, n), rng.integers(0, segments, n)
        fitted = tn.SegmentCalibration().fit(
            p, rng.random(n) < expit(logit(p) + shift[segment]), by=segment
        )
        inside.append(fitted.gain_low_ - 1e-15 <= gain(fitted) <= fitted.gain_high_ + 1e-15)
    assert np.mean(inside) >= 0.95 - 3 * np.sqrt(0.95 * 0.05 / 120)


def test_the_name_of_a_segment_stands_in_the_file_as_it_is_written(tmp_path):
    rng = np.random.default_rng(0)
    p = rng.random(120)
    y = (rng.random(120) < p).astype(int)
    by = np.where(np.arange(120) % 2, "Zürich", "Bern")
    tn.SegmentCalibration().fit(p, y, by=by).save(tmp_path / "map.json")
    assert '"Zürich"' in (tmp_path / "map.json").read_text(encoding="utf-8")
