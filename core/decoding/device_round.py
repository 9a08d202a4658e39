"""One round of speculative sampling that a device decides, with one read at its end.

The rule, the law and the numbers drawn are those of ``core.decoding.speculative``; here
nothing between the first proposal and the last token asks the device for an answer, so
that Python queues the work of a whole round while the device is still at its beginning.
Penalties and n-gram bans count tokens in Python, so rounds with them are played there.

Untested on a GPU so far; the tests play these rounds on a CPU.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import torch
from torch import Tensor

from core.config import DecodingConfig
from core.decoding.device_figures import Answers, Figures, Rows, queue_figures
from core.decoding.speculative import (
    Judgement,
    Round,
    Sequence,
    commit,
    compares_choices,
)
from core.drafters.device_draft import DeviceProposal
from core.drafters.draft_model import DraftModel
from core.drafters.protocol import Proposal, ProposedRows
from core.runtime.clock import Laps
from core.sampling import acceptance, distributions, on_device
from core.sampling.draws import Choice
from core.sampling.on_device import DeviceDraws, Drawn
from core.sampling.streams import Purpose


@dataclass(frozen=True, slots=True)
class DeviceRound:
    """A finished round and all that its record needs, as plain numbers.

    Attributes:
        played: the round.
        figures: what was read.
        laps_ms: draft, verify and rule.
    """

    played: Round
    figures: Figures
    laps_ms: tuple[float, float, float]


def can_play(settings: DecodingConfig) -> bool:
    """Return whether a device can decide rounds under these settings."""
    return not distributions.has_penalties(settings)


def play_round(
    sequence: Sequence, settings: DecodingConfig, draws: DeviceDraws
) -> Round:
    """Play one whole round; see ``speculative.play_round``."""
    return play(sequence, settings, draws, torch.device("cpu")).played


def play(
    sequence: Sequence,
    settings: DecodingConfig,
    draws: DeviceDraws,
    device: torch.device,
) -> DeviceRound:
    """Propose, verify and judge on the device; read once; commit.

    Args:
        sequence: as it stands when the round starts.
        settings: without penalties.
        draws: chance.
        device: where the target's logits are.

    Raises:
        NumericalError: if a model returned scores that are not numbers.
    """
    laps, position = Laps(device), sequence.prefix.position
    laps.mark()
    proposal = propose(sequence, settings, draws, device)
    laps.mark()
    logits = verify(sequence, proposal, device)
    laps.mark()
    rows = warped(proposal, logits, settings)
    answers = judge(rows, position, settings, draws)
    queued = queue_figures(rows, answers, position, settings)
    laps.mark()
    figures = queued.read()  # the one word from the device
    _require_numbers(figures, rows, sequence)
    played = commit(sequence, *_as_python(figures, rows, settings), _NoDraws())
    draft_ms, verify_ms, rule_ms = laps.ms()
    return DeviceRound(played, figures, (draft_ms, verify_ms, rule_ms))


def propose(
    sequence: Sequence,
    settings: DecodingConfig,
    draws: DeviceDraws,
    device: torch.device,
) -> DeviceProposal:
    """Let the drafter propose up to K tokens; those found in Python are sent."""
    drafter, lookahead = sequence.drafter, sequence.lookahead(settings)
    none = torch.zeros(0, dtype=torch.long, device=device)
    if drafter is None or lookahead == 0:
        return DeviceProposal(none)
    prefix = sequence.prefix
    if isinstance(drafter, DraftModel) and _is_on(drafter, device):
        return drafter.on_device.propose(prefix, lookahead, settings, draws)
    found = drafter.propose(prefix, lookahead, settings, draws.on_host)
    ids = on_device.send(list(found.ids), device) if found.ids else none
    rows = (found.distributions, found.scores)
    return DeviceProposal(ids, *(_whole(r, device) for r in rows))


def _whole(rows: ProposedRows | Tensor | None, device: torch.device) -> Tensor | None:
    if rows is None or isinstance(rows, Tensor):
        return None if rows is None else rows.to(device)
    return rows.whole(device)


def _is_on(drafter: DraftModel, device: torch.device) -> bool:
    return torch.device(drafter.facts.device) == device


def verify(
    sequence: Sequence, proposal: DeviceProposal, device: torch.device
) -> Tensor:
    """Return the target's logits after the last token and each proposal: [K + 1, V]."""
    last = on_device.send(sequence.ids[-1:], device)
    rows = sequence.target.step(torch.cat([last, proposal.ids]))
    return rows[:, : sequence.vocabulary]


def warped(proposal: DeviceProposal, logits: Tensor, settings: DecodingConfig) -> Rows:
    """Return all distributions of a round, as wide as the target's."""
    target = on_device.warp(logits, settings)  # [K + 1, V]
    vocabulary = target.shape[-1]
    if proposal.distributions is None:
        draft = distributions.one_hot(proposal.ids, vocabulary, target.dtype)
    else:
        law = proposal.distributions.to(target.dtype)
        draft = distributions.fit_width(law, vocabulary)  # [K, V]
    return Rows(proposal.ids, draft, target, logits, proposal.scores)


def judge(
    rows: Rows, position: int, settings: DecodingConfig, draws: DeviceDraws
) -> Answers:
    """Decide how many proposals stand and draw the token after them."""
    if compares_choices(settings):
        return _by_choices(rows, position, settings, draws)
    chances = rows.of_draft, rows.of_target
    survivors, uniforms = draws.survivors(position, *chances)
    weights, is_bonus = _weights_after(rows, survivors)
    last = draws.correct(position, survivors, is_bonus, weights)
    return Answers(survivors, last, uniforms=uniforms)


def _by_choices(
    rows: Rows, position: int, settings: DecodingConfig, draws: DeviceDraws
) -> Answers:
    """Let the target choose at all places; what differs first ends the block."""
    if settings.temperature == 0:
        best = rows.target.argmax(-1)  # of a row with all mass on one token
        choices = Drawn(best, torch.full_like(best, math.inf, dtype=torch.float64))
    else:
        choices = draws.choose(Purpose.TARGET, position, rows.target)
    agree = choices.ids[:-1] == rows.ids  # [K]
    survivors = acceptance.surviving_places(agree)[None]  # [1]
    last = Drawn(choices.ids[survivors], choices.margins[survivors])
    return Answers(survivors, last, choices=choices)


def _weights_after(rows: Rows, survivors: Tensor) -> tuple[Tensor, Tensor]:
    """Return [1, V] weights of the token after the survivors, and whether it is free.

    The row is picked by a number that Python does not know.
    """
    count = len(rows.ids)
    target = rows.target[survivors]  # [1, V]
    is_bonus = survivors == count  # [1]
    if count == 0:
        return target, is_bonus
    draft = rows.draft[survivors.clamp(max=count - 1)]  # [1, V]
    residual = acceptance.residual_distribution(draft, target)
    return target.where(is_bonus[:, None], residual), is_bonus


def _require_numbers(figures: Figures, rows: Rows, sequence: Sequence) -> None:
    if not figures.target_finite:
        distributions.require_numbers(rows.scores, sequence.target_name)
    if not figures.draft_finite and rows.draft_scores is not None:
        assert sequence.drafter is not None
        distributions.require_numbers(rows.draft_scores, sequence.drafter.facts.name)


def _as_python(
    figures: Figures, rows: Rows, settings: DecodingConfig
) -> tuple[Proposal, Judgement]:
    """Return what was read in the words of ``speculative``."""
    proposal = Proposal(figures.ids, rows.draft, rows.draft_scores)
    judged = figures.tested
    choices = uniforms = ()
    if compares_choices(settings):
        choices = figures.choices[:judged]
    else:
        uniforms = figures.uniforms[:judged]
    judgement = Judgement(
        rows.draft,
        rows.scores,
        rows.target,
        figures.survivors,
        uniforms,
        choices,
        figures.last,
    )
    return proposal, judgement


class _NoDraws:
    """Chance after the round was decided: there is none."""

    def choose(self, purpose: Purpose, position: int, weights: Tensor) -> Choice:
        """Fail: the last token was drawn with the rule."""
        raise AssertionError("a decided round drew again")

    def survivors(self, position: int, draft: object, target: object):
        """Fail: the proposals were judged on the device."""
        raise AssertionError("a decided round judged again")
