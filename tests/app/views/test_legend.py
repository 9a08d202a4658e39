"""The legend."""

from __future__ import annotations

import pytest

from app.views.legend import LINES, Legend, Sample

pytestmark = pytest.mark.window


def test_every_colour_has_a_line(show, dark):
    legend = show(Legend(), 250, 110)
    assert [s.text() for s in legend.findChildren(Sample)] == list(LINES)
    assert "drawn from the residual" in legend.accessibleDescription()


def test_a_sample_looks_like_its_role(show, dark):
    legend = show(Legend(), 250, 110)
    sample = legend.findChildren(Sample)[1]
    image = sample.grab().toImage()
    middle = image.pixelColor(4, image.height() // 2)
    assert middle == dark.color("resampled", "fill")
