"""The library of prompts that a draft is trained on, and a person's own file."""

from __future__ import annotations

import json
import re
from collections import Counter

import pytest

from core.distillation.prompt_file import prompts_from_file
from core.distillation.prompts import held_out_subjects, training_prompts
from core.errors import PromptError
from core.prompts import library
from tests.core.checkpoints.tiny_checkpoints import check_sentence

KINDS = {
    "code", "explanation", "story", "list", "dialogue", "summary", "maths",
    "translation", "repetition",
}  # fmt: skip


def test_the_library_is_large_distinct_and_the_same_for_a_seed():
    prompts = training_prompts(3)
    assert len(prompts) >= 5000
    assert len({p.text for p in prompts}) == len(prompts)
    training_prompts.cache_clear()
    assert training_prompts(3) == prompts
    assert training_prompts(4) != prompts


@pytest.mark.parametrize("count", [9, 90, 1000])
def test_the_first_prompts_hold_every_kind_equally_often(count):
    kinds = Counter(p.kind for p in training_prompts()[:count])
    assert set(kinds) == KINDS
    assert max(kinds.values()) - min(kinds.values()) <= 1


def test_a_seventh_is_continued_without_a_template_in_every_kind():
    for kind in KINDS:
        own = [p for p in training_prompts() if p.kind == kind]
        assert 0.12 < sum(not p.chat for p in own) / len(own) < 0.18, kind


def test_what_is_held_out_is_never_trained_on():
    prompts = training_prompts()
    assert 0.02 < sum(p.held_out for p in prompts) / len(prompts) < 0.05
    for kind in KINDS:
        own = [p for p in prompts if p.kind == kind]
        assert any(p.held_out for p in own), kind
        for subject in held_out_subjects(kind):
            naming = [p for p in own if re.search(rf"\b{re.escape(subject)}", p.text)]
            assert naming, subject
            assert all(p.held_out for p in naming), subject


def _words(text: str) -> list[str]:
    return re.findall(r"\w+", text.lower())


def test_no_prompt_of_the_race_is_trained_on():
    """No eight words in a row of a prompt that people race on."""
    runs = {
        tuple(words[i : i + 8])
        for words in (_words(p.text) for p in library())
        for i in range(len(words) - 7)
    }
    texts = {p.text.strip() for p in library()}
    for prompt in training_prompts():
        words = _words(prompt.text)
        assert prompt.text.strip() not in texts
        shared = runs & {tuple(words[i : i + 8]) for i in range(len(words) - 7)}
        assert not shared, prompt


LINES = [f"Tell me about number {i}." for i in range(40)]


def test_a_file_holds_a_prompt_a_line_or_blocks_or_json_lines(tmp_path):
    file = tmp_path / "own.txt"
    file.write_text("\n".join([*LINES, LINES[0]]))
    found = prompts_from_file(file)
    assert [p.text for p in found] == LINES
    assert sum(p.held_out for p in found) == 2
    assert all(p.chat and p.kind == "user" for p in found)
    file.write_bytes("\r\n \r\n".join(f"{t}\r\nShortly." for t in LINES).encode())
    assert [p.text for p in prompts_from_file(file)] == [
        f"{t}\nShortly." for t in LINES
    ]
    lines = file.with_suffix(".jsonl")
    first = {"text": "def f(", "chat": False, "kind": "code"}
    lines.write_text("\n".join(map(json.dumps, [first, *LINES])) + "\n\n")
    found = prompts_from_file(lines)
    assert (found[0].text, found[0].chat, found[0].kind) == ("def f(", False, "code")
    assert len(found) == 41


BAD = {
    "empty.txt": (b"", "0 different prompts"),
    "few.txt": (b"one\ntwo\ntwo\n", "2 different prompts"),
    "bytes.txt": (b"\xff\xfe\x00\x81" * 9, "not UTF-8"),
    "zeros.txt": (b"a\0b\n" * 20, "not UTF-8"),
    "broken.jsonl": (b'"fine"\n{"text": ', "Line 2"),
    "empty.jsonl": (b'"fine"\n\n{"text": " "}\n', "Line 3"),
}


@pytest.mark.parametrize("name", [*BAD, "missing.txt"])
def test_a_file_that_holds_no_prompts_is_named_in_one_sentence(
    tmp_path, monkeypatch, name
):
    monkeypatch.chdir(tmp_path)
    content, word = BAD.get(name, (None, "cannot be read"))
    if content is not None:
        (tmp_path / name).write_bytes(content)
    with pytest.raises(PromptError) as caught:
        prompts_from_file(name)
    check_sentence(caught.value, name, word)
