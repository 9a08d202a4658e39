"""In a process of its own: what a race of one pair takes, beside the estimate.

Prints one JSON object. Counted is what the process writes itself (anonymous pages, at
their highest, sampled), and the weights where they stay in the mapped file. Pages of a
file that was only read to be converted are the system's to take back: not counted.
"""

from __future__ import annotations

import gc
import json
import sys
import threading
from dataclasses import asdict

from core.checkpoints.inspection import inspect_checkpoint
from core.checkpoints.memory import estimate, stays_mapped, weight_bytes
from core.config import (
    DecodingConfig,
    DecodingRequest,
    DrafterKind,
    ModelConfig,
    PairConfig,
)
from core.control import Control
from core.session import Session

PROMPT = "a b c d e f g h " * 12


class Peak:
    """Samples the anonymous pages of this process until it is left."""

    def __enter__(self) -> Peak:
        self.highest = anonymous_bytes()
        self._stop = threading.Event()
        self._thread = threading.Thread(target=self._watch)
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._stop.set()
        self._thread.join()

    def _watch(self) -> None:
        while not self._stop.wait(0.005):
            self.highest = max(self.highest, anonymous_bytes())


def anonymous_bytes() -> int:
    with open("/proc/self/status", encoding="ascii") as file:
        line = next(line for line in file if line.startswith("RssAnon"))
    return int(line.split()[1]) * 1024


def race(pair: PairConfig, num_tokens: int) -> int:
    """Race once; return how many ids the prompt has."""
    session = Session()
    for _ in session.load(pair, Control()):
        pass
    config = DecodingConfig(max_new_tokens=num_tokens, lookahead=4, ignore_eos=True)
    request = DecodingRequest("r", PROMPT, config, use_chat_template=False, repeats=1)
    for _ in session.race(request, Control(config)):
        pass
    return len(session.prompt_tokens(request))


def pair_of(target: str, draft: str, dtype: str) -> PairConfig:
    model = ModelConfig(target, "cpu", dtype)
    if draft == "lookup":
        return PairConfig(model, DrafterKind.LOOKUP)
    return PairConfig(model, DrafterKind.CHECKPOINT, ModelConfig(draft, "cpu", dtype))


def main(warm: str, target: str, draft: str, dtype: str) -> None:
    """Warm up on a tiny checkpoint, then measure the pair."""
    race(pair_of(warm, "lookup", dtype), 4)
    gc.collect()
    before, num_tokens = anonymous_bytes(), 32
    with Peak() as peak:
        ids = race(pair_of(target, draft, dtype), num_tokens)
    sides = [inspect_checkpoint(p) for p in (target, draft) if p != "lookup"]
    mapped = sum(weight_bytes(f, dtype) for f in sides if stays_mapped(f, dtype))
    found = estimate(
        sides[0],
        sides[1] if len(sides) > 1 else None,
        capacity=ids + num_tokens,
        lookahead=4,
        racing=True,
        dtype=dtype,
    )
    measured = peak.highest - before + mapped
    sys.stdout.write(json.dumps({"measured": measured, **asdict(found)}))


if __name__ == "__main__":
    main(*sys.argv[1:])
