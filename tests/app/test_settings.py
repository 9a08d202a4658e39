"""Settings come back; a damaged one costs only itself."""

from __future__ import annotations

import dataclasses
import json

import pytest
from PySide6.QtCore import QSettings

from app.settings import AppSettings, demo_pair, load, save
from core.config import (
    Coupling,
    DecodingConfig,
    DrafterKind,
    ModelConfig,
    PairConfig,
)
from core.demo_pair import demo_config

FULL = AppSettings(
    geometry=b"\x01\x00\x02",
    splitters={"columns": b"\x03\x04"},
    theme="dark",
    zoom=2,
    show_rejected=True,
    show_left=False,
    show_right=False,
    show_ids=True,
    more=True,
    decoding=DecodingConfig(
        lookahead=7,
        temperature=0.35,
        top_p=0.9,
        seed=2**53 - 1,
        coupling=Coupling.SHARED_NOISE,
        stop=("\n\n", 'a "quoted, thing"; = %20'),
        ignore_eos=True,
    ),
    pair=PairConfig(
        ModelConfig("/models/target", "cuda:1", "bfloat16"),
        DrafterKind.CHECKPOINT,
        ModelConfig("/models/draft"),
    ),
    prompt="Line one\n\tline two, “quoted”; 100 % = ß\\n",
    use_chat_template=False,
    system="You are brief.",
    folder="/somewhere else",
    places=("/models of mine", "/one.gguf"),
    recent=(demo_pair(), PairConfig(ModelConfig("owner/name"), DrafterKind.NONE)),
)


@pytest.fixture
def path(tmp_path):
    return str(tmp_path / "settings.ini")


def ini(path: str) -> QSettings:
    return QSettings(path, QSettings.Format.IniFormat)


def test_everything_comes_back(path):
    save(ini(path), FULL)
    assert load(ini(path)) == FULL


def test_a_first_start_is_the_demo_pair_with_prompt_lookup(path):
    assert load(ini(path)) == AppSettings()
    assert AppSettings().pair == demo_pair()


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("theme", "sepia"),
        ("zoom", "many"),
        ("show_left", "perhaps"),
        ("geometry", "text"),
        ("decoding", "{"),
        ("decoding", "[1]"),
        ("pair", "{}"),
        ("pair", '{"target": {"reference": ""}}'),
    ],
)
def test_a_damaged_value_costs_only_itself(path, name, value):
    settings = ini(path)
    save(settings, FULL)
    settings.setValue(name, value)
    settings.sync()
    loaded = load(ini(path))
    assert getattr(loaded, name) == getattr(AppSettings(), name)
    others = [n for n in _READ if n != name]
    assert all(getattr(loaded, n) == getattr(FULL, n) for n in others)


_READ = ("theme", "zoom", "show_left", "geometry", "decoding", "pair", "prompt")


def test_a_decoding_value_outside_its_limits_costs_only_itself(path):
    settings = ini(path)
    stored = {"lookahead": 99, "temperature": 0.5, "coupling": "none", "seed": 3}
    settings.setValue("decoding", json.dumps(stored))
    expected = dataclasses.replace(demo_config(), temperature=0.5, seed=3)
    assert load(settings).decoding == expected


def test_a_file_that_is_no_settings_file_gives_the_defaults(path):
    with open(path, "wb") as file:
        file.write(b"\x00\xff[[[\n=%%%")
    assert load(ini(path)) == AppSettings()
