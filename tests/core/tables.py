"""Models, tokenizers and drafters that are written down, for tests of the law."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Any

import numpy as np
import torch
from torch import Tensor

from core.config import DecodingConfig
from core.decoding.detokenizer import Detokenizer
from core.decoding.ending import Ending, Limits
from core.decoding.lane import LanePlan, LaneRun
from core.decoding.speculative import Sequence as RoundSequence
from core.drafters.draft_model import DraftModel
from core.drafters.prompt_lookup import PromptLookup
from core.drafters.protocol import Drafter, Prefix, Proposal
from core.events import Event, Lane, RoundFinished, RunFinished
from core.lab.table_model import NumberTokenizer, TableModel, table_facts
from core.sampling.draws import Draws

BROKEN = "\ufffd"
NewDrafter = Callable[[int], Drafter]


# --- logits ----------------------------------------------------------------------


def random_logits(
    width: int,
    seed: int,
    *,
    order: int = 2,
    scale: float = 1.5,
    dtype: torch.dtype = torch.float64,
) -> Callable[[tuple[int, ...]], Tensor]:
    """Return logits drawn anew for each ending of ``order`` tokens."""

    def logits(prefix: tuple[int, ...]) -> Tensor:
        generator = np.random.default_rng([seed, *prefix[-order:], 977])
        return torch.tensor(generator.normal(0, scale, width), dtype=dtype)

    return logits


def fixed_logits(
    probabilities: Sequence[float], dtype: torch.dtype = torch.float64
) -> Callable[[tuple[int, ...]], Tensor]:
    """Return the same law after every prefix; a probability of 0 is kept as 0."""
    row = torch.tensor(probabilities, dtype=torch.float64).log().to(dtype)
    return lambda prefix: row


def scripted_logits(
    width: int, script: Sequence[int], prompt_length: int, after: int = 0
) -> Callable[[tuple[int, ...]], Tensor]:
    """Return logits that all but force ``script``, then ``after`` for ever."""

    def logits(prefix: tuple[int, ...]) -> Tensor:
        place = len(prefix) - prompt_length
        row = torch.zeros(width, dtype=torch.float32)
        row[script[place] if 0 <= place < len(script) else after] = 50.0
        return row

    return logits


def table(
    logits: Callable[[tuple[int, ...]], Tensor],
    vocabulary: int,
    context_length: int = 4096,
    name: str = "table",
) -> TableModel:
    """Return a model of ``logits`` whose tokenizer knows ``vocabulary`` ids."""
    dtype = logits((0,)).dtype
    facts = table_facts(
        vocabulary, context_length=context_length, name=name, dtype=dtype
    )
    return TableModel(logits, facts)


# --- tokenizers ------------------------------------------------------------------


class PieceTokenizer:
    """A vocabulary of pieces of bytes; pieces may end inside a character."""

    def __init__(self, pieces: Iterable[str | bytes]) -> None:
        self.pieces = [p.encode() if isinstance(p, str) else p for p in pieces]

    def decode(
        self,
        ids: Sequence[int],
        skip_special_tokens: bool = False,
        clean_up_tokenization_spaces: bool = False,
    ) -> str:
        return b"".join(self.pieces[i] for i in ids).decode(errors="replace")

    def convert_ids_to_tokens(self, token_id: int) -> str:
        return "".join(f"<0x{byte:02X}>" for byte in self.pieces[token_id])

    def __deepcopy__(self, memo: dict[int, Any]) -> PieceTokenizer:
        return self


class ByteTokenizer(PieceTokenizer):
    """One id a byte, and the end token 256."""

    eos_token_id = 256

    def __init__(self) -> None:
        super().__init__([bytes([b]) for b in range(256)] + [b"<end>"])

    def encode(self, text: str) -> list[int]:
        return list(text.encode())


# --- drafters --------------------------------------------------------------------


class CertainDrafter(PromptLookup):
    """Proposes what a function of the prefix says, without a distribution."""

    def __init__(
        self, guess: Callable[[tuple[int, ...]], int], vocabulary: int, most: int = 99
    ) -> None:
        super().__init__(vocabulary, 4096)
        self._guess, self._most = guess, most
        self.observed: list[int] = []

    def propose(
        self, prefix: Prefix, lookahead: int, settings: DecodingConfig, draws: Draws
    ) -> Proposal:
        ids = list(prefix.ids)
        for _ in range(min(lookahead, self._most)):
            ids.append(self._guess(tuple(ids)))
        return Proposal(tuple(ids[len(prefix.ids) :]))

    def observe(self, num_accepted: int) -> None:
        self.observed.append(num_accepted)


def drafting(model: TableModel) -> NewDrafter:
    """Return what makes a drafter of a table."""
    return lambda capacity: DraftModel(model, capacity)


def looking_up(vocabulary: int) -> NewDrafter:
    """Return what makes a prompt lookup."""
    return lambda capacity: PromptLookup(vocabulary, 4096)


# --- sequences and lanes ---------------------------------------------------------


def start(
    target: TableModel,
    new_drafter: NewDrafter | None,
    settings: DecodingConfig,
    *,
    prompt: Sequence[int] = (0, 1),
    eos_ids: Sequence[int] = (),
    tokenizer: Any = None,
    by_context: bool = False,
) -> RoundSequence:
    """Return a sequence as it stands after the prefill."""
    capacity = len(prompt) + settings.max_new_tokens
    detokenizer = Detokenizer(tokenizer or NumberTokenizer(), list(prompt))
    sequence = RoundSequence(
        ids=list(prompt),
        prompt_length=len(prompt),
        vocabulary=target.facts.vocabulary_size,
        target=target.new_runner(capacity),
        drafter=new_drafter(capacity) if new_drafter else None,
        ending=Ending(
            detokenizer, eos_ids, Limits(settings.max_new_tokens, by_context), settings
        ),
    )
    sequence.target.prefill(sequence.ids[:-1])
    if sequence.drafter:
        sequence.drafter.prefill(sequence.ids[:-1])
    return sequence


def lane(
    target: TableModel,
    new_drafter: NewDrafter | None,
    settings: DecodingConfig,
    *,
    prompt: Sequence[int] = (0, 1),
    eos_ids: Sequence[int] = (),
    tokenizer: Any = None,
    wish: Callable[[], DecodingConfig] | None = None,
    should_stop: Callable[[], bool] = lambda: False,
) -> LaneRun:
    """Return a lane that can be pulled; plain without a drafter."""
    plan = LanePlan(
        run_id="run",
        lane=Lane.SPECULATIVE if new_drafter else Lane.PLAIN,
        target=target,
        tokenizer=tokenizer or NumberTokenizer(),
        eos_ids=tuple(eos_ids),
        prompt_ids=tuple(prompt),
        settings=settings,
        new_drafter=new_drafter,
    )
    return LaneRun(plan, wish or (lambda: settings), should_stop)


def events_of(*args: Any, **options: Any) -> list[Event]:
    """Return all events of a lane; arguments as for :func:`lane`."""
    return list(lane(*args, **options).events())


def rounds_of(events: Iterable[Event]) -> list[RoundFinished]:
    return [e for e in events if isinstance(e, RoundFinished)]


def summary_of(events: Iterable[Event]):
    """Return the summary of the one run in ``events``."""
    (finished,) = [e for e in events if isinstance(e, RunFinished)]
    return finished.summary


def run(*args: Any, **options: Any):
    """Return the summary of a lane that is run to its end."""
    return summary_of(events_of(*args, **options))
