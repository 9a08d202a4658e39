"""Where a model can run here, and in which numbers."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from core.config import ModelConfig
from core.errors import ConfigurationError

if TYPE_CHECKING:
    import torch

DTYPES = ("float32", "bfloat16", "float16")


@dataclass(frozen=True, slots=True)
class Placement:
    """A device and a dtype that exist on this machine.

    Attributes:
        device: ``cpu``, ``cuda:0``, ``mps``.
        dtype: ``float32``, ``bfloat16`` or ``float16``.
    """

    device: str
    dtype: str

    @property
    def torch_dtype(self) -> torch.dtype:
        """The dtype as torch spells it."""
        import torch

        return getattr(torch, self.dtype)

    @property
    def bytes_per_value(self) -> int:
        """Bytes of one number."""
        return 4 if self.dtype == "float32" else 2


def place(config: ModelConfig) -> Placement:
    """Return where and how ``config`` runs on this machine.

    Raises:
        ConfigurationError: for a device or dtype that is not there.
    """
    device = _device(config.device.strip().lower())
    return Placement(device, _dtype(config.dtype.strip().lower(), device))


def free_bytes(device: str) -> int:
    """Return the memory that is free on ``device``."""
    if device.startswith("cuda"):
        import torch

        return int(torch.cuda.mem_get_info(device)[0])
    import psutil

    return int(psutil.virtual_memory().available)


def _device(asked: str) -> str:
    import torch

    if asked == "auto":
        return "cuda:0" if torch.cuda.is_available() else "cpu"
    if asked == "cpu":
        return asked
    if asked == "mps" and torch.backends.mps.is_available():
        return asked
    kind, _, index = asked.partition(":")
    if kind != "cuda" or not (index.isdecimal() or index == asked[5:] == ""):
        raise _no_device(asked, "choose auto, cpu, cuda or cuda:N")
    if not torch.cuda.is_available():
        raise _no_device(asked, "choose cpu, or install a torch that knows your GPU")
    number, count = int(index or 0), torch.cuda.device_count()
    if number >= count:
        raise _no_device(asked, f"choose a number below {count}")
    return f"cuda:{number}"


def _dtype(asked: str, device: str) -> str:
    if asked != "auto" and asked not in DTYPES:
        raise ConfigurationError(
            f"The dtype {asked} is not known; choose auto, {', '.join(DTYPES)}.",
            setting="dtype",
            value=asked,
        )
    if not device.startswith("cuda"):
        return "float32" if asked == "auto" else asked
    return _cuda_dtype(asked, device)


def _cuda_dtype(asked: str, device: str) -> str:
    import torch

    has_bfloat16 = torch.cuda.get_device_capability(device) >= (8, 0)
    if asked == "auto":
        return "bfloat16" if has_bfloat16 else "float16"
    if asked == "bfloat16" and not has_bfloat16:
        raise ConfigurationError(
            f"The dtype bfloat16 does not run well on {device}; choose float16.",
            setting="dtype",
            value=asked,
        )
    return asked


def _no_device(asked: str, cure: str) -> ConfigurationError:
    return ConfigurationError(
        f"The device {asked or 'without a name'} is not on this machine; {cure}.",
        setting="device",
        value=asked,
    )
