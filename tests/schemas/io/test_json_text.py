"""JSON that somebody else wrote is read strictly: what is wrong with it comes back as findings."""

import json
import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from schemas.io.json_text import read_json_text
from tests.support.v2_reports import JSON


@pytest.mark.parametrize(
    ("content", "code", "line"),
    [
        (b"", "not_json", 1),
        (b" \n ", "not_json", 1),
        (b"\xef\xbb\xbf", "not_json", 1),
        (b'{"a": 1,\n "b": }', "not_json", 2),
        (b"{} {}", "not_json", 1),
        (b"{'a': 1}", "not_json", 1),
        (b'["\x00"]', "not_json", 1),
        (b"\x00" * 100, "not_json", 1),
        (b"[1]\n\xff\xfe", "not_json", 2),
        ('{"a": 1}'.encode("utf-16"), "not_json", 1),
        (b'"\xed\xa0\x80"', "not_json", 1),
        (b"[1" + b"0" * 5000 + b"]", "not_json_number", None),
        (b"[" * 100_000, "too_deep", None),
        (b'{"a":' * 100_000, "too_deep", None),
    ],
)
def test_a_text_that_cannot_be_read_has_no_value_and_says_why(content, code, line):
    value, findings = read_json_text(content)
    assert value is None
    assert [(one.severity, one.code, one.line) for one in findings] == [("error", code, line)]


@pytest.mark.parametrize(
    "content", [b'{"a": [1, 2.5, null]}', b'\xef\xbb\xbf{"a": [1, 2.5, null]}\n']
)
def test_a_text_is_read_with_or_without_a_byte_order_mark(content):
    assert read_json_text(content) == ({"a": [1, 2.5, None]}, ())


def test_equal_keys_are_an_error_at_their_object_wherever_it_stands():
    text = b'{"a": [0, {"x": 1, "y": 2, "x": 3, "x": 4}], "b~/": {"k": {"q": 1, "q": 1}}}'
    value, findings = read_json_text(text)
    assert value["a"][1] == {"x": 4, "y": 2}
    assert [(one.code, one.pointer) for one in findings] == [
        ("duplicate_key", "/a/1"),
        ("duplicate_key", "/b~0~1/k"),
    ]
    assert '"x"' in findings[0].message


def test_an_equal_key_below_one_that_was_replaced_is_named_all_the_same():
    value, findings = read_json_text(b'{"a": {"x": 1, "x": 2}, "a": 5}')
    assert value == {"a": 5}
    assert [one.code for one in findings] == ["duplicate_key", "duplicate_key"]


def test_words_for_numbers_that_are_none_are_one_error_each():
    value, findings = read_json_text(b'[NaN, Infinity, -Infinity, NaN, "NaN"]')
    assert math.isnan(value[0])
    assert value[1:3] == [math.inf, -math.inf]
    assert [one.code for one in findings] == ["not_json_number"] * 3
    assert "2 times" in findings[0].message


def test_a_text_full_of_equal_keys_has_a_bounded_number_of_findings():
    content = b"[" + b'{"a":1,"a":2},' * 20_000 + b"0]"
    _, findings = read_json_text(content)
    assert len(findings) == 1000


@given(st.binary(max_size=200))
def test_any_bytes_give_a_value_or_an_error(content):
    value, findings = read_json_text(content)
    assert value is not None or findings or content.strip() == b"null"


@given(JSON)
def test_what_is_written_as_json_is_read_as_it_was(value):
    assert read_json_text(json.dumps(value).encode()) == (value, ())
    assert read_json_text(json.dumps(value, ensure_ascii=False).encode()) == (value, ())
