"""Prompts from a file: whole, or with one sentence that names the line."""

from __future__ import annotations

import pytest

from core.errors import PromptError
from core.prompt_files import read_prompts
from core.prompts import Prompt


def test_a_text_file_is_one_prompt_as_it_stands(tmp_path):
    file = tmp_path / "story.txt"
    file.write_bytes("\ufeffOnce\n\n\tupon ü 😊\n".encode())
    (prompt,) = read_prompts(file)
    assert (prompt.title, prompt.text) == ("story.txt", "Once\n\n\tupon ü 😊\n")


def test_json_lines_are_one_prompt_each(tmp_path):
    file = tmp_path / "some.jsonl"
    file.write_text(
        '{"prompt": "2 + 2 =", "kind": "maths", "title": "Sum", "chat": false}\n\n'
        '"Just a text"\n{"text": "' + "word " * 30 + '"}\n'
    )
    first, second, third = read_prompts(file)
    assert first == Prompt("maths", "Sum", "2 + 2 =", chat=False)
    assert second == Prompt("file", "Just a text", "Just a text")
    assert len(third.title) == 48
    assert third.text == "word " * 30


@pytest.mark.parametrize(
    ("name", "content", "words"),
    [
        ("a.txt", b"", ("empty",)),
        ("a.txt", b" \n", ("empty",)),
        ("a.txt", b"\xff\xfe\x00", ("UTF-8",)),
        ("a.txt", b"x" * (16 << 20) + b"x", ("16,777,217 bytes", "16 MB")),
        ("a.jsonl", b'{"prompt": "x"}\n{"prompt"', ("line 2", "not JSON")),
        ("a.jsonl", b"[1]", ("line 1", "object")),
        ("a.jsonl", b'{"prompt": 3}', ("line 1", "'prompt'")),
        ("a.jsonl", b'{"prompt": ""}', ("line 1", "'prompt'")),
    ],
)
def test_what_is_wrong_is_one_sentence(tmp_path, name, content, words):
    (tmp_path / name).write_bytes(content)
    with pytest.raises(PromptError) as caught:
        read_prompts(tmp_path / name)
    assert "\n" not in caught.value.sentence
    for word in (name, *words):
        assert word in caught.value.sentence


def test_a_missing_file_is_named(tmp_path):
    with pytest.raises(PromptError, match=r"gone\.txt cannot be read"):
        read_prompts(tmp_path / "gone.txt")
