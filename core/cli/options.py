"""Options that mean the same in every command, and what they are turned into."""

from __future__ import annotations

import argparse
import uuid
from collections.abc import Callable

from core.cli.prompt_choice import chosen_prompt
from core.config import (
    Coupling,
    DecodingConfig,
    DecodingRequest,
    DrafterKind,
    FieldInfo,
    ModelConfig,
    PairConfig,
    describe,
)
from core.demo_pair import demo_config, demo_pair
from core.errors import ConfigurationError, PromptError
from core.lab.sweep_events import AUTO as AUTO_LOOKAHEAD
from core.prompts import EMPTY_PROMPT

DEMO = "demo"
AUTO = "auto"
_PLAIN_NUMBERS = (
    "temperature",
    "top_p",
    "top_k",
    "min_p",
    "repetition_penalty",
    "presence_penalty",
    "frequency_penalty",
    "no_repeat_ngram",
    "seed",
    "max_new_tokens",
)


def add_pair_options(parser: argparse.ArgumentParser) -> None:
    """Add what chooses the models."""
    group = parser.add_argument_group("pair")
    group.add_argument(
        "--demo", action="store_true", help="use the demo pair, fetched if need be"
    )
    group.add_argument(
        "--target", help="folder, GGUF file, hub id or 'demo' (the default)"
    )
    group.add_argument(
        "--draft",
        help="folder, GGUF file, hub id, demo-draft, demo-layers, lookup or none",
    )
    group.add_argument("--device", default="auto", help="auto, cpu, cuda, cuda:1, mps")
    group.add_argument(
        "--dtype", default="auto", help="auto, float32, bfloat16 or float16"
    )


def add_decoding_options(
    parser: argparse.ArgumentParser, *, lists: bool = False
) -> None:
    """Add what changes the output; limits and words come from the settings.

    Args:
        parser: takes the options.
        lists: K and temperature are lists, such as ``0,2,4``.
    """
    group = parser.add_argument_group("decoding")
    fields, defaults = describe(), DecodingConfig()
    words = ", several with commas, auto among them" if lists else " or auto"
    group.add_argument(
        "--k",
        type=_lookaheads if lists else _lookahead,
        default=None,
        help=_help(fields["lookahead"]) + words,
    )
    for name in _PLAIN_NUMBERS:
        if lists and name == "temperature":
            several = _help(fields[name]) + ", several with commas"
            group.add_argument("--temperature", type=_list_of(float), help=several)
            continue
        value = getattr(defaults, name)
        flag = "--" + name.replace("_", "-")
        group.add_argument(
            flag, type=type(value), default=value, help=_help(fields[name])
        )
    group.add_argument(
        "--coupling",
        default=str(defaults.coupling),
        choices=[str(c) for c in Coupling],
        help=_help(fields["coupling"]),
    )
    group.add_argument(
        "--stop", action="append", default=[], help="end before this text (repeatable)"
    )
    group.add_argument(
        "--ignore-eos", action="store_true", help=_help(fields["ignore_eos"])
    )


def _lookahead(text: str) -> int | str:
    if text == AUTO:
        return AUTO
    try:
        return int(text)
    except ValueError:
        raise argparse.ArgumentTypeError(
            f"{text!r} is no number and not auto"
        ) from None


def _lookaheads(text: str) -> tuple[float, ...]:
    """Return every K of a list; ``auto`` may be among them."""
    parts = [part.strip() for part in text.split(",")]
    fixed = [part for part in parts if part != AUTO]
    found = _list_of(int)(",".join(fixed)) if fixed else ()
    if AUTO_LOOKAHEAD in found:
        raise argparse.ArgumentTypeError(f"{text!r} has a K below 0")
    return (*found, AUTO_LOOKAHEAD) if AUTO in parts else found


def _list_of(kind: type[int] | type[float]) -> Callable[[str], tuple[float, ...]]:
    def parse(text: str) -> tuple[float, ...]:
        try:
            return tuple(dict.fromkeys(kind(part) for part in text.split(",")))
        except ValueError:
            raise argparse.ArgumentTypeError(
                f"{text!r} is no list of numbers, such as 0,2,4"
            ) from None

    return parse


def _help(info: FieldInfo) -> str:
    if info.minimum is None or info.maximum is None:
        return info.help
    return f"{info.help} ({info.minimum:g} to {info.maximum:g})"


def pair_from(options: argparse.Namespace) -> PairConfig:
    """Return the pair that the options name; the demo pair without any.

    Raises:
        ConfigurationError: if ``--demo`` and ``--target`` contradict each other.
    """
    if options.demo and options.target not in (None, DEMO):
        raise ConfigurationError(
            f"--demo and --target {options.target} name two targets; give one of them."
        )
    target = ModelConfig(options.target or DEMO, options.device, options.dtype)
    if options.draft is None and target.reference == DEMO:
        return demo_pair(options.device, options.dtype)
    draft = options.draft or "lookup"
    if draft in (DrafterKind.LOOKUP, DrafterKind.NONE):
        return PairConfig(target, DrafterKind(draft))
    model = ModelConfig(draft, options.device, options.dtype)
    return PairConfig(target, DrafterKind.CHECKPOINT, model)


def _lookahead_from(options: argparse.Namespace) -> int:
    """Return K as it was asked for, or what suits the pair."""
    if options.k is not None:
        return options.k
    own = pair_from(options) == demo_pair(options.device, options.dtype)
    return (demo_config() if own else DecodingConfig()).lookahead


def config_from(options: argparse.Namespace) -> DecodingConfig:
    """Return the settings that the options name.

    Raises:
        ConfigurationError: if one is outside its limits.
    """
    numbers = {name: getattr(options, name) for name in _PLAIN_NUMBERS}
    auto = options.k == AUTO
    lookahead = {} if auto else {"lookahead": _lookahead_from(options)}
    return DecodingConfig(
        **numbers,
        **lookahead,
        auto_lookahead=auto,
        coupling=Coupling(options.coupling),
        stop=tuple(options.stop),
        ignore_eos=options.ignore_eos,
    )


def request_from(options: argparse.Namespace, repeats: int = 3) -> DecodingRequest:
    """Return what the options ask to decode.

    Raises:
        PromptError: if there is no prompt, or it is not clear which.
    """
    prompt = chosen_prompt(options, pair_from(options).drafter)
    if not prompt.text and not options.raw:
        raise PromptError(EMPTY_PROMPT)
    return DecodingRequest(
        run_id=uuid.uuid4().hex[:12],
        prompt=prompt.text,
        config=config_from(options),
        use_chat_template=prompt.chat and not options.raw,
        system=options.system,
        repeats=repeats,
    )
