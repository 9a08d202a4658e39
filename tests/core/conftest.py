"""What holds for all tests of the core."""

from __future__ import annotations

import pytest
import torch
from hypothesis import settings

# The first call compiles kernels, and the machine may be busy.
settings.register_profile("patient", deadline=None, derandomize=True)
settings.load_profile("patient")


@pytest.fixture(autouse=True)
def _one_thread():
    """The tensors are tiny: more threads would only wait for each other."""
    threads = torch.get_num_threads()
    torch.set_num_threads(1)
    yield
    torch.set_num_threads(threads)
