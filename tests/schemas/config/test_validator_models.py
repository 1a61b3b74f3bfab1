"""What a validator may say, and what is refused before anything runs."""

from __future__ import annotations

import itertools
import re
from typing import Any

import pytest
import regex
from hypothesis import given, settings
from hypothesis import strategies as st
from pydantic import TypeAdapter, ValidationError

from schemas.config.validators import JsonKeys, Pattern, Validator

LOAD: TypeAdapter[Validator] = TypeAdapter(Validator)
PATTERN: TypeAdapter[str] = TypeAdapter(Pattern)
INF = float("inf")


def keyed(rules: Any) -> dict[str, Any]:
    return {"type": "json_keys", "key_rules": {"a": rules}}


ACCEPTED = [
    {"type": "noop"},
    {"type": "exact", "value": ""},
    {"type": "one_of", "values": ["a"]},
    {"type": "contains", "value": "a"},
    {"type": "contains", "values": ["a", "b"], "match": "any"},
    {"type": "not_contains", "value": "a"},
    {"type": "not_contains", "values": ["a", "b"]},
    {"type": "regex_fullmatch", "pattern": "a|b"},
    {"type": "regex_search", "pattern": "a|b"},
    {"type": "number", "value": 42},
    {"type": "number", "value": -0.5, "tolerance": 0.01, "occurrence": "only"},
    {"type": "number", "value": 10**308, "tolerance": 0},
    {"type": "max_words", "value": 0},
    {"type": "max_sentences", "value": 3},
    {"type": "exact_bullets", "value": 5},
    {"type": "json_keys", "required_keys": ["a"]},
    {"type": "json_keys", "required_keys": ["a"], "key_rules": {"a": {"type": "number"}}},
    {"type": "tool_invocation", "expected_tools": ["free"]},
    keyed([{"type": "integer"}, {"type": "range", "min": 1}]),
    keyed({"type": "range", "min": 1, "max": 1}),
    keyed({"type": "one_of", "values": [None, True, 1, "x", [1], {"b": 2}]}),
]

REFUSED = [
    ({}, "type"),
    ({"type": "fuzzy"}, "fuzzy"),
    ({"type": "noop", "value": 1}, "value"),
    ({"type": "exact"}, "value"),
    ({"type": "exact", "value": 42}, "valid string"),
    ({"type": "one_of", "values": []}, "at least 1"),
    ({"type": "one_of", "values": "abc"}, "valid tuple"),
    ({"type": "contains"}, "needs exactly one of `value` and `values`"),
    ({"type": "contains", "value": "a", "values": ["b"], "match": "all"}, "needs exactly one of"),
    ({"type": "contains", "values": ["a", "b"]}, "`values` needs `match: all` or `match: any`"),
    ({"type": "contains", "value": "a", "match": "any"}, "`value` neither"),
    ({"type": "contains", "values": [], "match": "any"}, "at least 1"),
    ({"type": "contains", "values": ["a", " \n"], "match": "all"}, "every answer contains that"),
    ({"type": "contains", "value": ""}, "every answer contains that"),
    ({"type": "contains", "value": 42}, "valid string"),
    ({"type": "not_contains", "value": ""}, "every answer contains that"),
    ({"type": "not_contains"}, "needs exactly one of `value` and `values`"),
    ({"type": "not_contains", "values": ["a"], "match": "all"}, "match"),
    ({"type": "regex_search"}, "pattern"),
    ({"type": "regex_search", "pattern": "("}, "not a valid regular expression"),
    ({"type": "regex_search", "pattern": "(a){e<=2}"}, "fuzzy"),
    ({"type": "number"}, "value"),
    ({"type": "number", "value": "42"}, "should be a valid number, without quotes"),
    ({"type": "number", "value": True}, "valid number"),
    ({"type": "number", "value": None}, "valid number"),
    ({"type": "number", "value": INF}, "finite"),
    ({"type": "number", "value": float("nan")}, "finite"),
    ({"type": "number", "value": 10**309}, "less than or equal to"),
    ({"type": "number", "value": 1, "tolerance": -0.1}, "greater than or equal to 0"),
    ({"type": "number", "value": 1, "tolerance": "1 %"}, "valid number"),
    ({"type": "number", "value": 1, "occurrence": "first"}, "'last' or 'only'"),
    ({"type": "regex_fullmatch"}, "pattern"),
    ({"type": "regex_fullmatch", "pattern": "("}, "not a valid regular expression"),
    ({"type": "max_words"}, "value"),
    ({"type": "max_words", "value": -1}, "greater than or equal to 0"),
    ({"type": "max_words", "value": True}, "valid integer"),
    ({"type": "max_words", "value": "2"}, "valid integer"),
    ({"type": "max_sentences", "value": 1.5}, "valid integer"),
    ({"type": "exact_bullets", "value": None}, "valid integer"),
    ({"type": "json_keys", "required_keys": "ab"}, "valid tuple"),
    ({"type": "json_keys", "required_keys": [""]}, "at least 1 character"),
    ({"type": "json_keys", "keys": ["a"]}, "keys"),
    ({"type": "tool_invocation"}, "expected_tools"),
    ({"type": "tool_invocation", "expected_tools": []}, "at least 1"),
    (keyed({"type": "date"}), "date"),
    (keyed([{"type": "string"}, {"type": "date"}]), "date"),
    (keyed([]), "at least 1"),
    (keyed("string"), "valid dictionary"),
    (keyed({"type": "string", "min": 1}), "min"),
    (keyed({"type": "one_of"}), "values"),
    (keyed({"type": "one_of", "values": []}), "at least 1"),
    (keyed({"type": "regex", "pattern": "[a"}), "not a valid regular expression"),
    (keyed({"type": "range"}), "needs `min`, `max` or both"),
    (keyed({"type": "range", "min": 2, "max": 1}), "above `max`"),
    (keyed({"type": "range", "min": "1"}), "valid"),
    (keyed({"type": "range", "max": True}), "valid"),
    (keyed({"type": "range", "max": INF}), "finite"),
]

SAME_IN_BOTH = [
    r"[a-z]{2,3}", r"a{,3}", r"a{2}", r"\{e\}", r"{x}", r"{2x}", r"[{e}]", r"[{e<=1}]", r"[+-]",
    r"[a-z-]", r"[-a]", r"[--a]", r"[a\--b]", r"[||]", r"[|&]", r"[&]{2}", r"[[]", r"[^\]]+",
    r"[]a]", r"[[:]x", r"[:a]", r"[\[:alpha:]", r"a|b||c", r"[a-z]--[a-z]", r"x&&y",
    r"(?i)yes|no", r"(?#{e})a", r"\N{dollar sign}\d+", "(?x) a  # {id} is fine\n b",
    r'\{"e": \d+\}', r"(?P<n>a)(?P=n)", r"a++b", r"(?=a)a", r"\\{2}", r"\d{1,3}(?:,\d{3})*",
    "é+", r"[^\W\d_]",
]  # fmt: skip

READ_DIFFERENTLY = [
    (r"a{e}", "{e"), (r"a{e<=1}", "{e"), (r"(?:ab){i,d}", "{i"), (r"a{s:[a-z]}", "{s"),
    (r"a{1<=e<=2}", "{1<=e<"), (r"a{2i+1d<=3}", "{2i+1d<"), (r"\\{e}", "{e"), (r"{error}", "{e"),
    (r"[x]{d}", "{d"), (r"[a--b]", "--"), (r"[a--]", "--"), (r"[\w--\d]", "--"),
    (r"[^]a--b]", "--"),
    (r"[a-z||b]", "||"), (r"[a-z&&[^aeiou]]", "&&"), (r"[a~~b]", "~~"), (r"\\[a||b]", "||"),
    (r"[[:alpha:]]", "[:alpha:]"), (r"[^x[:^digit:]]", "[:^digit:]"), (r"(?x)a{ 2 }", "{ 2 }"),
    (r"(?x)a{ e }", "{ e }"), ("(?ix)a\u00a0b", "\u00a0"), (r"(?x:a{ 1, 2 })", "{ 1, 2 }"),
]  # fmt: skip

ONLY_REGEX = [
    r"\p{L}", r"[\p{L}]", r"\L<names>", r"(?R)", r"(?1)", r"(?&n)", r"(?|a|b)", r"(?V1)a", r"(?e)a",
    r"\K", r"\X", r"(?<n>a)", r"(?<=a|bc)d", r"a{,99999999999}", r"a**", "(" * 3,
]  # fmt: skip


@pytest.mark.parametrize("fields", ACCEPTED)
def test_accepted(fields: dict[str, Any]) -> None:
    loaded = LOAD.validate_python(fields)
    assert LOAD.validate_json(loaded.model_dump_json()) == loaded


@pytest.mark.parametrize(("fields", "says"), REFUSED)
def test_refused(fields: dict[str, Any], says: str) -> None:
    with pytest.raises(ValidationError) as raised:
        LOAD.validate_python(fields)
    assert says in str(raised.value)


@pytest.mark.parametrize("pattern", SAME_IN_BOTH)
def test_ordinary_patterns_are_accepted(pattern: str) -> None:
    assert PATTERN.validate_python(pattern) == pattern


@pytest.mark.parametrize(("pattern", "part"), READ_DIFFERENTLY)
def test_patterns_read_differently_are_named(pattern: str, part: str) -> None:
    with pytest.raises(ValidationError) as raised:
        PATTERN.validate_python(pattern)
    assert f"`{part}` is fuzzy, set or POSIX syntax" in str(raised.value)


@pytest.mark.parametrize("pattern", ONLY_REGEX)
def test_patterns_that_python_refuses(pattern: str) -> None:
    with pytest.raises(ValidationError, match="is not a valid regular expression"):
        PATTERN.validate_python(pattern)


def test_huge_counts_are_refused_before_they_take_the_memory() -> None:
    with pytest.raises(ValidationError, match="more than 99,999 times"):
        PATTERN.validate_python("a{10000000}")
    assert PATTERN.validate_python("a{0,500}b{1000}")


ATOMS = [
    *"ab1ei-[]^&|~{}(),:<=?*+.# ",
    "--",
    "||",
    "&&",
    "{e",
    "{1}",
    "{ 2 }",
    "[:alpha:]",
    "(?x)",
    r"\[",
    r"\{",
]
SUBJECTS = [
    "".join(letters) for n in range(4) for letters in itertools.product("ab1e-{[", repeat=n)
]


@pytest.mark.filterwarnings("ignore::FutureWarning")  # `[[]`, which both read alike
@settings(max_examples=300)
@given(st.lists(st.sampled_from(ATOMS), max_size=7).map("".join))
def test_accepted_patterns_mean_the_same_to_both_engines(pattern: str) -> None:
    try:
        PATTERN.validate_python(pattern)
    except ValidationError:
        return
    ours = [text for text in SUBJECTS if regex.fullmatch(pattern, text, flags=regex.V0)]
    assert ours == [text for text in SUBJECTS if re.fullmatch(pattern, text)]


def test_one_rule_is_a_list_of_one() -> None:
    one = LOAD.validate_python(keyed({"type": "string"}))
    assert one.rules() == LOAD.validate_python(keyed([{"type": "string"}])).rules()


def test_json_schema_offers_one_rule_or_a_list() -> None:
    """Editors must not flag the short form."""
    offered = JsonKeys.model_json_schema()["properties"]["key_rules"]["additionalProperties"]
    assert {"array"} <= {choice.get("type") for choice in offered["anyOf"]}
    assert len(offered["anyOf"]) > 1
