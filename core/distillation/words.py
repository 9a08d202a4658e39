"""How far a distillation is and what came out, in the words that people read."""

from __future__ import annotations

from core.distillation.plan import DistillFinished, DistillProgress, DraftFigures


def time_left(seconds: float) -> str:
    """Return a time as people read it, for example ``1 h 05 min`` or ``40 s``."""
    if seconds < 60:
        return f"{seconds:.0f} s"
    minutes = round(seconds / 60)
    if minutes < 60:
        return f"{minutes} min"
    return f"{minutes // 60} h {minutes % 60:02} min"


def line(event: DistillProgress) -> str:
    """Return one progress as a line."""
    parts = [str(event.stage)]
    if event.fraction is not None:
        parts[0] += f" {event.fraction:.0%}"
    parts += details(event)
    if event.seconds_left is not None:
        parts.append(f"{time_left(event.seconds_left)} left")
    return " · ".join(parts)


def details(event: DistillProgress) -> list[str]:
    """Return what one progress says beside stage and time."""
    found = [f"{event.tokens:,} tokens"] if event.tokens else []
    if event.loss is not None:
        found.append(f"loss {event.loss:.3f}")
    if event.acceptance is not None:
        found.append(f"expected acceptance {share(event.acceptance)}")
    return [*found, event.detail] if event.detail else found


def outcome(finished: DistillFinished) -> list[str]:
    """Return what came out, a line each; the first is the shortest answer."""
    if not finished.folder:
        return [
            f"No draft yet; {finished.tokens:,} tokens of the target's text are kept "
            "and can be gone on with."
        ]
    first = f"{finished.tokens:,} tokens of the target's text"
    if finished.acceptance is not None:
        first += f", expected acceptance {share(finished.acceptance)} on held-out texts"
    lines = [f"{first}, {time_left(finished.seconds)}."]
    return lines + (_figures(finished.figures) if finished.figures else [])


def _figures(figures: DraftFigures) -> list[str]:
    lines = [
        f"c = {figures.cost_ratio:.3f}: a step takes {figures.draft_ms:.2f} ms, the "
        f"target's {figures.target_ms:.2f} ms. MEASURED at K = {figures.lookahead}:"
    ]
    return lines + [
        f"T = {speed.temperature:g}: acceptance {share(speed.acceptance)}, "
        f"{number(speed.tokens_per_round)} tokens per round, speed-up "
        f"{number(speed.measured)} (predicted {number(speed.predicted)})"
        for speed in figures.speeds
    ]


def share(value: float | None) -> str:
    """Return a ratio in per cent, or a dash."""
    return "–" if value is None else f"{100 * value:.1f} %"


def number(value: float | None) -> str:
    """Return a number with two digits, or a dash."""
    return "–" if value is None else f"{value:.2f}"
