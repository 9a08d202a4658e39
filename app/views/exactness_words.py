"""What the exactness panel says. Pure text."""

from __future__ import annotations

from core.lab.checks import ChecksFinished
from core.lab.mistakes import Mistake

RIGHT = "as it is"
INTRODUCTION = (
    "Checks the pair, prompt and settings of the Decode page: the tokens must be plain "
    "decoding's, and so must the law of the text."
)
AS_IT_IS = "The rule that Draftrace decodes with. Every check must pass."
TEACHING = "For teaching, in these checks only: the rule is broken on purpose."
IDLE = "Nothing is checked yet; press Verify."
WAITING = "Getting ready…"
WIDEST = (
    "",
    "≈ NEAR TIE",
    "0.0000e-00",
    "0.000e-00",
    "1,600,000",
    "0.0000",
    "100.00 s",
)


def broken(mistake: Mistake) -> str:
    """Return a mistake's entry in the list of rules."""
    return f"broken on purpose: {mistake.label}"


def lesson(mistake: Mistake | None) -> tuple[str, str]:
    """Return role and sentence that say which rule is checked."""
    if mistake is None:
        return "muted", AS_IT_IS
    return "warning", f"{TEACHING} {mistake.lesson} At least one check must fail."


def checking(name: str) -> str:
    """Return what goes on."""
    return f"Checking: {name}…"


def outcome(found: ChecksFinished, mistake: Mistake | None) -> tuple[str, str]:
    """Return role and sentence for what all checks found."""
    failed = sum(not check.passed for check in found.checks)
    if found.cancelled:
        return "muted", f"Stopped after {_of(found)}; that is no verdict."
    if mistake is None and found.passed:
        return "good", f"Lossless: {_of(found)} pass on this pair and prompt."
    if mistake is None:
        return "error", f"Not lossless: {failed} of {_of(found)} fail; see below."
    if failed:
        return "good", f"Noticed, as it must be: {failed} of {_of(found)} fail."
    return "error", f"Not noticed at these settings: {_of(found)} pass all the same."


def _of(found: ChecksFinished) -> str:
    number = len(found.checks)
    return "1 check" if number == 1 else f"{number} checks"
