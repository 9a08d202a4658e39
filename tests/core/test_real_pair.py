"""The promise on real weights: speculative text is plain text, token for token.

Float32 on a CPU, where a row's logits do not depend on the rows beside it.
"""

from __future__ import annotations

import dataclasses
import json

import pytest

from core import metrics
from core.checkpoints import demo
from core.config import (
    Coupling,
    DecodingConfig,
    DecodingRequest,
    DrafterKind,
    ModelConfig,
    PairConfig,
)
from core.control import Control
from core.events import Lane, PairLoaded, RoundFinished, RunFinished
from core.prompts import library, start_prompt
from core.session import Session

pytestmark = [pytest.mark.real_pair, pytest.mark.slow]

TARGET = ModelConfig("demo", "cpu", "float32")
PAIRS = {
    "plain": PairConfig(TARGET),
    "lookup": PairConfig(TARGET, DrafterKind.LOOKUP),
    "layers": PairConfig(
        TARGET, DrafterKind.CHECKPOINT, ModelConfig("demo-layers", "cpu", "float32")
    ),
}


@pytest.fixture(scope="module")
def session():
    demo.fetch_demo()
    made = Session()
    yield made
    made.close()


def load(session, name):
    events = list(session.load(PAIRS[name], Control()))
    assert isinstance(events[-1], PairLoaded)
    return events[-1]


def decode(session, prompt, config):
    request = DecodingRequest("run", prompt.text, config, prompt.chat)
    *_, last = session.run(request, Control(config))
    assert isinstance(last, RunFinished)
    return last.summary


def one_of_each_kind():
    prompts = {prompt.kind: prompt for prompt in reversed(library())}
    return list(prompts.values())


SETTINGS = {
    "greedy": DecodingConfig(max_new_tokens=40),
    "greedy with penalties": DecodingConfig(
        max_new_tokens=40, repetition_penalty=1.2, presence_penalty=0.3
    ),
    "shared noise": DecodingConfig(
        max_new_tokens=40, temperature=1.0, seed=5, coupling=Coupling.SHARED_NOISE
    ),
}


@pytest.mark.parametrize("settings", SETTINGS.values(), ids=SETTINGS)
def test_speculative_text_is_plain_text(session, settings):
    """H7: every token equal, for each kind of prompt, drafter and several K."""
    load(session, "plain")
    plain = [decode(session, p, settings) for p in one_of_each_kind()]
    for drafter, lookahead in (("lookup", 7), ("layers", 1), ("layers", 4)):
        load(session, drafter)
        config = dataclasses.replace(settings, lookahead=lookahead)
        for prompt, expected in zip(one_of_each_kind(), plain, strict=True):
            summary = decode(session, prompt, config)
            assert summary.tokens == expected.tokens, (drafter, prompt.title)
            assert summary.text == expected.text
            assert summary.stop_reason is expected.stop_reason
            assert metrics.is_consistent(summary.counts)


def test_sampled_runs_repeat_with_their_seed(session):
    """H24: same seed, same run; another seed, another text."""
    load(session, "layers")
    texts = [
        decode(
            session,
            start_prompt(),
            DecodingConfig(temperature=1.2, max_new_tokens=24, seed=seed),
        ).tokens
        for seed in (7, 7, 8)
    ]
    assert texts[0] == texts[1] != texts[2]


def test_settings_act_from_the_next_round_of_a_running_generation(session):
    load(session, "layers")
    config = DecodingConfig(max_new_tokens=24, lookahead=2)
    control = Control(config)
    seen = []
    request = DecodingRequest("run", start_prompt().text, config)
    for event in session.run(request, control):
        if isinstance(event, RoundFinished):
            seen.append((event.settings.lookahead, event.settings.temperature))
            if len(seen) == 2:
                control.update(
                    dataclasses.replace(config, lookahead=5, temperature=0.7)
                )
    assert seen[:2] == [(2, 0.0), (2, 0.0)]
    assert set(seen[2:]) == {(5, 0.7)}


def test_race_json_has_both_lanes_and_says_identical(capsys):
    from core.cli import main

    words = ["race", "--demo", "--json", "--max-new-tokens", "24", "--repeats", "1"]
    assert main(words) == 0
    race = json.loads(capsys.readouterr().out)
    assert race["identical"] is True
    assert race["divergence"] is None
    for lane in Lane:
        counts = race[lane]["counts"]
        assert counts["emitted"] == len(race[lane]["tokens"]) == 24
        assert counts["tested"] == counts["accepted"] + counts["resampled"]
    assert race["verdict"] == "none"  # one repeat is no evidence
