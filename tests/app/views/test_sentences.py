"""The plain sentences, word for word."""

from __future__ import annotations

from dataclasses import replace

import pytest
from story import SETTINGS, plain_round, rounds_of, speculative_round, token_id

from app.views.labels import (
    apart,
    change,
    milliseconds,
    number,
    visible,
    word,
    words,
)
from app.views.sentences import place_card, place_sentence, token_card
from core.config import Coupling
from core.events import Candidate, Origin, TokenOutcome

GREEDY = replace(SETTINGS, temperature=0.0)
SHARED = replace(SETTINGS, coupling=Coupling.SHARED_NOISE)


def refused(settings=SETTINGS):
    return speculative_round(
        16, 40, [" for", " _", " range"], " enumerate", settings=settings
    )


def test_a_refusal_names_u_the_ratio_and_what_was_drawn():
    event = refused()
    assert place_sentence(event.places[2], event) == (
        "'enumerate' refused: u 0.71 is not below target/draft 0.38; "
        "'range' drawn from the residual."
    )


def test_an_acceptance_names_u_and_the_ratio():
    event = refused()
    assert place_sentence(event.places[0], event) == (
        "'for' accepted: u 0.12 is below target/draft 0.91."
    )


def test_a_proposal_the_target_likes_more_is_kept_by_any_u():
    event = refused()
    place = replace(event.places[0], acceptance_probability=1.0)
    assert place_sentence(place, event) == (
        "'for' accepted: target is not below draft, any u keeps it."
    )


def test_temperature_zero_speaks_of_first_choices():
    event = refused(GREEDY)
    assert place_sentence(event.places[2], event) == (
        "The target's first choice is 'range', the draft said 'enumerate'."
    )
    assert place_sentence(event.places[0], event) == (
        "'for' is the first choice of both target and draft."
    )


def test_shared_noise_speaks_of_the_same_noise():
    event = refused(SHARED)
    assert place_sentence(event.places[2], event) == (
        "With the same noise the target picks 'range', the draft 'enumerate'."
    )
    assert place_sentence(event.places[0], event) == (
        "With the same noise target and draft both pick 'for'."
    )


def test_a_discarded_proposal_was_never_judged():
    event = refused()
    card = place_card(event.places[3], event)
    assert card.sentence == (
        "'(' was drafted but never judged: place 3 was refused."
    ) or card.sentence.endswith("was drafted but never judged: place 3 was refused.")
    assert card.cost == "Cost 2.6 ms of drafting: 10.4 ms for 4 proposals."


def test_the_card_of_a_resampled_token():
    event = refused()
    card = token_card(event.tokens[2], event)
    assert card.title == "“range” · resampled · round 17, place 3"
    assert card.figures == "“enumerate”: draft 0.82, target 0.31, u 0.71"
    assert card.cost == "Cost 20.6 ms: its share of 61.8 ms for 3 tokens."
    assert card.action == "Open round 17"
    assert card.spoken().count("..") == 0


def test_a_bonus_token_says_that_all_were_accepted():
    event = speculative_round(3, 9, [" a", " b", " c", " d", " e"], None)
    card = token_card(event.tokens[-1], event)
    assert card.title == "“e” · bonus · round 4"
    assert card.sentence == (
        "All 4 were accepted, so the same pass of the target gave one more: 'e'."
    )


def test_a_bonus_token_without_proposals_says_so():
    event = speculative_round(3, 9, [" e"], None)
    assert token_card(event.tokens[0], event).sentence == (
        "Nothing was proposed; 'e' comes straight from the target."
    )


def test_a_plain_token():
    event = plain_round(4, " x")
    card = token_card(event.tokens[0], event)
    assert card.title == "“x” · plain · round 5"
    assert card.sentence == "Plain decoding: one pass of the target gave 'x'."
    assert card.figures == "target 0.70"


def test_a_prompt_token_has_nothing_to_open():
    card = token_card(TokenOutcome(17, " hi", Origin.PROMPT), None)
    assert card.title == "“hi” · prompt"
    assert card.action == ""


def test_an_end_token_is_named_by_its_label():
    end = TokenOutcome(
        2, "", Origin.BONUS, 0.9, target_top=(Candidate(2, "<|im_end|>", 0.9),)
    )
    event = replace(speculative_round(0, 0, [" a"], None), tokens=(end,))
    card = token_card(end, event)
    assert "<|im_end|>" in card.title
    assert card.sentence.endswith("It adds no text of its own here.")


def test_figures_at_temperature_zero_are_unwarped_and_say_so():
    event = refused(GREEDY)
    figures = place_card(event.places[2], event).figures
    assert figures == "“enumerate”: draft 0.82, target 0.31 (unwarped)"


def test_a_near_tie_is_said():
    event = plain_round(4, " x")
    token = replace(event.tokens[0], near_tie=True)
    assert token_card(token, event).figures.endswith("near tie")


@pytest.mark.parametrize("settings", [SETTINGS, GREEDY, SHARED])
def test_every_token_and_proposal_of_a_run_has_a_card(settings):
    texts = [" a", "\n", " ", "é", "", "b"] * 8
    for event in rounds_of(texts, settings=settings):
        cards = [token_card(t, event) for t in event.tokens]
        cards += [place_card(p, event) for p in event.places]
        assert all(c.title and c.sentence and c.cost for c in cards)


def test_numbers_that_differ_are_written_so_that_they_differ():
    assert apart(0.71, 0.38) == ("0.71", "0.38")
    assert apart(0.38001, 0.38000) == ("0.38001", "0.38000")


def test_a_tiny_share_is_not_called_nothing():
    assert [number(v) for v in (0.0, 0.001, 0.006, None)] == [
        "0.00",
        "<0.01",
        "0.01",
        "–",
    ]


def test_white_space_can_be_seen():
    assert [visible(t) for t in ("\n", "\t", "  ", " " * 12, " a")] == [
        "↵",
        "⇥",
        "␣␣",
        "␣×12",
        " a",
    ]
    assert word(" a") == "a"
    assert words(" a", "a") == ("␣a", "a")


def test_changes_are_short():
    assert change(SETTINGS, replace(SETTINGS, lookahead=2)) == "K 4→2"
    many = replace(SETTINGS, lookahead=2, temperature=0.0, top_k=5)
    assert change(SETTINGS, many) == "K 4→2, +2 more"


def test_times_keep_three_digits_at_most():
    assert [milliseconds(t) for t in (0.4, 2.6, 61.8, 1234.5, None)] == [
        "0.40 ms",
        "2.6 ms",
        "61.8 ms",
        "1,234 ms",
        "–",
    ]


def test_story_ids_are_stable():
    assert token_id("ab") == ord("a") + 2 * ord("b")
