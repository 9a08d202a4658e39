"""Tiny checkpoints on disk and sessions over them."""

from __future__ import annotations

from pathlib import Path

from core.config import (
    DecodingConfig,
    DecodingRequest,
    DrafterKind,
    ModelConfig,
    PairConfig,
)
from core.control import Control
from core.events import PairLoaded, RunFinished
from core.session import Session
from tests.core.checkpoints.tiny_checkpoints import make_checkpoint

PROMPT = "The cat sat on the mat. The cat"
GREEDY = DecodingConfig(max_new_tokens=40, lookahead=3, ignore_eos=True)


def checkpoint(folder: Path, **how) -> Path:
    """Write a tiny Llama that can decode a few hundred tokens."""
    return make_checkpoint(folder, **{"max_position_embeddings": 512, **how})


def pair(target: Path, draft: Path | None = None, **draft_how: str) -> PairConfig:
    """Return the pair of two folders; prompt lookup without a draft."""
    first = ModelConfig(str(target), "cpu", "float32")
    if draft is None:
        return PairConfig(first, DrafterKind.LOOKUP)
    how = {"device": "cpu", "dtype": "float32", **draft_how}
    return PairConfig(first, DrafterKind.CHECKPOINT, ModelConfig(str(draft), **how))


def load(session: Session, wanted: PairConfig) -> PairLoaded:
    *_, loaded = session.load(wanted, Control())
    assert isinstance(loaded, PairLoaded)
    return loaded


def events(session: Session, config=GREEDY, prompt=PROMPT, control=None) -> list:
    request = DecodingRequest("run", prompt, config, use_chat_template=False)
    return list(session.run(request, control or Control(config)))


def decode(session: Session, config=GREEDY, prompt=PROMPT):
    """Return the summary of a whole run."""
    *_, last = events(session, config, prompt)
    assert isinstance(last, RunFinished)
    return last.summary


def plain(target: Path, config=GREEDY, prompt=PROMPT):
    """Return the summary of plain decoding in a session of its own."""
    session = Session()
    load(session, PairConfig(ModelConfig(str(target), "cpu", "float32")))
    return decode(session, config, prompt)
