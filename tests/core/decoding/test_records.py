"""What is recorded of a round is what its rows say, however it is worked out."""

from __future__ import annotations

import pytest
import torch

from core.config import DecodingConfig
from core.decoding.records import Recorder
from core.decoding.speculative import play_round
from core.events import Verdict
from core.sampling import summaries
from core.sampling.draws import KeyedDraws
from core.sampling.streams import Purpose, stream_key
from tests.core.tables import drafting, looking_up, random_logits, start, table

VOCABULARY = 12
DTYPES = (torch.float32, torch.float64)  # by the kernels where they are, by torch


def _table(seed: int, dtype: torch.dtype):
    return table(random_logits(VOCABULARY, seed, dtype=dtype), VOCABULARY)


DRAFTERS = {
    "itself": lambda dtype: drafting(_table(1, dtype)),
    "other": lambda dtype: drafting(_table(7, dtype)),
    "lookup": lambda dtype: looking_up(VOCABULARY),
}


@torch.inference_mode()
def _rounds(drafter: str, dtype: torch.dtype, settings: DecodingConfig):
    """Yield each round, the position of its first token, and its places."""
    new_drafter, draws = DRAFTERS[drafter](dtype), KeyedDraws(0)
    sequence = start(_table(1, dtype), new_drafter, settings)
    recorder = Recorder(str, "float32", plain=False)
    while sequence.ending.reason is None:
        position = sequence.prefix.position
        played = play_round(sequence, settings, draws)
        yield played, position, recorder.places(played, position, settings)


@pytest.mark.parametrize("temperature", [0.0, 1.0])
@pytest.mark.parametrize("drafter", DRAFTERS)
@pytest.mark.parametrize("dtype", DTYPES)
def test_a_place_has_its_rows_own_figures(dtype, drafter, temperature):
    settings = DecodingConfig(
        lookahead=4, temperature=temperature, max_new_tokens=60, seed=0
    )
    verdicts = set()
    for played, position, places in _rounds(drafter, dtype, settings):
        for n, place in enumerate(places):
            verdicts.add(place.verdict)
            draft, target = played.judgement.draft[n], played.judgement.target[n]
            assert place.draft_probability == float(draft[place.token_id])
            if place.verdict is Verdict.DISCARDED:
                continue
            assert place.target_probability == float(target[place.token_id])
            key = stream_key(0, Purpose.TARGET, position + n)
            figures = place.overlap, place.product, place.shared_noise_agrees
            assert figures == summaries.compare(draft, target, key)
    assert (Verdict.REFUSED if drafter == "other" else Verdict.ACCEPTED) in verdicts


@pytest.mark.parametrize("dtype", DTYPES)
def test_at_temperature_0_a_place_shows_what_the_models_thought(dtype):
    settings = DecodingConfig(lookahead=4, temperature=0.0, max_new_tokens=40, seed=0)
    judged = 0
    for played, _, places in _rounds("other", dtype, settings):
        for n, place in enumerate(places):
            if place.verdict is Verdict.DISCARDED:
                continue
            judged += 1
            draft = played.proposal.scores[n].double().softmax(-1)
            target = played.judgement.scores[n].double().softmax(-1)
            excess = (target - draft).clamp(min=0)
            _same_best(place.draft_top, draft)
            _same_best(place.target_top, target)
            _same_best(place.residual_top, excess / excess.sum())
    assert judged > 10


def _same_best(shown, law: torch.Tensor) -> None:
    best = law.topk(min(8, len(law)))
    ids = [i for i, p in zip(best.indices.tolist(), best.values, strict=True) if p > 0]
    assert [candidate.token_id for candidate in shown] == ids
    values = [candidate.probability for candidate in shown]
    assert values == pytest.approx(law[ids].tolist(), rel=1e-4, abs=1e-7)
