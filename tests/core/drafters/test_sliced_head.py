"""A draft whose head was cut to a few ids: faster, never another law."""

from __future__ import annotations

import dataclasses
import json

import pytest
import torch

from core.checkpoints.draft_head import DRAFT_HEAD, write_draft_head
from core.checkpoints.inspection import inspect_checkpoint
from core.checkpoints.loading import load_model
from core.checkpoints.memory import estimate
from core.config import Coupling, DecodingConfig, ModelConfig
from core.control import Control
from core.drafters.draft_model import DraftModel
from core.errors import ModelLoadError
from core.lab.checks import ChecksFinished
from core.lab.enumeration import distance, output_law
from core.session import Session
from tests.core.checkpoints.tiny_checkpoints import check_sentence
from tests.core.law.cases import PROMPT as REPEATING
from tests.core.law.cases import SETTINGS
from tests.core.law.reference import plain_law
from tests.core.tables import random_logits, run, start, table
from tests.core.tiny_sessions import GREEDY, PROMPT, checkpoint, decode, load, pair

KEPT = (1, 3)  # of four ids; a row of the sliced head has two numbers
EVEN = tuple(range(0, 256, 2))


def sliced(kept=KEPT, vocabulary=4, seed=5):
    """Return what makes a drafter that can propose ``kept`` only."""
    model = table(random_logits(len(kept), seed), vocabulary)
    return lambda capacity: DraftModel(model, capacity, vocabulary, kept)


@pytest.mark.parametrize("settings", SETTINGS)
def test_the_output_keeps_plain_decodings_law(settings):
    """Summed over every path of the real rounds, with each penalty and truncation."""
    config = DecodingConfig(
        **{"lookahead": 2, "max_new_tokens": 3, "temperature": 1.0} | SETTINGS[settings]
    )
    logits = random_logits(4, 6)
    law = output_law(
        start(table(logits, 4), sliced(), config, prompt=REPEATING), config
    )
    expected = plain_law(lambda p: logits(p).tolist(), 4, config, prompt=REPEATING)
    assert distance({tuple(o): w for o, w in law.items()}, expected) < 1e-12


@pytest.mark.parametrize("temperature", [0.0, 1.0])
def test_shared_noise_gives_plain_decodings_tokens(temperature):
    """The noise belongs to token ids, not to places in a short row."""
    target, kept = table(random_logits(40, 6), 40), tuple(range(3, 40, 4))
    config = DecodingConfig(
        coupling=Coupling.SHARED_NOISE, temperature=temperature, max_new_tokens=60
    )
    close = table(lambda p: target.row(p)[list(kept)], 40)
    fast = run(target, lambda room: DraftModel(close, room, 40, kept), config)
    assert fast.tokens == run(target, None, config).tokens
    if temperature:  # the same noise on the same ids: refused only where one was cut
        wrong = [t for t in fast.tokens if t not in kept]
        assert fast.counts.resampled <= len(wrong)
        assert fast.counts.accepted > 5


def test_a_proposal_has_zeros_where_nothing_was_kept():
    kept = (0, 2, 5, 9)  # the last one lies beyond the target's tokenizer
    model = table(random_logits(4, 5), 10)
    drafter = DraftModel(model, 50, 6, kept)
    from core.drafters.protocol import Prefix
    from core.sampling.draws import KeyedDraws

    settings = DecodingConfig(temperature=1.0)
    proposal = drafter.propose(Prefix([0, 1], 1), 3, settings, KeyedDraws(1))
    laws = torch.stack(list(proposal.distributions))
    assert laws.shape == (3, 6)
    assert set(proposal.ids) <= {0, 2, 5}
    expected = model.row((0, 1))[:3].softmax(-1)
    assert torch.allclose(laws[0, [0, 2, 5]], expected)
    assert laws[:, [1, 3, 4]].eq(0).all()
    drafter.truncate(1)
    greedy = drafter.propose(Prefix([0, 1], 1), 3, DecodingConfig(), KeyedDraws(1))
    scores = torch.stack(list(greedy.scores))
    assert torch.equal(scores[0, [0, 2, 5]], model.row((0, 1))[:3])
    assert scores[:, [1, 3, 4]].eq(-torch.inf).all()


@pytest.fixture(scope="module")
def folders(tmp_path_factory):
    """A target and a smaller draft that proposes from every other id."""
    root = tmp_path_factory.mktemp("sliced")
    draft = checkpoint(
        root / "draft", layers=1, hidden_size=16, seed=1, tie_word_embeddings=True
    )
    write_draft_head(draft, EVEN[::-1])
    return checkpoint(root / "target"), draft


@pytest.mark.slow
@pytest.mark.parametrize("dtype", ["float32", "bfloat16"])  # our kernel; transformers
def test_the_kept_ids_have_the_whole_heads_logits(folders, dtype):
    config = ModelConfig(str(folders[1]), "cpu", dtype)
    whole, cut = load_model(config), load_model(config, drafts=True)
    assert whole.head_ids is None
    assert cut.head_ids == EVEN
    rows = [m.model.new_runner(9).step([5, 6, 7]) for m in (whole, cut)]
    assert rows[1].shape == (3, len(EVEN))
    assert torch.allclose(rows[1], rows[0][:, list(EVEN)], atol=1e-5)
    facts = inspect_checkpoint(folders[1])
    needed = estimate(
        inspect_checkpoint(folders[0]), facts, capacity=9, lookahead=4, racing=False,
        dtype=dtype,
    ).weights_bytes  # fmt: skip
    target = load_model(ModelConfig(str(folders[0]), "cpu", dtype))
    assert needed == target.model.facts.memory_bytes + cut.model.facts.memory_bytes
    assert cut.model.facts.num_parameters == whole.model.facts.num_parameters


@pytest.mark.slow
def test_a_session_decodes_and_verifies_with_a_sliced_draft(folders):
    target, draft = folders
    session = Session()
    load(session, pair(target))
    greedy = decode(session).tokens
    load(session, pair(target, draft))
    assert decode(session).tokens == greedy
    shared = dataclasses.replace(GREEDY, temperature=1.0, coupling="shared-noise")
    fast = decode(session, shared)
    *_, checked = session.verify(_request(), Control())
    assert isinstance(checked, ChecksFinished)
    assert checked.passed, checked
    load(session, pair(target))
    assert decode(session, shared).tokens == fast.tokens


def _request():
    from core.config import DecodingRequest

    return DecodingRequest("v", PROMPT, GREEDY, use_chat_template=False)


@pytest.mark.slow
def test_a_draft_that_becomes_the_target_gets_its_whole_head_back(folders):
    target, draft = folders
    session, fresh = Session(), Session()
    load(session, pair(target, draft))
    load(session, pair(draft, target))
    load(fresh, pair(draft))
    assert decode(session).tokens == decode(fresh).tokens
    load(session, pair(draft, draft))  # one model drafts for itself: whole
    assert decode(session).counts.resampled == 0


BROKEN = {
    "no json": ("{", "JSON"),
    "another version": ({"version": 2, "ids": [1]}, "version 2"),
    "a list": ([1, 2], "version None"),
    "no ids": ({"version": 1, "ids": []}, "no ids"),
    "texts": ({"version": 1, "ids": ["a"]}, "no ids"),
    "falling": ({"version": 1, "ids": [3, 2]}, "2 after 3"),
    "twice": ({"version": 1, "ids": [3, 3]}, "3 after 3"),
    "negative": ({"version": 1, "ids": [-1, 2]}, "-1"),
    "too large": ({"version": 1, "ids": [3, 5000]}, "below 258"),
}


@pytest.mark.parametrize("name", BROKEN)
def test_a_broken_list_is_named_in_one_sentence(tmp_path, name):
    content, word = BROKEN[name]
    folder = checkpoint(tmp_path / "draft", layers=1)
    text = content if isinstance(content, str) else json.dumps(content)
    (folder / DRAFT_HEAD).write_text(text)
    with pytest.raises(ModelLoadError) as caught:
        inspect_checkpoint(folder)
    check_sentence(caught.value, DRAFT_HEAD, "draft", word, "delete")
