import numpy as np
import pytest

from trueness._numerics.quantiles import weighted_quantiles


@pytest.mark.parametrize("most", [1, 4])
def test_weights_repeat_values(most):
    rng = np.random.default_rng(most)
    values, weight = np.sort(rng.random(37)), rng.integers(1, most + 1, 37)
    shares = [0.0, 0.05, 0.275, 0.5, 0.9, 1.0]
    expected = np.quantile(np.repeat(values, weight), shares)
    np.testing.assert_allclose(weighted_quantiles(values, weight, shares), expected, rtol=1e-13)
