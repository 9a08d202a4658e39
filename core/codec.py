"""Frozen dataclasses to JSON values and back, by their type hints.

Knows what events are made of and nothing more: dataclasses, enums, tuples, optional
values, text, numbers and booleans. Reading checks every type, so that what comes out of
a stranger's file is what the hints promise.
"""

from __future__ import annotations

import dataclasses
import math
import types
from collections.abc import Callable, Mapping
from enum import Enum
from functools import cache
from typing import Any, Union, get_args, get_origin, get_type_hints

# What to do to a text on its way out, by class and field.
Cleaners = Mapping[tuple[type, str], Callable[[str], str]]
_EMPTY: tuple[object, ...] = (None, ())


class CodecError(ValueError):
    """A value does not have the shape that its type hint promises."""


def encode(value: Any, *, cleaners: Cleaners | None = None, brief: bool = False) -> Any:
    """Return ``value`` as JSON values.

    Args:
        value: a dataclass, or what its fields may hold.
        cleaners: applied to every text of a named field, inside a tuple too.
        brief: leave out fields that are None or an empty tuple by default.

    Raises:
        CodecError: if a number is not finite where None is not allowed instead.
    """
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        return _encode_fields(value, cleaners or {}, brief)
    if isinstance(value, Enum):
        return value.value
    if isinstance(value, tuple):
        return [encode(v, cleaners=cleaners, brief=brief) for v in value]
    if isinstance(value, float) and not math.isfinite(value):
        raise CodecError(f"{value} is not a number that JSON has")
    if value is None or isinstance(value, str | bool | int | float):
        return value
    raise CodecError(f"{type(value).__name__} does not belong in an event")


def _encode_fields(value: Any, cleaners: Cleaners, brief: bool) -> dict[str, Any]:
    kind, out = type(value), {}
    for name, default, nullable in _layout(kind):
        item = getattr(value, name)
        if brief and item == default and default in _EMPTY:
            continue
        if nullable and isinstance(item, float) and not math.isfinite(item):
            item = None  # a margin over a lone token is infinite: nothing to say
        if clean := cleaners.get((kind, name)):
            item = _cleaned(item, clean)
        out[name] = encode(item, cleaners=cleaners, brief=brief)
    return out


def _cleaned(item: Any, clean: Callable[[str], str]) -> Any:
    return tuple(map(clean, item)) if isinstance(item, tuple) else clean(item)


@cache
def _layout(kind: type) -> tuple[tuple[str, Any, bool], ...]:
    hints = get_type_hints(kind)
    return tuple(
        (f.name, f.default, type(None) in get_args(hints[f.name]))
        for f in dataclasses.fields(kind)
    )


def decode(hint: Any, value: Any) -> Any:
    """Return the value that ``hint`` promises, made from JSON values.

    Fields that the class does not have are passed over: a later version may add some.

    Raises:
        CodecError: if ``value`` has another shape.
    """
    if get_origin(hint) in (Union, types.UnionType):
        return _decode_union(hint, value)
    if get_origin(hint) is tuple:
        return _decode_tuple(hint, value)
    if dataclasses.is_dataclass(hint):
        return _decode_fields(hint, value)
    if isinstance(hint, type) and issubclass(hint, Enum):
        return _decode_enum(hint, value)
    return _decode_plain(hint, value)


def _decode_union(hint: Any, value: Any) -> Any:
    kinds = [kind for kind in get_args(hint) if kind is not type(None)]
    if value is None and len(kinds) < len(get_args(hint)):
        return None
    if len(kinds) != 1:
        raise CodecError(f"{hint} is not a union this codec knows")
    return decode(kinds[0], value)


def _decode_tuple(hint: Any, value: Any) -> tuple[Any, ...]:
    if not isinstance(value, list):
        raise CodecError(f"{_short(value)} is not a list")
    kind, *rest = get_args(hint)
    if rest == [...]:
        return tuple(decode(kind, item) for item in value)
    if len(value) != 1 + len(rest):
        raise CodecError(f"{_short(value)} does not have {1 + len(rest)} items")
    return tuple(decode(k, v) for k, v in zip((kind, *rest), value, strict=True))


def _decode_fields(kind: Any, value: Any) -> Any:
    if not isinstance(value, dict):
        raise CodecError(f"{_short(value)} is not a {kind.__name__}")
    hints = _hints(kind)
    known = {name: decode(hints[name], value[name]) for name in hints if name in value}
    try:
        return kind(**known)
    except TypeError as error:
        raise CodecError(f"{kind.__name__} lacks a field") from error


@cache
def _hints(kind: type) -> dict[str, Any]:
    return get_type_hints(kind)


def _decode_enum(kind: type[Enum], value: Any) -> Enum:
    try:
        return kind(value)
    except ValueError as error:
        raise CodecError(f"{_short(value)} is not a {kind.__name__}") from error


def _decode_plain(kind: Any, value: Any) -> Any:
    if kind is float and type(value) is int:
        return float(value)
    if type(value) is not kind:  # a bool is an int to isinstance
        raise CodecError(f"{_short(value)} is not {getattr(kind, '__name__', kind)}")
    return value


def _short(value: Any) -> str:
    text = repr(value)
    return text if len(text) <= 40 else text[:39] + "…"
