"""What a bench of a loaded pair consists of."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Collection
from random import Random
from typing import Any

from core.checkpoints.devices import place
from core.checkpoints.loading import LoadedModel
from core.checkpoints.weights import read_weights
from core.config import DecodingConfig, DecodingRequest, ModelConfig, PairConfig
from core.decoding.prompting import encode_prompt
from core.distillation.prompts import TrainingPrompt, training_prompts
from core.drafters.draft_model import DraftModel
from core.drafters.protocol import Drafter
from core.errors import ConfigurationError
from core.lab.bench import Bench, Ids
from core.lab.contenders import Contender, Ours, Theirs
from core.lab.memory_use import MemoryUse, libraries_bytes, memory_use
from core.lab.random_models import random_pair
from core.machine import describe_machine
from core.prompts import Prompt, library

_RANDOM_PROMPT = 64  # ids
_OTHERS = 6  # prompts of each kind that the prediction is made from
_ALIKE = {"prose": ("story", "explanation")}  # as the prompts to learn from name it
_MEMORY_TOKENS = 16  # decoded before memory is read
NewDrafter = Callable[[int, Any], Drafter]


def new_bench(
    pair: PairConfig,
    target: LoadedModel,
    draft: LoadedModel | None,
    new_drafter: NewDrafter,
    settings: DecodingConfig,
    *,
    kind: str | None,
    repeats: int,
    should_stop: Callable[[], bool],
    libraries_bytes: int = 0,
) -> Bench:
    """Return a bench of ours and transformers' ways of decoding this pair.

    Args:
        pair: as it was loaded.
        target: the loaded target.
        draft: the loaded draft, or None for prompt lookup.
        new_drafter: makes a drafter for a capacity from the draft's model.
        settings: of all decodings.
        kind: prompts of this kind only; None takes every kind.
        repeats: counted repeats.
        should_stop: asked between decodings, and between the passes of ours.
        libraries_bytes: of memory that the process held before it loaded the pair.

    Raises:
        ConfigurationError: if there are no prompts of that kind.
    """
    timed, ours_only = _prompts(kind)
    others = _other_prompts({prompt.kind for prompt in timed})
    fast = Ours(target, new_drafter, draft, should_stop)
    first = _ids(target, timed[0])
    # Before transformers' copy of the weights is read beside ours.
    memory = _memory(target, draft, libraries_bytes, fast, first, settings)
    module = read_weights(target.facts, place(pair.target))
    ways = _ways(pair, draft, settings.lookahead)
    contenders: dict[str, Contender] = {
        "ours plain": Ours(target, should_stop=should_stop),
        "ours speculative": fast,
        "transformers plain": Theirs(module, target.eos_ids),
        "transformers speculative": Theirs(module, target.eos_ids, **ways),
    }
    return Bench(
        target=target.model,
        draft=draft.model if draft else None,
        contenders=contenders,
        timed=[_ids(target, prompt) for prompt in timed],
        ours_only=[_ids(target, prompt) for prompt in ours_only],
        others=[_ids(target, prompt) for prompt in others],
        settings=settings,
        repeats=repeats,
        machine=describe_machine(target.device),
        should_stop=should_stop,
        memory=memory,
    )


def random_bench(
    target: str,
    draft: str,
    config: ModelConfig,
    settings: DecodingConfig,
    *,
    repeats: int,
    should_stop: Callable[[], bool],
) -> Bench:
    """Return a bench of a pair of real shapes with random weights.

    What the models say is noise, so that acceptance is next to nothing and all texts
    run to their limit: steps, round overhead and plain rates are what it tells.

    Args:
        target: its shape, one of ``random_models.SHAPES``.
        draft: its shape.
        config: device and dtype.
        settings: of all decodings.
        repeats: counted repeats.
        should_stop: asked between decodings, and between the passes of ours.

    Raises:
        ConfigurationError: for a shape, device or dtype that is not there.
        DeviceMemoryError: if a model does not fit.
    """
    placement = place(config)
    before = libraries_bytes(placement.device)
    ours, drafts, modules = random_pair(target, draft, placement)
    module, assistant = (
        modules["target"],
        _assistant(modules["draft"], settings.lookahead),
    )
    prompts = [
        tuple(Random(seed).choices(range(ours.vocabulary_size), k=_RANDOM_PROMPT))
        for seed in range(4)
    ]
    fast = Ours(
        ours,
        lambda room, model: DraftModel(model, room, ours.vocabulary_size),
        drafts,
        should_stop,
    )
    return Bench(
        target=ours.model,
        draft=drafts.model,
        contenders={
            "ours plain": Ours(ours, should_stop=should_stop),
            "ours speculative": fast,
            "transformers plain": Theirs(module, ()),
            "transformers speculative": Theirs(module, (), assistant_model=assistant),
        },
        timed=prompts[:2],
        others=prompts[2:],
        settings=settings,
        repeats=repeats,
        machine=describe_machine(ours.device),
        should_stop=should_stop,
        memory=_memory(ours, drafts, before, fast, prompts[0], settings),
    )


def _memory(
    target: LoadedModel,
    draft: LoadedModel | None,
    libraries_bytes: int,
    fast: Contender,
    ids: Ids,
    settings: DecodingConfig,
) -> MemoryUse:
    """Decode a few tokens of one prompt and return what the pair takes."""
    tokens = min(_MEMORY_TOKENS, settings.max_new_tokens)
    short = dataclasses.replace(settings, max_new_tokens=tokens)
    room = len(ids) + tokens
    return memory_use(target, draft, libraries_bytes, room, lambda: fast(ids, short))


def _prompts(kind: str | None) -> tuple[list[Prompt], list[Prompt]]:
    """Return the first of each kind, and the others of the same kinds."""
    kinds = {prompt.kind: None for prompt in library()}
    if kind is not None and kind not in kinds:
        raise ConfigurationError(
            f"There are no prompts of kind {kind!r}; choose {', '.join(kinds)}."
        )
    wanted = [kind] if kind else list(kinds)
    groups = [[p for p in library() if p.kind == name] for name in wanted]
    return [g[0] for g in groups], [prompt for g in groups for prompt in g[1:]]


def _other_prompts(kinds: Collection[str]) -> list[TrainingPrompt]:
    """Return prompts for the prediction, as many of each kind.

    They are those that no draft of ours has learned from: what is accepted of one text
    says little about another, so there are several of each.
    """
    held_out = [prompt for prompt in training_prompts() if prompt.held_out]
    found: list[TrainingPrompt] = []
    for kind in sorted(kinds):
        names = _ALIKE.get(kind, (kind,))
        found += [prompt for prompt in held_out if prompt.kind in names][:_OTHERS]
    return found


def _ids(target: LoadedModel, prompt: Prompt | TrainingPrompt) -> Ids:
    request = DecodingRequest("bench", prompt.text, use_chat_template=prompt.chat)
    return encode_prompt(target.tokenizer, request)


def _ways(
    pair: PairConfig, draft: LoadedModel | None, lookahead: int
) -> dict[str, Any]:
    """Return what makes transformers speculate like us: as many tokens, always."""
    if draft is None or pair.draft is None:
        return {"prompt_lookup_num_tokens": lookahead}
    assistant = read_weights(draft.facts, place(pair.draft))
    return {"assistant_model": _assistant(assistant, lookahead)}


def _assistant(module: Any, lookahead: int) -> Any:
    config = module.generation_config
    config.num_assistant_tokens = lookahead
    config.num_assistant_tokens_schedule = "constant"
    config.assistant_confidence_threshold = 0.0
    return module
