"""Rounds that a device decides say, draw and record what the others do; one read each.

They are chosen for CUDA; here they are played on a CPU, by hand.
"""

from __future__ import annotations

import dataclasses
import functools
import itertools
import time

import pytest
import torch
from torch.overrides import TorchFunctionMode
from torch.utils._python_dispatch import TorchDispatchMode

from core.codec import encode
from core.config import Coupling, DecodingConfig
from core.decoding import device_records
from core.decoding.lane import LanePlan, LaneRun
from core.drafters.draft_model import DraftModel
from core.drafters.prompt_lookup import PromptLookup
from core.errors import NumericalError
from core.events import Lane, RoundFinished, RunFinished
from core.lab.timed_model import TimedModel
from core.runtime.captured_model import CapturedModel
from core.sampling import distributions, kernels, on_device, streams
from core.sampling.streams import Purpose
from tests.core.decoding.captured_toys import captured_toy
from tests.core.decoding.toys import toy
from tests.core.tables import (
    CertainDrafter,
    NumberTokenizer,
    drafting,
    fixed_logits,
    looking_up,
    random_logits,
    summary_of,
    table,
)

WIDTH = 12
TARGET = table(random_logits(WIDTH, 3), WIDTH)
DRAFT = table(random_logits(WIDTH, 4), WIDTH)
DRAFTERS = {
    "none": None,
    "model": drafting(DRAFT),
    "self": drafting(TARGET),
    "lookup": looking_up(WIDTH),
    "certain": lambda capacity: CertainDrafter(lambda p: sum(p) % WIDTH, WIDTH),
    "narrow": drafting(table(random_logits(9, 4), WIDTH)),
    "wide": drafting(table(random_logits(15, 4), WIDTH)),
    "sliced": lambda capacity: DraftModel(
        table(random_logits(7, 4), WIDTH), capacity, WIDTH, (0, 1, 3, 4, 7, 8, 11)
    ),
}
SETTINGS = {
    "greedy": {},
    "sampled": {"temperature": 1.0},
    "hot top-k": {"temperature": 1.6, "top_k": 5},
    "top-p": {"temperature": 0.9, "top_p": 0.8},
    "min-p": {"temperature": 1.2, "min_p": 0.15},
    "all": {"temperature": 1.1, "top_k": 8, "top_p": 0.9, "min_p": 0.02},
}


def _pulled(on_device, target, new_drafter, settings, *, eos_ids=(), prompt=(0, 1, 0)):
    plan = LanePlan(
        run_id="run",
        lane=Lane.SPECULATIVE if new_drafter else Lane.PLAIN,
        target=target,
        tokenizer=NumberTokenizer(),
        eos_ids=eos_ids,
        prompt_ids=prompt,
        settings=settings,
        new_drafter=new_drafter,
        on_device=on_device,
    )
    return LaneRun(plan, lambda: settings, lambda: False).events()


def _events(*args, **options):
    return list(_pulled(*args, **options))


def _settings(**changes) -> DecodingConfig:
    return DecodingConfig(**{"lookahead": 5, "max_new_tokens": 40, **changes})


def _same(found, wanted, where: str = "") -> None:
    """Assert that two records agree; sums may differ in their last digits."""
    if isinstance(wanted, dict):
        for key, value in wanted.items():
            if not key.endswith("_ms"):
                _same(found[key], value, f"{where}.{key}")
    elif isinstance(wanted, list):
        assert len(found) == len(wanted), where
        for i, (one, other) in enumerate(zip(found, wanted, strict=True)):
            _same(one, other, f"{where}[{i}]")
    elif isinstance(wanted, float):
        assert found == pytest.approx(wanted, rel=1e-5, abs=1e-9), where
    else:
        assert found == wanted, where


def _compare(*args, **options) -> int:
    """Hold both ways of deciding against each other; return the tokens accepted."""
    host, device = (_events(on, *args, **options) for on in (False, True))
    for event, wanted in zip(device, host, strict=True):
        assert type(event) is type(wanted)
        if isinstance(wanted, RoundFinished):
            _same(encode(event), encode(wanted), f"round {wanted.round_index}")
    assert summary_of(device).tokens == summary_of(host).tokens
    return summary_of(host).counts.accepted


LONG = [pytest.param(s, marks=pytest.mark.slow) for s in ("hot top-k", "min-p")]


@pytest.mark.parametrize("settings", ["greedy", "sampled", "top-p", "all", *LONG])
@pytest.mark.parametrize("drafter", DRAFTERS)
def test_a_device_decides_and_records_every_round_alike(drafter, settings):
    for seed, coupling in enumerate(Coupling):
        config = _settings(
            **SETTINGS[settings], coupling=coupling, seed=seed, max_new_tokens=25
        )
        _compare(TARGET, DRAFTERS[drafter], config)


@pytest.mark.parametrize("temperature", [0.0, 1.0])
@pytest.mark.parametrize(
    "ending", [{"eos_ids": (4,)}, {"stop": (" 4 1", "7")}, {"max_new_tokens": 3}]
)
def test_a_run_that_ends_inside_a_block_is_recorded_alike(ending, temperature):
    ending = dict(ending)
    eos_ids = ending.pop("eos_ids", ())
    for seed in range(3):
        config = _settings(temperature=temperature, seed=seed, **ending)
        _compare(TARGET, drafting(TARGET), config, eos_ids=eos_ids)


# --- over transformers models --------------------------------------------------------


@functools.cache
def _captured(seed: int) -> CapturedModel:
    """Return a tiny Llama in float32 whose steps have fixed widths."""
    return captured_toy(seed)


@pytest.mark.parametrize("coupling", Coupling)
@pytest.mark.parametrize("settings", ["greedy", "sampled", "all"])
@pytest.mark.parametrize("drafter", ["model", "lookup", "none"])
def test_captured_steps_and_device_rounds_give_the_present_text(
    drafter, settings, coupling
):
    makers = {
        "model": lambda capacity: DraftModel(_captured(1), capacity),
        "lookup": lambda capacity: PromptLookup(32, 512),
        "none": None,
    }
    config = _settings(**SETTINGS[settings], coupling=coupling, lookahead=3)
    host = _events(False, toy(), makers[drafter] and _plain_maker(drafter), config)
    device = _events(True, _captured(0), makers[drafter], config)
    assert summary_of(device).tokens == summary_of(host).tokens
    assert summary_of(device).counts == summary_of(host).counts


def _plain_maker(drafter: str):
    if drafter == "lookup":
        return lambda capacity: PromptLookup(32, 512)
    return lambda capacity: DraftModel(toy(seed=1), capacity)


def test_a_draft_that_missed_many_tokens_catches_up():
    """K = 0 for a while, then 4."""
    config = _settings(lookahead=0, max_new_tokens=60)

    def events(on_device, target, draft):
        wish, done = [config], 0
        plan = LanePlan(
            "run", Lane.SPECULATIVE, target, NumberTokenizer(), (), (0, 1), config,
            lambda capacity: DraftModel(draft, capacity), on_device=on_device,
        )  # fmt: skip
        for event in LaneRun(plan, lambda: wish[0], lambda: False).events():
            if isinstance(event, RoundFinished):
                done += 1
                wish[0] = dataclasses.replace(config, lookahead=4 * (done >= 25))
            yield event

    host = summary_of(list(events(False, toy(), toy(seed=1))))
    device = summary_of(list(events(True, _captured(0), _captured(1))))
    assert (device.tokens, device.counts) == (host.tokens, host.counts)
    assert host.counts.drafted > 0


# --- reads ---------------------------------------------------------------------------


class _Reads(TorchFunctionMode):
    """Counts what would make Python wait for a device."""

    WAITING = frozenset(
        [
            "item",
            "tolist",
            "cpu",
            "__bool__",
            "__int__",
            "__float__",
            "__index__",
            "__array__",
            "nonzero",
            "masked_select",
            "argwhere",
            "unique",
        ]
    )

    def __init__(self) -> None:
        super().__init__()
        self.found: list[str] = []

    def __torch_function__(self, function, types, args=(), kwargs=None):
        name = getattr(function, "__name__", "")
        if name in self.WAITING:
            self.found.append(name)
        return function(*args, **(kwargs or {}))


class _Scalars(TorchDispatchMode):
    """Counts the same one floor below, where Python's names are gone."""

    WAITING = ("_local_scalar_dense", "nonzero", "masked_select", "equal", "is_nonzero")

    def __init__(self) -> None:
        super().__init__()
        self.found: list[str] = []

    def __torch_dispatch__(self, function, types, args=(), kwargs=None):
        if function._schema.name.removeprefix("aten::") in self.WAITING:
            self.found.append(function._schema.name)
        return function(*args, **(kwargs or {}))


def _reads_by_round(monkeypatch, on_device, target, new_drafter, config):
    """Return what each round asked of the device."""
    monkeypatch.setattr(kernels, "AVAILABLE", False)  # they are not for a device
    plan = LanePlan(
        "run", Lane.SPECULATIVE if new_drafter else Lane.PLAIN, target,
        NumberTokenizer(), (), (0, 1, 0, 1, 0), config, new_drafter,
        on_device=on_device,
    )  # fmt: skip
    events = LaneRun(plan, lambda: config, lambda: False).events()
    rounds = []
    with _Reads() as reads, _Scalars() as scalars:
        for event in events:
            if isinstance(event, RoundFinished):
                rounds.append([*reads.found, *scalars.found])
            reads.found.clear()
            scalars.found.clear()
    return rounds


@pytest.mark.parametrize("coupling", Coupling)
@pytest.mark.parametrize("settings", ["greedy", "sampled", "all"])
@pytest.mark.parametrize("drafter", ["model", "lookup", "none"])
def test_a_round_asks_the_device_once(drafter, settings, coupling, monkeypatch):
    makers = {
        "model": lambda capacity: DraftModel(_captured(1), capacity),
        "lookup": lambda capacity: PromptLookup(32, 512),
        "none": None,
    }
    config = _settings(**SETTINGS[settings], coupling=coupling, max_new_tokens=12)
    rounds = _reads_by_round(monkeypatch, True, _captured(0), makers[drafter], config)
    assert rounds
    assert all(asked == ["cpu"] for asked in rounds), rounds


def test_the_present_rounds_ask_more_than_once(monkeypatch):
    """Which shows that the count can tell."""
    maker = lambda capacity: DraftModel(_captured(1), capacity)  # noqa: E731
    config = _settings(temperature=1.0, max_new_tokens=12)
    rounds = _reads_by_round(monkeypatch, False, _captured(0), maker, config)
    assert all(len(asked) > 5 for asked in rounds), rounds


# --- what can go wrong ---------------------------------------------------------------


@pytest.mark.parametrize("temperature", [0.0, 1.0])
@pytest.mark.parametrize("broken", ["target", "draft"])
def test_scores_that_are_not_numbers_are_told_by_name(broken, temperature):
    bad = table(
        lambda p: torch.full((WIDTH,), torch.nan if len(p) > 6 else 0.5),
        WIDTH,
        name="Broken",
    )
    target, draft = (bad, DRAFT) if broken == "target" else (TARGET, bad)
    with pytest.raises(NumericalError, match="Broken returned scores that are not"):
        _events(True, target, drafting(draft), _settings(temperature=temperature))


def test_penalties_are_played_in_python(monkeypatch):
    def never(*args):
        raise AssertionError("a device cannot count tokens")

    monkeypatch.setattr(device_records, "play", never)
    config = _settings(repetition_penalty=1.3)
    finished = _events(True, TARGET, drafting(DRAFT), config)[-1]
    assert isinstance(finished, RunFinished)
    assert finished.summary.counts.emitted == 40


@pytest.mark.parametrize(
    ("device", "on_device", "decides"),
    [("cuda:0", None, True), ("cpu", None, False), ("cpu", True, True),
     ("cuda:0", False, False), ("mps", None, False)],
)  # fmt: skip
def test_cuda_decides_unless_told_otherwise(device, on_device, decides):
    model = table(fixed_logits((0.5, 0.5)), 2)
    model._facts = dataclasses.replace(model.facts, device=device)
    plan = LanePlan(
        "run", Lane.PLAIN, model, None, (), (0,), _settings(), on_device=on_device
    )
    assert plan.decides_on_device is decides


def test_a_timed_model_is_stepped_over_ids_on_the_device():
    """As the bench and the step costs wrap it."""
    timed = TimedModel(_captured(1))
    config = _settings(temperature=1.0)
    events = _events(True, _captured(0), lambda c: DraftModel(timed, c), config)
    assert summary_of(events).counts.drafted > 0
    assert timed.step_ms > 0


def _slow(seed: int, ms: float) -> TimedModel:
    """Return a table that takes ``ms`` for each new row."""
    right = random_logits(WIDTH, seed)

    def logits(prefix: tuple[int, ...]) -> torch.Tensor:
        time.sleep(ms / 1e3)
        return right(prefix)

    return TimedModel(table(logits, WIDTH))


@pytest.mark.parametrize("on_device", [False, True])
def test_laps_hold_their_own_work_and_add_up_to_the_round(on_device):
    """A row of the target takes thrice as long as one of the draft."""
    target, draft = _slow(3, 3.0), _slow(4, 1.0)
    config = _settings(temperature=1.0, max_new_tokens=12)
    target_ms = draft_ms = clock_ms = 0.0
    for event in _pulled(on_device, target, drafting(draft), config):
        if isinstance(event, RoundFinished):
            assert event.draft_ms >= draft.step_ms - draft_ms
            assert event.verify_ms >= target.step_ms - target_ms
            assert min(event.rule_ms, event.other_ms) > 0
            assert event.round_ms == pytest.approx(event.clock_ms - clock_ms)
            clock_ms = event.clock_ms
        target_ms, draft_ms = target.step_ms, draft.step_ms
    assert min(target_ms, draft_ms) > 0


def test_distributions_are_warped_alike():
    scores = torch.randn(5, 700, generator=torch.Generator().manual_seed(0)) * 4
    for changes in SETTINGS.values():
        config = _settings(**changes)
        torch.testing.assert_close(
            on_device.warp(scores, config), distributions.warp(scores, config)
        )


def test_keys_and_numbers_have_the_bits_of_the_present_ones():
    draws = on_device.KeyedDeviceDraws(2**53 - 1, "cpu")
    for purpose, at in itertools.product(Purpose, (0, 37, 255, 256, 40_000)):
        keys = draws.keys(purpose, at, 17)
        wanted = [streams.stream_key(2**53 - 1, purpose, at + i) for i in range(17)]
        assert keys.tolist() == [streams.signed_key(key) for key in wanted]
        numbers = streams.uniforms(keys).tolist()
        assert numbers == [streams.uniform(key) for key in wanted]
