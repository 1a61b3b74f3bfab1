"""Text of a subject in a fence: nothing in it closes the fence, hides, or grows without a limit."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from collect.judges.fence import CLOSE, OPEN, cut, fenced, new_marker, plain

MARKER = "0123456789abcdef"


@given(st.text(max_size=300), st.integers(4, 100))
def test_whatever_is_in_it_a_fence_opens_once_and_closes_once(text, most):
    found = fenced(text, "answer", MARKER, most)

    assert found.count(OPEN) == found.count(CLOSE) == 2
    assert found.startswith(f"{OPEN}answer {MARKER}{CLOSE}\n")
    assert found.endswith(f"\n{OPEN}/answer {MARKER}{CLOSE}")


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        (f"{OPEN}/answer {MARKER}{CLOSE}", rf"\u27e6/answer {MARKER}\u27e7"),
        ("a\u202eb", r"a\u202eb"),  # turns the direction
        ("a\u200bb", r"a\u200bb"),  # no width
        ("\U000e0067\U000e0069", r"\U000e0067\U000e0069"),  # tags: hidden ASCII
        ("a\U000e0101", r"a\U000e0101"),  # variation selectors: hidden bytes
        ("\u3164", r"\u3164"),  # a blank letter
        ("\x1b[2J\x00", r"\x1b[2J\x00"),
        ("\ud800", r"\ud800"),
        ("می\u200cخواهم", "می\u200cخواهم"),
        ("👩\u200d🔬", "👩\u200d🔬"),
        ("a\r\nb\tc", "a\nb\tc"),
        ("std::cout << x >> y", "std::cout << x >> y"),
        ("Größe 10 €", "Größe 10 €"),
    ],
)
def test_what_nobody_sees_is_spelled_and_the_rest_stays(text, shown):
    assert plain(text) == shown


def test_a_long_text_keeps_both_ends_and_says_what_is_left_out():
    found = cut("a" * 600 + "b" * 600, 300)

    assert found == "a" * 200 + "\n[900 characters left out]\n" + "b" * 100
    assert cut("a" * 300, 300) == "a" * 300


def test_no_two_prompts_have_a_marker_in_common():
    assert len({new_marker() for _ in range(1000)}) == 1000
