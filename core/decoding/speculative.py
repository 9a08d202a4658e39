"""One round of speculative sampling (Chen et al. 2023, arXiv:2302.01318, Algorithm 2).

Propose, verify, judge, commit, roll back. With nothing proposed the same round is plain
decoding: one target row, one token drawn from it.

When a round starts, each cache holds all committed tokens but the last; the drafter's
may hold fewer and catches up when it next proposes.
"""

from __future__ import annotations

from dataclasses import dataclass, field

import torch
from torch import Tensor

from core.config import Coupling, DecodingConfig
from core.decoding.auto_lookahead import AutoLookahead
from core.decoding.ending import Ending
from core.drafters.protocol import Drafter, Prefix, Proposal
from core.runtime.runner import Runner
from core.sampling import acceptance, distributions
from core.sampling.block_rows import (
    CertainRows,
    GreedyRows,
    LazyRows,
    WarpedRows,
    chances,
)
from core.sampling.draws import Choice, Draws
from core.sampling.row_memory import RowMemory
from core.sampling.streams import Purpose


@dataclass(slots=True)
class Sequence:
    """What a lane's rounds share.

    Attributes:
        ids: prompt and emitted tokens.
        prompt_length: how many of them are the prompt.
        vocabulary: V, ids of the tokenizer; wider rows are cut to it.
        target: the target's runner.
        drafter: what proposes; None decodes plainly.
        ending: says when the run is over.
        target_name: for sentences.
        auto: chooses K where the settings leave it to the costs; None keeps to the
            configured one.
        rows: memory of a round's distributions, which the next one writes over.
        residual_rows: memory of its residuals.
    """

    ids: list[int]
    prompt_length: int
    vocabulary: int
    target: Runner
    drafter: Drafter | None
    ending: Ending
    target_name: str = "The target"
    auto: AutoLookahead | None = None
    rows: RowMemory = field(default_factory=RowMemory, repr=False)
    residual_rows: RowMemory = field(default_factory=RowMemory, repr=False)

    @property
    def prefix(self) -> Prefix:
        """The committed tokens."""
        return Prefix(self.ids, self.prompt_length)

    def lookahead(self, settings: DecodingConfig) -> int:
        """Return the next round's K: shortened by the room left, 0 without a drafter.

        A round emits up to K + 1 tokens, so with r left K is at most r - 1.
        """
        if self.drafter is None:
            return 0
        room = self.drafter.room(len(self.ids))
        wanted = self.wanted_lookahead(settings)
        return max(0, min(wanted, self.ending.remaining - 1, room))

    def wanted_lookahead(self, settings: DecodingConfig) -> int:
        """Return the next round's K as it was set or chosen, whatever room is left."""
        if self.auto is None or not settings.auto_lookahead:
            return settings.lookahead
        return self.auto.choose(settings, len(self.ids))


@dataclass(frozen=True, slots=True)
class Judgement:
    """How the target judged a proposal.

    Attributes:
        draft: [K, V] distributions that the proposals were drawn from.
        scores: [K + 1, V] target logits after penalties, valid until the next step.
        target: [K + 1, V] target distributions, made when they are looked at and
            valid until the next round.
        survivors: proposals before the first refusal.
        uniforms: u of each judged place; empty where none was drawn.
        choices: the target's own choice at each judged place (temperature 0 and
            shared noise).
        last: the token after the survivors, where it was drawn with the rule.
        residuals: by place, those that were asked for.
        memory: that residuals are written into.
    """

    draft: Tensor | LazyRows
    scores: Tensor
    target: Tensor | LazyRows
    survivors: int
    uniforms: tuple[float, ...]
    choices: tuple[Choice, ...]
    last: Choice | None = None
    residuals: dict[int, Tensor] = field(default_factory=dict, repr=False)
    memory: RowMemory = field(default_factory=RowMemory, repr=False)

    def residual(self, place: int) -> Tensor:
        """Return norm((target - draft)+) of one place: [V]; drawn from, then shown."""
        if place not in self.residuals:
            draft, target = self.draft[place], self.target[place]
            memory = self.memory.row(place, target)
            residual = acceptance.residual_distribution(draft, target, memory)
            self.residuals[place] = residual
        return self.residuals[place]


@dataclass(frozen=True, slots=True)
class Round:
    """A finished round, with the tensors that explain it.

    Attributes:
        proposal: what was proposed.
        judgement: how it was judged.
        accepted: proposals committed.
        last: the token drawn after them; None when the run ended inside the block.
        pieces: the text of each committed token.
        tokens: the committed ids.
    """

    proposal: Proposal
    judgement: Judgement
    accepted: int
    last: Choice | None
    pieces: tuple[str, ...]
    tokens: tuple[int, ...]


def compares_choices(settings: DecodingConfig) -> bool:
    """Return whether a proposal must equal the target's own choice to be accepted."""
    shared = settings.coupling is Coupling.SHARED_NOISE
    return shared or settings.temperature == 0


def propose(sequence: Sequence, settings: DecodingConfig, draws: Draws) -> Proposal:
    """Let the drafter propose up to K tokens."""
    lookahead = sequence.lookahead(settings)
    if sequence.drafter is None or lookahead == 0:
        return Proposal()
    return sequence.drafter.propose(sequence.prefix, lookahead, settings, draws)


def verify(sequence: Sequence, proposal: Proposal) -> Tensor:
    """Return the target's logits after the last token and each proposal: [K + 1, V]."""
    rows = sequence.target.step([sequence.ids[-1], *proposal.ids])
    return rows[:, : sequence.vocabulary]


def judge(
    sequence: Sequence,
    proposal: Proposal,
    logits: Tensor,
    settings: DecodingConfig,
    draws: Draws,
) -> Judgement:
    """Decide how many proposals stand, by the rule that the settings ask for."""
    scores = _penalised(sequence, proposal, logits, settings)  # [K + 1, V]
    target = _target_rows(sequence, scores, settings)  # [K + 1, V]
    draft = draft_distributions(proposal, scores)  # [K, V]
    position = sequence.prefix.position
    if compares_choices(settings):
        choices = _target_choices(proposal, target, position, draws)
        survivors = sum(
            c.token_id == i for c, i in zip(choices, proposal.ids, strict=False)
        )
        return Judgement(draft, scores, target, survivors, (), choices)
    survivors, uniforms = draws.survivors(
        position, chances(draft, proposal.ids), chances(target, proposal.ids)
    )
    return Judgement(
        draft, scores, target, survivors, uniforms, (), memory=sequence.residual_rows
    )


def _penalised(
    sequence: Sequence, proposal: Proposal, logits: Tensor, settings: DecodingConfig
) -> Tensor:
    """Apply penalties, each row with its own history: [K + 1, V]."""
    if not distributions.has_penalties(settings):
        return logits
    history = [*sequence.ids, *proposal.ids]
    start, prompt = len(sequence.ids), sequence.prompt_length
    rows = [
        distributions.penalise(row, history[: start + i], prompt, settings)
        for i, row in enumerate(logits)
    ]
    return torch.stack(rows)


def _target_rows(
    sequence: Sequence, scores: Tensor, settings: DecodingConfig
) -> LazyRows:
    """Return the target's distributions after warping: [K + 1, V]."""
    if settings.temperature == 0:
        return GreedyRows(scores, sequence.target_name)
    return WarpedRows(scores, settings, sequence.target_name, sequence.rows)


def draft_distributions(proposal: Proposal, scores: Tensor) -> Tensor | LazyRows:
    """Return [K, V] rows like the target's; certain proposals become one-hot."""
    if proposal.distributions is None:
        return CertainRows(proposal.ids, scores)
    rows = proposal.distributions
    rows = rows.to(scores) if isinstance(rows, Tensor) else rows.like(scores)
    if isinstance(rows, Tensor):
        return distributions.fit_width(rows, scores.shape[-1])
    return rows


def _target_choices(
    proposal: Proposal, target: Tensor | LazyRows, position: int, draws: Draws
) -> tuple[Choice, ...]:
    """Let the target choose place by place until it differs from the proposal."""
    choices: list[Choice] = []
    for place, token_id in enumerate(proposal.ids):
        choice = _own_choice(target, place, position, draws)
        choices.append(choice)
        if choice.token_id != token_id:
            break
    return tuple(choices)


def _own_choice(
    target: Tensor | LazyRows, place: int, position: int, draws: Draws
) -> Choice:
    """Return the target's choice at one place; temperature 0 leaves none to chance."""
    if isinstance(target, GreedyRows):
        return target.best(place)
    return draws.choose(Purpose.TARGET, position + place, target[place])


def draw_last(judgement: Judgement, position: int, draws: Draws) -> Choice:
    """Draw the token after the survivors: the correction, or the bonus token."""
    if judgement.last is not None:  # a device decides the whole round in one go
        return judgement.last
    place = judgement.survivors
    if place == len(judgement.draft):
        return _own_choice(judgement.target, place, position, draws)
    if judgement.choices:
        return judgement.choices[place]
    residual = judgement.residual(place)
    return draws.choose(Purpose.RESIDUAL, position + place, residual)


def commit(
    sequence: Sequence, proposal: Proposal, judgement: Judgement, draws: Draws
) -> Round:
    """Commit survivors one by one, then the last token, unless the run ends before.

    The caches are rolled back to all committed tokens but the last.
    """
    position, start = sequence.prefix.position, len(sequence.ids)
    pieces: list[str] = []
    last = None
    for token_id in proposal.ids[: judgement.survivors]:
        _push(sequence, token_id, pieces)
        if sequence.ending.reason is not None:
            break
    accepted = len(pieces)
    if sequence.ending.reason is None:
        last = draw_last(judgement, position, draws)
        _push(sequence, last.token_id, pieces)
    _roll_back(sequence, accepted)
    if sequence.auto is not None:
        drafted = len(proposal.ids)
        refused = last is not None and accepted < drafted
        sequence.auto.observe(drafted, accepted + refused, accepted)
    tokens = tuple(sequence.ids[start:])
    return Round(proposal, judgement, accepted, last, tuple(pieces), tokens)


def _push(sequence: Sequence, token_id: int, pieces: list[str]) -> None:
    sequence.ids.append(token_id)
    pieces.append(sequence.ending.push(token_id))


def _roll_back(sequence: Sequence, accepted: int) -> None:
    seen = len(sequence.ids) - 1
    sequence.target.truncate(seen)
    if sequence.drafter is not None:
        sequence.drafter.truncate(seen)
        sequence.drafter.observe(accepted)


def play_round(sequence: Sequence, settings: DecodingConfig, draws: Draws) -> Round:
    """Play one whole round: propose, verify, judge, commit."""
    proposal = propose(sequence, settings, draws)
    logits = verify(sequence, proposal)
    judgement = judge(sequence, proposal, logits, settings, draws)
    return commit(sequence, proposal, judgement, draws)
