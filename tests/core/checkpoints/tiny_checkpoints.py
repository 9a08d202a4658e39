"""Tiny checkpoints made on the fly: random weights, byte-level tokenizer, offline."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np

EOS = "<|end|>"
TEMPLATE = "{% for m in messages %}{{ m['role'] }}: {{ m['content'] }}\n{% endfor %}"


def byte_tokens(extra: tuple[str, ...] = ()) -> dict[str, int]:
    """Return a vocabulary of one end token, all bytes, one longer token, ``extra``."""
    from tokenizers.pre_tokenizers import ByteLevel

    letters = [EOS, *sorted(ByteLevel.alphabet()), "Ġt", *extra]
    return {token: i for i, token in enumerate(letters)}


def make_tokenizer(folder: Path, vocab: dict[str, int] | None = None, added=()):
    """Write a byte-level tokenizer to ``folder``."""
    from tokenizers import Tokenizer, decoders, models, pre_tokenizers
    from transformers import PreTrainedTokenizerFast

    backend = Tokenizer(models.BPE(vocab=vocab or byte_tokens(), merges=[]))
    backend.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    backend.decoder = decoders.ByteLevel()
    tokenizer = PreTrainedTokenizerFast(tokenizer_object=backend, eos_token=EOS)
    if added:
        tokenizer.add_special_tokens({"additional_special_tokens": list(added)})
    tokenizer.save_pretrained(folder)
    return tokenizer


def make_llama(
    folder: Path, *, rows: int = 260, layers: int = 2, seed: int = 0, **more
):
    """Write a tiny random Llama with ``rows`` rows in its head to ``folder``."""
    import torch
    from transformers import LlamaConfig, LlamaForCausalLM

    settings = {
        "hidden_size": 32,
        "intermediate_size": 48,
        "num_attention_heads": 4,
        "num_key_value_heads": 2,
        "max_position_embeddings": 64,
        "eos_token_id": 0,
        "bos_token_id": None,
        "tie_word_embeddings": False,
        **more,
    }
    with torch.random.fork_rng():
        torch.manual_seed(seed)
        config = LlamaConfig(vocab_size=rows, num_hidden_layers=layers, **settings)
        model = LlamaForCausalLM(config)
    model.save_pretrained(folder)
    return folder


def make_checkpoint(folder: Path, *, vocab=None, added=(), **model) -> Path:
    """Write a whole tiny checkpoint to ``folder``."""
    make_llama(folder, **model)
    make_tokenizer(folder, vocab, added)
    return folder


def edit_config(folder: Path, **changes) -> None:
    """Change keys of a checkpoint's config; None removes one."""
    file = folder / "config.json"
    config = {**json.loads(file.read_text()), **changes}
    file.write_text(json.dumps({k: v for k, v in config.items() if v is not None}))


def make_gguf(
    file: Path, *, architecture: str = "llama", kind: str = "F32", context: int = 64
) -> Path:
    """Write a tiny random GGUF model with a byte-level tokenizer.

    Its matrices are stored in ``kind``, a ggml type such as Q8_0.
    """
    from gguf import GGMLQuantizationType, GGUFWriter, quantize

    tokens = list(byte_tokens())
    writer = GGUFWriter(file, architecture)
    writer.add_context_length(context)
    writer.add_embedding_length(32)
    writer.add_block_count(2)
    writer.add_feed_forward_length(64)
    writer.add_head_count(4)
    writer.add_head_count_kv(2)
    writer.add_layer_norm_rms_eps(1e-5)
    writer.add_rope_freq_base(10000.0)
    writer.add_vocab_size(len(tokens))
    writer.add_name("tiny")
    writer.add_license("apache-2.0")
    writer.add_tokenizer_model("gpt2")
    writer.add_tokenizer_pre("smollm")
    writer.add_token_list(tokens)
    writer.add_token_types([3] + [1] * (len(tokens) - 1))
    writer.add_token_merges(["Ġ t"])
    writer.add_eos_token_id(0)
    writer.add_chat_template(TEMPLATE)
    for name, shape in _tensors(len(tokens)).items():
        rng = np.random.default_rng(len(name))
        values = rng.normal(0, 0.1, shape).astype(np.float32)
        stored = GGMLQuantizationType[kind if len(shape) > 1 else "F32"]
        writer.add_tensor(name, quantize(values, stored), raw_dtype=stored)
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()
    return file


def _tensors(rows: int) -> dict[str, tuple[int, ...]]:
    shapes: dict[str, tuple[int, ...]] = {
        "token_embd.weight": (rows, 32),
        "output_norm.weight": (32,),
        "output.weight": (rows, 32),
    }
    for i in range(2):
        shapes |= {
            f"blk.{i}.attn_norm.weight": (32,),
            f"blk.{i}.ffn_norm.weight": (32,),
            f"blk.{i}.attn_q.weight": (32, 32),
            f"blk.{i}.attn_k.weight": (16, 32),
            f"blk.{i}.attn_v.weight": (16, 32),
            f"blk.{i}.attn_output.weight": (32, 32),
            f"blk.{i}.ffn_gate.weight": (64, 32),
            f"blk.{i}.ffn_up.weight": (64, 32),
            f"blk.{i}.ffn_down.weight": (32, 64),
        }
    return shapes


def check_sentence(error, *words: str) -> str:
    """Check that an error is one sentence fit for a dialog, naming ``words``."""
    sentence = error.sentence
    assert sentence.endswith("."), sentence
    assert "\n" not in sentence
    assert sentence.count(". ") == 0, sentence
    assert str(Path("/")) + "tmp" not in sentence, sentence
    for word in words:
        assert word in sentence, sentence
    return sentence
