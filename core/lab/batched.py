"""Many short sequences at once through the functions of ``core.sampling``.

All distributions that a run of a few tokens can meet form a tree, so they are computed
once, and a hundred thousand runs are a handful of tensor operations. The draws are the
very numbers that a single run with the same seed would use.
"""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor

from core.config import Coupling, DecodingConfig
from core.runtime.runner import Model
from core.sampling import acceptance, distributions, draws, streams
from core.sampling.streams import Purpose


@dataclass(frozen=True, slots=True)
class Tree:
    """The distributions after every continuation of a prompt up to some depth.

    Node 0 is the prompt; token t after node n is node ``n * V + t + 1``.

    Attributes:
        draft: [N, V] warped distributions of the draft.
        target: [N, V] warped distributions of the target.
    """

    draft: Tensor
    target: Tensor


def paths(vocabulary: int, depth: int) -> list[tuple[int, ...]]:
    """Return the tokens that lead to each node of a tree of ``depth`` levels."""
    nodes: list[tuple[int, ...]] = [()]
    first = 0
    for _ in range(depth - 1):
        level = nodes[first:]
        first = len(nodes)
        nodes += [(*node, token) for node in level for token in range(vocabulary)]
    return nodes


def warped_rows(
    model: Model, prompt: tuple[int, ...], depth: int, settings: DecodingConfig
) -> Tensor:
    """Return the [N, V] distributions of a table at all nodes of a tree."""
    vocabulary = model.facts.vocabulary_size
    rows = []
    for path in paths(vocabulary, depth):
        runner = model.new_runner(len(prompt) + depth)
        logits = runner.step((*prompt, *path))[-1, :vocabulary]  # [V]
        history = (*prompt, *path)
        rows.append(distributions.penalise(logits, history, len(prompt), settings))
    return distributions.warp(torch.stack(rows), settings)


def sample(
    tree: Tree, seeds: Tensor, length: int, settings: DecodingConfig
) -> tuple[Tensor, Tensor]:
    """Decode ``length`` tokens from each seed.

    Args:
        tree: of at least ``length`` levels.
        seeds: [n] int64.
        length: tokens of each run.
        settings: lookahead and coupling; the rest is in the tree.

    Returns:
        [n, length] tokens, and [2] how many proposals were accepted and tested.
    """
    runs = _Runs(tree, seeds, length, settings)
    while bool((runs.position < length).any()):
        runs.play_round()
    return runs.tokens, torch.stack([runs.accepted, runs.tested])


class _Runs:
    """All runs side by side; each has its own position and its own K."""

    def __init__(
        self, tree: Tree, seeds: Tensor, length: int, settings: DecodingConfig
    ) -> None:
        self._tree, self._seeds, self._length = tree, seeds, length
        self._settings = settings
        self._shared = settings.coupling is Coupling.SHARED_NOISE
        self._vocabulary = tree.target.shape[-1]
        self._node = torch.zeros_like(seeds)  # [n]
        self.position = torch.zeros_like(seeds)  # [n]
        self.tokens = torch.zeros(len(seeds), length, dtype=torch.long)
        self.accepted = self.tested = torch.zeros((), dtype=torch.long)

    def _keys(self, purpose: Purpose, place: int | Tensor = 0) -> Tensor:
        return streams.stream_keys(self._seeds, purpose, self.position + place)

    def _draw(self, weights: Tensor, keys: Tensor) -> Tensor:
        return draws.exponential_race(weights, keys)[0]

    def _child(self, node: Tensor, token: Tensor) -> Tensor:
        # Behind the end of a run there is nothing to look up; any node will do.
        child = node * self._vocabulary + token + 1
        return child.masked_fill(child >= len(self._tree.target), 0)

    def play_round(self) -> None:
        """Play one round of every run that has not ended."""
        going = self.position < self._length  # [n]
        room = (self._length - self.position - 1).clamp(min=0)
        lookahead = room.clamp(max=self._settings.lookahead)  # [n]
        nodes, proposed = self._propose()  # [n, K + 1], [n, K]
        survivors = self._judge(nodes, proposed, lookahead)  # [n]
        last = self._last(nodes, survivors, lookahead)  # [n]
        self._commit(proposed, survivors, last, going)
        self.accepted = self.accepted + (survivors * going).sum()
        refused = (survivors < lookahead) & going
        self.tested = self.tested + (survivors * going + refused).sum()

    def _propose(self) -> tuple[Tensor, Tensor]:
        purpose = Purpose.TARGET if self._shared else Purpose.DRAFT
        nodes, proposed = [self._node], []
        for place in range(self._settings.lookahead):
            token = self._draw(self._tree.draft[nodes[-1]], self._keys(purpose, place))
            proposed.append(token)
            nodes.append(self._child(nodes[-1], token))
        empty = self.tokens[:, :0]
        return torch.stack(nodes, 1), torch.stack(proposed, 1) if proposed else empty

    def _judge(self, nodes: Tensor, proposed: Tensor, lookahead: Tensor) -> Tensor:
        places = torch.arange(proposed.shape[1])  # [K]
        before = nodes[:, :-1]  # [n, K]
        target = self._tree.target[before]  # [n, K, V]
        keys = self._seeds[:, None], self.position[:, None] + places
        if self._shared:
            own = self._draw(
                target, streams.stream_keys(keys[0], Purpose.TARGET, keys[1])
            )
            survivors = acceptance.surviving_places(own == proposed)
        else:
            draft, chosen = self._tree.draft[before], proposed[..., None]
            of_draft = draft.gather(-1, chosen)[..., 0]  # [n, K]
            of_target = target.gather(-1, chosen)[..., 0]  # [n, K]
            accept = streams.stream_keys(keys[0], Purpose.ACCEPT, keys[1])
            survivors = draws.judge(of_draft, of_target, accept)
        return survivors.minimum(lookahead)

    def _last(self, nodes: Tensor, survivors: Tensor, lookahead: Tensor) -> Tensor:
        """Draw the correction or the bonus token of each run."""
        node = nodes.gather(1, survivors[:, None])[:, 0]  # [n]
        draft, target = self._tree.draft[node], self._tree.target[node]  # [n, V]
        own = self._keys(Purpose.TARGET, survivors)
        if self._shared:
            return self._draw(target, own)
        bonus = survivors == lookahead
        residual = acceptance.residual_distribution(draft, target)
        keys = own.where(bonus, self._keys(Purpose.RESIDUAL, survivors))
        return self._draw(target.where(bonus[:, None], residual), keys)

    def _commit(
        self, proposed: Tensor, survivors: Tensor, last: Tensor, going: Tensor
    ) -> None:
        for place in range(proposed.shape[1] + 1):
            is_last = survivors == place
            writes = going & (place <= survivors)
            token = last
            if place < proposed.shape[1]:
                token = last.where(is_last, proposed[:, place])
            self.tokens[writes, self.position[writes]] = token[writes]
            self._node = self._child(self._node, token).where(writes, self._node)
            self.position = self.position + writes
        # ``position`` moved with each token, so the keys of the next round are right.
