"""What a sweep of a loaded pair consists of."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from core.checkpoints.loading import LoadedModel
from core.config import DecodingRequest
from core.decoding.lane import plan_limits
from core.decoding.prompting import encode_prompt
from core.lab.pair_costs import time_steps
from core.lab.sweep import Sweep, SweptPair, sweep_prompts
from core.lab.sweep_events import SweepPlan
from core.lab.sweep_store import SweepFile, default_path, new_header
from core.loaded_pair import LoadedPair
from core.machine import describe_machine


def new_sweep(
    plan: SweepPlan,
    pair: LoadedPair,
    *,
    run_id: str,
    out: Path | None,
    should_stop: Callable[[], bool],
) -> Sweep:
    """Return a sweep that goes on where its file ends.

    Args:
        plan: the grid.
        pair: the loaded pair, with a drafter.
        run_id: for its events.
        out: the file; None for one in the user's data folder.
        should_stop: asked between rounds.

    Raises:
        ConfigurationError: if there are no prompts of a kind, or the file holds another
            sweep.
        ContextLengthError: if a prompt leaves no room in the target's context.
        DeviceMemoryError: if the caches do not fit.
        TraceError: if the file cannot be read or written.
    """
    pair.require_caches(_longest_prompt(pair.target, plan), plan.settings)
    target, machine = pair.target, describe_machine(pair.target.device)
    drafter, costs = pair.new_drafter(1).facts, pair.costs
    assert costs is not None
    header = new_header(target.model.facts, drafter, plan.settings, machine, costs)
    file = SweepFile(out or default_path(header), header)
    swept = SweptPair(
        target,
        drafter,
        pair.new_drafter,
        costs,
        machine,
        lambda known: time_steps(known, target, pair.draft, should_stop),
    )
    return Sweep(plan, swept, file, run_id, should_stop)


def _longest_prompt(target: LoadedModel, plan: SweepPlan) -> int:
    """Return the tokens of the plan's longest prompt, once all are known to fit."""
    longest = 0
    for prompt in sweep_prompts(plan):
        request = DecodingRequest(
            "sweep", prompt.text, plan.settings, use_chat_template=prompt.chat
        )
        length = len(encode_prompt(target.tokenizer, request))
        plan_limits(target.model.facts, length, plan.settings)
        longest = max(longest, length)
    return longest
