"""The walls of the house: who may import what, and what may lie where."""

from __future__ import annotations

import ast
import json
import pkgutil
import re
import runpy
import subprocess
import sys
from collections import Counter
from pathlib import Path

import pytest

import core

ROOT = Path(__file__).parent.parent
QT = ("PySide6", "shiboken6", "pyqtgraph")
HEAVY = ("torch", "transformers", "accelerate", "numba")
LIGHT_MODULES = (
    "core",
    "core.cli",
    "core.codec",
    "core.config",
    "core.control",
    "core.errors",
    "core.events",
    "core.lab.advice",
    "core.lab.cost_model",
    "core.lab.figure_one",
    "core.lab.paper_figure",
    "core.lab.sweep_events",
    "core.lab.sweep_store",
    "core.machine",
    "core.metrics",
    "core.redaction",
    "core.session",
    "core.system_libraries",
    "core.trace",
)
AT_THE_ROOT = {
    "README.md",
    "LICENSE",
    "CHANGELOG.md",
    "CONTRIBUTING.md",
    "pyproject.toml",
    "app",
    "core",
    "resources",
    "tests",
    "packaging",
}
# Stands before every snippet: these modules cannot be imported, as if not installed.
BLOCKED = """
import sys
from collections import Counter
from importlib.abc import MetaPathFinder
class Wall(MetaPathFinder):
    def find_spec(self, name, path=None, target=None):
        if name.partition(".")[0] in {names!r}:
            raise ModuleNotFoundError(f"{{name}} stands behind the wall", name=name)
sys.meta_path.insert(0, Wall())
"""


def run_without(names: tuple[str, ...], code: str) -> subprocess.CompletedProcess[str]:
    program = BLOCKED.format(names=names) + code
    command = [sys.executable, "-c", program]
    return subprocess.run(command, capture_output=True, text=True, cwd=ROOT)


def core_modules() -> list[str]:
    found = pkgutil.walk_packages(core.__path__, "core.")
    return [m.name for m in found if not m.name.endswith("__main__")]


def tracked_files() -> list[str]:
    listed = subprocess.run(
        ["git", "ls-files", "-z"], cwd=ROOT, capture_output=True, text=True
    )
    if listed.returncode:
        pytest.skip("not a git checkout")
    return [name for name in listed.stdout.split("\0") if (ROOT / name).is_file()]


def test_the_wall_of_the_next_tests_holds():
    done = run_without(QT, "import PySide6")
    assert "stands behind the wall" in done.stderr


@pytest.mark.slow
def test_every_module_of_core_imports_without_qt():
    code = f"""
import importlib
for name in {core_modules()!r}:
    importlib.import_module(name)
"""
    done = run_without(QT, code)
    assert done.returncode == 0, done.stderr


@pytest.mark.slow
def test_ten_tokens_are_decoded_without_qt(tmp_path: Path):
    maker = ROOT / "tests" / "core" / "checkpoints" / "tiny_checkpoints.py"
    folder = runpy.run_path(str(maker))["make_checkpoint"](tmp_path / "tiny")
    options = ["run", "--target", str(folder), "--draft", "lookup", "--raw", "--json"]
    options += ["--prompt", "abcabcabc", "--max-new-tokens", "10", "--ignore-eos"]
    code = f"from core import cli; sys.exit(cli.main({options!r}))"
    done = run_without(QT, code)
    assert done.returncode == 0, done.stderr
    assert len(json.loads(done.stdout)["tokens"]) == 10


def test_what_the_window_reads_imports_without_torch():
    done = run_without((*QT, *HEAVY, "numpy"), f"import {', '.join(LIGHT_MODULES)}")
    assert done.returncode == 0, done.stderr


def imported_names(path: Path) -> set[str]:
    names: set[str] = set()
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            names |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom) and node.module and not node.level:
            names.add(node.module)
    return {name.partition(".")[0] for name in names}


def python_files(folder: str) -> list[Path]:
    return sorted((ROOT / folder).rglob("*.py"))


def test_the_window_never_imports_torch():
    for path in python_files("app"):
        assert not imported_names(path) & set(HEAVY), path


def test_core_and_resources_never_import_qt_or_the_window():
    for path in (*python_files("core"), *python_files("resources")):
        assert not imported_names(path) & {*QT, "app"}, path


def test_resources_need_the_standard_library_only():
    for path in python_files("resources"):
        assert imported_names(path) <= {*sys.stdlib_module_names, "resources"}


def test_the_setup_script_needs_the_standard_library_only():
    # Before anything is installed, it loads core/system_libraries.py by its path.
    scripts = [ROOT / "packaging" / n for n in ("dev.py", "environment.py")]
    for path in (*scripts, ROOT / "core" / "system_libraries.py"):
        assert imported_names(path) <= {*sys.stdlib_module_names, "environment"}


@pytest.mark.slow
def test_the_import_contracts_are_kept():
    command = [str(Path(sys.executable).with_name("lint-imports")), "--no-cache"]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True)
    assert done.returncode == 0, done.stdout


def test_the_folder_packaging_hides_no_library():
    assert not (ROOT / "packaging" / "__init__.py").exists()
    import packaging

    assert ROOT not in Path(packaging.__file__ or "").parents or ".venv" in str(
        packaging.__file__
    )


def test_the_root_holds_what_the_design_lists():
    found = {name.partition("/")[0] for name in tracked_files()}
    assert {name for name in found if not name.startswith(".")} <= AT_THE_ROOT


# Spelled in pieces, so that this file does not find itself.
MACHINE_PATHS = re.compile(
    r"(?<![\w.~-])/(?:ro" + r"ot|wo" + r"rk|op" + r"t|Us" + r"ers)/\w"
)
REGISTRIES = re.compile(
    r"py" + r"pi\.org|pythonho" + r"sted|download\.py" + r"torch"
    r"|ana" + r"conda\.org|test\.py" + r"pi"
)


def readable(name: str) -> str:
    data = (ROOT / name).read_bytes()
    return "" if b"\0" in data else data.decode("utf-8")


@pytest.mark.parametrize("pattern", [MACHINE_PATHS, REGISTRIES], ids=["path", "host"])
def test_no_file_names_one_machine_or_one_registry(pattern: re.Pattern[str]):
    found = [name for name in tracked_files() if pattern.search(readable(name))]
    assert not found


def test_no_tracked_file_is_large():
    large = [n for n in tracked_files() if (ROOT / n).stat().st_size > 20 * 2**20]
    assert not large


def test_no_two_test_files_share_a_name():
    """Pytest imports them by their names alone, and refuses the second one."""
    names = Counter(path.name for path in (ROOT / "tests").rglob("test_*.py"))
    assert [name for name, count in names.items() if count > 1] == []
