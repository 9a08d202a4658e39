"""Which prompt the command line decodes."""

from __future__ import annotations

import importlib

import pytest

from core.cli.options import request_from

WORDS = ["--target", "nowhere", "--draft", "lookup"]


def request(*words: str):
    command = importlib.import_module("core.cli.run")
    return request_from(command.parser("run").parse_args([*WORDS, *words]))


@pytest.fixture
def file(tmp_path):
    path = tmp_path / "prompts.jsonl"
    path.write_text('"one"\n\n{"prompt": "two", "chat": false}\n')
    return str(path)


def test_json_lines_are_counted_from_one_and_keep_their_own_template(file):
    first = request("--prompt-file", file, "--prompt-number", "1")
    second = request("--prompt-file", file, "--prompt-number", "2")
    assert (first.prompt, first.use_chat_template) == ("one", True)
    assert (second.prompt, second.use_chat_template) == ("two", False)
    raw = request("--prompt-file", file, "--prompt-number", "1", "--raw")
    assert not raw.use_chat_template


def test_a_text_file_is_one_prompt_as_it_stands(tmp_path):
    (tmp_path / "p.txt").write_text('{"prompt": "not JSON lines"}\n two\n')
    found = request("--prompt-file", str(tmp_path / "p.txt"))
    assert found.prompt == '{"prompt": "not JSON lines"}\n two\n'


def test_one_line_of_json_needs_no_number(tmp_path):
    (tmp_path / "p.ndjson").write_text('{"text": "only"}')
    assert request("--prompt-file", str(tmp_path / "p.ndjson")).prompt == "only"


def test_typed_text_and_none_at_all():
    assert request("--prompt", "typed").prompt == "typed"
    assert len(request().prompt) > 20
    assert request("--prompt", "", "--raw").prompt == ""
