"""Fetching from a stand-in hub: case, what the person reads, what is on the disk.

Every case runs the real child process over real sockets; no test leaves the machine.
"""

from __future__ import annotations

import json
import os
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
from hub_stand_in import COMMIT, INFO, Fault, blob_name, serving
from tiny_checkpoints import check_sentence

import resources
from core.checkpoints import hub
from core.checkpoints.hub_cache import hub_cache_folder
from core.checkpoints.inspection import inspect_checkpoint
from core.checkpoints.progress import Cancelled, Work
from core.errors import ModelLoadError
from core.events import LoadProgress

pytestmark = pytest.mark.slow

WEIGHTS, CONFIG = "model.safetensors", "config.json"
TOKEN = "hf_" + "a" * 30
NO_MODEL = {"X-Error-Code": "RepoNotFound"}
GATED = {"X-Error-Code": "GatedRepo"}
BAD_TOKEN = {"X-Error-Message": "Invalid credentials in Authorization header"}


@pytest.fixture(scope="session")
def files(whole) -> dict[str, bytes]:
    """A model's page: what is needed, and what nobody should fetch."""
    needed = {p.name: p.read_bytes() for p in whole.iterdir()}
    never = dict.fromkeys(("pytorch_model.bin", "consolidated.safetensors"), b"x" * 99)
    return {**needed, **never, "onnx/model.safetensors": b"y", "README.md": b"# tiny"}


@pytest.fixture
def server(files, tmp_path, monkeypatch):
    monkeypatch.setattr(hub, "PAUSES", (0.01, 0.02))
    with serving(dict(files)) as running:
        for name, value in _environment(tmp_path, running.address).items():
            monkeypatch.setenv(name, value)
        monkeypatch.delenv("HF_HUB_OFFLINE", raising=False)
        monkeypatch.delenv("TRANSFORMERS_OFFLINE", raising=False)
        yield running


def _environment(tmp_path: Path, address: str) -> dict[str, str]:
    return {
        "HF_ENDPOINT": address,
        "HF_HOME": str(tmp_path / "home"),
        "HF_HUB_CACHE": str(tmp_path / "hub"),
        "HF_TOKEN": TOKEN,
        "HF_HUB_DOWNLOAD_TIMEOUT": "1",
        "HF_HUB_DISABLE_TELEMETRY": "1",
        "NO_PROXY": "*",
    }


def _fetch(told: list[LoadProgress] | None = None) -> Path:
    on_progress = (lambda progress: None) if told is None else told.append
    return hub.download_checkpoint("someone/tiny", Work(on_progress))


def _state(server) -> str:
    """Return what is on the disk of the weights: whole, part, or nothing."""
    blobs = hub_cache_folder() / "models--someone--tiny" / "blobs"
    content = server.files[WEIGHTS]
    name = blob_name(content)
    if (blobs / name).is_file():
        assert (blobs / name).read_bytes() == content
        return "whole"
    part = blobs / f"{name}.draftrace.incomplete"
    if not part.is_file():
        return "nothing"
    assert content.startswith(part.read_bytes())
    return "part"


FOREVER = {"forever": True}
# Fault by file, words of the sentence (none: it is fetched), the weights on the disk.
TABLE = {
    "gated": ({WEIGHTS: [Fault(403, GATED, **FOREVER)]}, ("gated", "terms"), "nothing"),
    "no such model": (
        {INFO: [Fault(401, NO_MODEL, **FOREVER)]},
        ("not on the hub", "private"),
        "nothing",
    ),
    "refused token": (
        {INFO: [Fault(401, BAD_TOKEN, **FOREVER)]},
        ("access token", "log in"),
        "nothing",
    ),
    "forbidden": ({WEIGHTS: [Fault(403, **FOREVER)]}, ("403", "owner"), "nothing"),
    "gone": (
        {WEIGHTS: [Fault(404, {"X-Error-Code": "EntryNotFound"}, **FOREVER)]},
        ("check its name",),
        "nothing",
    ),
    "asked too often": (
        {WEIGHTS: [Fault(cut_after=20_000), Fault(429, **FOREVER)]},
        ("429", "wait", "kept"),
        "part",
    ),
    "asked to wait an hour": (
        {WEIGHTS: [Fault(429, {"Retry-After": "3600"}, **FOREVER)]},
        ("429", "wait"),
        "nothing",
    ),
    "broken hub": ({INFO: [Fault(503, **FOREVER)]}, ("503", "later"), "nothing"),
    "broken for a moment": ({INFO: [Fault(502)], WEIGHTS: [Fault(504)]}, (), "whole"),
    "cut again and again": (
        {WEIGHTS: [Fault(cut_after=20_000), Fault(cut_after=0, **FOREVER)]},
        ("does not answer", "kept"),
        "part",
    ),
    "cut three times": ({WEIGHTS: [Fault(cut_after=30_000)] * 3}, (), "whole"),
    "silent": ({WEIGHTS: [Fault(stall=20_000)]}, (), "whole"),
    "no ranges": (
        {WEIGHTS: [Fault(cut_after=20_000), Fault(ignore_range=True)]},
        (),
        "whole",
    ),
    "damaged once": ({WEIGHTS: [Fault(damage=True)]}, (), "whole"),
    "damaged twice": (
        {WEIGHTS: [Fault(damage=True, **FOREVER)]},
        ("damaged twice", WEIGHTS),
        "nothing",
    ),
    "small file damaged": ({CONFIG: [Fault(damage=True)]}, (), "whole"),
}


FETCHED = "*nothing: it is fetched*"
PAGE = "help/any-checkpoint.md"


@pytest.mark.parametrize("case", TABLE)
def test_fault_table(server, case):
    """The row that it prints is the row of the help page."""
    faults, words, state = TABLE[case]
    for name, queue in faults.items():
        server.faults[name].extend(queue)
    said = FETCHED
    if words:
        with pytest.raises(ModelLoadError) as caught:
            _fetch()
        said = check_sentence(caught.value, "someone/tiny", *words)
        assert TOKEN not in caught.value.detail
    else:
        _fetch()
        assert inspect_checkpoint("someone/tiny").problem is None
    assert _state(server) == state
    row = f"| {case} | {said} | {state} |"
    sys.stdout.write(f"{row}\n")
    assert row in resources.text(PAGE)


def test_only_what_is_needed_is_fetched_and_all_of_it_is_checked(server, files):
    told: list[LoadProgress] = []
    folder = _fetch(told)
    assert folder.name == COMMIT
    unneeded = {
        "pytorch_model.bin",
        "consolidated.safetensors",
        "onnx/model.safetensors",
    }
    assert {p.name for p in folder.iterdir()} == files.keys() - unneeded
    assert hub.download_size("someone/tiny", Work()) == sum(
        len(c) for n, c in files.items() if n not in unneeded
    )
    assert told[-1].fraction is None or told[-1].fraction <= 1
    assert any("of" in p.detail and p.stage.startswith("Fetching") for p in told)


def test_the_access_token_goes_to_the_hub_and_nowhere_else(server):
    _fetch()
    for asked in server.asked:
        elsewhere = asked.path == f"/content/{WEIGHTS}"
        assert asked.authorization == ("" if elsewhere else f"Bearer {TOKEN}")


def test_what_broke_off_goes_on_where_it_ended(server):
    server.faults[WEIGHTS].extend([Fault(cut_after=20_000), Fault(503, forever=True)])
    with pytest.raises(ModelLoadError):
        _fetch()
    server.faults[WEIGHTS].clear()
    _fetch()
    assert server.starts(WEIGHTS)[0] == 0
    assert set(server.starts(WEIGHTS)[1:]) == {20_000}


def test_a_file_that_went_bad_on_the_disk_is_fetched_again(server):
    folder = _fetch()
    blob = (folder / WEIGHTS).resolve()
    content = blob.read_bytes()
    blob.write_bytes(content[:-1] + bytes([content[-1] ^ 1]))
    before = len(server.asked)
    _fetch()
    assert blob.read_bytes() == content
    paths = [a.path.rsplit("/", 1)[1] for a in server.asked[before:]]
    assert paths == ["main" if "main" in paths else "tiny", WEIGHTS, WEIGHTS]


def test_cancel_ends_the_transfer_and_keeps_what_arrived(server):
    server.chunk, server.pause = 4096, 0.02
    work = Work(should_stop=lambda: _state(server) == "part")
    with pytest.raises(Cancelled):
        hub.download_checkpoint("someone/tiny", work)
    assert _state(server) == "part"


def test_full_disk_is_told_before_a_byte_is_fetched(server, monkeypatch):
    usage = type("Usage", (), {"free": 1000})
    monkeypatch.setattr(shutil, "disk_usage", lambda path: usage)
    with pytest.raises(ModelLoadError) as caught:
        _fetch()
    check_sentence(caught.value, "someone/tiny", "disk", "free")
    assert not server.starts(WEIGHTS)


def test_model_without_safetensors_is_refused(server):
    del server.files[WEIGHTS]
    for ask in (hub.download_checkpoint, hub.download_size):
        with pytest.raises(ModelLoadError) as caught:
            ask("someone/tiny", Work())
        check_sentence(caught.value, "someone/tiny", "safetensors", "GGUF")


def test_search_by_name_and_architecture_names_what_a_list_shows(server):
    server.models = [
        {
            "id": "someone/tiny-chat",
            "downloads": 7,
            "gated": "manual",
            "config": {"model_type": "llama"},
            "safetensors": {"total": 123, "parameters": {"F32": 123}},
            "tags": ["text-generation", "llama", "license:apache-2.0"],
        },
        {"id": "other/model", "tags": ["qwen2"]},
    ]
    tiny = hub.HubModel("someone/tiny-chat", "llama", 123, "apache-2.0", True, 7)
    assert hub.search_hub("tiny", Work()) == (tiny,)
    assert hub.search_hub("Llama chat", Work()) == (tiny,)
    assert hub.search_hub("qwen2 chat", Work()) == ()


_PROGRAM = """
import sys
from core import cli
if __name__ == "__main__":
    sys.exit(cli.main(sys.argv[1:]))
"""


def test_the_program_is_killed_in_mid_download_then_goes_on(server, tmp_path):
    """kill -9: the child ends, too; the part stays, and the next start resumes."""
    server.chunk, server.pause = 4096, 0.05
    script = tmp_path / "program.py"
    script.write_text(_PROGRAM)
    command = [sys.executable, str(script), "get", "someone/tiny", "--json"]
    here = {**os.environ, "PYTHONPATH": os.getcwd()}
    first = subprocess.Popen(command, env=here, stderr=subprocess.DEVNULL)
    _until(lambda: _arrived(server) > 4096)
    first.send_signal(signal.SIGKILL)
    first.wait()
    part = _settled(server)
    assert 4096 < part < len(server.files[WEIGHTS])
    server.pause = 0.0
    second = subprocess.run(command, env=here, capture_output=True, check=True)
    assert json.loads(second.stdout)["reference"] == "someone/tiny"
    assert _state(server) == "whole"
    assert server.starts(WEIGHTS) == [0, part]
    size = len(server.files[WEIGHTS])
    sys.stdout.write(f"killed at {part:,} of {size:,} bytes, resumed from there\n")


def test_ctrl_c_in_mid_download_keeps_the_part(server, tmp_path):
    """Sent to the whole group, as a terminal does: the transfer's process, too."""
    server.chunk, server.pause = 4096, 0.05
    script = tmp_path / "program.py"
    script.write_text(_PROGRAM)
    command = [sys.executable, str(script), "get", "someone/tiny"]
    here = {**os.environ, "PYTHONPATH": os.getcwd()}
    piped = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE, "text": True}
    with subprocess.Popen(command, env=here, start_new_session=True, **piped) as first:
        _until(lambda: _arrived(server) > 4096)
        os.killpg(first.pid, signal.SIGINT)
        out, err = first.communicate(timeout=60)
    assert (first.returncode, out) == (130, "")
    assert "Traceback" not in err
    assert err.splitlines()[-1] == "draftrace: cancelled."
    assert _state(server) == "part"
    assert _arrived(server) > 4096


def _arrived(server) -> int:
    """Return the size of the weights' part; small files come before them."""
    blobs = hub_cache_folder() / "models--someone--tiny" / "blobs"
    part = blobs / f"{blob_name(server.files[WEIGHTS])}.draftrace.incomplete"
    return part.stat().st_size if part.is_file() else 0


def _until(holds, seconds: float = 60) -> None:
    end = time.monotonic() + seconds
    while not holds():
        assert time.monotonic() < end
        time.sleep(0.01)


def _settled(server) -> int:
    """Return the size of the part once nothing writes to it any more."""
    blobs = hub_cache_folder() / "models--someone--tiny" / "blobs"
    (part,) = blobs.glob("*.draftrace.incomplete")
    while True:
        before = part.stat().st_size
        time.sleep(0.3)
        if part.stat().st_size == before:
            return before
