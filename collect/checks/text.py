"""Validators that read the answer as plain text, as a number, or for the tools that it invokes.

What counts as a number is written down in docs/configuration.md: digits of ASCII that are no part
of a word (`GPT-4`, `B12`, `4x4`) and no version or address (`1.2.3`). One pass from left to right
finds them without backtracking, so no answer makes it slow.
"""

from __future__ import annotations

import math
import re
from decimal import Context, Decimal, localcontext

from pydantic import JsonValue

from collect.checks.base import Answer, Verdict, matches, strip, verdict
from collect.tools import tool_use
from schemas.config import validators

SENTENCE_END = re.compile(r"(?<=[.!?])\s+")
BULLET = re.compile(r"\s*-(?:\s|$)")
"""A lone `-` is an empty bullet: what follows it is the line's end, white space too."""

MAX_SHOWN_LINES = 20
"""Enough to see why a count is off without storing the answer twice."""

_LETTER = r"A-Za-z_\u00c0-\u00d6\u00d8-\u00f6\u00f8-\u024f\u0370-\u03ff\u0400-\u052f"
"""Of scripts that put a space between words; elsewhere (`答案是42`) a number may touch a letter."""

TOKEN = re.compile(
    rf"""
    [{_LETTER}]++                                                 # a word, also `GPT-4.5`
        (?: [-\u2010\u2011]? [0-9][{_LETTER}0-9]*+ (?:\.[0-9]++)*+ )?+
    | (?P<number>
        (?>
            (?: (?<![0-9{_LETTER})\]}}%]) [-+\u2212] [$€£¥]? )?
            (?:
                [1-9][0-9]{{0,2}} (?: (?:,[0-9]{{3}}(?![0-9]))++
                                    | (?:[\u00a0\u2009\u202f][0-9]{{3}}(?![0-9]))++ )
                (?:\.[0-9]++)?+
            |   [0-9]++ (?:\.[0-9]++)?+
            |   (?<![0-9{_LETTER}.])\.[0-9]++
            )
            (?: [eE][-+\u2212]?[0-9]++ (?![{_LETTER}0-9]) )?+
        )
        (?! \.[0-9] | [{_LETTER}]*+[0-9] )
      )
    | [0-9][{_LETTER}0-9]*+ (?:\.[{_LETTER}0-9]++)*+              # no number: `1.2.3`, `4x4`
    """,
    re.VERBOSE,
)
PLAIN = str.maketrans({"\u2212": "-", "E": "e"} | dict.fromkeys("+$€£¥,\u00a0\u2009\u202f", ""))
MAX_EXPONENT = 10**9
"""An exponent beyond it changes no comparison: no text has as many digits."""

EXACT = Context(prec=10_000, Emax=10**6, Emin=-(10**6))
"""Holds the sum of any two numbers that a file can hold, to the last digit."""

MAX_EXACT_INT = 2**53
MAX_SHOWN_CHARS = 50
"""Characters of a number that a violation shows."""


def exact(validator: validators.Exact, answer: Answer) -> Verdict:
    """Pass when the text equals the value."""
    wanted = strip(validator.value)
    return verdict(answer.text == wanted, f"exact_mismatch want={wanted!r}", answer.text)


def one_of(validator: validators.OneOf, answer: Answer) -> Verdict:
    """Pass when the text is one of the values."""
    wanted = [strip(value) for value in validator.values]
    return verdict(answer.text in wanted, f"not_one_of {wanted}", answer.text)


def contains(validator: validators.Contains, answer: Answer) -> Verdict:
    """Pass when the text contains the value; or all of the values, or any of them."""
    wanted = [strip(part) for part in validator.parts]
    missing = [part for part in wanted if part not in answer.text]
    if validator.match == "any":
        return verdict(len(missing) < len(wanted), f"contains_none_of {wanted}", answer.text)
    return verdict(not missing, f"missing_text {missing}", answer.text)


def not_contains(validator: validators.NotContains, answer: Answer) -> Verdict:
    """Pass when the text contains none of the values."""
    found = [part for part in map(strip, validator.parts) if part in answer.text]
    return verdict(not found, f"unwanted_text {found}", answer.text)


def regex(validator: validators.RegexFullmatch | validators.RegexSearch, answer: Answer) -> Verdict:
    """Pass when the pattern matches in time: the whole text, or somewhere in it."""
    text = answer.text
    try:
        matched = matches(validator.pattern, text, whole=validator.type == "regex_fullmatch")
    except TimeoutError:
        return Verdict(False, "regex_timeout", text)
    return verdict(matched, f"{validator.type}_failed pattern={validator.pattern!r}", text)


def max_words(validator: validators.MaxWords, answer: Answer) -> Verdict:
    """Pass when there are at most so many words between white space."""
    text, limit = answer.text, validator.value
    got = len(text.split())
    violation = f"too_many_words got={got} limit={limit}"
    return verdict(got <= limit, violation, {"words": got, "text": text})


def max_sentences(validator: validators.MaxSentences, answer: Answer) -> Verdict:
    """Pass when there are at most so many sentences; text without an end mark is one."""
    text, limit = answer.text, validator.value
    got = sum(1 for sentence in SENTENCE_END.split(text) if sentence.strip())
    violation = f"too_many_sentences got={got} limit={limit}"
    return verdict(got <= limit, violation, {"sentences": got, "text": text})


def exact_bullets(validator: validators.ExactBullets, answer: Answer) -> Verdict:
    """Pass when exactly so many lines are bullets; nested ones count, other lines may be there."""
    lines = [line.rstrip() for line in answer.text.splitlines() if line.strip()]
    got = sum(1 for line in lines if BULLET.match(line))
    violation = f"bullet_count got={got} want={validator.value}"
    parsed: dict[str, JsonValue] = {"bullets": got, "lines": [*lines[:MAX_SHOWN_LINES]]}
    return verdict(got == validator.value, violation, parsed)


def tool_invocation(validator: validators.ToolInvocation, answer: Answer) -> Verdict:
    """Pass when an expected tool was called; the output is read as it came, unstripped."""
    expected = list(validator.expected_tools)
    use = tool_use(answer.output, answer.api_tool_calls, expected)
    parsed: dict[str, JsonValue] = {
        "detected_tools": [*use.tool_calls],
        "count": len(use.tool_calls),
    }
    return verdict(use.tool_use_success, f"no_tool_invocation expected={expected}", parsed)


def number(validator: validators.Number, answer: Answer) -> Verdict:
    """Pass when the last, or the only, number is at most the tolerance away from the value.

    All numbers are compared as the decimals they are written as: 0.3 is 0.1 give or take 0.2.
    """
    count, written = 0, ""
    for match in TOKEN.finditer(answer.text):
        if match.lastgroup is not None:
            count, written = count + 1, match[0]
    if not count:
        return Verdict(False, "no_number", {"number": None, "count": 0})
    read = _decimal(written)
    parsed: dict[str, JsonValue] = {"number": _stored(read), "count": count}
    if validator.occurrence == "only" and count > 1:
        return Verdict(False, f"several_numbers got={count}", parsed)
    wanted, tolerance = _exact(validator.value), _exact(validator.tolerance)
    with localcontext(EXACT):
        passed = wanted - tolerance <= read <= wanted + tolerance
    if passed:
        return Verdict(True, None, parsed)
    violation = f"number_mismatch got={written[:MAX_SHOWN_CHARS]} want={validator.value}"
    return Verdict(False, violation + f" tolerance={validator.tolerance}" * bool(tolerance), parsed)


def read_number(text: str) -> int | float | None:
    """Return the number that a text is, with its currency or percent sign, and nothing else.

    None where it is none, begins with a needless zero (`007` is a name), or has more digits than a
    file of ours can hold.
    """
    bare = text.strip(" \t\r\n").lstrip("$€£¥").removesuffix("%").rstrip(" \u00a0\u202f")
    match = TOKEN.fullmatch(bare)
    if match is None or match.lastgroup is None or re.match(r"[-+\u2212]?0[0-9]", bare):
        return None
    stored = _stored(_decimal(bare))
    return stored if isinstance(stored, int | float) else None


def _decimal(written: str) -> Decimal:
    """Return a number as it is written, but for an exponent that no comparison needs whole."""
    digits, _, exponent = written.translate(PLAIN).partition("e")
    distance = exponent.lstrip("-0") or "0"
    power = (
        min(int(distance), MAX_EXPONENT)
        if len(distance) <= len(str(MAX_EXPONENT))
        else MAX_EXPONENT
    )
    return Decimal(f"{digits}e{'-' * exponent.startswith('-')}{power}")


def _exact(value: float) -> Decimal:
    """Return a number of a file as it was written there, as far as a double tells."""
    return Decimal(value) if isinstance(value, int) else Decimal(repr(value))


def _stored(read: Decimal) -> JsonValue:
    """Return a number that every reader takes, as a text where JSON would change its value."""
    short = float(read)
    if not math.isfinite(short) or Decimal(repr(short)) != read:
        return str(read)[:MAX_SHOWN_CHARS]
    whole = abs(read) <= MAX_EXACT_INT and read == read.to_integral_value()
    return int(read) if whole else short
