"""The exact law of the texts under each rule, on the small tree of the checks.

Whatever a rule does at a place can be said by two rows: ``kept``, the probability that
token t was proposed and kept, and ``mended``, that the proposal was refused and token t
came instead. Rounds of K places are put together from these rows and summed over every
path. Draws at different places are independent under all rules here, since each
position has random numbers of its own.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass

import torch
from torch import Tensor

from core.checkpoints.progress import Cancelled
from core.decoding.lane import LanePlan
from core.lab.batched import Tree, warped_rows
from core.lab.exactness import DEPTH, law_settings, pair_tables
from core.lab.logit_tree import ROOT
from core.lab.rules import (
    CHEN,
    GREEDY,
    MATCH,
    RULES,
    SHARED,
    LawsStarted,
    LawsSummed,
    RuleLaw,
)
from core.runtime.runner import Model
from core.sampling import acceptance
from core.sampling.distributions import best_token, one_hot

Rows = tuple[Tensor, Tensor]  # kept, mended: [N, V] each


def chen(draft: Tensor, target: Tensor) -> Rows:
    """Return kept and mended rows of the modified rejection rule, [N, V] each."""
    pairs = zip(draft.flatten().tolist(), target.flatten().tolist(), strict=True)
    chances = [acceptance.acceptance_probability(d, t) for d, t in pairs]
    kept = draft * draft.new_tensor(chances).reshape(draft.shape)
    refused = 1 - kept.sum(-1, keepdim=True)  # [N, 1]
    return kept, refused * acceptance.residual_distribution(draft, target)


def shared_noise(draft: Tensor, target: Tensor) -> Rows:
    """Return kept and mended rows where both sides take the arg-max of one noise.

    Both choose t with probability 1 / sum over s of max(draft_s / draft_t,
    target_s / target_t), since of Gumbel noise only the largest shift counts.
    """
    shares = [p[..., None, :] / p[..., :, None] for p in (draft, target)]  # [N, t, s]
    kept = 1 / torch.maximum(*shares).sum(-1)
    kept = kept.where((draft > 0) & (target > 0), 0.0)
    return kept, target - kept


def exact_match(draft: Tensor, target: Tensor) -> Rows:
    """Return kept and mended rows where the target draws by itself."""
    return draft * target, (1 - draft) * target


def greedy_acceptance(draft: Tensor, target: Tensor) -> Rows:
    """Return kept and mended rows where the target's first choice alone is kept.

    A refused proposal is mended by a draw from the target.
    """
    first = one_hot(best_token(target), target.shape[-1], target.dtype)  # [N, V]
    kept = draft * first
    return kept, (1 - kept.sum(-1, keepdim=True)) * target


ROWS: dict[str, Callable[[Tensor, Tensor], Rows]] = {
    CHEN: chen,
    SHARED: shared_noise,
    MATCH: exact_match,
    GREEDY: greedy_acceptance,
}


@dataclass(frozen=True, slots=True)
class TextLaw:
    """What a rule does over whole texts.

    Attributes:
        law: [V ** length] probability of each text, the first token slowest.
        tested: expected proposals that are judged.
        accepted: expected proposals that are kept.
    """

    law: Tensor
    tested: float
    accepted: float


def text_law(rows: Rows, target: Tensor, length: int, lookahead: int) -> TextLaw:
    """Return the law of texts of ``length`` tokens, decoded in rounds.

    Args:
        rows: of the rule at all nodes of a tree (``core.lab.batched.Tree``).
        target: [N, V] warped distributions, for the bonus token.
        length: tokens of a text; the tree has as many levels.
        lookahead: K; a round with r tokens left uses at most r - 1.
    """
    kept, mended = (_by_level(each, length) for each in rows)
    bonus = _by_level(target, length)
    vocabulary = target.shape[-1]
    begins = [target.new_zeros(vocabulary**depth) for depth in range(length + 1)]
    begins[0] += 1
    tested = accepted = 0.0
    for start in range(length):
        going = begins[start]  # [V ** depth]: probability of being at each node
        end = start + min(lookahead, length - start - 1)
        for depth in range(start, end):
            begins[depth + 1] += (going[:, None] * mended[depth]).flatten()
            tested += float(going.sum())
            going = (going[:, None] * kept[depth]).flatten()
            accepted += float(going.sum())
        begins[end + 1] += (going[:, None] * bonus[end]).flatten()
    return TextLaw(begins[length], tested, accepted)


def _by_level(rows: Tensor, length: int) -> list[Tensor]:
    vocabulary = rows.shape[-1]
    return list(rows.split([vocabulary**depth for depth in range(length)]))


def laws_of(tree: Tree, length: int, lookahead: int) -> tuple[RuleLaw, ...]:
    """Return how far each rule's texts are from the target's, and what it keeps.

    Args:
        tree: of ``length`` levels.
        length: tokens of a text.
        lookahead: K.
    """
    nothing = torch.zeros_like(tree.target)
    plain = text_law((nothing, nothing), tree.target, length, 0).law
    found = []
    for rule in RULES:
        rows = ROWS[rule.name](tree.draft, tree.target)
        text = text_law(rows, tree.target, length, lookahead)
        distance = float((text.law - plain).abs().sum()) / 2
        share = text.accepted / text.tested if text.tested else None
        found.append(RuleLaw(rule.name, rule.lossless, distance, share))
    return tuple(found)


def laws(
    plan: LanePlan, draft: Model | None, should_stop: Callable[[], bool]
) -> Iterator[LawsStarted | LawsSummed]:
    """Yield LawsStarted, then what :func:`sum_laws` returns; nothing when stopped."""
    yield LawsStarted()
    try:
        summed = sum_laws(plan, draft, should_stop)
    except Cancelled:
        return
    yield summed


@torch.inference_mode()
def sum_laws(
    plan: LanePlan,
    draft: Model | None,
    should_stop: Callable[[], bool] = lambda: False,
) -> LawsSummed:
    """Return the laws on a loaded pair: its own logits on a small tree.

    Args:
        plan: of the speculative lane; its prompt and settings count.
        draft: the draft's weights; None for a drafter without any, which is taken as
            one that is certain of the target's first choice.
        should_stop: asked between the readings of the tree.

    Raises:
        Cancelled: if the person asked to stop.
    """
    settings = law_settings(plan.settings)
    of_draft, of_target = (
        warped_rows(table, ROOT, DEPTH, settings)
        for table in pair_tables(plan, draft, should_stop)
    )
    if draft is None:
        of_draft = one_hot(best_token(of_target), of_target.shape[-1], of_target.dtype)
    laws = laws_of(Tree(of_draft, of_target), DEPTH, settings.lookahead)
    outputs = of_target.shape[-1] ** DEPTH
    return LawsSummed(laws, outputs, DEPTH, settings.temperature)
