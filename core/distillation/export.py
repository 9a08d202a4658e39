"""From a taught student to a checkpoint folder that any engine loads."""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import Any

from core.checkpoints.facts import CheckpointFacts
from core.checkpoints.quiet import quiet
from core.distillation.student import Student

_TOKENIZER_FILES = (
    *("tokenizer.json", "tokenizer.model", "tokenizer_config.json"),
    *("special_tokens_map.json", "added_tokens.json", "vocab.json", "merges.txt"),
    *("chat_template.jinja", "chat_template.json"),
)


def write_draft(
    student: Student, tokenizer: Any, target: CheckpointFacts, folder: Path
) -> None:
    """Write the student and the target's tokenizer to the new ``folder``."""
    shutil.rmtree(folder, ignore_errors=True)  # of a try that was killed
    folder.mkdir(parents=True)
    with quiet():
        student.to("cpu").save(folder)
    _write_tokenizer(tokenizer, target, folder)


def _write_tokenizer(tokenizer: Any, target: CheckpointFacts, folder: Path) -> None:
    """Copy the target's own files, which say more than transformers writes."""
    source = Path(target.tokenizer_path or target.path)
    if source.is_dir():
        for name in _TOKENIZER_FILES:
            if (source / name).is_file():
                shutil.copyfile(source / name, folder / name)
        return
    tokenizer.name_or_path = target.name  # not a folder of this machine
    for key in ("is_local", "local_files_only", "gguf_file"):
        tokenizer.init_kwargs.pop(key, None)
    tokenizer.save_pretrained(folder)
