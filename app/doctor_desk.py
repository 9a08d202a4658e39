"""Between the pair doctor on the Lab page, the controller and the chosen pair."""

from __future__ import annotations

from PySide6.QtCore import QObject, Slot

from app.decode_page import DecodePage
from app.lab_page import LabPage
from app.pair_desk import PairDesk
from app.run_controller import RunController
from app.views.pair_doctor import PairDoctorPanel
from core.config import DrafterKind, ModelConfig, PairConfig
from core.lab.doctor_events import DoctorPlan, DraftReport

NO_DEMO = "The demo target is not on this computer yet; fetch it on the Decode page."


class DoctorDesk(QObject):
    """Turn the panel's wishes into a job, and a chosen draft into the pair."""

    def __init__(
        self,
        lab: LabPage,
        page: DecodePage,
        controller: RunController,
        pairs: PairDesk,
    ) -> None:
        super().__init__(lab)
        self._lab, self._page = lab, page
        self._controller, self._pairs = controller, pairs
        self._target: ModelConfig | None = None  # that the doctor looked for last
        self.panel = PairDoctorPanel()
        lab.add_section("Pair doctor", self.panel)
        self.panel.look_asked.connect(self._on_look_asked)
        self.panel.cancel_asked.connect(controller.stop)
        self.panel.draft_chosen.connect(self._on_draft_chosen)

    @Slot(bool)
    def _on_look_asked(self, probe: bool) -> None:
        if self._controller.state.is_busy:
            return
        self._lab.banners.clear()
        if self._pairs.needs_demo():
            self._lab.banners.show_error(NO_DEMO)
            return
        self._target = target = self._page.pair.pair().target
        self.panel.begin()
        self._controller.examine(DoctorPlan(target, self._pairs.places, probe))

    @Slot(object)
    def _on_draft_chosen(self, draft: DraftReport) -> None:
        target = self._target  # another one may be chosen by now: it was not judged
        assert target is not None  # a draft is found by a look only
        pair = PairConfig(target, DrafterKind.LOOKUP)
        if draft.reference != DrafterKind.LOOKUP:
            model = ModelConfig(draft.reference, target.device, target.dtype)
            pair = PairConfig(target, DrafterKind.CHECKPOINT, model)
        self._page.pair.choose_pair(pair)
        if draft.best_lookahead is not None:
            self._page.decoding.field("auto_lookahead").set_value(False)
            self._page.decoding.field("lookahead").set_value(draft.best_lookahead)
        self._lab.banners.show_note(f"{draft.name} drafts on the Decode page now.")
