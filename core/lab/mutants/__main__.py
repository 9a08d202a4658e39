"""Try every mutant; see :mod:`core.lab.trial`."""

import sys

from core.lab.trial import main

sys.exit(main())
