"""What changes the output: frozen, validated, plain Python values.

Each field of :class:`DecodingConfig` carries its limits, unit and one-line description
as metadata (:func:`describe`); the window's spin boxes and the command line's help are
built from that, so a limit exists once.
"""

from __future__ import annotations

import dataclasses
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any

from core.errors import ConfigurationError

MAX_LOOKAHEAD = 16


class Coupling(StrEnum):
    """How a proposal is judged (both are lossless)."""

    MAXIMAL = "maximal"
    SHARED_NOISE = "shared-noise"


class DrafterKind(StrEnum):
    """Where proposals come from."""

    CHECKPOINT = "checkpoint"
    LOOKUP = "lookup"
    NONE = "none"


@dataclass(frozen=True, slots=True)
class FieldInfo:
    """What a form needs to know about one setting."""

    label: str
    help: str
    minimum: float | None = None
    maximum: float | None = None
    step: float | None = None
    unit: str = ""
    off: float | None = None  # the value that switches the setting off
    live: bool = False  # acts from the next round of a running generation


def _setting(default: Any, label: str, help: str, **info: Any) -> Any:
    return field(default=default, metadata={"info": FieldInfo(label, help, **info)})


@dataclass(frozen=True, slots=True)
class DecodingConfig:
    """Everything that decides which tokens come out, given the models and the prompt.

    Raises:
        ConfigurationError: if a value is outside its limits.
    """

    lookahead: int = _setting(
        4, "K", "Tokens proposed per round; 0 is plain decoding.",
        minimum=0, maximum=MAX_LOOKAHEAD, step=1, unit="tokens", live=True,
    )  # fmt: skip
    auto_lookahead: bool = _setting(
        False, "Auto K",
        "Start from K, then choose it by the recorded step costs and acceptance; with "
        "the same recorded step costs a run repeats.", live=True,
    )  # fmt: skip
    temperature: float = _setting(
        0.0, "Temperature", "0 always takes the most probable token.",
        minimum=0.0, maximum=5.0, step=0.05, live=True,
    )  # fmt: skip
    top_p: float = _setting(
        1.0, "Top-p", "Keep the most probable tokens that together reach this mass.",
        minimum=0.01, maximum=1.0, step=0.01, off=1.0, live=True,
    )  # fmt: skip
    top_k: int = _setting(
        0, "Top-k", "Keep this many of the most probable tokens; 0 keeps all.",
        minimum=0, maximum=1000, step=1, off=0, unit="tokens", live=True,
    )  # fmt: skip
    min_p: float = _setting(
        0.0, "Min-p", "Drop tokens below this share of the best one's probability.",
        minimum=0.0, maximum=1.0, step=0.01, off=0.0, live=True,
    )  # fmt: skip
    repetition_penalty: float = _setting(
        1.0, "Repetition penalty", "Above 1 makes tokens seen before less likely.",
        minimum=0.1, maximum=3.0, step=0.05, off=1.0, live=True,
    )  # fmt: skip
    presence_penalty: float = _setting(
        0.0, "Presence penalty", "Taken once from the score of every emitted token.",
        minimum=-2.0, maximum=2.0, step=0.1, off=0.0, live=True,
    )  # fmt: skip
    frequency_penalty: float = _setting(
        0.0, "Frequency penalty", "Taken from a token's score each time it occurred.",
        minimum=-2.0, maximum=2.0, step=0.1, off=0.0, live=True,
    )  # fmt: skip
    no_repeat_ngram: int = _setting(
        0, "No-repeat n-gram", "Never repeat a run of this many tokens; 0 is off.",
        minimum=0, maximum=20, step=1, off=0, unit="tokens", live=True,
    )  # fmt: skip
    seed: int = _setting(
        0, "Seed", "Same seed and settings, same run.",
        minimum=0, maximum=2**53 - 1, step=1,
    )  # fmt: skip
    max_new_tokens: int = _setting(
        128, "Max new tokens", "The run ends after this many tokens.",
        minimum=1, maximum=32768, step=16, unit="tokens",
    )  # fmt: skip
    coupling: Coupling = _setting(
        Coupling.MAXIMAL, "Coupling",
        "Maximal is the rule of Chen et al.; shared noise gives plain decoding's text.",
    )  # fmt: skip
    stop: tuple[str, ...] = _setting(
        (), "Stop strings", "The text ends before the first of these."
    )
    ignore_eos: bool = _setting(
        False, "Ignore end of text", "Go on after the model's end-of-text token."
    )

    def __post_init__(self) -> None:
        for name, info in describe().items():
            _check(name, getattr(self, name), info)
            _check_whole(name, getattr(self, name), info)
        # Enum and tuple are accepted as plain strings and lists from files and forms.
        object.__setattr__(self, "coupling", _coupling(self.coupling))
        object.__setattr__(self, "stop", _stop_strings(self.stop))

    def with_live(self, other: DecodingConfig) -> DecodingConfig:
        """Return this config with the settings of ``other`` that may change live."""
        live = {n: getattr(other, n) for n, i in describe().items() if i.live}
        return dataclasses.replace(self, **live)

    def changes(self, other: DecodingConfig) -> tuple[str, ...]:
        """Return the names of the settings that differ from ``other``."""
        names = describe()
        return tuple(n for n in names if getattr(self, n) != getattr(other, n))


def describe() -> dict[str, FieldInfo]:
    """Return the form facts of every decoding setting by name."""
    return {f.name: f.metadata["info"] for f in dataclasses.fields(DecodingConfig)}


def _check(name: str, value: Any, info: FieldInfo) -> None:
    if info.minimum is None or info.maximum is None:
        return
    if isinstance(value, bool) or not isinstance(value, int | float):
        raise ConfigurationError(
            f"{info.label} must be a number, not {value!r}.", setting=name, value=value
        )
    if not info.minimum <= value <= info.maximum:  # NaN fails here too
        raise ConfigurationError(
            f"{info.label} is {_plain(value)}; choose a value from "
            f"{_plain(info.minimum)} to {_plain(info.maximum)}.",
            setting=name,
            value=value,
        )


def _plain(value: float) -> str:
    """Return a whole number digit by digit, another one shortly: both can be typed."""
    return str(int(value)) if abs(value) < 1e21 and value % 1 == 0 else f"{value:g}"


def _check_whole(name: str, value: Any, info: FieldInfo) -> None:
    if info.step and info.step % 1 == 0 and not isinstance(value, int):
        raise ConfigurationError(
            f"{info.label} is {value!r}; choose a whole number.",
            setting=name,
            value=value,
        )


def _coupling(value: Any) -> Coupling:
    try:
        return Coupling(value)
    except ValueError:
        known = " or ".join(Coupling)
        raise ConfigurationError(
            f"Coupling is {value!r}; choose {known}.", setting="coupling", value=value
        ) from None


def _stop_strings(value: Any) -> tuple[str, ...]:
    if isinstance(value, str) or not all(isinstance(s, str) and s for s in value):
        raise ConfigurationError(
            f"Stop strings are {value!r}; give a list of texts, none of them empty.",
            setting="stop",
            value=value,
        )
    return tuple(value)


@dataclass(frozen=True, slots=True)
class ModelConfig:
    """Which checkpoint to load, and how.

    Attributes:
        reference: a folder, a GGUF file, a hub id, or ``demo``.
        device: ``auto``, ``cpu``, ``cuda``, ``cuda:1``, ``mps``.
        dtype: ``auto``, ``float32``, ``bfloat16`` or ``float16``; ``auto`` is float32
            on a CPU and bfloat16 on CUDA.
    """

    reference: str
    device: str = "auto"
    dtype: str = "auto"


@dataclass(frozen=True, slots=True)
class PairConfig:
    """A target and what drafts for it.

    Attributes:
        target: the model whose distribution is reproduced.
        drafter: what kind of drafter proposes.
        draft: the draft checkpoint; None unless ``drafter`` is CHECKPOINT.
    """

    target: ModelConfig
    drafter: DrafterKind = DrafterKind.NONE
    draft: ModelConfig | None = None


@dataclass(frozen=True, slots=True)
class DecodingRequest:
    """One prompt to decode.

    Attributes:
        run_id: names the run in every event.
        prompt: the text as typed.
        config: the settings at the start.
        use_chat_template: wrap the prompt in the target's chat template, if it has one.
        system: the system turn under a chat template; empty for the template's own.
        repeats: measured races; ignored by a single run.
    """

    run_id: str
    prompt: str
    config: DecodingConfig = DecodingConfig()
    use_chat_template: bool = True
    system: str = ""
    repeats: int = 3
