"""The checks of a loaded pair: right ones pass, wrong ones do not."""

from __future__ import annotations

import pytest

from core.config import DecodingConfig
from core.decoding.lane import LanePlan
from core.drafters.draft_model import DraftModel
from core.errors import ConfigurationError
from core.events import Lane
from core.lab.checks import CheckFinished, ChecksFinished, CheckStarted
from core.lab.exactness import CHECKS, POWER, verify
from core.lab.mutants import MUTANTS
from core.lab.table_model import NumberTokenizer
from tests.core.decoding.toys import toy
from tests.core.tables import looking_up

PENALTIES = {"repetition_penalty": 1.4, "presence_penalty": 0.6}


def _plan(new_drafter=None, **changes) -> LanePlan:
    target, draft = toy(), toy(seed=1)
    return LanePlan(
        run_id="verify",
        lane=Lane.SPECULATIVE,
        target=target,
        tokenizer=NumberTokenizer(),
        eos_ids=(5,),
        prompt_ids=(1, 2, 3, 4, 1, 2),
        settings=DecodingConfig(**{"lookahead": 3, "max_new_tokens": 32, **changes}),
        new_drafter=new_drafter or (lambda capacity: DraftModel(draft, capacity)),
    )


def _result(*arguments, **options) -> ChecksFinished:
    *started, finished = verify(*arguments, **options)
    assert isinstance(started[0], CheckStarted)
    done = [event.check for event in started if isinstance(event, CheckFinished)]
    assert tuple(done) == finished.checks
    return finished


@pytest.mark.law
@pytest.mark.statistical
def test_a_right_pair_passes_every_check_with_power():
    """One chi-square at 1e-4 and a fixed seed."""
    finished = _result(_plan(), toy(seed=1))
    assert [check.name for check in finished.checks] == list(CHECKS)
    assert finished.passed, finished
    sampled = finished.checks[-1]
    assert sampled.power >= POWER
    assert sampled.samples >= 100_000
    assert "total variation of 0.02" in sampled.detail


@pytest.mark.law
@pytest.mark.statistical
def test_prompt_lookup_passes_too():
    """One chi-square at 1e-4 and a fixed seed."""
    assert _result(_plan(looking_up(32), top_k=5)).passed


@pytest.mark.law
@pytest.mark.statistical
@pytest.mark.parametrize("mutant", MUTANTS)
def test_every_mutant_fails(mutant):
    changes = PENALTIES if mutant.startswith("penalties") else {"temperature": 0.7}
    finished = _result(_plan(**changes), toy(seed=1), mutant=mutant, until_failure=True)
    assert not finished.checks[-1].passed, mutant
    assert not finished.passed


@pytest.mark.parametrize(
    ("name", "drafted", "cure"),
    [
        ("draft_cache_not_rolled_back", False, "a draft model"),
        ("penalties_miss_the_block", True, "a repetition penalty of 1.4"),
    ],
)
def test_a_mutant_that_could_not_show_is_refused(name, drafted, cure):
    with pytest.raises(ConfigurationError, match=cure) as caught:
        MUTANTS[name].require_applies(DecodingConfig(), drafted=drafted)
    assert name in str(caught.value)
    MUTANTS[name].require_applies(DecodingConfig(**PENALTIES), drafted=True)


def test_a_stop_ends_the_checks_without_a_verdict():
    finished = _result(_plan(), toy(seed=1), should_stop=lambda: True)
    assert finished.cancelled
    assert not finished.passed
    assert finished.checks == ()


def test_a_stop_acts_while_the_small_tree_is_read():
    """The third check begins, is asked once, and then reads 64 texts."""
    asked, begun = [], []

    def should_stop() -> bool:
        asked.append(len(begun))
        return asked.count(3) > 12

    for event in verify(_plan(), toy(seed=1), should_stop=should_stop):
        if isinstance(event, CheckStarted):
            begun.append(event)
        last = event
    assert isinstance(last, ChecksFinished)
    assert [check.name for check in last.checks] == list(CHECKS)[:2]
    assert last.cancelled
    assert not last.passed
    assert asked.count(3) < 20
