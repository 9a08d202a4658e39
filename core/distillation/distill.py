"""One distillation from beginning to end: collect, teach, write, measure.

Everything lies in the draft's folder while it is made, so that whatever ends it early
costs no more than the batch at hand, and resuming goes on from there.
"""

from __future__ import annotations

import gc
import time
from collections.abc import Callable, Generator, Iterator
from functools import partial

from core.background import with_progress, with_reports
from core.checkpoints.facts import CheckpointFacts
from core.checkpoints.inspection import inspect_checkpoint
from core.checkpoints.plain_only import proposals_refusal
from core.control import Control
from core.distillation import folder as folders
from core.distillation.card import write_card
from core.distillation.card_of import card_of
from core.distillation.clock import Stopwatch
from core.distillation.collecting import Batch
from core.distillation.collection import Collection
from core.distillation.export import write_draft
from core.distillation.lessons import lessons
from core.distillation.measured_draft import Steps, measured_draft
from core.distillation.plan import (
    DistillEvent,
    DistillFinished,
    DistillPlan,
    DistillProgress,
    DraftFigures,
    Stage,
)
from core.distillation.recipe import (
    COLLECTING_SHARE,
    HELD_OUT_SHARE,
    Recipe,
    recipe_of,
    source_of,
    teaching_of,
)
from core.distillation.remeasuring import remeasure
from core.distillation.source import Source, read_source
from core.distillation.teaching import Teaching, beginnings
from core.events import LoadProgress
from core.runtime import threads

LEAST_TRAINING = 0.2  # of the time, where collecting took longer than it should
MEASURING_SHARE = 0.1  # of the progress bar; nobody knows the time before
ENOUGH_HELD_OUT = 40_000  # tokens; more would only make every look longer
_TELL_EVERY_S = 0.5

Tell = Callable[[DistillProgress], None]
Told = DistillEvent | LoadProgress
Events = Iterator[Told]
Measuring = Generator[Told, None, DraftFigures | None]


def distill(plan: DistillPlan, control: Control) -> Events:
    """Make, or only measure, the draft that ``plan`` asks for.

    Yields progress, then DistillFinished, also when it was cancelled: what was best so
    far is written all the same.

    Args:
        plan: what to make.
        control: stops it, between tokens and steps.

    Raises:
        CoreError: with the sentence for the person; what is on disk stays whole.
    """
    if plan.measure:
        yield from remeasure(plan, control.should_stop)
        return
    place = folders.check_out(plan)
    yield DistillProgress(Stage.LOADING)
    recipe, facts = recipe_of(plan), inspect_checkpoint(plan.target.reference)
    if facts.plain_only:
        raise proposals_refusal(facts, "A distillation")
    folders.begin(place, source_of(plan, recipe, facts))
    with folders.disk_errors(place):
        yield from _Sitting(plan, recipe, facts, place, control).events()


class _Sitting:
    """From the first text to the card; a folder may see several sittings."""

    def __init__(
        self,
        plan: DistillPlan,
        recipe: Recipe,
        facts: CheckpointFacts,
        place: folders.DraftFolder,
        control: Control,
    ) -> None:
        self._plan, self._recipe, self._facts = plan, recipe, facts
        self._place, self._stopped = place, control.should_stop
        self._watch = Stopwatch(place.work, 60 * plan.minutes)
        self._told_at = 0.0
        self._tokens = 0
        self._acceptance: float | None = None

    def events(self) -> Events:
        source = yield from with_progress(self._read_source)
        tokenizer, teaching = source.tokenizer, (yield from self._prepare(source))
        del source  # the target leaves the memory
        gc.collect()
        if teaching is None:
            yield self._finished(None)
            return
        yield from self._teach(teaching)
        if teaching.steps or not self._place.has_draft:
            self._export(teaching, tokenizer)
        del teaching
        figures = yield from self._measure()
        self._write_card(figures)
        yield self._finished(figures)

    def _read_source(self, tell: Callable[[LoadProgress], None]) -> Source:
        tell(LoadProgress("Reading the target", None, self._facts.name))
        return read_source(self._facts, self._plan.target)

    # Collecting -------------------------------------------------------------------

    def _collection(self, source: Source, *, held_out: bool) -> Collection:
        recipe, place = self._recipe, self._place
        settings = recipe.judging if held_out else recipe.collecting
        where = place.held_out if held_out else place.texts
        return Collection(source, recipe.prompts, settings, where, held_out=held_out)

    def _prepare(
        self, source: Source
    ) -> Generator[DistillEvent, None, Teaching | None]:
        """Collect texts; return a student for them, or None without enough."""
        taught = self._collection(source, held_out=False)
        held_out = self._collection(source, held_out=True)
        yield from with_reports(partial(self._collect, held_out, taught))
        self._tokens = taught.tokens
        if self._stopped() or not (taught.tokens and held_out.tokens):
            return None
        return self._teaching(source, taught, held_out)

    def _collect(self, held_out: Collection, taught: Collection, tell: Tell) -> None:
        threads.torch_on_all_cores()
        self._watch.start()
        seconds = COLLECTING_SHARE * self._watch.whole - self._watch.of(
            Stage.COLLECTING
        )
        if held_out.tokens < ENOUGH_HELD_OUT:
            self._grow(held_out, HELD_OUT_SHARE * seconds, "held-out texts", tell)
        if not self._stopped():
            self._grow(taught, seconds, "texts", tell)
        self._watch.stop(Stage.COLLECTING)

    def _grow(self, texts: Collection, seconds: float, what: str, tell: Tell) -> None:
        """Add as many batches as the time allows, one where there is none yet."""
        if seconds <= 0 and texts.tokens:
            return

        def on_token(number: int, batch: Batch) -> None:
            if self._may_tell():
                detail = f"{len(batch.prompts)} {what} at a time, token {number}"
                tell(self._progress(Stage.COLLECTING, texts.tokens, detail=detail))

        def time_is_up() -> bool:
            return self._watch.lap > seconds

        for _ in texts.grow(self._stopped, time_is_up, on_token):
            if time_is_up():
                return

    # Teaching ---------------------------------------------------------------------

    def _teaching(
        self, source: Source, taught: Collection, held_out: Collection
    ) -> Teaching:
        least = LEAST_TRAINING * 60 * self._plan.minutes
        seconds = self._watch.of(Stage.TRAINING) + max(self._watch.left, least)
        return Teaching(
            beginnings(source, self._recipe.shape),
            self._recipe.shape,
            lessons(taught.store.all()),
            lessons(held_out.store.all()),
            teaching_of(self._plan, seconds),
            self._place.training,
        )

    def _teach(self, teaching: Teaching) -> Events:
        self._watch.start()
        tokens = 0
        for report in teaching.teach(self._stopped):
            seen, tokens = report.judgement, report.tokens
            if seen is not None or self._may_tell():
                found = seen.acceptance if seen is not None else None
                detail = f"step {report.step:,}"
                yield self._progress(
                    Stage.TRAINING, report.tokens, report.loss, found, detail
                )
        self._watch.stop(Stage.TRAINING)
        if teaching.judgement is not None:
            self._acceptance = teaching.judgement.acceptance
            end = f"judged on {teaching.judgement.tokens:,} held-out tokens"
            yield self._progress(Stage.TRAINING, tokens, None, self._acceptance, end)

    def _export(self, teaching: Teaching, tokenizer: object) -> None:
        made = self._place.work / "export"
        write_draft(teaching.student, tokenizer, self._facts, made)
        self._place.put_in_place(made)
        self._write_card(None)

    def _write_card(self, figures: DraftFigures | None) -> None:
        card = card_of(
            self._plan,
            self._recipe,
            self._facts,
            self._watch,
            self._tokens,
            self._acceptance,
            figures,
        )
        write_card(self._place.root, card)

    def _measure(self) -> Measuring:
        self._watch.start()
        steps = measured_draft(
            self._plan, self._recipe, self._place.root, self._stopped
        )
        figures = yield from self._told(steps)
        self._watch.stop(Stage.MEASURING)
        return figures

    def _told(self, steps: Steps) -> Measuring:
        """Turn shares of the measuring into progress of the whole."""
        while True:
            try:
                done = next(steps)
            except StopIteration as end:
                return end.value
            if isinstance(done, LoadProgress):
                yield done
                continue
            left = self._watch.lap * (1 - done) / done
            whole = 1 - MEASURING_SHARE * (1 - done)
            yield DistillProgress(Stage.MEASURING, whole, left, self._tokens)

    # Telling ----------------------------------------------------------------------

    def _may_tell(self) -> bool:
        now = time.monotonic()
        due = now - self._told_at > _TELL_EVERY_S
        self._told_at = now if due else self._told_at
        return due

    def _progress(
        self,
        stage: Stage,
        tokens: int,
        loss: float | None = None,
        acceptance: float | None = None,
        detail: str = "",
    ) -> DistillProgress:
        whole = (1 - MEASURING_SHARE) * self._watch.fraction
        left = self._watch.left or None  # a batch may end later than it should
        return DistillProgress(stage, whole, left, tokens, loss, acceptance, detail)

    def _finished(self, figures: DraftFigures | None) -> DistillFinished:
        return DistillFinished(
            folder=str(self._place.root) if self._place.has_draft else "",
            cancelled=self._stopped(),
            tokens=self._tokens,
            seconds=self._watch.total,
            acceptance=self._acceptance,
            figures=figures,
        )
