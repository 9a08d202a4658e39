"""What a checkpoint is, and every way in which one can be unfit."""

from __future__ import annotations

import json
import subprocess
import sys

import pytest
from tiny_checkpoints import check_sentence, edit_config, make_gguf

from core.checkpoints.facts import CheckpointKind
from core.checkpoints.inspection import inspect_checkpoint
from core.checkpoints.plain_only import draft_refusal, target_refusal
from core.checkpoints.words import table
from core.errors import ModelLoadError, UnsupportedModelError


def test_folder_is_described_from_its_headers(whole):
    facts = inspect_checkpoint(whole)
    assert facts.kind is CheckpointKind.FOLDER
    assert (facts.name, facts.architecture) == ("tiny-llama", "llama")
    assert (facts.num_layers, facts.hidden_size) == (2, 32)
    assert (facts.vocabulary_size, facts.tokenizer_size) == (260, 258)
    assert (facts.context_length, facts.dtype) == (64, "float32")
    assert facts.cache_values_per_token == 2 * 2 * 2 * 8
    assert facts.problem is None


def test_parameters_are_counted_as_torch_counts_them(whole):
    from transformers import AutoModelForCausalLM

    model = AutoModelForCausalLM.from_pretrained(whole)
    assert inspect_checkpoint(whole).num_parameters == model.num_parameters()


def test_gguf_is_described_from_its_header(whole_gguf):
    facts = inspect_checkpoint(whole_gguf)
    assert facts.kind is CheckpointKind.GGUF
    assert (facts.name, facts.architecture, facts.num_layers) == ("tiny", "llama", 2)
    assert (facts.vocabulary_size, facts.tokenizer_size) == (258, 258)
    assert (facts.licence, facts.has_chat_template) == ("apache-2.0", True)
    assert facts.cache_values_per_token == 2 * 2 * 2 * 8


def test_card_and_template_are_seen(broken):
    (broken / "README.md").write_text("---\nlicense: mit\n---\nA card.\n")
    (broken / "chat_template.jinja").write_text("{{ messages }}")
    facts = inspect_checkpoint(broken)
    assert (facts.licence, facts.has_chat_template) == ("mit", True)


def test_hub_id_is_found_in_the_local_cache(whole, tmp_path):
    repository = tmp_path / "hub" / "models--someone--tiny"
    (repository / "snapshots").mkdir(parents=True)
    (repository / "refs").mkdir()
    (repository / "refs" / "main").write_text("abc")
    (repository / "snapshots" / "abc").symlink_to(whole, target_is_directory=True)
    facts = inspect_checkpoint("someone/tiny")
    assert (facts.kind, facts.name) == (CheckpointKind.HUB, "tiny")


def test_broken_hub_snapshot_is_named_by_its_model(tmp_path):
    snapshot = tmp_path / "hub" / "models--someone--tiny" / "snapshots" / "abc"
    snapshot.mkdir(parents=True)
    (snapshot / "config.json").write_text("")
    sentence = check_sentence(_error("someone/tiny"), "tiny", "config.json")
    assert "abc" not in sentence


def test_inspecting_does_not_import_torch(whole):
    code = (
        "import sys; from core.checkpoints.inspection import inspect_checkpoint; "
        f"inspect_checkpoint({str(whole)!r}); assert 'torch' not in sys.modules"
    )
    subprocess.run([sys.executable, "-c", code], check=True)


def _error(reference, kind: type[ModelLoadError] = ModelLoadError) -> ModelLoadError:
    with pytest.raises(kind) as caught:
        inspect_checkpoint(reference)
    return caught.value


def test_missing_folder(tmp_path):
    check_sentence(_error(tmp_path / "nowhere" / "model-x"), "model-x")


def test_missing_hub_model_names_the_cure():
    check_sentence(_error("someone/elsewhere"), "someone/elsewhere", "download")


def test_empty_reference():
    check_sentence(_error(""))


def test_demo_that_was_not_fetched_names_its_size():
    check_sentence(_error("demo"), "demo", "93 MB")
    check_sentence(_error("demo-layers"), "93 MB")


def test_folder_without_config(tmp_path):
    check_sentence(_error(tmp_path), tmp_path.name, "config.json")


def test_folder_of_gguf_files_names_one(tmp_path, whole_gguf):
    (tmp_path / "tiny.gguf").write_bytes(whole_gguf.read_bytes())
    check_sentence(_error(tmp_path), "tiny.gguf")


@pytest.mark.parametrize("content", ["", "{not json", "[]", "{}"])
def test_unreadable_config(broken, content):
    """H21."""
    (broken / "config.json").write_text(content)
    check_sentence(_error(broken), "config.json", "tiny-llama")


def test_pickled_weights_are_refused_by_name(broken):
    (broken / "model.safetensors").rename(broken / "pytorch_model.bin")
    error = _error(broken, UnsupportedModelError)
    check_sentence(error, "pytorch_model.bin", "safetensors")


def test_pickle_file_is_refused_by_name(tmp_path):
    (tmp_path / "weights.pt").write_bytes(b"x")
    check_sentence(_error(tmp_path / "weights.pt"), "weights.pt", "safetensors")


def test_other_file_is_no_checkpoint(tmp_path):
    (tmp_path / "notes.txt").write_text("hello")
    check_sentence(_error(tmp_path / "notes.txt"), "notes.txt")


def test_folder_without_weights(broken):
    (broken / "model.safetensors").unlink()
    check_sentence(_error(broken), "tiny-llama", "model.safetensors")


def test_folder_without_tokenizer(broken):
    (broken / "tokenizer.json").unlink()
    check_sentence(_error(broken), "tiny-llama", "tokenizer")


def test_broken_tokenizer(broken):
    (broken / "tokenizer.json").write_text('{"model": {}}')
    check_sentence(_error(broken), "tiny-llama", "tokenizer.json")


def test_adapter_is_no_whole_model(broken):
    (broken / "adapter_config.json").write_text("{}")
    check_sentence(_error(broken, UnsupportedModelError), "tiny-llama", "merge")


def test_remote_code_is_refused_by_name(broken):
    edit_config(broken, model_type="strange", auto_map={"AutoModelForCausalLM": "m.M"})
    check_sentence(_error(broken, UnsupportedModelError), "strange", "code")


def test_remote_code_of_a_native_class_is_ignored(broken):
    edit_config(broken, auto_map={"AutoModelForCausalLM": "m.M"})
    assert inspect_checkpoint(broken).architecture == "llama"


def test_unknown_architecture(broken):
    edit_config(broken, model_type="strange")
    check_sentence(_error(broken, UnsupportedModelError), "strange")


@pytest.mark.parametrize("cut", [1, 1000, 60_000])
def test_weights_cut_short(broken, cut):
    """H21."""
    file = broken / "model.safetensors"
    file.write_bytes(file.read_bytes()[:-cut])
    check_sentence(_error(broken), "model.safetensors", "tiny-llama")


@pytest.mark.parametrize(
    "content", [b"", b"1234567", b"\xff" * 100, b"\x20" + b"\0" * 50]
)
def test_weights_that_are_no_safetensors(broken, content):
    (broken / "model.safetensors").write_bytes(content)
    check_sentence(_error(broken), "model.safetensors")


def test_missing_shard_of_an_index(broken):
    """H21."""
    name = "model-00002-of-00002.safetensors"
    index = {"weight_map": {"a": name, "b": "model.safetensors"}}
    (broken / "model.safetensors.index.json").write_text(json.dumps(index))
    check_sentence(_error(broken), name, "tiny-llama")


def test_broken_index(broken):
    (broken / "model.safetensors.index.json").write_text("{")
    check_sentence(_error(broken), "model.safetensors.index.json")


@pytest.mark.parametrize(
    ("changes", "word"),
    [
        ({"model_type": "t5", "is_encoder_decoder": True}, "encoder-decoder"),
        ({"model_type": "bart"}, "encoder-decoder"),
        ({"model_type": "vit", "architectures": ["ViTForImageClassification"]}, "ViT"),
        (
            {"model_type": "bert", "architectures": ["BertForMaskedLM"]},
            "BertForMaskedLM",
        ),
        ({"model_type": "gemma3", "vision_config": {}}, "pictures"),
    ],
)
def test_families_that_cannot_be_decoded_are_named(broken, changes, word):
    edit_config(broken, **changes)
    check_sentence(_error(broken, UnsupportedModelError), "tiny-llama", word)


@pytest.mark.parametrize(
    ("changes", "kind"),
    [
        ({"model_type": "mamba"}, "recurrent"),
        ({"model_type": "rwkv"}, "recurrent"),
        ({"model_type": "jamba", "layers_block_type": ["mamba", "attention"]}, "mamba"),
        ({"layer_types": ["full_attention", "linear_attention"]}, "linear_attention"),
        ({"model_type": "lfm2", "layer_types": ["conv", "full_attention"]}, "conv"),
        ({"text_config": {"layer_types": ["recurrent"]}}, "recurrent"),
    ],
)
def test_layers_that_cannot_be_rewound_are_told_from_the_config(broken, changes, kind):
    """H9: such a model decodes plainly, and says so before it is loaded."""
    edit_config(broken, **changes)
    facts = inspect_checkpoint(broken)
    assert (facts.problem, facts.plain_only) == (None, kind)
    assert dict(table(facts))["Decoding"].startswith("plain only")
    assert check_sentence(target_refusal(facts), kind, facts.architecture, "none")
    assert check_sentence(draft_refusal(facts), kind, facts.architecture, "lookup")


def test_hybrid_family_with_attention_only_is_allowed(broken):
    edit_config(
        broken,
        model_type="granitemoehybrid",
        layer_types=["attention", "attention"],
    )
    facts = inspect_checkpoint(broken)
    assert (facts.architecture, facts.plain_only) == ("granitemoehybrid", "")
    assert dict(table(facts))["Decoding"] == "speculative and plain"


@pytest.mark.parametrize("content", [b"", b"noise" * 100, b"GGUF" + b"\xff" * 100])
def test_random_bytes_named_gguf(tmp_path, content):
    """H23: one sentence, and no crash."""
    (tmp_path / "noise.gguf").write_bytes(content)
    check_sentence(_error(tmp_path / "noise.gguf"), "noise.gguf")


@pytest.mark.parametrize("keep", [0.02, 0.1, 0.5, 0.99])
def test_gguf_cut_short(tmp_path, whole_gguf, keep):
    """H23: at any place."""
    data = whole_gguf.read_bytes()
    (tmp_path / "cut.gguf").write_bytes(data[: int(len(data) * keep)])
    check_sentence(_error(tmp_path / "cut.gguf"), "cut.gguf", "cut short")


@pytest.mark.parametrize("architecture", ["strange", "t5", "rwkv6"])
def test_gguf_architecture_that_cannot_be_decoded(tmp_path, architecture):
    """H23: refused by its name."""
    file = make_gguf(tmp_path / "other.gguf", architecture=architecture)
    check_sentence(_error(file, UnsupportedModelError), "other.gguf", architecture)


@pytest.mark.parametrize("architecture", ["mamba", "lfm2"])
def test_gguf_architecture_that_cannot_be_rewound(tmp_path, architecture):
    """H9."""
    file = make_gguf(tmp_path / "other.gguf", architecture=architecture)
    assert inspect_checkpoint(file).plain_only == "recurrent"
