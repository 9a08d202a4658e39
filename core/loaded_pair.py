"""A pair in memory: what is told of it, and what decodes with it."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from core.checkpoints.loading import LoadedModel
from core.checkpoints.memory import require_cache_room
from core.checkpoints.plain_only import plain_only_note, proposals_refusal
from core.config import (
    DecodingConfig,
    DecodingRequest,
    DrafterKind,
    ModelConfig,
    PairConfig,
)
from core.decoding.detokenizer import TokenLabels
from core.decoding.lane import LanePlan, plan_limits
from core.decoding.prompting import encode_prompt
from core.drafters.draft_model import DraftModel
from core.drafters.prompt_lookup import PromptLookup
from core.drafters.protocol import Drafter
from core.errors import ConfigurationError
from core.events import Lane, PairLoaded, StepCosts
from core.runtime.runner import Model
from core.runtime.sliced_head import WholeRows

NOT_BIT_IDENTICAL = (
    "Not bit-identical: this model's rows depend on how many are computed together, so "
    "near ties may fall differently in the two lanes."
)


@dataclass(frozen=True, slots=True)
class LoadedPair:
    """A target in memory and what drafts for it.

    Attributes:
        config: as it was asked for.
        target: the loaded target.
        draft: the loaded draft; None for a drafter without weights, or for none.
        fit_notes: sentences worth knowing about how the two fit.
        libraries_bytes: of memory that the process held before it loaded this pair or
            the one before it.
        costs: of its steps; None when decoding is plain.
    """

    config: PairConfig
    target: LoadedModel
    draft: LoadedModel | None
    fit_notes: tuple[str, ...]
    libraries_bytes: int
    costs: StepCosts | None = None

    @property
    def proposes(self) -> bool:
        """Whether anything drafts."""
        return self.config.drafter is DrafterKind.LOOKUP or self.draft is not None

    @property
    def models(self) -> dict[ModelConfig, LoadedModel]:
        """What has weights; a target that drafts for itself is one model."""
        found = {self.config.target: self.target}
        if self.config.draft is not None and self.draft is not None:
            found[self.config.draft] = self.draft
        return found

    @property
    def weight_bytes(self) -> int:
        """The memory that the weights take."""
        return sum(each.model.facts.memory_bytes for each in self.models.values())

    def event(self) -> PairLoaded:
        """Return what says that the pair is ready."""
        draft = self.new_drafter(1).facts if self.proposes else None
        return PairLoaded(
            self.target.model.facts, draft, tuple(self._notes()), self.costs
        )

    def _notes(self) -> Iterator[str]:
        if self.target.facts.plain_only:
            yield plain_only_note(self.target.facts)
            return
        yield from self.fit_notes
        models = [each.model for each in self.models.values()]
        if not all(model.facts.row_invariant for model in models):
            yield NOT_BIT_IDENTICAL
        yield from how_steps_run(*models)

    def require_drafter(self, what: str) -> None:
        """Refuse work that cannot be done without proposals.

        Args:
            what: begins the sentence, as "A race".

        Raises:
            PlainOnlyError: if the target can take no proposals.
            ConfigurationError: if nothing drafts.
        """
        if self.target.facts.plain_only:
            raise proposals_refusal(self.target.facts, what)
        if not self.proposes:
            raise ConfigurationError(
                f"{what} needs a drafter, and none is chosen; pick prompt lookup or a "
                "draft checkpoint."
            )

    def new_drafter(self, capacity: int) -> Drafter:
        """Return a drafter for ``capacity`` tokens."""
        return self.drafter_over(capacity, self.draft.model if self.draft else None)

    def drafter_over(self, capacity: int, model: Model | None) -> Drafter:
        """Return a drafter over ``model``, which stands for the draft's own.

        Args:
            capacity: in tokens.
            model: such as one that is timed; None for a drafter without weights.
        """
        facts = self.target.model.facts
        if self.draft is None:
            return PromptLookup(facts.vocabulary_size, facts.context_length)
        assert model is not None
        return DraftModel(model, capacity, facts.vocabulary_size, self.draft.head_ids)

    def draft_by_token_id(self) -> Model | None:
        """Return the draft's model with logit i that of id i, also where it is sliced.

        None for a drafter without weights.
        """
        if self.draft is None or self.draft.head_ids is None:
            return self.draft and self.draft.model
        return WholeRows(self.draft.model, self.draft.head_ids)

    def plan(self, request: DecodingRequest, lane: Lane) -> LanePlan:
        """Return what one lane decodes with.

        Raises:
            CoreError: for a prompt that cannot be read, or leaves no room.
        """
        target = self.target
        ids = encode_prompt(target.tokenizer, request)
        plan_limits(target.model.facts, len(ids), request.config)
        return LanePlan(
            run_id=request.run_id,
            lane=lane,
            target=target.model,
            tokenizer=target.tokenizer,
            eos_ids=target.eos_ids,
            prompt_ids=ids,
            settings=request.config,
            new_drafter=self.new_drafter if lane is Lane.SPECULATIVE else None,
            costs=self.costs,
        )

    def require_caches(
        self, prompt_length: int, config: DecodingConfig, *, lanes: int = 1
    ) -> int:
        """Return the bytes of all caches, once it is sure that they fit.

        Args:
            prompt_length: in tokens.
            config: says how many tokens may follow.
            lanes: how many caches the target has at once.

        Raises:
            DeviceMemoryError: naming the bytes needed and free.
        """
        target = self.target.model
        longest = prompt_length + config.max_new_tokens
        tokens = min(longest, target.facts.context_length)
        needed = lanes * target.cache_bytes(tokens)
        if self.draft is not None:
            draft = self.draft.model
            needed += draft.cache_bytes(min(tokens, draft.facts.context_length))
        models = [each.model for each in self.models.values()]
        spare = sum(getattr(model, "spare_bytes", 0) for model in models)
        require_cache_room(
            target.facts.name, self.target.device, needed - spare, tokens
        )
        return needed

    def prompt_tokens(self, request: DecodingRequest) -> tuple[tuple[int, str], ...]:
        """Return the (id, label) pairs that ``request`` would be decoded from."""
        label = TokenLabels(self.target.tokenizer)
        ids = encode_prompt(self.target.tokenizer, request)
        return tuple((i, label(i)) for i in ids)


def how_steps_run(*models: Model | None) -> Iterator[str]:
    """Yield what the models say of it; as a rule both of a pair say the same."""
    return filter(None, dict.fromkeys(getattr(model, "note", "") for model in models))
