from __future__ import annotations

import dataclasses
import getpass
import platform
import subprocess
import sys

import pytest

from core import machine
from core.machine import UNKNOWN, describe_machine


def test_it_says_what_the_numbers_were_measured_on():
    found = describe_machine("cuda:0")
    assert found.device == "cuda:0"
    assert found.num_cores >= 1
    assert found.memory_bytes > 2**28
    assert found.python == platform.python_version()
    for value in dataclasses.astuple(found):
        assert value


def test_it_names_neither_the_host_nor_the_person():
    words = " ".join(map(str, dataclasses.astuple(describe_machine("cpu")))).split()
    assert platform.node() not in words
    assert getpass.getuser() not in words


def test_versions_are_read_without_importing_the_packages():
    code = (
        "import sys; from core.machine import describe_machine;"
        "describe_machine('cpu');"
        "assert not {'torch', 'transformers', 'numpy'} & set(sys.modules)"
    )
    subprocess.run([sys.executable, "-c", code], check=True)


def test_a_package_that_is_not_there_is_unknown():
    assert machine.package_version("no-such-package-here") == UNKNOWN


@pytest.mark.parametrize("system", ["Linux", "Darwin", "Windows"])
def test_no_system_is_left_without_a_name(system: str, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(machine.platform, "system", lambda: system)
    for describe in (machine.system_name, machine.processor_name):
        assert describe.__wrapped__()
