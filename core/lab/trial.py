"""Tries wrong rounds against the checks that must notice them.

Short runs of two small tables: first their exact law by the enumerator, then a
chi-square of draws by seed. What neither notices has survived.
"""

from __future__ import annotations

import contextlib
import functools
import sys
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass

import torch
from torch import Tensor

from core.config import DecodingConfig
from core.decoding.speculative import Sequence
from core.lab.batched import Tree, sample, warped_rows
from core.lab.enumeration import Outcome, output_law, total_variation
from core.lab.mutants import MUTANTS
from core.lab.mutants.mutant import Mutant
from core.lab.statistics import chi_square
from core.lab.table_model import TableModel, table_facts, table_sequence

EXACT = 1e-12
ALPHA = 1e-4
SAMPLES = 100_000
LENGTH = 4
PROMPT = (0, 1)
# Logits of the next token by the last one; no two rows or columns are alike.
DRAFT = ((1.1, -0.4, 0.3), (-0.7, 0.9, 0.2), (0.6, 0.1, -1.2))
TARGET = ((-0.3, 0.8, 0.5), (1.4, -0.9, 0.1), (-0.2, -0.6, 1.3))


@dataclass(frozen=True, slots=True)
class Trial:
    """One setting under which a mutant is tried.

    Attributes:
        name: for the table.
        settings: of the run.
        eos_ids: its end tokens.
    """

    name: str
    settings: DecodingConfig
    eos_ids: tuple[int, ...] = ()


def _settings(**changes: float) -> DecodingConfig:
    base = {"lookahead": 2, "temperature": 0.6, "max_new_tokens": LENGTH}
    return DecodingConfig(**{**base, **changes})  # type: ignore[arg-type]


TRIALS = (
    Trial("temperature", _settings()),
    Trial("top-k", _settings(temperature=1.0, top_k=2)),
    Trial("end token", _settings(), eos_ids=(1,)),
    Trial("penalties", _settings(repetition_penalty=1.8, presence_penalty=0.7)),
)


@dataclass(frozen=True, slots=True)
class Caught:
    """What noticed a mutant.

    Attributes:
        by: the check; empty for a mutant that survived.
        statistic: the check's figure.
    """

    by: str
    statistic: str


def _table(rows: tuple[tuple[float, ...], ...], name: str) -> TableModel:
    tensor = torch.tensor(rows, dtype=torch.float64)

    def logits(prefix: tuple[int, ...]) -> Tensor:
        return tensor[prefix[-1]]

    return TableModel(logits, table_facts(len(rows), name=name))


def new_sequence(trial: Trial, *, drafted: bool = True) -> Sequence:
    """Return the sequence of a trial after its prefill."""
    target, draft = _table(TARGET, "target"), _table(DRAFT, "draft")
    return table_sequence(
        target, draft if drafted else None, PROMPT, trial.settings, trial.eos_ids
    )


@functools.cache
def plain_law(trial: Trial) -> dict[Outcome, float]:
    """Return the exact law of plain decoding under a trial's settings."""
    return output_law(new_sequence(trial, drafted=False), trial.settings)


def catch(mutant: Mutant | None) -> Caught:
    """Return which check notices ``mutant``; None tries the right rounds."""
    laws = [(trial, plain_law(trial)) for trial in TRIALS]  # before it is applied
    applied = mutant.applied if mutant else contextlib.nullcontext
    with applied():
        checks: tuple[Callable[..., Caught | None], ...] = (_by_law, _by_chi_square)
        for check in checks:
            for trial, law in laws:
                if caught := check(trial, law):
                    return caught
    return Caught("", "")


def _by_law(trial: Trial, law: dict[Outcome, float]) -> Caught | None:
    try:
        mutated = output_law(new_sequence(trial), trial.settings)
    except (AssertionError, IndexError) as error:
        return Caught(f"invariant, {trial.name}", str(error).splitlines()[0])
    gap = total_variation(mutated, law)
    statistic = f"total variation {gap:.2g}"
    return Caught(f"exact law, {trial.name}", statistic) if gap > EXACT else None


def _by_chi_square(trial: Trial, law: dict[Outcome, float]) -> Caught | None:
    """Compare many draws of the batched functions; they know neither end nor text."""
    if trial.eos_ids or trial.settings.max_new_tokens != LENGTH:
        return None
    models = _table(DRAFT, "draft"), _table(TARGET, "target")
    rows = (warped_rows(m, PROMPT, LENGTH, trial.settings) for m in models)
    tokens, _ = sample(Tree(*rows), torch.arange(SAMPLES), LENGTH, trial.settings)
    counts = Counter(map(tuple, tokens.tolist()))
    expected = {outcome.tokens: share for outcome, share in law.items()}
    cells = list(expected.keys() | counts.keys())
    fit = chi_square([counts[c] for c in cells], [expected.get(c, 0.0) for c in cells])
    return Caught(f"sampling, {trial.name}", str(fit)) if fit.p_value < ALPHA else None


def main() -> int:
    """Print what caught each mutant; 3 if one survived or the right rounds failed."""
    torch.set_num_threads(1)  # the tensors are tiny; more threads only wait
    right = catch(None)
    lines = [("(none)", "the rounds as they are", right)]
    lines += [(m.name, m.mistake, catch(m)) for m in MUTANTS.values()]
    for name, mistake, caught in lines:
        by = caught.by or "not noticed"
        sys.stdout.write(f"{name:30} {by:26} {caught.statistic:44} {mistake}\n")
    survived = [name for name, _, caught in lines[1:] if not caught.by]
    return 3 if survived or right.by else 0
