import numpy as np
import pytest
from grids import slow
from hypothesis import given
from hypothesis import strategies as st
from scipy.special import beta as beta_function
from scipy.special import expit, logit

from trueness import simulate
from trueness.errors import InputError
from trueness.simulate import Beta, Discrete, Logit, Power


def jump(z):
    return np.where(z < 0.31234, z, z**2)


def halves(z):
    return np.where(z < 0.5, 0.25, 0.75)


def cube(u):
    return u**3


def named(case):
    return getattr(case, "__name__", str(case))


DISTORTIONS = [
    None,
    Logit(slope=0.5),
    Logit(shift=-1, slope=2),
    Logit(slope=0),
    Logit(slope=-1),
    Power(0.5),
    jump,
]
LAWS = [Beta(), Beta(0.3, 60), Beta(12, 0.25), Discrete([0.0, 0.2, 0.9, 1.0], [4, 3, 2, 1]), cube]


@pytest.mark.parametrize("scores", [LAWS[0], *slow(*LAWS[1:])], ids=named)
@pytest.mark.parametrize("distortion", DISTORTIONS, ids=named)
def test_the_rows_have_the_errors_and_the_labels_of_their_population(scores, distortion):
    n = 20_000
    d = simulate.binary(n, scores=scores, distortion=distortion, seed=1)
    for p in (1, 2, 3.5):
        powers = np.abs(d.truth - d.y_prob) ** p
        noise = 5.5 * powers.std() / np.sqrt(n)
        assert d.true_ece(p) ** p == pytest.approx(powers.mean(), abs=noise + 1e-9)
    assert d.true_ece("max") >= np.abs(d.truth - d.y_prob).max() - 1e-9
    assert d.true_ece(1) <= d.true_ece(2) + 1e-12 <= d.true_ece("max") + 2e-12
    for part in np.array_split(np.argsort(d.y_prob, kind="stable"), 5):
        y, t = d.y_true[part], d.truth[part]
        spread = np.sqrt((t * (1 - t)).sum())
        assert abs(y.sum() - t.sum()) <= 5.5 * spread + 1e-9 * y.size + 5.5**2 / 2


@pytest.mark.parametrize(
    ("a", "b"), [(1, 1), (0.3, 60), (12, 0.25), (5, 0.5), (300, 200), (0.02, 0.05)]
)
@pytest.mark.parametrize("g", [0.3, 2.0, 7.0])
def test_powers_of_beta_scores_have_a_closed_form(a, b, g):
    d = simulate.binary(1, scores=Beta(a, b), distortion=Power(g))

    def moment(m):
        return beta_function(a + m, b) / beta_function(a, b)

    assert d.true_ece("l1") == pytest.approx(abs(moment(g) - moment(1)), abs=1e-11)
    assert d.true_squared_ece() == pytest.approx(
        moment(2 * g) - 2 * moment(g + 1) + moment(2), abs=1e-11
    )
    assert d.true_ece("max") == pytest.approx(
        abs(g ** (g / (1 - g)) - g ** (1 / (1 - g))), abs=1e-9
    )


@pytest.mark.parametrize(
    ("distortion", "l1", "squared", "largest"),
    [
        (None, 0, 0, 0),
        (Logit(slope=0), 1 / 4, 1 / 12, 1 / 2),
        pytest.param(halves, 1 / 8, 1 / 48, 1 / 4, id="halves"),
        (Logit(slope=-1), 1 / 2, 1 / 3, 1),
    ],
    ids=str,
)
def test_uniform_scores_have_errors_known_by_hand(distortion, l1, squared, largest):
    d = simulate.binary(1, distortion=distortion)
    assert d.true_ece() == pytest.approx(l1, abs=1e-11)
    assert d.true_squared_ece() == pytest.approx(squared, abs=1e-11)
    assert d.true_ece("max") == pytest.approx(largest, abs=1e-9)


def test_a_quantile_function_gives_the_law_it_belongs_to():
    by_name = simulate.binary(1, scores=Beta(1 / 3, 1), distortion=Logit(0.2, 0.7))
    by_function = simulate.binary(1, scores=lambda u: u**3, distortion=Logit(0.2, 0.7))
    for norm in ("l1", "l2", 4, "max"):
        assert by_function.true_ece(norm) == pytest.approx(by_name.true_ece(norm), abs=1e-9)


def test_an_array_of_scores_is_drawn_from():
    d = simulate.binary(1000, scores=[0.2, 0.8, 0.8], distortion=Power(2), seed=0)
    assert set(d.y_prob) == {0.2, 0.8}
    assert d.true_ece() == pytest.approx(0.16)


def test_weights_may_be_in_any_unit():
    one, many = (
        simulate.binary(9, scores=Discrete([0.1, 0.6], w), distortion=Power(2), seed=0)
        for w in ([1, 3], [25, 75])
    )
    assert one.true_ece() == many.true_ece()
    assert one.y_prob.tobytes() == many.y_prob.tobytes()


def test_high_powers_do_not_vanish():
    d = simulate.binary(1, distortion=lambda z: 0.999 * z)
    assert 0.00095 < d.true_ece(1000) < 0.001


def test_a_function_may_declare_where_it_is_not_smooth():
    def spike(z):
        return np.where(np.abs(z - 0.61803) < 1e-7, 0.0, z)

    assert simulate.binary(1, distortion=spike).true_ece() == 0
    spike.kinks = 0.61803 + np.array([-1e-7, 0, 1e-7])
    assert simulate.binary(1, distortion=spike).true_ece() == pytest.approx(2e-7 * 0.61803)


def test_a_calibrated_model_has_no_error_at_all():
    d = simulate.binary(1000, scores=Beta(0.2, 3), prevalence=0.02, seed=0)
    assert d.y_prob.tobytes() == d.truth.tobytes()
    assert d.true_ece() == d.true_ece("max") == d.true_squared_ece() == 0


@given(
    st.sampled_from([*LAWS[:3], cube]),
    st.sampled_from([None, Logit(0.5, 0.6), Power(2.0)]),
    st.floats(-6.9, 6.9).map(lambda x: float(expit(x))),
    st.sampled_from(["scores", "truth"]),
)
def test_any_prevalence_is_reached(scores, distortion, prevalence, adjust):
    d = simulate.binary(
        1, scores=scores, distortion=distortion, prevalence=prevalence, adjust=adjust
    )
    assert d.population.mean_truth() == pytest.approx(prevalence, rel=1e-9)


@pytest.mark.parametrize("adjust", ["scores", "truth"])
@pytest.mark.parametrize("prevalence", [0.001, 0.2, 0.97])
def test_events_come_as_often_as_the_prevalence_says(prevalence, adjust):
    n = 20_000
    d = simulate.binary(
        n, distortion=Logit(slope=0.7), prevalence=prevalence, adjust=adjust, seed=5
    )
    assert d.y_true.mean() == pytest.approx(
        prevalence, abs=5 * np.sqrt(prevalence * (1 - prevalence) / n)
    )


def test_moved_scores_keep_their_distortion_and_moved_truth_keeps_the_scores():
    kept = simulate.binary(100, distortion=Power(2), seed=1)
    scores = simulate.binary(100, distortion=Power(2), prevalence=0.1, seed=1)
    truth = simulate.binary(100, distortion=Power(2), prevalence=0.1, adjust="truth", seed=1)
    np.testing.assert_allclose(scores.truth, scores.y_prob**2)
    assert np.ptp(logit(scores.y_prob) - logit(kept.y_prob)) < 1e-9
    assert truth.y_prob.tobytes() == kept.y_prob.tobytes()
    assert np.ptp(logit(truth.truth) - logit(kept.truth)) < 1e-9


def test_discrete_scores_reach_a_prevalence_too():
    d = simulate.binary(10, scores=Discrete([0.1, 0.5, 0.9]), prevalence=0.001)
    assert d.population.mean_truth() == pytest.approx(0.001, rel=1e-9)


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (
            lambda: simulate.binary(5, prevalence=0),
            "`prevalence` must be a number strictly between 0 and 1; got 0",
        ),
        (
            lambda: simulate.binary(5, prevalence="a"),
            "`prevalence` must be a number strictly between 0 and 1; got 'a'",
        ),
        (
            lambda: simulate.binary(5, distortion=halves, prevalence=0.001),
            "`prevalence` must be in the range that shifting the scores can reach, 0.25 to 0.75; got 0.001. Try",
        ),
        (
            lambda: simulate.binary(5, scores=[0.0, 0.5], prevalence=0.7),
            "can reach, .* to 0.5; got 0.7",
        ),
        (
            lambda: simulate.binary(5, scores=[0.2, 0.5], distortion=halves, prevalence=0.4),
            "0.25 to 0.75, and not skipped by a jump; got 0.4",
        ),
        (
            lambda: simulate.binary(5, adjust="both"),
            "`adjust` must be 'scores' or 'truth'; got 'both'",
        ),
        (
            lambda: simulate.binary(5, distortion="logit"),
            "`distortion` must be None, Logit, .* got 'logit'",
        ),
        (
            lambda: simulate.binary(5, distortion=simulate.Temperature(2)),
            "`distortion` must be None, Logit, .* got Temperature",
        ),
        (
            lambda: simulate.binary(5, distortion=lambda z: 2 * z),
            r"`distortion` must map \[0, 1\] into \[0, 1\], one truth per score; for 0.50\d+ it returned 1.00",
        ),
        (
            lambda: simulate.binary(5, distortion=lambda z: z * np.nan),
            r"`distortion` must map .* returned nan",
        ),
        (
            lambda: simulate.binary(5, distortion=lambda z: 0.5),
            r"`distortion` must map .* one truth per score; for shape .* it returned \(\)",
        ),
        (
            lambda: simulate.binary(5, scores=lambda u: 2 * u + 1),
            r"`scores` as a function must map .* it returned",
        ),
        (
            lambda: simulate.binary(5, scores=lambda u: 0.5),
            r"`scores` as a function must map .* for shape \(5,\) it returned \(\)",
        ),
        (
            lambda: simulate.binary(5, scores=[0.5, 2.0]),
            r"`scores` must lie in \[0, 1\]; 1 of 2 values does not, the first is 2 at row 1",
        ),
        (lambda: simulate.binary(5, scores="beta"), "`scores` must hold numbers only; got str"),
        (lambda: Beta(0, 1), "`a` must be a number above 0; got 0"),
        (lambda: Beta(1, np.inf), "`b` must be a number above 0; got inf"),
        (
            lambda: Discrete([0.5], [0]),
            "`weights` must be finite and non-negative, and not all zero",
        ),
        (lambda: Logit(slope=np.nan), "`slope` must be a finite number; got nan"),
        (lambda: Power(0), "`exponent` must be a number above 0; got 0"),
    ],
)
def test_bad_arguments_are_named(call, message):
    with pytest.raises(InputError, match=message):
        call()


def test_the_demo_is_the_same_every_time():
    one, other = simulate.demo(), simulate.demo()
    assert len(one) == 10_000
    assert one.y_true.tobytes() == other.y_true.tobytes()
    assert one.y_prob.tobytes() == other.y_prob.tobytes()


def test_one_row_in_five_of_the_demo_is_an_event():
    d = simulate.demo(100_000, seed=3)
    assert d.population.mean_truth() == pytest.approx(0.2, rel=1e-9)
    assert d.y_true.mean() == pytest.approx(0.2, abs=5 * 0.4 / np.sqrt(100_000))


def test_the_demo_is_over_confident_and_recalibration_helps():
    d = simulate.demo()
    p, better = d.y_prob, d.columns["recalibrated"]
    assert d.true_ece() == pytest.approx(0.0508, abs=1e-4)
    assert (d.truth - p)[p > 0.5].max() < 0
    assert (d.truth - p)[p < 0.01].min() > 0
    assert np.abs(d.truth - better).mean() < np.abs(d.truth - p).mean() / 10
    assert (np.argsort(p) == np.argsort(better)).all()
