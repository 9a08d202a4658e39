"""Ring buffers, thinning and steady axes. No Qt."""

from __future__ import annotations

import numpy as np
import pytest

from app.series import RingBuffer, SteadyRange, ceiling, thin


@pytest.mark.parametrize("count", [0, 1, 4, 5, 6, 23])
def test_a_ring_keeps_the_last_rows_in_order(count):
    ring = RingBuffer(capacity=5)
    for i in range(count):
        ring.append(i, 10 * i)
    expected = list(range(max(0, count - 5), count))
    assert len(ring) == len(expected)
    assert ring.column(0).tolist() == expected
    assert ring.column(1).tolist() == [10 * i for i in expected]


def test_a_ring_is_read_without_a_copy():
    ring = RingBuffer(capacity=5)
    for i in range(12):
        ring.append(i, i)
    assert ring.column(1).base is not None
    assert ring.column(1).flags["C_CONTIGUOUS"]


def test_a_cleared_ring_is_empty():
    ring = RingBuffer(capacity=3)
    ring.append(1, 2)
    ring.clear()
    assert len(ring) == 0
    assert ring.column(0).tolist() == []


def test_thinning_keeps_peaks_order_and_the_limit():
    x = np.arange(10_000.0)
    y = np.sin(x / 300)
    y[4321], y[8765] = 50.0, -50.0
    few_x, few_y = thin(x, y)
    assert len(few_x) <= 600
    assert {50.0, -50.0} <= set(few_y.tolist())
    assert (np.diff(few_x) > 0).all()


def test_short_series_are_not_thinned():
    x = np.arange(600.0)
    assert thin(x, x)[0] is x


@pytest.mark.parametrize(
    ("value", "top"),
    [(0, 1), (0.012, 0.015), (7, 8), (88, 100), (100, 100), (101, 150)],
)
def test_a_ceiling_is_a_round_number(value, top):
    assert ceiling(value) == pytest.approx(top)


def test_an_axis_moves_only_when_it_must():
    axis = SteadyRange()
    assert axis.fit(40) == 50
    assert axis.fit(44) == 50
    assert axis.fit(30) == 50
    assert axis.fit(48) == 60
    assert axis.fit(10) == 15
