"""``python -m core.cli``: the command line without the window's package."""

import sys

try:
    from core.cli import main

    code = main()
except KeyboardInterrupt:  # before the command line could catch it itself
    print("draftrace: cancelled.", file=sys.stderr)
    code = 130
sys.exit(code)
