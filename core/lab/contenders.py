"""Ways to decode a prompt that a bench holds side by side: ours and transformers'.

Each returns the tokens and when they came. The rate is taken from the first commit to
the last one, so that neither side's prefill counts.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Protocol

import torch
from transformers import StoppingCriteria, StoppingCriteriaList

from core.checkpoints.loading import LoadedModel
from core.config import DecodingConfig
from core.decoding.lane import LanePlan, LaneRun
from core.drafters.protocol import Drafter
from core.events import Counts, Lane, PrefillFinished, RoundFinished
from core.lab.step_costs import wall_ms
from core.lab.timed_model import TimedModel
from core.runtime import threads


@dataclass(frozen=True, slots=True)
class Timing:
    """One decoding of one prompt.

    Attributes:
        tokens: the emitted ids.
        tokens_per_second: from the first commit to the last; None for a single one.
        counts: of the rounds, where there are any.
        rounds_ms: wall time from the prefill's end to the last commit, so that what
            happens between rounds counts, too; 0 for transformers.
        forwards_ms: of the models' passes in them; 0 for transformers.
        lookaheads: each round's own K.
    """

    tokens: tuple[int, ...]
    tokens_per_second: float | None
    counts: Counts = Counts()
    rounds_ms: float = 0.0
    forwards_ms: float = 0.0
    lookaheads: tuple[int, ...] = ()


class Contender(Protocol):
    """Decodes a prompt in one way."""

    def __call__(self, ids: tuple[int, ...], settings: DecodingConfig) -> Timing:
        """Decode ``ids`` to the end of ``settings.max_new_tokens``."""
        ...


class Ours:
    """A lane of this runtime.

    Args:
        target: the target.
        new_drafter: makes a drafter from the wrapped draft; None decodes plainly.
        draft: the draft's weights, if it has any.
        should_stop: asked between passes; a decoding that was stopped is cut short.
    """

    def __init__(
        self,
        target: LoadedModel,
        new_drafter: Callable[[int, Any], Drafter] | None = None,
        draft: LoadedModel | None = None,
        should_stop: Callable[[], bool] = lambda: False,
    ) -> None:
        self._target, self._draft, self._new_drafter = target, draft, new_drafter
        self._should_stop = should_stop

    def __call__(self, ids: tuple[int, ...], settings: DecodingConfig) -> Timing:
        """Decode, timing rounds and the passes inside them."""
        target = TimedModel(self._target.model)
        draft = TimedModel(self._draft.model) if self._draft else None
        make = self._new_drafter
        plan = LanePlan(
            run_id="bench",
            lane=Lane.SPECULATIVE if make else Lane.PLAIN,
            target=target,
            tokenizer=self._target.tokenizer,
            eos_ids=self._target.eos_ids,
            prompt_ids=ids,
            settings=settings,
            new_drafter=None if make is None else (lambda room: make(room, draft)),
        )
        run = LaneRun(plan, lambda: settings, self._should_stop)
        rounds, stamps, begin = [], [], wall_ms()
        for event in run.events():
            if isinstance(event, PrefillFinished):
                begin = wall_ms()
            if isinstance(event, RoundFinished):
                stamps.append((wall_ms(), event.counts.emitted))
                rounds.append(event)
        return Timing(
            tokens=tuple(t.token_id for event in rounds for t in event.tokens),
            tokens_per_second=_rate(stamps),
            counts=sum((event.counts for event in rounds), Counts()),
            rounds_ms=stamps[-1][0] - begin if stamps else 0.0,
            forwards_ms=target.step_ms + (draft.step_ms if draft else 0.0),
            lookaheads=tuple(event.lookahead for event in rounds),
        )


class Theirs:
    """transformers' generate on the same weights, at its own best thread count.

    Args:
        module: a module of its own: our runtime has taken its copy's layers over.
        eos_ids: the target's end tokens.
        **ways: what makes it speculative: an assistant, or prompt lookup.
    """

    def __init__(self, module: Any, eos_ids: tuple[int, ...], **ways: Any) -> None:
        self._module, self._eos_ids, self._ways = module, eos_ids, ways

    def __call__(self, ids: tuple[int, ...], settings: DecodingConfig) -> Timing:
        """Generate, with a stamp after each of its steps."""
        threads.torch_on_all_cores()
        torch.manual_seed(settings.seed)
        stamps = _Stamps(len(ids))
        sampling: dict[str, Any] = {"do_sample": settings.temperature > 0}
        if settings.temperature > 0:
            sampling |= {"temperature": settings.temperature, "top_k": 0}
        prompt = torch.tensor([ids], device=self._module.device)
        with torch.inference_mode():
            out = self._module.generate(
                prompt,
                attention_mask=torch.ones_like(prompt),
                max_new_tokens=settings.max_new_tokens,
                eos_token_id=list(self._eos_ids) or None,
                pad_token_id=next(iter(self._eos_ids), 0),
                stopping_criteria=StoppingCriteriaList([stamps]),
                **sampling,
                **self._ways,
            )
        return Timing(tuple(out[0, len(ids) :].tolist()), _rate(stamps.taken))


class _Stamps(StoppingCriteria):
    """Notes when tokens came; never stops anything."""

    def __init__(self, prompt_length: int) -> None:
        self._length = prompt_length
        self.taken: list[tuple[float, int]] = []

    def __call__(self, input_ids: Any, scores: Any, **kwargs: Any) -> Any:
        self.taken.append((wall_ms(), input_ids.shape[-1] - self._length))
        self._length = input_ids.shape[-1]
        return torch.zeros(
            input_ids.shape[0], dtype=torch.bool, device=input_ids.device
        )


def _rate(stamps: list[tuple[float, int]]) -> float | None:
    """Return tokens per second after the first commit."""
    if len(stamps) < 2:
        return None
    tokens = sum(emitted for _, emitted in stamps[1:])
    return 1e3 * tokens / (stamps[-1][0] - stamps[0][0])
