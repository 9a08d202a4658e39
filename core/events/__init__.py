"""What happens in a run, as frozen dataclasses of plain Python values.

The window, the command line, the trace file and the tests consume the same events. They
carry everything that could be drawn, so that nobody who listens has to compute, and no
tensor, so that nobody who listens keeps device memory alive.
"""

from __future__ import annotations

from core.events.outcomes import (
    Candidate,
    Counts,
    Origin,
    Place,
    TokenOutcome,
    Verdict,
)
from core.events.pair import (
    LoadProgress,
    ModelFacts,
    PairLoaded,
    RoundOverhead,
    StepCosts,
)
from core.events.race import (
    Divergence,
    DivergenceKind,
    JudgedSpeed,
    Machine,
    RaceFinished,
    RaceStarted,
    RepeatFinished,
    Speedup,
)
from core.events.run import (
    Lane,
    LaneSummary,
    Noted,
    PrefillFinished,
    PrefillProgress,
    RoundFinished,
    RunFinished,
    RunStarted,
    SettingsChanged,
    StopReason,
)

Event = (
    LoadProgress
    | PairLoaded
    | RunStarted
    | PrefillProgress
    | PrefillFinished
    | SettingsChanged
    | Noted
    | RoundFinished
    | RunFinished
    | RaceStarted
    | RepeatFinished
    | RaceFinished
)

__all__ = [
    "Candidate",
    "Counts",
    "Divergence",
    "DivergenceKind",
    "Event",
    "JudgedSpeed",
    "Lane",
    "LaneSummary",
    "LoadProgress",
    "Machine",
    "ModelFacts",
    "Noted",
    "Origin",
    "PairLoaded",
    "Place",
    "PrefillFinished",
    "PrefillProgress",
    "RaceFinished",
    "RaceStarted",
    "RepeatFinished",
    "RoundFinished",
    "RoundOverhead",
    "RunFinished",
    "RunStarted",
    "SettingsChanged",
    "Speedup",
    "StepCosts",
    "StopReason",
    "TokenOutcome",
    "Verdict",
]
