"""The layer-skipped demo draft: the demo target with some of its layers left out.

It needs no training and no download. Which layers may go was measured once:
starting from all thirty, the layer whose removal cost least greedy agreement was taken
out, again and again (teacher-forced over the target's own greedy answers to six chat
prompts of different kinds; six other prompts were held out). The first step tried every
layer, each later one the eight that had cost least when last tried.
"""

from __future__ import annotations

import json
import re
import shutil
from pathlib import Path
from typing import Any

from core.checkpoints import cache, demo
from core.checkpoints.facts import CheckpointFacts
from core.checkpoints.progress import OnProgress, ShouldStop, Work, ignore, never
from core.checkpoints.safetensors_header import SINGLE, read_weights

LAYERS_REFERENCE = "demo-layers"
# Greedy agreement with the target (284 places searched, 278 held out), float32:
#
#   layers   29   28   27   26   25   24   23   22   21   20
#   searched .83  .73  .68  .65  .63  .57  .52  .49  .45  .39
#   held out .80  .68  .60  .54  .52  .46  .44  .43  .40  .32
#
# Dropped, in this order: 5 7 27 6 4 25 3 14 22 19. At 22 layers the loss per layer is
# smallest. Its weights are 0.79 of the target's, so this draft shows acceptance and
# refusal on real text; it cannot make decoding faster.
KEPT_LAYERS: tuple[int, ...] = (
    *(0, 1, 2, 8, 9, 10, 11, 12, 13, 15, 16),
    *(17, 18, 19, 20, 21, 22, 23, 24, 26, 28, 29),
)
LAYERS_NAME = f"{demo.DEMO_NAME}-{len(KEPT_LAYERS)}-layers"
_LAYER = re.compile(r"^(.*\blayers\.)(\d+)(\..*)$")
_WHAT = "The layer-skipped draft"


def layer_skipped_folder() -> Path:
    """Return where the layer-skipped demo draft lies, or will lie."""
    return cache.cache_root() / "demo" / LAYERS_NAME


def local_layer_skipped() -> Path | None:
    """Return the layer-skipped draft's folder if it is here and whole."""
    folder = layer_skipped_folder()
    return folder if cache.is_whole(folder, _source()) else None


def derive_layer_skipped(
    target: Path, on_progress: OnProgress = ignore, should_stop: ShouldStop = never
) -> Path:
    """Return the layer-skipped draft's folder, slicing it out of ``target`` once.

    Args:
        target: the folder of the demo target.
        on_progress: told how it goes.
        should_stop: asked between the stages.

    Raises:
        Cancelled: if the person asked to stop; nothing is left behind.
        ModelLoadError: without room on the disk.
    """
    found = local_layer_skipped()
    if found is not None:
        return found
    work = Work(on_progress, should_stop)
    root, needed = layer_skipped_folder().parent, (target / SINGLE).stat().st_size
    cache.require_space(root, needed, _WHAT)
    with cache.disk_errors(root, needed, _WHAT), cache.partial_folder(root) as scratch:
        work.report("Making the layer-skipped draft")
        made = scratch / LAYERS_NAME
        slice_layers(target, KEPT_LAYERS, made)
        return cache.publish(made, layer_skipped_folder(), _source(), work)


def slice_layers(target: Path, kept: tuple[int, ...], folder: Path) -> None:
    """Write ``target`` with only the ``kept`` layers to ``folder``."""
    import torch
    from safetensors import safe_open
    from safetensors.torch import save_file

    folder.mkdir()
    tensors: dict[str, torch.Tensor] = {}
    with safe_open(target / SINGLE, framework="pt") as weights:
        for name in weights.keys():  # noqa: SIM118  (not a dict)
            new_name = _renumbered(name, kept)
            if new_name is not None:
                tensors[new_name] = weights.get_tensor(name)
    save_file(tensors, folder / SINGLE, metadata={"format": "pt"})
    _write_config(target, kept, folder)
    for path in target.iterdir():
        if path.name not in (SINGLE, "config.json", cache.MANIFEST):
            shutil.copyfile(path, folder / path.name)


def planned_facts(target: CheckpointFacts) -> CheckpointFacts:
    """Return the facts of the draft that would be sliced out of ``target``."""
    import dataclasses
    import math

    shapes = read_weights([Path(target.path) / SINGLE]).shapes
    kept = (s for n, s in shapes.items() if _renumbered(n, KEPT_LAYERS) is not None)
    parameters = sum(math.prod(shape) for shape in kept)
    share = len(KEPT_LAYERS) / target.num_layers
    return dataclasses.replace(
        target,
        reference=LAYERS_REFERENCE,
        name=LAYERS_NAME,
        path="",
        num_layers=len(KEPT_LAYERS),
        num_parameters=parameters,
        size_bytes=round(target.size_bytes * parameters / target.num_parameters),
        cache_values_per_token=round(target.cache_values_per_token * share),
    )


def _renumbered(name: str, kept: tuple[int, ...]) -> str | None:
    """Return the tensor's name in the draft; None if its layer is left out."""
    found = _LAYER.match(name)
    if found is None:
        return name
    layer = int(found[2])
    return f"{found[1]}{kept.index(layer)}{found[3]}" if layer in kept else None


def _write_config(target: Path, kept: tuple[int, ...], folder: Path) -> None:
    config = json.loads((target / "config.json").read_text(encoding="utf-8"))
    config["num_hidden_layers"] = len(kept)
    if isinstance(config.get("layer_types"), list):
        config["layer_types"] = [config["layer_types"][i] for i in kept]
    (folder / "config.json").write_text(json.dumps(config, indent=2), encoding="utf-8")


def _source() -> dict[str, Any]:
    return {"target": demo.GGUF_SHA256, "kept": list(KEPT_LAYERS), "version": 1}
