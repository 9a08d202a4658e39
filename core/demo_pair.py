"""The demo pair, and whether its own draft is shipped; quick enough for the window.

Only the draft's weights and config are shipped, as ``resources/demo/draft``. Its
tokenizer is the demo target's, which lies in the user's cache.
"""

from __future__ import annotations

from pathlib import Path

import resources
from core.config import DecodingConfig, DrafterKind, ModelConfig, PairConfig

DEMO_REFERENCE = "demo"
DRAFT_REFERENCE = "demo-draft"
_CONFIG = "demo/draft/config.json"
# Chosen by short races on held-out prompts of every kind at both temperatures; the card
# in the draft's folder has what it brings.
DRAFT_LOOKAHEAD = 3


def shipped_draft() -> Path | None:
    """Return the folder of the demo target's own draft; None if none is shipped."""
    try:
        return resources.path(_CONFIG).parent
    except resources.UnknownResourceError:
        return None


def demo_pair(device: str = "auto", dtype: str = "auto") -> PairConfig:
    """Return the pair of a first start: it needs nothing but the demo target.

    Prompt lookup drafts where no draft is shipped.
    """
    target = ModelConfig(DEMO_REFERENCE, device, dtype)
    if shipped_draft() is None:
        return PairConfig(target, DrafterKind.LOOKUP)
    draft = ModelConfig(DRAFT_REFERENCE, device, dtype)
    return PairConfig(target, DrafterKind.CHECKPOINT, draft)


def demo_config() -> DecodingConfig:
    """Return the settings of a first start: K is the shipped draft's."""
    if shipped_draft() is None:
        return DecodingConfig()
    return DecodingConfig(lookahead=DRAFT_LOOKAHEAD)
