"""What a race says, word for word."""

from __future__ import annotations

import pytest
from PySide6.QtGui import QFontMetrics
from story import race, race_finished, started

from app.views.elided import broken
from app.views.verdict_bar import VerdictBar
from app.views.verdict_sentences import finished
from core.events import (
    Divergence,
    DivergenceKind,
    JudgedSpeed,
    RaceStarted,
    RepeatFinished,
    RunStarted,
    Speedup,
)


def test_a_pair_that_helps():
    verdict = finished(race_finished())
    assert verdict.figure == "1.81×"
    assert verdict.headline == (
        "faster than plain (1.74 to 1.86 over 3 races), from the same distribution"
    )
    assert verdict.detail == (
        "Breaks even at 0.30 accepted; measured 0.68. 1.62× with prefill."
    )
    assert verdict.chip == "▲ helps"


def test_the_same_tokens_are_said():
    assert finished(race_finished(identical=True)).headline.endswith(
        "and the same tokens"
    )


@pytest.mark.parametrize(
    ("kind", "words"),
    [
        (DivergenceKind.NEAR_TIE, "the texts part at token 13: a near tie, gap 0.25"),
        (DivergenceKind.BUG, "the texts part at token 13 and should not: a fault"),
    ],
)
def test_a_divergence_is_never_hidden(kind, words):
    event = race_finished(identical=False, divergence=Divergence(12, 0.25, kind))
    assert words in finished(event).headline


def test_a_pair_that_hurts_is_told_to_use_k_zero():
    event = race_finished(
        JudgedSpeed.HURTS,
        speedup=Speedup(0.83, 0.80, 0.86, 3, 0.9),
        break_even_acceptance=None,
    )
    verdict = finished(event)
    assert verdict.headline.startswith("the speed of plain (0.80 to 0.86")
    assert "use K = 0" in verdict.detail
    assert verdict.chip == "▼ hurts"


@pytest.mark.parametrize(
    ("judged", "chip"),
    [
        (JudgedSpeed.NEUTRAL, "● neutral"),
        (JudgedSpeed.TOO_SHORT, "too short to judge"),
        (JudgedSpeed.NONE, "no verdict yet"),
    ],
)
def test_other_verdicts(judged, chip):
    assert finished(race_finished(judged)).chip == chip


def test_a_race_without_a_counted_repeat():
    event = race_finished(
        JudgedSpeed.NONE, speedup=Speedup(None, None, None, 0, None), cancelled=True
    )
    verdict = finished(event)
    assert verdict.figure == "–"
    assert verdict.headline == "Stopped before a repeat was complete."


@pytest.mark.window
def test_the_bar_follows_a_race(show):
    bar = show(VerdictBar(), 680, 60)
    bar.set_badge("MEASURED")
    assert "Press Race" in bar._headline.text()
    bar.on_event(RaceStarted("r", 3))
    bar.on_event(started(repeat=0, warm_up=True))
    assert bar._headline.text() == "Warm-up, not counted."
    bar.on_event(RunStarted(*_run(2)))
    bar.on_event(RepeatFinished("r", 1, 1.79, 1.6, counted=False))
    assert bar._headline.text() == "Repeat 2 of 3."
    assert bar._detail.text() == "Repeat 1 gave 1.79×: K changed, shown, not counted."
    for event in race():
        bar.on_event(event)
    assert bar._figure.text() == "1.81×"
    assert bar._badge.text() == "MEASURED"
    assert "1.81×" in bar.accessibleDescription()
    assert bar._shared.text() == "Lanes share the device; wall time is their sum."


@pytest.mark.window
def test_a_single_run_clears_the_last_verdict(show):
    bar = show(VerdictBar(), 680, 60)
    bar.on_event(race_finished())
    bar.on_event(started())
    assert bar._figure.text() == "–"


def _run(repeat: int):
    event = started(repeat=repeat)
    return (
        event.run_id,
        event.lane,
        event.repeat,
        event.settings,
        event.target,
        event.draft,
        event.prompt,
    )


@pytest.mark.window
def test_the_verdict_is_whole_in_the_smallest_window(show):
    bar = show(VerdictBar(), 640, 60)
    bar.on_event(race_finished(JudgedSpeed.TOO_SHORT))
    bar.set_badge("MEASURED")
    bar.layout().activate()
    words = bar._headline.fontMetrics().horizontalAdvance(bar._headline.text())
    assert bar._headline.width() >= words


def test_where_the_drafter_hurts_the_advice_comes_first():
    advice = "This draft costs 1.0 of the target and no K wins with it: try K = 0."
    hurts = finished(race_finished(JudgedSpeed.HURTS), advice)
    assert hurts.detail.startswith(advice)
    assert "Breaks even at" in hurts.detail
    assert hurts.detail.endswith(" 1.62× with prefill.")
    helps = finished(race_finished(JudgedSpeed.HELPS), advice)
    assert advice not in helps.detail
    none = race_finished(JudgedSpeed.HURTS, break_even_acceptance=None)
    assert finished(none).detail.count("K = 0") == 1
    assert finished(none, advice).detail.count("K = 0") == 1


@pytest.mark.window
def test_in_a_narrow_bar_the_headline_takes_the_room_of_what_matters_less(show):
    bar = show(VerdictBar(), 380, 60)
    bar.on_event(race_finished(identical=True))
    bar.set_badge("MEASURED")
    assert bar._headline.text().endswith("and the same tokens")
    assert bar._shared.isHidden()
    metrics, width = bar._headline.fontMetrics(), bar._headline.width()
    shown = broken(bar._verdict.shorter()[0], metrics, width, 2)
    assert " ".join(shown) == "faster than plain (1.74 to 1.86, 3 races), same tokens"
    bar.window().resize(900, 60)
    bar.window().layout().activate()
    assert bar._headline.fits()
    assert not bar._shared.isHidden()


def test_a_label_is_cut_in_its_last_line_only(qapp):
    metrics = QFontMetrics(qapp.font())
    width = metrics.horizontalAdvance("one two")
    assert broken("one two", metrics, width, 1) == ["one two"]
    assert broken("one two one two", metrics, width, 2) == ["one two", "one two"]
    first, last = broken("one two one two three", metrics, width, 2)
    assert first == "one two"
    assert last.endswith("…")
