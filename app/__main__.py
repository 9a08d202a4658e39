"""The door: a command goes to the core without Qt, nothing opens the window."""

from __future__ import annotations

import sys
from collections.abc import Sequence

BAD_INPUT, CANCELLED = 2, 130


def main(argv: Sequence[str] | None = None) -> int:
    """Run a command, or open the window; Ctrl+C ends both in one sentence."""
    try:
        return _main(argv)
    except KeyboardInterrupt:  # while Python imports what would catch it
        sys.stderr.write("draftrace: cancelled.\n")
        return CANCELLED


def _main(argv: Sequence[str] | None) -> int:
    import multiprocessing  # inside, so that Ctrl+C is caught meanwhile

    multiprocessing.freeze_support()
    arguments = list(sys.argv[1:] if argv is None else argv)
    if arguments and (not arguments[0].startswith("-") or arguments[0] == "--version"):
        from core import cli

        return cli.main(arguments)
    from app import options
    from core.errors import ConfigurationError

    try:
        chosen = options.parse(arguments)
    except ConfigurationError as error:
        sys.stderr.write(f"draftrace: {error.sentence}\n")
        return BAD_INPUT
    from app import application  # Qt from here on

    return application.main(chosen)


if __name__ == "__main__":
    sys.exit(main())
