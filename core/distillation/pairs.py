"""Held-out prompts decoded plainly and speculatively, one after the other."""

from __future__ import annotations

from collections.abc import Callable, Generator, Sequence
from dataclasses import dataclass, field
from statistics import median

from core.checkpoints.loading import LoadedModel
from core.config import DecodingConfig, DecodingRequest
from core.decoding.prompting import encode_prompt
from core.distillation.prompts import TrainingPrompt
from core.drafters.draft_model import DraftModel
from core.events import Counts
from core.lab.contenders import Contender, Ours, Timing

TEMPERATURES = (0.0, 1.0)
LEAST_TOKENS = 16  # a shorter text says nothing about speed


@dataclass(frozen=True, slots=True)
class Pair:
    """One prompt decoded in both ways.

    Attributes:
        kind: of the prompt.
        temperature: of both.
        lookahead: K of the speculative one.
        plain: the target alone.
        fast: with the draft.
    """

    kind: str
    temperature: float
    lookahead: int
    plain: Timing
    fast: Timing

    @property
    def speedup(self) -> float | None:
        """Plain over speculative time per token; None where the text is short."""
        one, other = self.plain.tokens_per_second, self.fast.tokens_per_second
        short = min(len(self.plain.tokens), len(self.fast.tokens)) < LEAST_TOKENS
        return None if short or not one or not other else other / one


@dataclass
class Racer:
    """Decodes prompts with a target alone, and with a draft.

    Attributes:
        target: the target.
        draft: the draft's weights.
        should_stop: asked between decodings, and between their passes.
    """

    target: LoadedModel
    draft: LoadedModel
    should_stop: Callable[[], bool]
    _turn: int = field(default=0, init=False)

    def races(
        self,
        prompts: Sequence[TrainingPrompt],
        lookaheads: Sequence[int],
        tokens: int,
    ) -> Generator[float, None, list[Pair] | None]:
        """Decode every prompt at every temperature, plainly and at each K.

        Args:
            prompts: what to decode.
            lookaheads: the Ks; one plain decoding serves them all.
            tokens: the longest text.

        Yields:
            How far it is, 0 to 1.

        Returns:
            The pairs; None when stopped.
        """
        found: list[Pair] = []
        runs = [(prompt, t) for prompt in prompts for t in TEMPERATURES]
        for done, (prompt, temperature) in enumerate(runs, 1):
            if self.should_stop():
                return None
            found += self._race(prompt, temperature, lookaheads, tokens)
            if self.should_stop():  # then the last text may be cut short
                return None
            yield done / len(runs)
        return found

    def _race(
        self,
        prompt: TrainingPrompt,
        temperature: float,
        lookaheads: Sequence[int],
        tokens: int,
    ) -> list[Pair]:
        """Decode one prompt; who begins changes by turns."""
        request = DecodingRequest("race", prompt.text, use_chat_template=prompt.chat)
        ids = encode_prompt(self.target.tokenizer, request)
        timings: dict[int, Timing] = {}
        order = (0, *lookaheads)
        self._turn += 1
        first = self._turn % len(order)
        for k in order[first:] + order[:first]:
            settings = DecodingConfig(
                lookahead=k, temperature=temperature, max_new_tokens=tokens
            )
            timings[k] = self._way(k)(ids, settings)
        return [
            Pair(prompt.kind, temperature, k, timings[0], timings[k])
            for k in lookaheads
        ]

    def _way(self, lookahead: int) -> Contender:
        if lookahead == 0:
            return Ours(self.target, should_stop=self.should_stop)
        vocabulary, ids = self.target.model.facts.vocabulary_size, self.draft.head_ids
        return Ours(
            self.target,
            lambda room, model: DraftModel(model, room, vocabulary, ids),
            self.draft,
            self.should_stop,
        )


def median_speedup(pairs: Sequence[Pair]) -> float | None:
    """Return the median over the pairs whose texts are long enough."""
    found = [pair.speedup for pair in pairs if pair.speedup is not None]
    return median(found) if found else None


def counts(pairs: Sequence[Pair]) -> Counts:
    """Return the counts of all speculative rounds."""
    return sum((pair.fast.counts for pair in pairs), Counts())
