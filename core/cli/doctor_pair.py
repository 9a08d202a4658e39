"""``draftrace doctor --target``: which checkpoint here should draft for a target."""

from __future__ import annotations

import argparse
from typing import Any

from core.cli import CANCELLED, DONE, output
from core.cli.work import Progress, interruptible
from core.codec import encode
from core.config import DecodingConfig, ModelConfig
from core.control import Control
from core.demo_pair import DEMO_REFERENCE
from core.errors import ConfigurationError
from core.events import LoadProgress
from core.lab.doctor_events import (
    DoctorFinished,
    DoctorPlan,
    DraftReport,
)
from core.session import Session


def add_options(parser: argparse.ArgumentParser) -> None:
    """Add what asks for a target's draft instead of the machine's report."""
    defaults = DoctorPlan(ModelConfig(DEMO_REFERENCE))
    group = parser.add_argument_group("a target's draft")
    group.add_argument(
        "--target", help="judge every checkpoint as a draft for this one"
    )
    group.add_argument(
        "--demo", action="store_true", help="the same for the demo target"
    )
    group.add_argument(
        "--probe", action="store_true", help="load each that fits and decode a little"
    )
    group.add_argument(
        "--places", nargs="*", default=(), metavar="FOLDER", help="look here, too"
    )
    group.add_argument(
        "--prompts", type=int, default=defaults.prompts, help="of a probe"
    )
    group.add_argument(
        "--max-new-tokens", type=int, default=defaults.tokens, help="of each prompt"
    )
    group.add_argument("--temperature", type=float, default=defaults.temperature)
    group.add_argument("--device", default="auto", help="auto, cpu, cuda, cuda:1, mps")
    group.add_argument(
        "--dtype", default="auto", help="auto, float32, bfloat16, float16"
    )


def asked(options: argparse.Namespace) -> str:
    """Return the first option that was given and asks for a draft; "" without any."""
    parser = argparse.ArgumentParser()
    add_options(parser)
    for name, default in vars(parser.parse_args([])).items():
        if getattr(options, name) != default:
            return f"--{name.replace('_', '-')}"
    return ""


def main(options: argparse.Namespace) -> int:
    """Print the drafts, the best first."""
    plan, progress, found = plan_from(options), Progress(), None
    control = Control(DecodingConfig())
    with interruptible(control):
        for event in Session().doctor(plan, control):
            match event:
                case LoadProgress():
                    progress.on_event(event)
                case DoctorFinished():
                    found = event
                case _:
                    pass
    progress.clear()
    if found is None:
        return CANCELLED
    if options.json:
        output.print_json(result_json(found, plan))
    else:
        print("\n".join(_lines(found, plan)))
    return CANCELLED if found.cancelled else DONE


def plan_from(options: argparse.Namespace) -> DoctorPlan:
    """Return what the options ask for.

    Raises:
        ConfigurationError: without a target, with two, or for a value out of range.
    """
    if options.demo and options.target not in (None, DEMO_REFERENCE):
        raise ConfigurationError(
            f"--demo and --target {options.target} name two targets; give one of them."
        )
    if not options.demo and not options.target:
        raise ConfigurationError(
            f"{asked(options)} needs a target; give --target or --demo."
        )
    reference = options.target or DEMO_REFERENCE
    return DoctorPlan(
        target=ModelConfig(reference, options.device, options.dtype),
        places=tuple(options.places),
        probe=options.probe,
        prompts=options.prompts,
        tokens=options.max_new_tokens,
        temperature=options.temperature,
    )


def result_json(found: DoctorFinished, plan: DoctorPlan) -> dict[str, Any]:
    """Return the drafts as one object; predictions carry their badge."""
    return {
        "target": found.target,
        "drafts": [
            {"rank": rank, **encode(draft), "badge": "PREDICTED"}
            for rank, draft in enumerate(found.drafts, start=1)
        ],
        "advice": found.advice,
        "probed": plan.probe,
        "prompts": plan.prompts,
        "tokens": plan.tokens,
        "temperature": plan.temperature,
        "cancelled": found.cancelled,
    }


def _lines(found: DoctorFinished, plan: DoctorPlan) -> list[str]:
    lines = [f"drafts for {found.target}"]
    if plan.probe:
        lines[0] += f", {plan.prompts} prompts of {plan.tokens} tokens each (PREDICTED)"
    lines.append(f"  {'':<36}{'cost':>8}{'accepted':>10}{'best K':>8}{'speed-up':>10}")
    for draft in found.drafts:
        lines.append(f"  {draft.name:<36}{_figures(draft)}")
        lines += [f"    {s}" for s in (*draft.reasons, *draft.notes)]
    return [*lines, "", found.advice]


def _figures(draft: DraftReport) -> str:
    if not draft.fits:
        return f"  {draft.fit}"
    about = "" if draft.probed or not draft.cost_ratio else "~"
    best = "–" if draft.best_lookahead is None else str(draft.best_lookahead)
    return (
        f"{about + output.number(draft.cost_ratio):>8}"
        f"{output.share(draft.acceptance_rate):>10}"
        f"{best:>8}{output.number(draft.predicted_speedup):>10}"
    )
