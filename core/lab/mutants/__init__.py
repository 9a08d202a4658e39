"""Rounds that are wrong on purpose: a check that passes them checks nothing.

Each mutant is a context manager that replaces one step of the rule by a mistake that
other programs have made. ``python -m core.lab.mutants`` runs all of them against the
exact law and the chi-square and prints what caught each.
"""

from __future__ import annotations

from core.errors import ConfigurationError
from core.lab.mutants import chance, judging, memory, rows
from core.lab.mutants.mutant import Mutant

MUTANTS: dict[str, Mutant] = {
    name: found
    for module in (judging, rows, memory, chance)
    for name, found in vars(module).items()
    if isinstance(found, Mutant)
}


def mutant_called(name: str) -> Mutant:
    """Return a mutant by its name.

    Raises:
        ConfigurationError: if there is none, naming those that there are.
    """
    if name not in MUTANTS:
        known = ", ".join(MUTANTS)
        raise ConfigurationError(f"No mutant is called {name!r}; choose {known}.")
    return MUTANTS[name]
