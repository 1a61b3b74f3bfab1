"""One row per edge of D-B1 to D-B6: validator, text, verdict, violation."""

from __future__ import annotations

import asyncio
import json
import time
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from pydantic import TypeAdapter

from collect.checks import Verdict, judge
from collect.checks.base import REGEX_TIMEOUT_S
from schemas.config.validators import Validator

LOAD: TypeAdapter[Validator] = TypeAdapter(Validator)
CATASTROPHIC = r"(a|aa)+$"
"""Unlike `(a+)+$`, one that `regex` has no shortcut for."""

SLOW_VALUE = json.dumps({"a": "a" * 60 + "!"})


def verdict(fields: dict[str, Any], text: str, *calls: str) -> Verdict:
    return asyncio.run(judge(LOAD.validate_python(fields), text, api_tool_calls=calls))


def exact(value: str) -> dict[str, Any]:
    return {"type": "exact", "value": value}


def one_of(*values: str) -> dict[str, Any]:
    return {"type": "one_of", "values": values}


def rx(pattern: str) -> dict[str, Any]:
    return {"type": "regex_fullmatch", "pattern": pattern}


def search(pattern: str) -> dict[str, Any]:
    return {"type": "regex_search", "pattern": pattern}


def contains(*values: str, match: str | None = None) -> dict[str, Any]:
    """Return a validator for one text, or for several with `match`."""
    if match is None:
        return {"type": "contains", "value": values[0]}
    return {"type": "contains", "values": values, "match": match}


def lacks(*values: str) -> dict[str, Any]:
    return {"type": "not_contains", "values": values}


def number(value: float, **facts: Any) -> dict[str, Any]:
    return {"type": "number", "value": value, **facts}


def words(value: int) -> dict[str, Any]:
    return {"type": "max_words", "value": value}


def sentences(value: int) -> dict[str, Any]:
    return {"type": "max_sentences", "value": value}


def bullets(value: int) -> dict[str, Any]:
    return {"type": "exact_bullets", "value": value}


def keys(*required: str, **rules: Any) -> dict[str, Any]:
    return {"type": "json_keys", "required_keys": required, "key_rules": rules}


def rule(kind: str, **facts: Any) -> dict[str, Any]:
    """Return a validator with one rule for the key `a`."""
    return keys(a={"type": kind, **facts})


def tools(*expected: str) -> dict[str, Any]:
    return {"type": "tool_invocation", "expected_tools": expected}


BETWEEN = rule("range", min=0, max=10)
LEVEL = rule("one_of", values=["low", "high"])
FROM_2 = keys(a=[{"type": "integer"}, {"type": "range", "min": 2}])
BIG = 2**53 + 1

ROWS: list[tuple[dict[str, Any], str, bool | None, str | None]] = [
    ({"type": "noop"}, "anything", None, None),
    ({"type": "noop"}, "", None, None),
    # exact: stripped of four characters, compared as it is
    (exact("OK"), "OK", True, None),
    (exact("OK"), " \t\r\nOK\r\n", True, None),
    (exact("  OK\n"), "OK", True, None),
    (exact("OK"), "ok", False, "exact_mismatch want='OK'"),
    (exact("OK"), "OK.", False, "exact_mismatch want='OK'"),
    (exact("OK"), "\u00a0OK", False, "exact_mismatch want='OK'"),
    (exact("OK"), "\u200bOK", False, "exact_mismatch want='OK'"),
    (exact("OK"), "\ufeffOK", False, "exact_mismatch want='OK'"),
    (exact("OK"), "", False, "exact_mismatch want='OK'"),
    (exact(""), "", True, None),
    (exact(""), "\n\t ", True, None),
    (exact("é"), "e\u0301", False, "exact_mismatch want='é'"),
    (exact("a\nb"), "a\r\nb", False, "exact_mismatch want='a\\nb'"),
    # one_of
    (one_of("low", "high"), "high\n", True, None),
    (one_of("low ", "high"), "low", True, None),
    (one_of("low", "high"), "High", False, "not_one_of ['low', 'high']"),
    (one_of("low", "high"), "low.", False, "not_one_of ['low', 'high']"),
    (one_of("low", "high"), "lo", False, "not_one_of ['low', 'high']"),
    # regex_fullmatch
    (rx(r"\d{3}"), " 123 ", True, None),
    (rx(r"\d{3}"), "1234", False, "regex_fullmatch_failed pattern='\\\\d{3}'"),
    (rx("a|ab"), "ab", True, None),
    (rx("(?i)yes"), "YES", True, None),
    (rx("a.b"), "a\nb", False, "regex_fullmatch_failed pattern='a.b'"),
    (rx("(?s)a.b"), "a\nb", True, None),
    (rx("a$"), "a\n", True, None),
    (rx(""), " ", True, None),
    (rx(r"\w+"), "日本語", True, None),
    (rx("[[]x]"), "[x]", True, None),
    (rx(CATASTROPHIC), "a" * 60 + "!", False, "regex_timeout"),
    # contains, not_contains: stripped as `exact`, no case folding, any place
    (contains("Paris"), "It is Paris.", True, None),
    (contains(" Paris\n"), "Paris", True, None),
    (contains("Paris"), "paris", False, "missing_text ['Paris']"),
    (contains("a\nb"), "a\r\nb", False, "missing_text ['a\\nb']"),
    (contains("é"), "cafe\u0301", False, "missing_text ['é']"),
    (contains("a", "b", "c", match="all"), "cab", True, None),
    (contains("a", "b", "c", match="all"), "b", False, "missing_text ['a', 'c']"),
    (contains("a", "b", match="any"), "b", True, None),
    (contains("a", "b", match="any"), "c", False, "contains_none_of ['a', 'b']"),
    (contains("a"), "", False, "missing_text ['a']"),
    (lacks("sorry", "AI"), "Sorry, no.", True, None),
    (lacks("sorry", " AI "), "As an AI: sorry", False, "unwanted_text ['sorry', 'AI']"),
    (lacks("a"), "", True, None),
    ({"type": "not_contains", "value": "a"}, "cat", False, "unwanted_text ['a']"),
    # regex_search
    (search(r"\d{3}"), "It is 1234.", True, None),
    (search(r"\b\d{3}\b"), "1234", False, "regex_search_failed pattern='\\\\b\\\\d{3}\\\\b'"),
    (search("^b$"), "a\nb", False, "regex_search_failed pattern='^b$'"),
    (search("(?m)^b$"), "a\nb", True, None),
    (search("(?i)yes"), "Oh YES!", True, None),
    (search("x$"), " x \n", True, None),
    (search("(a|aa)+$"), "a" * 60 + "!", False, "regex_timeout"),
    # number: which text is one
    (number(42), "42", True, None),
    (number(42), "The answer is **42**.", True, None),
    (number(42), "\\boxed{42}", True, None),
    (number(42), "答案是42。", True, None),
    (number(42), "", False, "no_number"),
    (number(42), "forty-two", False, "no_number"),
    (number(42), "٤٢ ４２", False, "no_number"),
    (number(1), "42", False, "number_mismatch got=42 want=1"),
    (number(1234567.5), "$1,234,567.50", True, None),
    (number(1234), "1\u202f234", True, None),
    (number(23), "1,23", True, None),
    (number(2345), "1,2345", True, None),
    (number(567), "1234,567", True, None),
    (number(123), "0,123", True, None),
    (number(3), "[1,2,3]", True, None),
    (number(-5), "it is -5", True, None),
    (number(-5), "\u22125", True, None),
    (number(-5), "-$5", True, None),
    (number(5), "+5", True, None),
    (number(5), "10-5", True, None),
    (number(5), "10 - 5", True, None),
    (number(5), "50%-5", True, None),
    (number(5), "x\u22125", True, None),
    (number(5), "- 5", True, None),
    (number(50), "50%", True, None),
    (number(50), "0.5", False, "number_mismatch got=0.5 want=50"),
    (number(0.5), "= .5", True, None),
    (number(5), "No.5", True, None),
    (number(5), "wait...5", True, None),
    (number(5), "It is 5.", True, None),
    (number(7), "007", True, None),
    (number(0), "-0.0", True, None),
    (number(150000), "1.5e5", True, None),
    (number(0.0015), "1.5E\u22123", True, None),
    (number(23), "6.02 x 10^23", True, None),
    (number(2), "1/2", True, None),
    (number(5), "5kg", True, None),
    (number(3), "the 3rd", True, None),
    (number(1), "GPT-4.5, B12, v2.0, COVID\u201119, x_2: 1", True, None),
    (number(1), "1 is 4x4, 3f2a, 1_000, 1e5e3", True, None),
    (number(1), "1 of 192.168.0.1, 1.2.3", True, None),
    # number: which one counts, and how near it has to be
    (number(3), "1, 2 and 3", True, None),
    (number(1), "1, 2 and 3", False, "number_mismatch got=3 want=1"),
    (number(3, occurrence="only"), "3", True, None),
    (number(3, occurrence="only"), "3 = 3", False, "several_numbers got=2"),
    (number(3, occurrence="only"), "none", False, "no_number"),
    (number(0.3, tolerance=0.2), "0.1", True, None),
    (number(0.3, tolerance=0.2), "0.5", True, None),
    (number(0.3, tolerance=0.2), "0.500000000000000000001", False,
     "number_mismatch got=0.500000000000000000001 want=0.3 tolerance=0.2"),
    (number(BIG), str(BIG - 1), False, f"number_mismatch got={BIG - 1} want={BIG}"),
    (number(BIG), f"{BIG}.000", True, None),
    (number(10**300), "1e300", True, None),
    (number(0, tolerance=1), "1e-" + "9" * 5000, True, None),
    (number(1), "1e" + "0" * 5000, True, None),
    (number(1e308), "1e" + "9" * 60, False, f"number_mismatch got=1e{'9' * 48} want=1e+308"),
    # max_words
    (words(2), "two  words", True, None),
    (words(2), "one two\nthree", False, "too_many_words got=3 limit=2"),
    (words(2), "no\u00a0break space", False, "too_many_words got=3 limit=2"),
    (words(1), "well-known", True, None),
    (words(0), "", True, None),
    (words(0), " \r\n", True, None),
    (words(0), "-", False, "too_many_words got=1 limit=0"),
    # max_sentences
    (sentences(1), "It is 7.6 points.", True, None),
    (sentences(1), "One.Two.", True, None),
    (sentences(1), "no end mark", True, None),
    (sentences(1), "Dr. Smith", False, "too_many_sentences got=2 limit=1"),
    (sentences(2), "Wait... what? Yes!", False, "too_many_sentences got=3 limit=2"),
    (sentences(3), "Wait... what? Yes!", True, None),
    (sentences(1), "One.\r\nTwo.", False, "too_many_sentences got=2 limit=1"),
    (sentences(1), "Really?! Yes", False, "too_many_sentences got=2 limit=1"),
    (sentences(1), "他来了。他走了。", True, None),
    (sentences(0), "", True, None),
    # exact_bullets
    (bullets(2), "- a\n- b", True, None),
    (bullets(2), "Here:\r\n- a\r\n\r\n- b\r\nDone.", True, None),
    (bullets(2), "- a\n  - nested", True, None),
    (bullets(1), "- a\n---\n-5\n-x", True, None),
    (bullets(1), "-\ttab", True, None),
    (bullets(2), "-\n- b", True, None),
    (bullets(1), "* a\n• b\n1. c\n– d", False, "bullet_count got=0 want=1"),
    (bullets(1), "- a\n- b", False, "bullet_count got=2 want=1"),
    (bullets(0), "", True, None),
    # json_keys, where the JSON is
    (keys("a"), '{"a": 1}', True, None),
    (keys("a"), '\n {"a": null, "b": 2}\n', True, None),
    (keys("a"), '```json\n{"a": 1}\n```', True, None),
    (keys("a"), 'Sure:\n```\n{"a": 1}\n```\nBye {x}', True, None),
    (keys("a"), '~~~JSON\r\n{"a": 1}\r\n~~~\r\n', True, None),
    (keys("a"), '```json\n{"a": 1}', True, None),
    (keys("a"), '```json {"a": 1}```', True, None),
    (keys("a"), 'It is {"a": "}"} as asked {really}', True, None),
    (keys("a"), 'It is {"a": "\\"}{"}.', True, None),
    (keys("a"), '{"b": 1} or\n```\n{"a": 1}\n```', True, None),
    (keys("a"), '{"b": 1} or\n```\n{"a": 1}\n```\n```\n{}\n```', False, "missing_key:a"),
    (keys("a"), '```\nno JSON\n```\n{"a": 1}', True, None),
    (keys("b"), '```\n{"a": 1}\n```\n```\n{"b": 1}\n```', False, "missing_key:b"),
    (keys("a"), "\u00a0{\"a\": 1}", True, None),
    (keys(), "{}", True, None),
    (keys("a"), "{}", False, "missing_key:a"),
    (keys("b", "a"), '{"c": 1}', False, "missing_key:b"),
    (keys("a"), '[{"a": 1}]', False, "json_not_object"),
    (keys("a"), '```json\n[{"a": 1}]\n```', False, "json_not_object"),
    (keys("a"), "42", False, "json_not_object"),
    (keys("a"), "null", False, "json_not_object"),
    (keys("a"), '"{}"', False, "json_not_object"),
    (keys("a"), "[" * 400 + "]" * 400, False, "json_not_object"),
    (keys("a"), '{"a": 1, "a": 1}', False, "duplicate_key:a"),
    (keys("a"), '{"a": {"b": 1, "b": 2}}', False, "duplicate_key:b"),
    (keys("a"), '{"a": NaN}', False, "json_parse_error: NaN is not JSON"),
    (keys("a"), '{"a": [-Infinity]}', False, "json_parse_error: -Infinity is not JSON"),
    (keys("a"), 'NaN is none: {"a": 1}', True, None),
    (keys("a"), '[NaN, {"a": 1}]', False, "json_parse_error: NaN is not JSON"),
    (keys(), '{"a": 1e999}', False, "json_parse_error: a number beyond 1.8e308 is not JSON"),
    (keys(), "9" * 5000, False, "json_parse_error: a number of 5000 digits is not JSON"),
    (keys(), '{"a":' * 99_999, False, "json_parse_error: nested too deeply"),
    # json_keys, its rules
    (rule("string"), '{"a": ""}', True, None),
    (rule("string"), '{"a": 1}', False, "key_rule_string_failed:a"),
    (rule("number"), '{"a": 1}', True, None),
    (rule("number"), '{"a": 1.5}', True, None),
    (rule("number"), '{"a": true}', False, "key_rule_number_failed:a"),
    (rule("number"), '{"a": "1"}', False, "key_rule_number_failed:a"),
    (rule("integer"), f'{{"a": {"9" * 400}}}', True, None),
    (rule("integer"), '{"a": 1.0}', False, "key_rule_integer_failed:a"),
    (rule("integer"), '{"a": false}', False, "key_rule_integer_failed:a"),
    (rule("boolean"), '{"a": false}', True, None),
    (rule("boolean"), '{"a": 0}', False, "key_rule_boolean_failed:a"),
    (rule("array"), '{"a": []}', True, None),
    (rule("array"), '{"a": {}}', False, "key_rule_array_failed:a"),
    (rule("object"), '{"a": {}}', True, None),
    (rule("null"), '{"a": null}', True, None),
    (rule("null"), '{"a": 0}', False, "key_rule_null_failed:a"),
    (rule("null"), '{"b": 1}', True, None),
    (LEVEL, '{"a": "low"}', True, None),
    (LEVEL, '{"a": "Low"}', False, "key_rule_one_of_failed:a"),
    (rule("one_of", values=[1]), '{"a": 1.0}', True, None),
    (rule("one_of", values=[1]), '{"a": true}', False, "key_rule_one_of_failed:a"),
    (rule("one_of", values=[[True]]), '{"a": [1]}', False, "key_rule_one_of_failed:a"),
    (rule("one_of", values=[{"b": [1]}]), '{"a": {"b": [1]}}', True, None),
    (rule("one_of", values=[None]), '{"a": null}', True, None),
    (rule("regex", pattern="[a-z]+"), '{"a": "abc"}', True, None),
    (rule("regex", pattern="[a-z]+"), '{"a": "abc1"}', False, "key_rule_regex_failed:a"),
    (rule("regex", pattern="[0-9]+"), '{"a": 1}', False, "key_rule_regex_failed:a"),
    (rule("regex", pattern=CATASTROPHIC), SLOW_VALUE, False, "regex_timeout:a"),
    (BETWEEN, '{"a": 0}', True, None),
    (BETWEEN, '{"a": 10.0}', True, None),
    (BETWEEN, '{"a": 10.000001}', False, "key_rule_range_failed:a"),
    (BETWEEN, '{"a": true}', False, "key_rule_range_failed:a"),
    (rule("range", min=BIG), f'{{"a": {BIG - 1}}}', False, "key_rule_range_failed:a"),
    (rule("range", max=1.5), f'{{"a": -{"9" * 400}}}', True, None),
    (keys(a=[{"type": "string"}, {"type": "regex", "pattern": "x+"}]), '{"a": "xx"}', True, None),
    (FROM_2, '{"a": 1}', False, "key_rule_range_failed:a"),
    (FROM_2, '{"a": 2.5}', False, "key_rule_integer_failed:a"),
    # tool_invocation
    (tools("free"), "I ran `free -h`.", True, None),
    (tools("FREE", "du"), "$ free", True, None),
    (tools("free"), "```bash\nfree -h\n```", True, None),
    (tools("free"), "it's free", False, "no_tool_invocation expected=['free']"),
    (tools("free"), "", False, "no_tool_invocation expected=['free']"),
]  # fmt: skip


@pytest.mark.parametrize(("fields", "text", "passed", "violation"), ROWS)
def test_verdict(
    fields: dict[str, Any],
    text: str,
    passed: bool | None,
    violation: str | None,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    if (violation or "").startswith("regex_timeout"):  # no limit is long enough for these
        monkeypatch.setattr("collect.checks.base.REGEX_TIMEOUT_S", REGEX_TIMEOUT_S / 4)
    got = verdict(fields, text)
    assert (got.objective_pass, got.violation) == (passed, violation)


@pytest.mark.parametrize(
    ("fields", "text", "parsed"),
    [
        ({"type": "noop"}, "x", None),
        (exact("a"), " b ", "b"),
        (one_of("a"), " a ", "a"),
        (rx("a"), " a ", "a"),
        (contains("b"), " a ", "a"),
        (lacks("a"), " a ", "a"),
        (search("a"), " a ", "a"),
        (number(1), "none", {"number": None, "count": 0}),
        (number(1), "1 and -2.50", {"number": -2.5, "count": 2}),
        (number(1), "2.0", {"number": 2, "count": 1}),
        (number(1), "0.1000000000000000000001", {"number": "0.1000000000000000000001", "count": 1}),
        (number(1), "9" * 99, {"number": "9" * 50, "count": 1}),
        (number(1), "1e999", {"number": "1E+999", "count": 1}),
        (words(1), " a b ", {"words": 2, "text": "a b"}),
        (sentences(1), "A. B. ", {"sentences": 2, "text": "A. B."}),
        (bullets(1), "x \n\n- a\n", {"bullets": 1, "lines": ["x", "- a"]}),
        (bullets(30), "- a\n" * 30, {"bullets": 30, "lines": ["- a"] * 20}),
        (keys("b"), '{"a": [1, 2.5, null]}', {"a": [1, 2.5, None]}),
        (keys("a"), "[1]", [1]),
        (keys("a"), "{", None),
        (keys("a"), '{"a": 1, "a": 2}', None),
        (tools("x"), "`free` and `du`", {"detected_tools": ["free", "du"], "count": 2}),
    ],
)
def test_parsed_output(fields: dict[str, Any], text: str, parsed: object) -> None:
    assert verdict(fields, text).parsed_output == parsed


@pytest.mark.parametrize(
    "value",
    ["9" * 30, "-" + "9" * 30, '"\\ud800"', "[" * 150 + "]" * 150],
    ids=["wide", "negative", "lone surrogate", "deep"],
)
def test_values_no_record_can_hold_are_kept_as_text(value: str) -> None:
    """The verdict is exact all the same: only what is stored changes its form."""
    got = verdict(keys("a"), f'so: {{"a": {value}}} there')
    assert got == Verdict(True, None, f'{{"a": {value}}}')


def test_integers_of_64_bits_stay_numbers() -> None:
    ends = {"a": [2**64 - 1, -(2**63)]}
    assert verdict(keys("a"), json.dumps(ends)).parsed_output == ends


@pytest.mark.parametrize("text", ["", "{", '{"a": 1,}', "{'a': 1}", "no JSON", '{"a": "\n"}'])
def test_broken_json_says_where(text: str) -> None:
    got = verdict(keys("a"), text)
    assert got.objective_pass is False
    assert str(got.violation).startswith("json_parse_error: ")
    assert "line 1 column" in str(got.violation)


def test_duplicate_key_is_shown_printable_and_short() -> None:
    key = "\\ud800" + "k" * 500
    violation = verdict(keys("a"), f'{{"{key}": 1, "{key}": 1}}').violation
    assert violation == "duplicate_key:\\ud800" + "k" * 99


def test_api_tool_calls_win_over_text() -> None:
    assert verdict(tools("free"), "`free -h`", "weather").objective_pass is False
    got = verdict(tools("Get_Weather"), "no tool named", "get_weather", "get_weather")
    assert got == Verdict(True, None, {"detected_tools": ["get_weather"], "count": 1})


def test_no_validator_judges_nothing() -> None:
    assert asyncio.run(judge(None, "text")) == Verdict(None, None, None)


def test_long_answers_are_judged_alike() -> None:
    """They go to a worker thread, which must not show."""
    assert verdict(exact("x"), "y" * 20_000).violation == "exact_mismatch want='x'"
    assert verdict(keys("a"), " " * 20_000 + '{"a": 1}') == Verdict(True, None, {"a": 1})


def test_nested_quantifiers_end() -> None:
    started = time.monotonic()
    got = verdict(rx("(a+)+$"), "a" * 40 + "!")
    assert got.objective_pass is False
    assert time.monotonic() - started < 10 * REGEX_TIMEOUT_S


def test_catastrophic_pattern_leaves_the_loop_alive() -> None:
    """While one answer runs into its limit, everything else in the process goes on."""
    ticks = 0

    async def tick() -> None:
        nonlocal ticks
        while True:
            await asyncio.sleep(0.01)
            ticks += 1

    async def main() -> Verdict:
        ticker = asyncio.create_task(tick())
        got = await judge(LOAD.validate_python(rx(CATASTROPHIC)), "a" * 40 + "!")
        ticker.cancel()
        return got

    assert asyncio.run(main()) == Verdict(False, "regex_timeout", "a" * 40 + "!")
    assert ticks > 5


JSON_TEXT = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=5),
    lambda inner: (
        st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from("ab"), inner, max_size=2)
    ),
    max_leaves=8,
).map(json.dumps)
TEXT = (
    st.text()
    | st.text("`~\"'{}[]:,-#$\n ab1", max_size=60)
    | JSON_TEXT
    | JSON_TEXT.map("```json\n{}\n```".format)
)
FIELDS = st.sampled_from(
    [
        exact("a"),
        one_of("a", "b"),
        contains("a", "b", match="any"),
        lacks("a"),
        rx("[ab]+"),
        search("[ab]+"),
        number(1),
        words(2),
        sentences(1),
        bullets(1),
        keys("a"),
        tools("a"),
    ]
    + [rule(kind) for kind in ("string", "integer", "array")]
    + [BETWEEN, LEVEL, rule("regex", pattern="a*")]
)


@settings(max_examples=300, deadline=None)
@given(FIELDS, TEXT)
def test_any_text_gets_a_verdict(fields: dict[str, Any], text: str) -> None:
    got = verdict(fields, text)
    assert got.objective_pass is (got.violation is None)
    json.dumps(got.parsed_output, allow_nan=False)
