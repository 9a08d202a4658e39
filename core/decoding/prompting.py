"""From the text that a person typed to the ids that both models read."""

from __future__ import annotations

from typing import Any

from core.config import DecodingRequest
from core.errors import PromptError
from core.prompts import EMPTY_PROMPT


def encode_prompt(tokenizer: Any, request: DecodingRequest) -> tuple[int, ...]:
    """Return the prompt's ids.

    Under a chat template the template writes every special token, so the tokenizer adds
    none: a beginning-of-text token is never doubled. Without one the tokenizer adds
    what it was made to add.

    Raises:
        PromptError: if there is nothing to decode from.
    """
    templated = request.use_chat_template and tokenizer.chat_template
    if templated:
        _require_text(request.prompt)
        text = _in_template(tokenizer, request)
        ids = tokenizer(text, add_special_tokens=False)["input_ids"]
    else:
        ids = tokenizer(request.prompt)["input_ids"]
    if not ids:
        _require_text("")
    return tuple(ids)


def _require_text(prompt: str) -> None:
    if not prompt:
        raise PromptError(EMPTY_PROMPT)


def _in_template(tokenizer: Any, request: DecodingRequest) -> str:
    turns = [{"role": "user", "content": request.prompt}]
    if request.system:
        turns.insert(0, {"role": "system", "content": request.system})
    try:
        return tokenizer.apply_chat_template(
            turns, tokenize=False, add_generation_prompt=True
        )
    except Exception as error:  # a template is a program of the checkpoint's maker
        raise PromptError(
            f"The chat template refused the prompt ({error}); switch it off.",
            detail=str(error),
        ) from error
