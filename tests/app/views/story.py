"""A made-up but consistent run: events as the core would send them."""

from __future__ import annotations

import random
from collections.abc import Iterator
from dataclasses import replace

from core.config import DecodingConfig
from core.events import (
    Candidate,
    Counts,
    JudgedSpeed,
    Lane,
    LaneSummary,
    Machine,
    ModelFacts,
    Origin,
    Place,
    RaceFinished,
    RaceStarted,
    RepeatFinished,
    RoundFinished,
    RunFinished,
    RunStarted,
    Speedup,
    StopReason,
    TokenOutcome,
    Verdict,
)

CODE = (
    "def| fib|onacci|(|n|:| int|)| ->| int|:\n|   |"
    ' """|Return| the| n|-|th| Fib|onacci|."""\n|   |'
    " if| n| <| |2|:\n|       | return| n\n|   |"
    " a|,| b| =| |0|,| |1\n|   | for|"
    " _| in| range|(|n| -| |1|):\n|       |"
    " a|,| b| =| b|,| a| +| b\n|   | return| b\n\n|"
    "This| function| computes| the| sequence| iter|atively|,|"
    " so| it| uses| constant| memory|.|"
)
WRONG = (" enumerate", "self", " while", "(", " x", "[", " len", "0", " yield", '"')
PROMPT = (
    "<|im_start|>",
    "user",
    "\n",
    "Write",
    " a",
    " Python",
    " function",
    " that",
    " returns",
    " the",
    " n",
    "-th",
    " Fibonacci",
    " number",
    ".",
    "<|im_end|>",
    "\n",
    "<|im_start|>",
    "assistant",
    "\n",
)
SETTINGS = DecodingConfig(lookahead=4, temperature=0.7, seed=7)


def facts(name: str = "SmolLM2-135M-Instruct") -> ModelFacts:
    return ModelFacts(
        name, "demo", 135_000_000, 30, 49152, 2048, "cpu", "float32", 5 * 10**8, True
    )


def machine() -> Machine:
    return Machine(
        "Linux", "x86-64", 2, 8 * 10**9, "cpu", "3.11", "2.13", "5.17", "0.1.0"
    )


def token_id(text: str) -> int:
    return sum((i + 1) * ord(c) for i, c in enumerate(text)) % 49152


def candidates(text: str, probability: float, others: int = 5) -> tuple[Candidate, ...]:
    rest = (1 - probability) * 0.9
    tail = [
        Candidate(token_id(w), w, rest * 0.5 ** (i + 1))
        for i, w in enumerate(w for w in WRONG if w != text)
    ]
    own = Candidate(token_id(text), text, probability)
    found = sorted([own, *tail[:others]], key=lambda c: -c.probability)
    return tuple(found)


def accepted_place(index: int, text: str, settings: DecodingConfig = SETTINGS) -> Place:
    greedy = settings.temperature == 0
    draft, target = (1.0, 1.0) if greedy else (0.64, 0.58)
    return Place(
        index,
        token_id(text),
        text,
        Verdict.ACCEPTED,
        draft,
        target,
        None if greedy else 0.12,
        min(1.0, target / draft),
        0.8,
        0.3,
        True,
        text if greedy else None,
        candidates(text, 0.64),
        candidates(text, 0.58),
        candidates(WRONG[2], 0.4),
    )


def refused_place(
    index: int, text: str, instead: str, settings: DecodingConfig = SETTINGS
) -> Place:
    greedy = settings.temperature == 0
    judged = greedy or settings.coupling != "maximal"
    return Place(
        index,
        token_id(text),
        text,
        Verdict.REFUSED,
        1.0 if greedy else 0.82,
        0.0 if greedy else 0.31,
        None if judged else 0.71,
        0.0 if greedy else 0.38,
        0.5,
        0.2,
        False,
        instead if judged else None,
        candidates(text, 0.82),
        (*candidates(text, 0.31), Candidate(token_id(instead), instead, 0.44)),
        candidates(instead, 0.77),
    )


def discarded_place(index: int, text: str) -> Place:
    return Place(
        index,
        token_id(text),
        text,
        Verdict.DISCARDED,
        0.77,
        draft_top=candidates(text, 0.77),
    )


def speculative_round(
    index: int,
    position: int,
    texts: list[str],
    refused: str | None,
    *,
    settings: DecodingConfig = SETTINGS,
    clock_ms: float = 0.0,
    held: int = 0,
    run_id: str = "r",
) -> RoundFinished:
    """All of ``texts`` but the last were proposed; ``refused`` names what was not."""
    *kept, last = texts
    lookahead = settings.lookahead if refused else len(kept)
    places = [accepted_place(i + 1, t, settings) for i, t in enumerate(kept)]
    tokens = [
        TokenOutcome(token_id(t), t, Origin.ACCEPTED, 0.58, 0.64, 0.9, i + 1)
        for i, t in enumerate(kept)
    ]
    if refused:
        places.append(refused_place(len(kept) + 1, refused, last, settings))
        places += [
            discarded_place(i + 1, WRONG[i % len(WRONG)])
            for i in range(len(places), lookahead)
        ]
        tokens.append(
            TokenOutcome(
                token_id(last), last, Origin.RESAMPLED, 0.44, None, 0.38, len(kept) + 1
            )
        )
    else:
        tokens.append(
            TokenOutcome(
                token_id(last),
                last,
                Origin.BONUS,
                0.7,
                target_top=candidates(last, 0.7),
            )
        )
    counts = Counts(
        1,
        lookahead,
        len(kept) + bool(refused),
        len(kept),
        int(bool(refused)),
        int(not refused),
        len(tokens),
    )
    return RoundFinished(
        run_id,
        Lane.SPECULATIVE,
        index,
        position,
        settings,
        lookahead,
        tuple(places),
        tuple(tokens),
        counts,
        2.6 * lookahead,
        50.1,
        0.9,
        0.4,
        clock_ms or (index + 1) * 62.0,
        held,
    )


def plain_round(index: int, text: str, run_id: str = "r") -> RoundFinished:
    token = TokenOutcome(
        token_id(text), text, Origin.PLAIN, 0.7, target_top=candidates(text, 0.7)
    )
    return RoundFinished(
        run_id,
        Lane.PLAIN,
        index,
        index,
        SETTINGS,
        0,
        (),
        (token,),
        Counts(1, 0, 0, 0, 0, 1, 1),
        0.0,
        42.0 + index % 3,
        0.5,
        0.3,
        (index + 1) * 43.3,
    )


def started(lane: Lane = Lane.SPECULATIVE, repeat: int = 0, **more) -> RunStarted:
    prompt = tuple(TokenOutcome(token_id(t), t, Origin.PROMPT) for t in PROMPT)
    draft = facts("SmolLM2-draft-11M") if lane is Lane.SPECULATIVE else None
    return RunStarted("r", lane, repeat, SETTINGS, facts(), draft, prompt, **more)


def summary(rounds: list[RoundFinished], text: str | None = None) -> LaneSummary:
    tokens = [t for r in rounds for t in r.tokens]
    counts = sum((r.counts for r in rounds), Counts())
    clock = rounds[-1].clock_ms
    whole = "".join(t.text for t in tokens) if text is None else text
    return LaneSummary(
        whole,
        tuple(t.token_id for t in tokens),
        StopReason.EOS,
        counts,
        clock / len(tokens),
        1000 * len(tokens) / clock,
        120.0,
        clock + 90,
    )


def finished(rounds: list[RoundFinished], text: str | None = None) -> RunFinished:
    return RunFinished("r", rounds[0].lane, 0, summary(rounds, text))


def rounds_of(
    texts: list[str], seed: int = 3, settings: DecodingConfig = SETTINGS
) -> Iterator[RoundFinished]:
    """Cut a text into rounds of 1 to K + 1 tokens."""
    dice, position, index, clock = random.Random(seed), 0, 0, 0.0
    while position < len(texts):
        size = min(dice.choice((1, 2, 2, 3, 3, 4, 5, 5)), len(texts) - position)
        size = min(size, settings.lookahead + 1)
        refused = dice.choice(WRONG) if size <= settings.lookahead else None
        clock += 52 + 2.6 * settings.lookahead + dice.random() * 12
        yield speculative_round(
            index,
            position,
            texts[position : position + size],
            refused,
            settings=settings,
            clock_ms=clock,
        )
        position, index = position + size, index + 1


def code_rounds(**more) -> list[RoundFinished]:
    return list(rounds_of(CODE.split("|"), **more))


def plain_rounds() -> list[RoundFinished]:
    return [plain_round(i, t) for i, t in enumerate(CODE.split("|"))]


def race_finished(verdict: JudgedSpeed = JudgedSpeed.HELPS, **more) -> RaceFinished:
    done = RaceFinished(
        "r",
        summary(plain_rounds()),
        summary(code_rounds()),
        Speedup(1.81, 1.74, 1.86, 3, 1.62),
        None,
        None,
        verdict,
        0.30,
        0.68,
        SETTINGS,
        machine(),
        10**9,
    )
    return replace(done, **more)


def race() -> list[object]:
    """A whole race of three repeats, warm-up first."""
    events: list[object] = [RaceStarted("r", 3)]
    for repeat in range(4):
        warm = {"warm_up": repeat == 0}
        events += [started(Lane.SPECULATIVE, repeat, **warm)]
        events += [started(Lane.PLAIN, repeat, **warm)]
        events += code_rounds()
        events += plain_rounds()
        if repeat:
            events.append(RepeatFinished("r", repeat, 1.8, 1.6, True))
    return [*events, race_finished()]
