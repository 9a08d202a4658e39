"""The home-made statistics against scipy's."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import stats

from core.lab.statistics import (
    chi_square,
    kolmogorov_smirnov,
    power,
    tail,
    threshold,
)


@pytest.mark.parametrize("degrees", [1, 5, 80, 511])
@pytest.mark.parametrize("factor", [0.5, 1.0, 1.6])
def test_the_tail_is_scipys(degrees, factor):
    assert tail(degrees * factor, degrees) == pytest.approx(
        stats.chi2.sf(degrees * factor, degrees), rel=1e-9, abs=1e-300
    )


@pytest.mark.parametrize("degrees", [1, 30, 511])
def test_the_threshold_is_scipys(degrees):
    assert threshold(degrees, 1e-4) == pytest.approx(stats.chi2.isf(1e-4, degrees))


@pytest.mark.parametrize(("degrees", "noncentrality"), [(1, 4), (63, 60), (511, 160)])
def test_the_power_is_the_noncentral_laws(degrees, noncentrality):
    limit = stats.chi2.isf(1e-4, degrees)
    expected = stats.ncx2.sf(limit, degrees, noncentrality)
    assert power(degrees, noncentrality / 1000, 1000, 1e-4) == pytest.approx(expected)


def test_the_chi_square_is_scipys_where_no_cell_is_small():
    observed, law = [30, 50, 20], [0.25, 0.5, 0.25]
    expected = stats.chisquare(observed, [25, 50, 25])
    fit = chi_square(observed, law)
    assert (fit.statistic, fit.p_value, fit.merged) == (
        pytest.approx(expected.statistic), pytest.approx(expected.pvalue), 0,
    )  # fmt: skip


def test_small_cells_are_poured_together_until_they_hold_five():
    fit = chi_square([48, 47, 3, 1, 1], [0.48, 0.47, 0.02, 0.02, 0.01])
    assert (fit.merged, fit.degrees) == (3, 2)


def test_what_cannot_be_and_was_seen_fails():
    assert chi_square([99, 1], [1.0, 0.0]).p_value == 0


def test_the_kolmogorov_smirnov_is_close_to_scipys():
    values = np.random.default_rng(3).random(5000)
    for sample in (values, values**1.03):
        assert kolmogorov_smirnov(sample.tolist()) == pytest.approx(
            stats.kstest(sample, "uniform").pvalue, abs=0.01
        )
