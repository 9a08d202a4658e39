"""The wrong rules that the window offers to break decoding with, for teaching.

The mistakes themselves are in :mod:`core.lab.mutants`, which needs torch; this list of
some that show at any settings needs the standard library only.
"""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Mistake:
    """A wrong rule that can be chosen.

    Attributes:
        mutant: its name in :data:`core.lab.mutants.MUTANTS`.
        label: for a list.
        lesson: what it does, and why that is wrong, in one sentence.
    """

    mutant: str
    label: str
    lesson: str


MISTAKES = (
    Mistake(
        "always_accept",
        "always accept",
        "Every proposal is accepted, so the text is the draft's and not the target's.",
    ),
    Mistake(
        "ratio_upside_down",
        "ratio upside down",
        "Proposals are kept with draft / target, so what the target likes is refused.",
    ),
    Mistake(
        "ratio_without_draft",
        "ratio without the draft",
        "Proposals are kept with the target's probability alone, as if the draft had "
        "been certain.",
    ),
    Mistake(
        "correction_from_target",
        "correction from the target",
        "After a refusal the target itself is drawn from, so what it shares with the "
        "draft comes twice.",
    ),
    Mistake(
        "residual_absolute",
        "residual with absolute values",
        "The correction also gives weight to tokens of which there were too many.",
    ),
    Mistake(
        "verify_row_off_by_one",
        "off by one row",
        "Each place is judged by the target's distribution for the place behind it.",
    ),
    Mistake(
        "one_uniform_for_all_places",
        "one u for all places",
        "All places are judged with the same random number, so they fall together.",
    ),
)
