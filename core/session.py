"""The one door through which the window and the command line reach the core.

Importing this module does not import torch; the first load does, in whichever thread
pulls it. All methods that work are generators of events: whoever pulls them does the
work in their own thread, and not pulling is pausing.
"""

from __future__ import annotations

from collections.abc import Iterator

from core.config import DecodingRequest, PairConfig
from core.control import Control
from core.events import Event


class Session:
    """A loaded pair and what can be done with it."""

    def load(self, pair: PairConfig, control: Control) -> Iterator[Event]:
        """Load ``pair``, keeping the previous one usable until it is ready.

        Yields LoadProgress, then PairLoaded. Ends without PairLoaded when cancelled.

        Raises:
            CoreError: with the sentence for the person; the previous pair stays.
        """
        raise NotImplementedError

    def run(self, request: DecodingRequest, control: Control) -> Iterator[Event]:
        """Decode one prompt speculatively (or plainly where no drafter is loaded).

        Yields RunStarted, PrefillProgress, PrefillFinished, then RoundFinished with
        SettingsChanged and Noted between, and always ends with RunFinished once it
        has begun. Lane is SPECULATIVE with a drafter, else PLAIN.

        Raises:
            CoreError: before RunStarted only (bad prompt, no room, nothing loaded).
        """
        raise NotImplementedError

    def race(self, request: DecodingRequest, control: Control) -> Iterator[Event]:
        """Race speculative against plain decoding by turns.

        Yields RaceStarted, then for the warm-up (repeat 0) and each repeat both lanes'
        events interleaved and RepeatFinished, then RaceFinished.
        """
        raise NotImplementedError

    def prompt_tokens(self, request: DecodingRequest) -> tuple[tuple[int, str], ...]:
        """Return the (id, label) pairs that ``request`` would be decoded from."""
        raise NotImplementedError
