"""What a sweep of a loaded pair consists of."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from core.checkpoints.loading import LoadedModel
from core.config import DecodingRequest
from core.decoding.lane import plan_limits
from core.decoding.prompting import encode_prompt
from core.drafters.protocol import Drafter
from core.events import StepCosts
from core.lab.pair_costs import time_steps
from core.lab.sweep import Sweep, SweptPair, sweep_prompts
from core.lab.sweep_events import SweepPlan
from core.lab.sweep_store import SweepFile, default_path, new_header
from core.machine import describe_machine


def longest_request(
    target: LoadedModel, plan: SweepPlan
) -> tuple[int, DecodingRequest]:
    """Return the tokens of the plan's longest prompt, and its request.

    Raises:
        ConfigurationError: if there are no prompts of a kind.
        ContextLengthError: if a prompt leaves no room in the target's context.
    """
    found = []
    for prompt in sweep_prompts(plan):
        request = DecodingRequest(
            "sweep", prompt.text, plan.settings, use_chat_template=prompt.chat
        )
        length = len(encode_prompt(target.tokenizer, request))
        plan_limits(target.model.facts, length, plan.settings)
        found.append((length, request))
    return max(found, key=lambda pair: pair[0])


def new_sweep(
    plan: SweepPlan,
    target: LoadedModel,
    draft: LoadedModel | None,
    new_drafter: Callable[[int], Drafter],
    costs: StepCosts,
    *,
    run_id: str,
    out: Path | None,
    should_stop: Callable[[], bool],
) -> Sweep:
    """Return a sweep that goes on where its file ends.

    Args:
        plan: the grid.
        target: the loaded target.
        draft: the loaded draft; None for a drafter without weights.
        new_drafter: makes a drafter for a capacity in tokens.
        costs: of the pair's steps.
        run_id: for its events.
        out: the file; None for one in the user's data folder.
        should_stop: asked between rounds.

    Raises:
        ConfigurationError: if the file holds another sweep.
        TraceError: if it cannot be read or written.
    """
    machine = describe_machine(target.device)
    drafter = new_drafter(1).facts
    header = new_header(target.model.facts, drafter, plan.settings, machine, costs)
    file = SweepFile(out or default_path(header), header)
    pair = SweptPair(
        target,
        drafter,
        new_drafter,
        costs,
        machine,
        lambda known: time_steps(known, target, draft, should_stop),
    )
    return Sweep(plan, pair, file, run_id, should_stop)
