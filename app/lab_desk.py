"""Between what a person asks for on the Lab page and the controller."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial

from PySide6.QtCore import QObject, Slot

from app.decode_page import DecodePage
from app.doctor_desk import DoctorDesk
from app.errands import Errands
from app.figure_desk import FigureDesk
from app.generation_worker import Failure
from app.jobs import Finding
from app.lab_page import LabPage
from app.pair_desk import PairDesk
from app.run_controller import RunController
from app.run_desk import RunDesk
from app.sweep_desk import SweepDesk
from app.trace_desk import TraceDesk
from app.views.exactness_panel import ExactnessPanel
from app.views.rules_panel import RulesPanel
from core.config import DrafterKind
from core.control import Control
from core.lab.rules import compare
from core.prompts import EMPTY_PROMPT
from core.session import Session

RULES = "rules"
NO_DRAFTER = "The lab needs a drafter, and none is chosen; pick one on the Decode page."
NO_DEMO = "The demo target is not on this computer yet; fetch it on the Decode page."


class LabDesk(QObject):
    """Turn the buttons of the experiments into jobs, or say why it cannot be."""

    def __init__(
        self,
        lab: LabPage,
        page: DecodePage,
        controller: RunController,
        pairs: PairDesk,
        runs: RunDesk,
        traces: TraceDesk,
        errands: Errands,
    ) -> None:
        super().__init__(lab)
        self._lab, self._page, self._controller = lab, page, controller
        self._pairs, self._runs = pairs, runs
        self._traces, self._errands = traces, errands
        self.exactness = ExactnessPanel()
        self.rules = RulesPanel()
        lab.add_section("Exactness", self.exactness)
        self.sweeps = SweepDesk(lab, page, controller, self.may_begin, errands)
        self.figures = FigureDesk(lab, page, controller, self.may_begin, errands)
        lab.add_section("Rules", self.rules)
        self.doctor = DoctorDesk(lab, page, controller, pairs)
        self.rules.compare_asked.connect(self._on_compare_asked)
        self.rules.laws_asked.connect(self._on_laws_asked)
        errands.answered.connect(self._on_answered)
        errands.failed.connect(self._on_failed)
        self.exactness.verify_asked.connect(self._on_verify_asked)
        self.exactness.cancel_asked.connect(controller.stop)
        controller.state_changed.connect(lab.show_state)

    def may_begin(self, *, with_prompt: bool = False) -> bool:
        """Return whether a job of the lab may begin; say in a banner why not."""
        if self._controller.state.is_busy:
            return False
        self._lab.banners.clear()
        prompt = self._page.prompt
        empty = with_prompt and prompt.uses_template() and not prompt.text()
        for stands, sentence in (
            (self._page.pair.pair().drafter is DrafterKind.NONE, NO_DRAFTER),
            (self._pairs.needs_demo(), NO_DEMO),
            (empty, EMPTY_PROMPT),
        ):
            if stands:
                self._lab.banners.show_error(sentence)
                return False
        return True

    @Slot(str)
    def _on_verify_asked(self, mutant: str) -> None:
        if not self.may_begin(with_prompt=True):
            return
        request, pair = self._runs.request(), self._page.pair.pair()

        def verify(session: Session, control: Control) -> Iterator[Finding]:
            return session.verify(request, control, mutant=mutant or None)

        self.exactness.begin()
        self._controller.work(pair, verify, request.config)

    @Slot()
    def _on_compare_asked(self) -> None:
        # In the background: the events of a long run are on the disk.
        self._errands.ask(RULES, partial(compare, self._traces.events), light=True)

    @Slot()
    def _on_laws_asked(self) -> None:
        if not self.may_begin(with_prompt=True):
            return
        request, pair = self._runs.request(), self._page.pair.pair()

        def sum_laws(session: Session, control: Control) -> Iterator[Finding]:
            return session.sum_laws(request, control)

        self.rules.laws.begin()
        self._controller.work(pair, sum_laws, request.config)

    @Slot(str, object)
    def _on_answered(self, key: str, value: object) -> None:
        if key == RULES and isinstance(value, tuple):
            self.rules.show_figures(value)

    @Slot(str, object)
    def _on_failed(self, key: str, failure: Failure) -> None:
        if key == RULES:
            self.rules.give_up()
            self._lab.banners.show_error(failure.sentence, failure.detail)
