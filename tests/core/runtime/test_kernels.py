"""The kernels against numpy, and their promise about the order of sums."""

from __future__ import annotations

import threading

import numpy as np
import pytest
import torch
from torch import nn

from core.runtime.kernels import elementwise, products
from core.runtime.kernels.crew import Crew, crew
from core.runtime.packed_linear import PackedLinear, only_packed, pack


def numbers(*shape: int, seed: int = 0) -> np.ndarray:
    return np.random.default_rng(seed).standard_normal(shape, dtype=np.float32)


def product(w: np.ndarray, x: np.ndarray, team: Crew | None = None) -> np.ndarray:
    y = np.zeros((len(x), len(w)), dtype=np.float32)
    (team or crew()).run(products.linear, 1, w, x, y)
    return y


@pytest.mark.parametrize(("outs", "size"), [(3, 5), (101, 37), (256, 576), (5, 2000)])
def test_a_product_is_right_and_each_row_has_the_bits_it_has_alone(outs, size):
    w, x = numbers(outs, size), numbers(17, size, seed=1)
    alone = np.concatenate([product(w, x[r : r + 1]) for r in range(17)])
    np.testing.assert_allclose(alone, x @ w.T, atol=1e-3)
    for rows in range(2, 18):
        assert np.array_equal(product(w, x[:rows]), alone[:rows]), rows


def test_the_size_of_the_crew_changes_no_bit():
    w, x = numbers(700, 576), numbers(5, 576, seed=1)
    assert np.array_equal(product(w, x, Crew(1)), product(w, x, Crew(4)))


def test_two_threads_may_ask_one_crew_at_once():
    w, x = numbers(700, 576), numbers(5, 576, seed=1)
    wanted, wrong = product(w, x), []

    def ask() -> None:
        for _ in range(30):
            if not np.array_equal(product(w, x), wanted):
                wrong.append(1)

    askers = [threading.Thread(target=ask) for _ in range(3)]
    for asker in askers:
        asker.start()
    for asker in askers:
        asker.join()
    assert not wrong


def test_exp_is_right_to_the_last_bits():
    x = np.linspace(-80, 80, 4001, dtype=np.float32)
    ours = np.array([elementwise.exp(v) for v in x], dtype=np.float64)
    theirs = np.exp(x.astype(np.float64))
    assert np.max(np.abs(ours / theirs - 1)) < 3e-7
    assert elementwise.exp(np.float32(0)) == 1


def test_rms_norm_is_the_formula():
    x, weight = numbers(100), numbers(100, seed=1)
    out = np.empty_like(x)
    elementwise.rms_norm(x, weight, np.float32(1e-5), out)
    np.testing.assert_allclose(
        out, weight * x / np.sqrt(np.mean(x**2) + 1e-5), rtol=1e-5
    )


@torch.inference_mode()
def test_a_packed_layer_is_the_linear_layer_for_few_rows_and_for_many():
    layer = nn.Linear(70, 33)
    packed = PackedLinear(layer.weight, layer.bias)
    for rows in (1, 17, 18, 40):
        x = torch.from_numpy(numbers(1, rows, 70))
        torch.testing.assert_close(packed(x), layer(x), atol=1e-5, rtol=1e-5)


def test_packing_finds_every_linear_layer_and_keeps_ties():
    inner = nn.Sequential(nn.Linear(8, 8), nn.ReLU())
    module = nn.ModuleDict({"look_up": nn.Embedding(8, 8), "inner": inner})
    module["head"] = nn.Linear(8, 8, bias=False)
    module["head"].weight = module["look_up"].weight
    assert not only_packed(module)
    pack(module)
    assert module["head"].weight is module["look_up"].weight
    assert isinstance(module["inner"][0], PackedLinear)
    assert only_packed(module)
