"""A small Llama that speaks the target's tokenizer, while it is being taught.

Its embeddings start as a projection of the target's onto their principal directions.
Only the rows of frequent ids are trained, and only they have logits: the output head
would otherwise cost more than the rest of the draft. In the checkpoint the embedding is
whole and tied, so that every engine can load it.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import torch
from torch import Tensor, nn
from transformers import LlamaConfig, LlamaForCausalLM

from core.distillation.student_body import body_states

HEAD_FILE = "draft_head.json"
_SHARD = "16MB"  # files that any version control and any mail takes


@dataclass(frozen=True, slots=True)
class StudentShape:
    """The size of a student.

    Attributes:
        hidden: width.
        layers: decoder layers.
        inner: width of the feed-forward part.
        heads: attention heads, each hidden / heads wide.
        key_heads: heads of keys and values.
        head_rows: frequent ids that it can propose.
    """

    hidden: int = 192
    layers: int = 4
    inner: int = 512
    heads: int = 3
    key_heads: int = 3
    head_rows: int = 8192


SIZES = {
    "tiny": StudentShape(),
    "small": StudentShape(
        hidden=384, layers=4, inner=1024, heads=6, key_heads=6, head_rows=12288
    ),
}


class Student(nn.Module):
    """The student in training.

    Args:
        shape: its size.
        embeddings: [V, hidden] starting embeddings; rows outside ``head_ids`` stay.
        head_ids: ascending ids that have logits: [S].
        like: the target's configuration (vocabulary, positions, special ids).
        seed: of the starting weights.

    Attributes:
        dropped: share of the states that is left out at random while training.
    """

    frozen: Tensor  # [V, hidden]
    head_ids: Tensor  # [S]
    places: Tensor  # [V] where an id stands in the head; -1 where nowhere

    def __init__(
        self,
        shape: StudentShape,
        embeddings: Tensor,
        head_ids: Tensor,
        like: Any,
        seed: int = 0,
    ) -> None:
        super().__init__()
        with torch.random.fork_rng(devices=[]):
            torch.manual_seed(seed)
            whole = LlamaForCausalLM(student_config(shape, like))
        self.config, self.body, self.dropped = whole.config, whole.model, 0.0
        self.body.set_input_embeddings(nn.Embedding(1, shape.hidden))  # not used
        self.body.requires_grad_(True)
        self.head = nn.Parameter(embeddings[head_ids].clone())  # [S, hidden]
        self.register_buffer("frozen", embeddings, persistent=False)
        self.register_buffer("head_ids", head_ids)
        places = torch.full((len(embeddings),), -1, dtype=torch.long)
        places[head_ids] = torch.arange(len(head_ids))
        self.register_buffer("places", places, persistent=False)

    def forward(self, ids: Tensor, attention: list[Tensor] | None = None) -> Tensor:
        """Return [rows, length, hidden] states that :meth:`logits` reads.

        Args:
            ids: [rows, length].
            attention: gets each layer's [rows, heads, length, length], if given.
        """
        places = self.places[ids]
        known = (places >= 0)[..., None]
        trained = nn.functional.embedding(places.clamp(min=0), self.head)
        embedded = torch.where(known, trained, self.frozen[ids])
        dropped = self.dropped if self.training else 0.0
        return body_states(self.body, embedded, dropped, attention)

    def logits(self, states: Tensor) -> Tensor:
        """Return [..., S] scores of the head's ids."""
        return states @ self.head.to(states.dtype).T

    def embeddings(self) -> Tensor:
        """Return [V, hidden], trained rows and the others."""
        whole = self.frozen.clone()
        whole[self.head_ids] = self.head.detach().to(whole.dtype)
        return whole

    def save(self, folder: Path, dtype: torch.dtype = torch.bfloat16) -> None:
        """Write an ordinary checkpoint and the list of ids that have logits."""
        model = LlamaForCausalLM(self.config)
        states = {k: v for k, v in self.body.state_dict().items() if "embed" not in k}
        model.model.load_state_dict(states, strict=False)
        model.model.embed_tokens.weight.data = self.embeddings()
        model.tie_weights()
        nn.Module.to(model, dtype)
        model.save_pretrained(folder, max_shard_size=_SHARD)
        head = {"version": 1, "ids": self.head_ids.tolist()}
        (folder / HEAD_FILE).write_text(json.dumps(head), encoding="utf-8")


def student_config(shape: StudentShape, like: Any) -> LlamaConfig:
    """Return the configuration of a student of a target configured ``like`` this."""
    return LlamaConfig(
        vocab_size=like.vocab_size,
        hidden_size=shape.hidden,
        intermediate_size=shape.inner,
        num_hidden_layers=shape.layers,
        num_attention_heads=shape.heads,
        num_key_value_heads=shape.key_heads,
        head_dim=shape.hidden // shape.heads,
        max_position_embeddings=like.max_position_embeddings,
        rope_parameters={"rope_type": "default", "rope_theta": 10_000.0},
        rms_norm_eps=1e-5,
        tie_word_embeddings=True,
        bos_token_id=like.bos_token_id,
        eos_token_id=like.eos_token_id,
        pad_token_id=like.pad_token_id,
        dtype="bfloat16",
    )


def projected_embeddings(embeddings: Tensor, hidden: int) -> Tensor:
    """Return the target's [V, width] embeddings in ``hidden`` directions: [V, hidden].

    The directions are those of the largest variance; if the student is wider than its
    target the rest is zero.
    """
    weights = embeddings.detach().float()
    centred = weights - weights.mean(0)
    _, directions = torch.linalg.eigh(centred.T @ centred)  # ascending
    chosen = directions.flip(1)[:, :hidden]  # [width, at most hidden]
    projected = weights @ chosen
    missing = hidden - projected.shape[1]
    return nn.functional.pad(projected, (0, missing)).contiguous()


def frequent_ids(counts: Tensor, rows: int, always: Sequence[int] = ()) -> Tensor:
    """Return the ``rows`` most frequent ids, ascending, with ``always`` among them.

    Args:
        counts: [V] how often, or with what probability, each id was seen.
        rows: how many.
        always: ids that must be there (the end of the text).
    """
    wanted = counts.double().clone()
    wanted[list(always)] = torch.inf
    return wanted.topk(min(rows, len(wanted))).indices.sort().values


def shape_as_json(shape: StudentShape) -> dict[str, int]:
    """Return the fields of ``shape``."""
    return asdict(shape)
