from __future__ import annotations

import re
import tomllib
from collections import Counter
from pathlib import Path
from xml.etree import ElementTree

import pytest

import resources
from core.config import DecodingConfig

ICONS = (
    *("draftrace", "open", "pause", "race", "run", "save", "step", "stop"),
    *("first", "back", "forward", "last"),
)
KINDS = ("code", "summary", "prose", "translation", "maths", "repetition")
README = Path(__file__).parent.parent / "README.md"


def prompts() -> list[dict[str, object]]:
    return tomllib.loads(resources.text("presets/prompts.toml"))["prompt"]


def test_every_resource_has_a_name_and_can_be_read():
    assert resources.names()
    for name in resources.names():
        assert resources.path(name).is_file()
        assert resources.path(name).stat().st_size > 0


@pytest.mark.parametrize(
    "name", ["icons/light/none.svg", "none", "", "icons", "../core/config.py"]
)
def test_an_unknown_name_lists_the_known_ones(name: str):
    with pytest.raises(resources.UnknownResourceError, match=r"known are: .*\.svg"):
        resources.path(name)
    with pytest.raises(resources.UnknownResourceError):
        resources.text(name)


def test_the_names_of_a_folder_are_its_own():
    assert resources.names("icons/dark")
    assert all(name.startswith("icons/dark/") for name in resources.names("icons/dark"))


@pytest.mark.parametrize("theme", ["light", "dark"])
def test_each_icon_is_there_in_both_themes(theme: str):
    found = {Path(name).stem for name in resources.names(f"icons/{theme}")}
    assert found == set(ICONS)


@pytest.mark.parametrize("name", resources.names("icons"))
def test_an_icon_is_plain_svg_that_reaches_for_nothing(name: str):
    root = ElementTree.fromstring(resources.text(name))
    assert root.tag == "{http://www.w3.org/2000/svg}svg"
    assert root.get("viewBox")
    assert "href" not in resources.text(name)


def test_the_library_has_three_prompts_of_each_kind():
    kinds = Counter(prompt["kind"] for prompt in prompts())
    assert set(kinds) == set(KINDS)
    assert min(kinds.values()) >= 3


def test_each_prompt_is_whole_and_named_once():
    for prompt in prompts():
        assert set(prompt) == {"kind", "title", "text", "chat"}
        assert isinstance(prompt["chat"], bool)
        assert prompt["text"] == str(prompt["text"]).strip() != ""
    titles = Counter(prompt["title"] for prompt in prompts())
    assert max(titles.values()) == 1


def test_the_start_prompt_copies_in_a_chat():
    first = next(p for p in prompts() if p["kind"] == "repetition")
    assert first["chat"]
    assert str(first["text"]).lstrip().startswith(("Repeat", "Copy"))


def test_presets_of_settings_are_within_their_limits():
    settings = set(resources.names("presets")) - {"presets/prompts.toml"}
    for name in settings:
        for preset in tomllib.loads(resources.text(name)).get("preset", []):
            assert preset.pop("title")
            DecodingConfig(**preset)


def test_each_help_page_has_one_title_and_is_linked_from_the_readme():
    pages = [n for n in resources.names("help") if n.endswith(".md")]
    assert pages
    for page in pages:
        text = resources.text(page)
        assert text.startswith("# ")
        assert len(re.findall(r"^# ", text, re.MULTILINE)) == 1
        assert f"resources/{page}" in README.read_text(encoding="utf-8")


def test_the_readme_links_to_files_that_are_there():
    text = README.read_text(encoding="utf-8")
    links = re.findall(r"\]\(([^)#]+)\)", text)
    local = [link for link in links if "://" not in link]
    assert local
    for link in local:
        assert (README.parent / link).exists(), link
