"""From a reference to a model that can step, and what is left when that fails."""

from __future__ import annotations

import gc
import weakref

import pytest
import torch
from tiny_checkpoints import EOS, check_sentence, make_checkpoint

from core.checkpoints import demo, failures, loading, weights
from core.checkpoints.devices import Placement
from core.checkpoints.loading import load_model
from core.checkpoints.progress import Cancelled
from core.checkpoints.weights import loading_options
from core.config import ModelConfig
from core.errors import ConfigurationError, DeviceMemoryError, ModelLoadError
from core.events import LoadProgress


def _load(path, **options):
    return load_model(ModelConfig(str(path)), **options)


def test_folder_becomes_a_model_that_steps(whole):
    loaded = _load(whole)
    runner = loaded.model.new_runner(8)
    logits = runner.step([1, 2])
    assert logits.shape[0] == 2
    assert logits.shape[1] >= loaded.vocabulary_size == 258
    assert (loaded.head_rows, loaded.context_length) == (260, 64)
    assert (loaded.device, loaded.dtype) == ("cpu", "float32")
    assert loaded.model.facts.reference == str(whole)


def test_logits_are_those_of_transformers(whole):
    import torch
    from transformers import AutoModelForCausalLM

    reference = AutoModelForCausalLM.from_pretrained(whole).eval()
    ids = [5, 6, 7]
    with torch.inference_mode():
        expected = reference(torch.tensor([ids])).logits[0, :, :258]
    found = _load(whole).model.new_runner(8).step(ids)[:, :258]
    torch.testing.assert_close(found, expected, atol=1e-5, rtol=1e-4)


def test_gguf_becomes_a_model_that_steps(whole_gguf):
    loaded = _load(whole_gguf)
    assert loaded.model.new_runner(8).step([1]).shape[0] == 1
    ids = loaded.tokenizer.encode("x  12")
    assert loaded.tokenizer.decode(ids) == "x  12"
    assert 0 in loaded.eos_ids
    assert loaded.tokenizer.chat_template


def test_loading_says_nothing_on_the_terminal(whole, whole_gguf, capfd):
    _load(whole)
    _load(whole_gguf)
    out, err = capfd.readouterr()
    assert (out, err) == ("", "")


def test_all_end_tokens_are_collected(tmp_path):
    make_checkpoint(tmp_path / "ends", eos_token_id=[3, 4], added=("<|turn|>",))
    (tmp_path / "ends" / "generation_config.json").write_text(
        '{"eos_token_id": [4, 9]}'
    )
    loaded = _load(tmp_path / "ends")
    assert loaded.tokenizer.eos_token == EOS
    assert loaded.eos_ids == (0, 3, 4, 9)
    assert {0, 258} <= loaded.special_ids


def test_tokenizer_larger_than_the_head_is_cut(tmp_path):
    make_checkpoint(tmp_path / "small-head", rows=200)
    loaded = _load(tmp_path / "small-head")
    assert (loaded.vocabulary_size, loaded.head_rows) == (200, 200)


def test_stages_are_told(whole):
    told: list[LoadProgress] = []
    _load(whole, on_progress=told.append)
    stages = [p.stage for p in told]
    assert stages[0] == "Looking at the checkpoint"
    assert "Reading the weights" in stages


@pytest.mark.parametrize(
    "stage", ["Looking", "Reading the tok", "Reading the wei", "Checking"]
)
def test_cancel_between_stages(whole, stage):
    told: list[LoadProgress] = []

    def stop() -> bool:
        return bool(told) and told[-1].stage.startswith(stage)

    with pytest.raises(Cancelled):
        _load(whole, on_progress=told.append, should_stop=stop)


def test_failed_load_gives_its_memory_back(whole, monkeypatch):
    """H22: even while somebody holds the error, no frame of it may hold the weights."""
    alive: list[weakref.ref] = []
    read = weights.read_weights

    def remember(*arguments):
        model = read(*arguments)
        alive.append(weakref.ref(model))
        return model

    def fail(hf_model, **_):
        raise RuntimeError("kernels are out")

    monkeypatch.setattr(loading, "read_weights", remember)
    monkeypatch.setattr("core.runtime.models.wrap_model", fail)
    with pytest.raises(ModelLoadError) as caught:
        _load(whole)
    check_sentence(caught.value, "tiny-llama", "RuntimeError")
    assert "kernels are out" in caught.value.detail
    assert isinstance(caught.value.__cause__, RuntimeError)
    gc.collect()
    assert [ref() for ref in alive] == [None]


def test_cancelled_load_gives_its_memory_back(whole, monkeypatch):
    alive: list[weakref.ref] = []
    read = weights.read_weights

    def remember(*arguments):
        model = read(*arguments)
        alive.append(weakref.ref(model))
        return model

    monkeypatch.setattr(loading, "read_weights", remember)
    with pytest.raises(Cancelled) as caught:
        _load(whole, should_stop=lambda: bool(alive))
    gc.collect()
    assert [ref() for ref in alive] == [None]
    assert caught.value is not None


@pytest.mark.parametrize(
    "error", [MemoryError(), RuntimeError("DefaultCPUAllocator: can't allocate memory")]
)
def test_memory_that_runs_out_names_needed_and_free(whole, monkeypatch, error):
    """H22."""

    def fail(*_):
        raise error

    monkeypatch.setattr(loading, "read_weights", fail)
    with pytest.raises(DeviceMemoryError) as caught:
        _load(whole)
    check_sentence(caught.value, "tiny-llama", "needs", "free")


def test_model_that_cannot_fit_is_refused_before_loading(whole, monkeypatch):
    """H22."""
    monkeypatch.setattr(loading, "free_bytes", lambda device: 1000)
    monkeypatch.setattr(loading, "_load", pytest.fail)
    with pytest.raises(DeviceMemoryError) as caught:
        _load(whole)
    check_sentence(caught.value, "tiny-llama", "needs", "free")
    assert caught.value.facts["free"] == 1000


def test_missing_library_is_named(whole, monkeypatch):
    def fail(*_):
        raise ImportError("no", name="bitsandbytes")

    monkeypatch.setattr(loading, "read_weights", fail)
    with pytest.raises(ModelLoadError) as caught:
        _load(whole)
    check_sentence(caught.value, "bitsandbytes")


def test_nothing_is_fetched_unless_asked(monkeypatch):
    monkeypatch.setattr(demo, "fetch_demo", pytest.fail)
    monkeypatch.setattr(loading.hub, "download_checkpoint", pytest.fail)
    for reference in ("demo", "someone/tiny"):
        with pytest.raises(ModelLoadError) as caught:
            _load(reference)
        check_sentence(caught.value, reference)


def test_download_is_started_when_allowed(monkeypatch):
    asked: list[str] = []
    monkeypatch.setattr(
        loading.hub, "download_checkpoint", lambda name, work: asked.append(name)
    )
    with pytest.raises(ModelLoadError):
        _load("someone/tiny", allow_download=True)
    assert asked == ["someone/tiny"]


def test_local_folder_never_asks_the_hub(whole, monkeypatch):
    monkeypatch.setattr(loading.hub, "download_checkpoint", pytest.fail)
    assert _load(whole, allow_download=True).facts.path == str(whole)


def test_frames_are_forgotten_along_the_whole_chain():
    class Big:
        pass

    alive = []

    def inner():
        big = Big()
        alive.append(weakref.ref(big))
        raise ValueError

    def outer():
        big = Big()
        alive.append(weakref.ref(big))
        try:
            inner()
        except ValueError as error:
            raise TypeError from error

    try:
        outer()
    except TypeError as error:
        failures.forget_frames(error)
        gc.collect()
        assert [ref() for ref in alive] == [None, None]


def test_missing_device_and_dtype(whole):
    for config in (
        ModelConfig(str(whole), device="cuda:99"),
        ModelConfig(str(whole), device="tpu"),
        ModelConfig(str(whole), device="cuda:all"),
        ModelConfig(str(whole), dtype="int3"),
        ModelConfig(str(whole), device="cpu", dtype="int8"),
    ):
        with pytest.raises(ConfigurationError) as caught:
            load_model(config)
        named = config.dtype if config.dtype != "auto" else config.device
        check_sentence(caught.value, named)


def test_several_gpus_and_eight_bits_are_left_to_those_who_know_them():
    """What transformers is told; no GPU was at hand to see what it makes of it."""
    one = loading_options(Placement("cuda:1", "bfloat16"))
    assert one == {"device_map": {"": "cuda:1"}}
    assert loading_options(Placement("cpu", "float32")) == {}
    both = loading_options(Placement("cuda:0", "int8", spread=True))
    assert both["device_map"] == "auto"
    assert both["quantization_config"].load_in_8bit
    assert Placement("cuda:0", "int8").torch_dtype == torch.bfloat16


def test_half_precision_on_request(whole):
    loaded = load_model(ModelConfig(str(whole), dtype="bfloat16"))
    assert loaded.model.facts.dtype == "bfloat16"
