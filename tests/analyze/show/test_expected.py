"""What a case asks for in words: every validator of ours has some, and none is lost."""

import pytest

from analyze.show.expected import WORDS, expected_words
from schemas.config.validators import VALIDATORS

SAID = [
    ({"type": "exact", "value": "Paris"}, 'is exactly "Paris"'),
    ({"type": "exact", "value": "two\nlines"}, r'is exactly "two\nlines"'),
    ({"type": "one_of", "values": ["yes", "no"]}, 'is one of "yes", "no"'),
    ({"type": "one_of", "values": ["yes"]}, 'is "yes"'),
    ({"type": "contains", "value": "red"}, 'contains "red"'),
    ({"type": "contains", "values": ["red", "blue"]}, 'contains all of "red", "blue"'),
    (
        {"type": "contains", "values": ["red", "blue"], "match": "any"},
        'contains any of "red", "blue"',
    ),
    ({"type": "not_contains", "values": ["a", "b"], "value": None}, 'contains none of "a", "b"'),
    ({"type": "regex_fullmatch", "pattern": "[0-9]+"}, "matches as a whole [0-9]+"),
    ({"type": "regex_search", "pattern": "é$"}, "somewhere matches é$"),
    ({"type": "number", "value": 42, "tolerance": 0}, "its last number is 42"),
    (
        {"type": "number", "value": 4.5, "tolerance": 0.1, "occurrence": "only"},
        "its only number is 4.5, give or take 0.1",
    ),
    ({"type": "max_words", "value": 1}, "has at most 1 word"),
    ({"type": "max_sentences", "value": 3}, "has at most 3 sentences"),
    ({"type": "exact_bullets", "value": 5}, "has exactly 5 bullets"),
    ({"type": "json_keys", "required_keys": ["a", "b"]}, 'JSON with the keys "a", "b"'),
    (
        {"type": "json_keys", "required_keys": ["a"], "key_rules": {"a": {"type": "string"}}},
        'JSON with the keys "a"; "a": {"type": "string"}',
    ),
    ({"type": "tool_invocation", "expected_tools": ["df", "ls"]}, "calls df, ls"),
    ({"type": "noop"}, ""),
    (None, ""),
    ({}, ""),
    ({"type": "of_a_package", "x": [1]}, '{"type": "of_a_package", "x": [1]}'),
    ({"type": "exact"}, '{"type": "exact"}'),
    ({"type": "contains", "values": 7}, '{"type": "contains", "values": 7}'),
]


@pytest.mark.parametrize(("validator", "words"), SAID)
def test_a_validator_is_said_in_words(validator, words):
    assert expected_words(validator) == words


def test_of_many_values_the_rest_is_counted():
    found = expected_words({"type": "one_of", "values": [f"v{n}" for n in range(30)]})
    assert found.endswith('"v7" and 22 more')


def test_every_validator_of_ours_has_words_and_a_line_here():
    ours = set(VALIDATORS.own) - {"noop"}
    assert set(WORDS) == ours
    assert ours <= {validator["type"] for validator, words in SAID if validator and words}
