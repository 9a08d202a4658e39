"""The table of reported faults is whole: every number has its tests."""

from __future__ import annotations

import ast
from collections import Counter
from pathlib import Path
from types import SimpleNamespace

from tests import faults

TESTS = Path(__file__).parent


def docstrings() -> list[str]:
    """Return the docstring of every test that has one."""
    trees = [ast.parse(f.read_text("utf-8")) for f in TESTS.rglob("test_*.py")]
    functions = (
        node
        for tree in trees
        for node in ast.walk(tree)
        if isinstance(node, ast.FunctionDef) and node.name.startswith("test_")
    )
    return [ast.get_docstring(node) or "" for node in functions]


def test_every_known_fault_has_a_test_and_every_number_is_known():
    named = Counter(n for text in docstrings() for n in faults.faults_of(text))
    assert list(faults.known_faults()) == list(range(1, 25))
    assert set(named) == set(faults.known_faults())


def test_the_table_counts_results_by_fault_and_test():
    def report(name, *numbers):
        properties = [(faults.PROPERTY, n) for n in numbers]
        return SimpleNamespace(nodeid=f"tests/a.py::{name}", user_properties=properties)

    stats = {
        "passed": [report("t[1]", 2), report("t[2]", 2)],
        "failed": [report("u", 2, 3)],
    }
    lines = faults.table(stats)
    at = lines.index("H2   an end token inside a block is missed")
    assert lines[at + 1 : at + 3] == [
        "     2 passed     a.py::t",
        "     1 failed     a.py::u",
    ]
    assert lines[at + 4] == "     1 failed     a.py::u"
    assert lines[1] == "     no test ran"
