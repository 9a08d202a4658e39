"""What a check says of itself, in words and in JSON."""

from __future__ import annotations

import json

import pytest

from core.cli import verify
from core.lab.checks import Check, ChecksFinished

KEYS = [
    "name",
    "passed",
    "statistic",
    "p_value",
    "samples",
    "power",
    "seconds",
    "detail",
]


def _check(passed: bool, near_tie: bool = False) -> Check:
    return Check("same", passed, 3, None, 64, None, 0.1, "Token 3.", near_tie)


VERDICTS = {"PASS": (True,), "FAIL": (False,), "NEAR TIE": (True, True)}


@pytest.mark.parametrize(("verdict", "arguments"), VERDICTS.items())
def test_a_verdict_is_one_of_three_words(verdict, arguments, capsys):
    check = _check(*arguments)
    assert check.verdict == verdict
    verify._show(ChecksFinished((check,), check.passed), as_json=False)
    assert capsys.readouterr().out.startswith(f"{verdict:<9}same (0.1 s)\n")


def test_json_has_the_promised_keys_of_a_check(capsys):
    verify._show(ChecksFinished((_check(True, True),), True), as_json=True)
    printed = json.loads(capsys.readouterr().out)
    assert list(printed) == ["checks", "passed"]
    assert [list(check) for check in printed["checks"]] == [KEYS]
