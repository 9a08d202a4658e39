"""``pytest --faults``: the tests of the faults H1 to H24 alone, and a table of them.

A test belongs to a fault if its docstring names the number. CONTRIBUTING.md says what
each fault is.
"""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from pathlib import Path

import pytest

NUMBER = re.compile(r"\bH(\d+)\b")
ROW = re.compile(r"^\| H(\d+) \| ([^|]+) \|", re.MULTILINE)
CONTRIBUTING = Path(__file__).parent.parent / "CONTRIBUTING.md"
PROPERTY = "fault"


def known_faults() -> dict[int, str]:
    """Return what each fault is by its number."""
    rows = ROW.findall(CONTRIBUTING.read_text(encoding="utf-8"))
    return {int(number): words.strip() for number, words in rows}


def faults_of(docstring: str | None) -> list[int]:
    """Return the numbers that a docstring names."""
    return sorted({int(number) for number in NUMBER.findall(docstring or "")})


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption(
        "--faults", action="store_true", help="run the tests of H1 to H24 in a table"
    )


def pytest_collection_modifyitems(config, items) -> None:
    for item in items:
        numbers = faults_of(getattr(item.obj, "__doc__", None))
        # Properties travel with the report, also from another process.
        item.user_properties += [(PROPERTY, number) for number in numbers]
    if config.getoption("--faults"):
        kept = [item for item in items if item.user_properties]
        kept = [i for i in kept if not i.get_closest_marker("exhaustive")]
        config.hook.pytest_deselected(items=[i for i in items if i not in kept])
        items[:] = kept


def pytest_terminal_summary(terminalreporter) -> None:
    if not terminalreporter.config.getoption("--faults"):
        return
    terminalreporter.section("faults")
    for line in table(terminalreporter.stats):
        terminalreporter.write_line(line)


def table(stats: dict[str, list]) -> list[str]:
    """Return a line for each fault, and one for each of its tests with the results."""
    found: dict[int, dict[str, Counter]] = defaultdict(lambda: defaultdict(Counter))
    for result in ("passed", "failed", "error", "skipped"):
        for report in stats.get(result, ()):
            name = report.nodeid.partition("[")[0].removeprefix("tests/")
            for key, number in report.user_properties:
                if key == PROPERTY:
                    found[number][name][result] += 1
    lines = []
    for number, words in known_faults().items():
        lines.append(f"H{number:<3} {words}")
        lines += [_line(*test) for test in found[number].items()]
        lines += [] if found[number] else ["     no test ran"]
    return lines


def _line(name: str, results: Counter) -> str:
    counted = ", ".join(f"{n} {result}" for result, n in results.items())
    return f"     {counted:<12} {name}"
