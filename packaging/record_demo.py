"""Record what ships in ``resources/demo``: the race and the rounds of the guided tour.

    python packaging/record_demo.py race
    python packaging/record_demo.py tour

Both use the demo pair as it is shipped. Record on a machine that does nothing else: the
race's times are shown to everybody who has no model.
"""

from __future__ import annotations

import argparse
import datetime
import sys
from collections.abc import Callable, Iterable, Iterator
from dataclasses import replace
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT))  # for a checkout that is not installed

from app.tour_steps import NoTour, steps_of  # noqa: E402
from core.config import DecodingConfig, DecodingRequest  # noqa: E402
from core.control import Control  # noqa: E402
from core.demo_pair import DRAFT_LOOKAHEAD, demo_pair  # noqa: E402
from core.events import Event, LoadProgress, PairLoaded, RaceFinished  # noqa: E402
from core.machine import describe_machine  # noqa: E402
from core.prompts import library, start_prompt  # noqa: E402
from core.session import Session  # noqa: E402
from core.trace import TraceHeader, write_trace  # noqa: E402

RACE = DecodingConfig(lookahead=DRAFT_LOOKAHEAD, temperature=0.0, max_new_tokens=96)
TOUR = DecodingConfig(lookahead=4, temperature=0.8, max_new_tokens=28)
SEEDS = range(200)  # of the tour: until a recording has the rounds that it explains
Taken = tuple[DecodingConfig, list[Event]]


def main(arguments: list[str] | None = None) -> int:
    """Record one of the two files; 1 where nothing fit to be shipped was found."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("what", choices=TAKES)
    parser.add_argument("--out", type=Path, default=ROOT / "resources" / "demo")
    options = parser.parse_args(arguments)
    session = Session()
    *_, loaded = session.load(demo_pair("cpu"), Control())
    assert isinstance(loaded, PairLoaded)
    title, take = TAKES[options.what]
    taken = take(session)
    if taken is None:
        return 1
    settings, events = taken
    path = options.out / f"{options.what}.jsonl"
    write_trace(path, _header(loaded, settings, title), events)
    sys.stdout.write(f"{path.name}: {len(events)} events\n")
    return 0


def _header(loaded: PairLoaded, settings: DecodingConfig, title: str) -> TraceHeader:
    return TraceHeader(
        target=loaded.target,
        draft=loaded.draft,
        settings=settings,
        machine=describe_machine(loaded.target.device),
        recorded_at=datetime.datetime.now(datetime.UTC).isoformat(timespec="seconds"),
        title=title,
    )


def record_race(session: Session) -> Taken | None:
    """Race three repeats on the prompt of a first start."""
    prompt = start_prompt(demo_pair().drafter)
    request = DecodingRequest("demo-race", prompt.text, RACE, prompt.chat)
    events = list(_kept(session.race(request, Control(RACE))))
    finished = events[-1]
    assert isinstance(finished, RaceFinished)
    sys.stdout.write(f"{finished.verdict}: {finished.speedup}\n")
    return (RACE, events) if finished.identical else None


def record_tour(session: Session) -> Taken | None:
    """Decode with one seed after the other until the five steps can be told."""
    prompt = next(p for p in library() if p.title == "Explain the tides")
    for seed in SEEDS:
        settings = replace(TOUR, seed=seed)
        request = DecodingRequest("tour", prompt.text, settings, prompt.chat)
        events = list(_kept(session.run(request, Control(settings))))
        try:
            steps_of(events)
        except NoTour as error:
            sys.stdout.write(f"seed {seed}: {error}\n")
        else:
            return settings, events
    return None


def _kept(events: Iterable[Event]) -> Iterator[Event]:
    return (event for event in events if not isinstance(event, LoadProgress))


TAKES: dict[str, tuple[str, Callable[[Session], Taken | None]]] = {
    "race": ("", record_race),
    "tour": ("A guided tour", record_tour),
}

if __name__ == "__main__":
    sys.exit(main())
