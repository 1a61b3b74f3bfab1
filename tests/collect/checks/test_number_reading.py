"""The validator `number` against a reader of its own kind: a character at a time, no pattern."""

from __future__ import annotations

from fractions import Fraction

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from collect.checks.base import Answer
from collect.checks.text import MAX_SHOWN_CHARS, number
from schemas.config.validators import Number
from tests.support.cpu_time import loops

MINUS = "-\u2212"
HYPHENS = "-\u2010\u2011"
SPACES = "\u00a0\u2009\u202f"


def is_digit(char):
    return char in "0123456789" and char != ""


def is_letter(char):
    return char == "_" or (char.isalpha() and ord(char) < 0x530 and char not in "ªº")


class Reader:
    """Reads an answer from left to right; `numbers` are the values found."""

    def __init__(self, text):
        self.text = text
        self.at = 0
        self.numbers = []
        while self.at < len(text):
            if is_letter(self.peek()):
                self.word()
            elif (end := self.number_end()) is not None:
                self.numbers.append(value_of(text[self.at : end]))
                self.at = end
            elif is_digit(self.peek()):
                self.at = self.run(self.at)
                while self.peek() == "." and self.at + 1 < self.run(self.at + 1):
                    self.at = self.run(self.at + 1)
            else:
                self.at += 1

    def peek(self, at=None):
        at = self.at if at is None else at
        return self.text[at] if 0 <= at < len(self.text) else ""

    def run(self, at, letters=True):
        while (char := self.peek(at)) and (is_digit(char) or (letters and is_letter(char))):
            at += 1
        return at

    def word(self):
        """Pass over a word, and over the digits that belong to it."""
        while self.peek() and is_letter(self.peek()):
            self.at += 1
        ahead = self.at + (self.peek() != "" and self.peek() in HYPHENS)
        if is_digit(self.peek(ahead)):
            self.at = self.run(ahead)
            while self.peek() == "." and is_digit(self.peek(self.at + 1)):
                self.at = self.run(self.at + 1, letters=False)

    def number_end(self):
        """Return where the number that begins here ends; None when none begins."""
        at, before = self.at, self.peek(self.at - 1)
        if self.peek() and self.peek() in MINUS + "+":
            if before and (is_digit(before) or is_letter(before) or before in ")]}%"):
                return None
            at += 1
            at += self.peek(at) != "" and self.peek(at) in "$€£¥"
        if (end := self.digits_end(at)) is None:
            return None
        if self.peek(end) in {"e", "E"}:
            power = end + 1
            power += self.peek(power) != "" and self.peek(power) in MINUS + "+"
            last = self.run(power, letters=False)
            if last > power and last == self.run(last):
                end = last
        after = end
        while self.peek(after) and is_letter(self.peek(after)):
            after += 1
        if is_digit(self.peek(after)) or (self.peek(end) == "." and is_digit(self.peek(end + 1))):
            return None
        return end

    def digits_end(self, at):
        if self.peek(at) == ".":
            before = self.peek(at - 1)
            bad = before == "." or (before and (is_digit(before) or is_letter(before)))
            end = self.run(at + 1, letters=False)
            return None if bad or end == at + 1 else end
        end = self.run(at, letters=False)
        if end == at:
            return None
        if end - at <= 3 and self.peek(at) != "0":
            separators = next(
                (s for s in (",", SPACES) if self.peek(end) and self.peek(end) in s), ""
            )
            while separators and self.peek(end) and self.peek(end) in separators:
                if self.run(end + 1, letters=False) != end + 4:
                    break
                end += 4
        if self.peek(end) == "." and is_digit(self.peek(end + 1)):
            end = self.run(end + 1, letters=False)
        return end


def value_of(written):
    """Return a number's value; None where writing it out would fill the memory."""
    for char in "$€£¥," + SPACES:
        written = written.replace(char, "")
    written = written.replace("\u2212", "-")
    power = written.lower().partition("e")[2].lstrip("+-0")
    return None if len(power) > 3 else Fraction(written)


PIECES = st.sampled_from([
    *"0123456789", *"0123456789", "12", "100", "000", ",", ".", "-", "+", "\u2212", "\u2011", " ",
    ",000", ".5", "e", "E", "e5", "x", "kg", "_", "%", "$", "€", "(", ")", "\u00a0", "\u202f",
    "GPT", "é", "答", "×", "π", "²", "٣", "½", "\n",
])  # fmt: skip


@settings(max_examples=300, deadline=None)
@given(st.lists(PIECES, max_size=14).map("".join))
@example("1,234.5e-3 kg")
@example("-$1,000")
@example("1e5kg")
@example("0,123")
@example("a-5.5.5")
@example("1.2e3")
@example("1\u00a0000,000")
def test_another_reader_finds_the_same_numbers(text):
    wanted = Reader(text.strip(" \t\r\n")).numbers

    got = number(Number(type="number", value=0, tolerance=0), Answer(text)).parsed_output

    assert got["count"] == len(wanted)
    read = got["number"]
    if wanted and wanted[-1] is not None and len(str(read)) < MAX_SHOWN_CHARS:
        assert wanted[-1] == Fraction(str(read))


STYLES = st.sampled_from(["{}", "{:,}", "**{}**", "It is {:,}.", "${:,}", "= {} kg", "{:e}", "{}%"])


@settings(max_examples=100, deadline=None)
@given(st.integers(-(10**9), 10**9), STYLES, st.integers(0, 5), st.integers(-6, 6))
def test_a_number_is_found_however_it_is_written(value, style, tolerance, offset):
    text = style.format(value)
    exact = value if "e}" not in style else int(float(text))
    validator = Number(type="number", value=exact + offset, tolerance=tolerance)

    passed = number(validator, Answer(f"First 3, then 4.\n{text}")).objective_pass

    assert passed is (abs(offset) <= tolerance)


@pytest.mark.parametrize(
    "part", ["1", "1,111", "a1", "1.", "1e1", "-", ".", "a-", "1,", "1e", "1a"]
)
def test_no_answer_is_slow_to_read(part):
    text = part * (200_000 // len(part))

    cost = loops(lambda: number(Number(type="number", value=0), Answer(text)))

    assert cost < 50, "a pass that goes back would take minutes"
