"""The doctor's report as text, for the Help menu."""

from __future__ import annotations

import json


def doctor_report() -> str:
    """Return what ``draftrace doctor`` finds; an errand, since it imports torch."""
    from core.cli.doctor import findings

    return json.dumps(findings(), indent=2, ensure_ascii=False)
