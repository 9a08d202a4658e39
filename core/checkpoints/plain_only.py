"""Models that decode alone but cannot take a token back: what is said of them.

A refused proposal must leave no trace in the target's state, and one of a draft no
trace in the draft's. Recurrent layers fold every token into one state, so that neither
can be undone; without proposals there is nothing to undo.
"""

from __future__ import annotations

from core.checkpoints.facts import CheckpointFacts
from core.errors import PlainOnlyError

PLAIN_ONLY = "plain only"


def plain_only_note(facts: CheckpointFacts) -> str:
    """Return the sentence that a target of this kind is loaded with."""
    return f"{_why(facts)} cannot be rewound: plain decoding only."


def target_refusal(facts: CheckpointFacts) -> PlainOnlyError:
    """Return the error for anything that would draft for ``facts``."""
    return _refusal(
        facts,
        f"{_why(facts)} cannot be rewound: plain only; choose the drafter none, or a "
        "target with attention layers only.",
    )


def proposals_refusal(facts: CheckpointFacts, what: str) -> PlainOnlyError:
    """Return the error for work that cannot be done without proposals.

    Args:
        facts: of the target.
        what: begins the sentence, as "A race".
    """
    return _refusal(
        facts,
        f"{what} needs proposals, and {_why(facts)} cannot be rewound; choose a target "
        "with attention layers only.",
    )


def draft_refusal(facts: CheckpointFacts) -> PlainOnlyError:
    """Return the error for ``facts`` as a draft."""
    return _refusal(
        facts,
        f"The draft {_why(facts)} cannot be rewound when a proposal is refused; choose "
        "a draft with attention layers only, or prompt lookup.",
    )


def _why(facts: CheckpointFacts) -> str:
    family, kind = facts.architecture, facts.plain_only
    return f"{facts.name} ({family}) has {kind} layers, whose state"


def _refusal(facts: CheckpointFacts, sentence: str) -> PlainOnlyError:
    return PlainOnlyError(
        sentence, family=facts.architecture, layer_type=facts.plain_only
    )
