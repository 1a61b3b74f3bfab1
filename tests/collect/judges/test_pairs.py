"""What answers about two trials come to, and what judges are asked about them."""

import json

import pytest

from collect.judges.answer import InvalidAnswer
from collect.judges.pairs.preference import compared, majority
from collect.judges.pairs.question import FORM

TABLE = [  # this_first, other_first, outcome, flips to whichever stood
    ("this", "this", "won", None),
    ("other", "other", "lost", None),
    ("this", "other", "tied", "this_first"),
    ("other", "this", "tied", "other_first"),
    ("tie", "tie", "tied", None),
    ("this", "tie", "tied", None),
    ("tie", "other", "tied", None),
    ("cannot_say", "this", None, None),
    ("other", "cannot_say", None, None),
    ("cannot_say", "cannot_say", None, None),
]


@pytest.mark.parametrize(("first", "second", "outcome", "flip"), TABLE)
def test_only_who_is_preferred_in_both_orders_wins(first, second, outcome, flip):
    found = compared(first, second)

    assert (found.outcome, found.flip) == (outcome, flip)


@pytest.mark.parametrize(
    ("outcomes", "found"),
    [
        ([], None),
        ([None, None], None),
        (["won", None], "won"),
        (["won", "lost"], "tied"),
        (["won", "tied"], "won"),
        (["lost", "lost", "won"], "lost"),
        (["tied"], "tied"),
    ],
)
def test_more_have_to_say_so_than_say_the_other(outcomes, found):
    assert majority(outcomes) == found


def answer(**fields):
    said = {"summary": "a", "evidence": ["b"], "preferred": "second"} | fields
    return json.dumps({name: one for name, one in said.items() if one is not None})


def test_an_answer_is_read():
    found = FORM.parsed(f"I think {answer()}")

    assert (found.choice, found.summary, found.evidence) == ("second", "a", {"preferred": ("b",)})


@pytest.mark.parametrize(
    ("text", "what"),
    [
        (answer(preferred="A"), "preferred"),
        (answer(preferred=None), "preferred"),
        (answer(summary=" "), "summary"),
        (answer(more=1), "more"),
        ("the first", "JSON"),
    ],
)
def test_what_does_not_fit_says_where(text, what):
    with pytest.raises(InvalidAnswer, match=what):
        FORM.parsed(text)
