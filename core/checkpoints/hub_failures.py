"""What the hub or the network said, as one sentence with its cure."""

from __future__ import annotations

import errno

from core.errors import ModelLoadError
from core.redaction import without_secrets

_LOGIN = "log in with 'hf auth login'"
_KEPT = "what has arrived is kept"
_FULL = {f"errno {errno.ENOSPC}", f"errno {errno.EDQUOT}"}


def hub_failure(
    what: str, kinds: list[str], status: int | None, message: str
) -> ModelLoadError:
    """Return the error for a failure in the child.

    Args:
        what: for people, for example ``The model someone/tiny``.
        kinds: the names of the error's classes, the own one first.
        status: of the hub's answer, or None.
        message: of the error; goes into the folded detail without secrets.
    """
    return ModelLoadError(
        _sentence(what, kinds, status, message),
        detail=without_secrets(f"{kinds[0]}: {message}"),
        status=status,
    )


def not_asked(what: str) -> ModelLoadError:
    """Return the error for a switch that forbids the network."""
    return ModelLoadError(
        f"{what} cannot be asked for, the network is off (HF_HUB_OFFLINE); "
        "switch it on or choose a folder."
    )


def _sentence(what: str, kinds: list[str], status: int | None, message: str) -> str:
    if "Damaged" in kinds:
        return (
            f"{what} arrived damaged twice (the hash of {message} is not the hub's); "
            f"try again later, or on another network."
        )
    if _FULL & set(kinds):
        return (
            f"{what} does not fit on the disk; free some space or point HF_HUB_CACHE "
            f"to another disk, {_KEPT}."
        )
    if "GatedRepoError" in kinds:
        return (
            f"{what} is gated; open its page on the hub, accept its terms, {_LOGIN} "
            "and try again."
        )
    if status is not None:
        return _answered(what, kinds, status)
    if "TransportError" in kinds or "ConnectionError" in kinds:
        return (
            f"{what} could not be fetched, the hub does not answer; check the network "
            f"and try again, {_KEPT}."
        )
    return f"{what} could not be fetched ({kinds[0]}); try again, {_KEPT}."


def _answered(what: str, kinds: list[str], status: int) -> str:
    if status == 401 and "RepositoryNotFoundError" not in kinds:
        return f"{what} was not given, the hub refuses your access token; {_LOGIN}."
    if status == 403:
        return (
            f"{what} may not be read with your access token (403); ask its owner, or "
            f"{_LOGIN} as somebody who may."
        )
    if status in (401, 404):
        return (
            f"{what} is not on the hub, or you may not see it; check its name, or "
            f"{_LOGIN} if it is private."
        )
    if status == 429:
        return (
            f"{what} could not be fetched, the hub is asked too often from here (429); "
            f"wait some minutes and try again, {_KEPT}."
        )
    return (
        f"{what} could not be fetched, the hub has a fault of its own ({status}); "
        f"try again later, {_KEPT}."
    )
