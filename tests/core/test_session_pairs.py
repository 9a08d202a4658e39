"""Loading pairs: what is refused leaves what was loaded usable (H5, H9, H19, H21)."""

from __future__ import annotations

import shutil

import pytest

from core.checkpoints import folder_inspection, loading, pairing
from core.config import (
    DecodingConfig,
    DecodingRequest,
    DrafterKind,
    ModelConfig,
    PairConfig,
)
from core.control import Control
from core.errors import (
    CoreError,
    ModelLoadError,
    PlainOnlyError,
    VocabularyMismatchError,
)
from core.events import Lane, PairLoaded, RunStarted
from core.lab.checks import ChecksFinished
from core.session import Session
from tests.core.checkpoints.tiny_checkpoints import (
    byte_tokens,
    check_sentence,
    make_tokenizer,
)
from tests.core.tiny_sessions import checkpoint, decode, events, load, pair, plain

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def folders(tmp_path_factory):
    """A target and a smaller draft."""
    root = tmp_path_factory.mktemp("pair")
    draft = checkpoint(root / "draft", layers=1, hidden_size=16, seed=1)
    return checkpoint(root / "target"), draft


def refused(session, wanted) -> CoreError:
    with pytest.raises(CoreError) as caught:
        load(session, wanted)
    return caught.value


def permuted() -> dict[str, int]:
    names = list(byte_tokens())
    return {name: i for i, name in enumerate([names[0], *names[:0:-1]])}


def test_other_tokens_are_refused_before_a_weight_is_read(
    folders, tmp_path, monkeypatch
):
    """H5: equal sizes, permuted ids; the target alone stays usable."""
    target, _ = folders
    stranger = checkpoint(tmp_path / "stranger", vocab=permuted())
    session = Session()
    load(session, pair(target))
    before = decode(session).tokens
    with monkeypatch.context() as patch:
        patch.setattr(loading, "load_model", lambda *a, **k: pytest.fail("loaded"))
        error = refused(session, pair(target, stranger))
    assert isinstance(error, VocabularyMismatchError)
    check_sentence(error, "stranger", "target", "id 1 ", "id 2 ", "prompt lookup")
    assert session.pair == pair(target)
    assert decode(session).tokens == before


def test_one_more_special_token_is_a_note(folders, tmp_path):
    """H5: the opposite fault, refusing a good pair."""
    target, _ = folders
    draft = checkpoint(tmp_path / "draft", layers=1, added=("<|extra|>",))
    session = Session()
    loaded = load(session, pair(target, draft))
    assert any("1 token more" in note for note in loaded.notes)
    assert decode(session).tokens == plain(target).tokens


def test_a_load_that_was_cancelled_leaves_the_notes_of_the_pair(
    folders, tmp_path, monkeypatch
):
    target, draft = folders
    other = checkpoint(tmp_path / "other", layers=1, added=("<|extra|>",))
    session, control = Session(), Control()
    before = load(session, pair(target, draft)).notes
    with monkeypatch.context() as patch:
        patch.setattr(pairing, "require_fit", lambda verdict: control.stop())
        seen = list(session.load(pair(target, other), control))
    assert not any(isinstance(event, PairLoaded) for event in seen)
    assert load(session, pair(target, draft)).notes == before
    assert any("1 token more" in n for n in load(session, pair(target, other)).notes)


def recurrent(kind: str, folder):
    from transformers import AutoModelForCausalLM, Lfm2Config, MambaConfig

    small = {"vocab_size": 260, "hidden_size": 32, "num_hidden_layers": 2}
    heads = {"num_attention_heads": 2, "num_key_value_heads": 2}
    config = {
        "mamba": lambda: MambaConfig(**small, eos_token_id=0),
        "lfm2": lambda: Lfm2Config(
            **small,
            **heads,
            intermediate_size=32,
            layer_types=["full_attention", "conv"],
            eos_token_id=0,
        ),
    }[kind]()
    AutoModelForCausalLM.from_config(config).save_pretrained(folder)
    make_tokenizer(folder)
    return folder


@pytest.mark.parametrize("side", ["target", "draft"])
@pytest.mark.parametrize("kind", ["mamba", "lfm2"])
def test_recurrent_state_is_refused_by_name_on_either_side(
    folders, tmp_path, kind, side
):
    """H9."""
    target, _ = folders
    odd = recurrent(kind, tmp_path / kind)
    session = Session()
    load(session, pair(target))
    before = decode(session).tokens
    error = refused(session, pair(odd) if side == "target" else pair(target, odd))
    assert isinstance(error, PlainOnlyError)
    check_sentence(error, kind, "rewound", "none" if side == "target" else "lookup")
    assert session.pair == pair(target)
    assert decode(session).tokens == before


@pytest.mark.parametrize("kind", ["mamba", "lfm2"])
def test_recurrent_state_decodes_plainly_and_no_further(tmp_path, kind):
    """H9: what needs a drafter names the family, not a drafter to choose."""
    odd = recurrent(kind, tmp_path / kind)
    session = Session()
    loaded = load(session, PairConfig(ModelConfig(str(odd), "cpu", "float32")))
    (note,) = loaded.notes
    assert kind in note
    assert "plain decoding only" in note
    request = DecodingRequest("race", "a b", DecodingConfig(max_new_tokens=8))
    with pytest.raises(PlainOnlyError) as caught:
        list(session.race(request, Control()))
    check_sentence(caught.value, kind, "A race needs proposals", "attention layers")
    assert "drafter" not in caught.value.sentence, "none is chosen already"
    first = decode(session)
    assert first.counts.emitted == first.counts.rounds == 40
    assert first.tokens == decode(session).tokens


def test_a_family_that_only_its_weights_give_away_is_refused_before_a_token(
    folders, tmp_path, monkeypatch
):
    """H9: the headers may say nothing of a state; loading finds it."""
    target, _ = folders
    odd = recurrent("mamba", tmp_path / "odd")
    monkeypatch.setattr(folder_inspection, "unrewindable_layers", lambda config: "")
    for wanted in (pair(odd), pair(target, odd)):
        error = refused(Session(), wanted)
        assert isinstance(error, PlainOnlyError)
        check_sentence(error, "odd", "mamba", "rewound")


def cut_weights(folder):
    file = folder / "model.safetensors"
    file.write_bytes(file.read_bytes()[:-1000])
    return "model.safetensors"


def empty_config(folder):
    (folder / "config.json").write_text("")
    return "config.json"


def no_weights(folder):
    (folder / "model.safetensors").unlink()
    return "safetensors"


def no_tokenizer(folder):
    (folder / "tokenizer.json").unlink()
    return "tokenizer"


@pytest.mark.parametrize("harm", [cut_weights, empty_config, no_weights, no_tokenizer])
@pytest.mark.parametrize("side", ["target", "draft"])
def test_a_broken_copy_leaves_the_pair_before_loaded(folders, tmp_path, harm, side):
    """H21: the sentence names the file; no half-loaded model."""
    target, draft = folders
    session = Session()
    load(session, pair(target, draft))
    before = decode(session).tokens
    broken = shutil.copytree(target, tmp_path / "copy")
    named = harm(broken)
    wanted = pair(broken, draft) if side == "target" else pair(target, broken)
    check_sentence(refused(session, wanted), named)
    assert session.pair == pair(target, draft)
    assert decode(session).tokens == before


def test_an_uncached_name_without_a_network_leaves_the_pair_loaded(folders):
    """H21."""
    target, _ = folders
    session = Session()
    load(session, pair(target))
    wanted = PairConfig(ModelConfig("nobody/nothing"), DrafterKind.LOOKUP)
    error = refused(session, wanted)
    assert isinstance(error, ModelLoadError)
    check_sentence(error, "nobody/nothing")
    assert decode(session).counts.emitted == 40


def test_a_draft_of_another_dtype_drafts_for_a_float32_target(folders):
    """H19: greedy is plain decoding's text, and a sampled run obeys the law."""
    target, draft = folders
    session = Session()
    loaded = load(session, pair(target, draft, dtype="bfloat16"))
    assert (loaded.target.dtype, loaded.draft.dtype) == ("float32", "bfloat16")
    fast = decode(session)
    assert fast.tokens == plain(target).tokens
    assert fast.counts.drafted > 0
    warm = DecodingConfig(temperature=1.0, max_new_tokens=60, ignore_eos=True)
    assert decode(session, warm).counts.emitted == 60
    assert decode(session, warm).counts.accepted > 0


@pytest.mark.law
@pytest.mark.statistical
def test_a_draft_of_another_dtype_keeps_the_law(folders):
    """H19 and H1: all four checks; one chi-square at 1e-4 with a fixed seed."""
    target, draft = folders
    session, config = Session(), DecodingConfig(max_new_tokens=32)
    load(session, pair(target, draft, dtype="bfloat16"))
    request = DecodingRequest("verify", "a b a b a", config, use_chat_template=False)
    *_, found = session.verify(request, Control(config))
    assert isinstance(found, ChecksFinished)
    assert found.passed, found


def test_a_target_that_drafts_for_itself_is_loaded_once_and_told(folders):
    """H15: everything is accepted, and the notes say that it cannot be faster."""
    target, _ = folders
    session = Session()
    loaded = load(session, pair(target, target))
    assert any("none can come faster" in note for note in loaded.notes)
    held = session.loaded()
    assert held.draft is held.target
    for config in (
        DecodingConfig(lookahead=4, max_new_tokens=40, ignore_eos=True),
        DecodingConfig(
            lookahead=4, max_new_tokens=40, temperature=1.0, ignore_eos=True
        ),
    ):
        counts = decode(session, config).counts
        assert counts.tested == counts.accepted == counts.drafted == 32
        assert (counts.rounds, counts.bonus, counts.resampled) == (8, 8, 0)


def test_without_a_drafter_the_lane_is_plain(folders):
    target, _ = folders
    session = Session()
    load(session, PairConfig(ModelConfig(str(target))))
    (started,) = [e for e in events(session) if isinstance(e, RunStarted)]
    assert started.lane is Lane.PLAIN
