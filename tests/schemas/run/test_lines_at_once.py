"""Many lines at once give what each line gives alone, however hostile they are."""

import json

import msgspec
import orjson
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from pydantic import Field, field_validator

from schemas.base import Record
from schemas.errors import UnmappedType
from schemas.io.arrow import arrow_schema, row_of
from schemas.lake.rows.parse_log import read_plan, read_records, shape_of
from schemas.lake.rows.tables import arrays_of, table_from
from schemas.run.config import FingerprintParts, PlannedTrial, plan_line
from schemas.run.result import Event, LineError, Result, parse_line
from tests.schemas.run.test_round_trip import EVENTS, JSON, LINE, RESULTS, SLUG, TEXT

HOSTILE = st.sampled_from(
    [
        b'"e2e_ms":1.0', b'"e2e_ms":1e0', b'"e2e_ms":-0', b'"e2e_ms":1,"e2e_ms":1',
        b'"e2e_ms":true', b'"e2e_ms":9223372036854775808', b'"e2e_ms" :1', b'"e2e_ms":01',
        b'"e2e_ms":"1"', b'"e2e_ms":',
        b'"e2e_ms":1,"x":{"a":1,"a":2}', b'"e2e_ms":1,"e2e\\u005fms":2', b'"e2e_ms":NaN',
        b'"e2e_ms":null', b'"e2e_ms":1},{"a":1', b'"e2e_ms":1\n', b'"e2e_ms":1\r', b'"e2e_ms":[1]',
    ]
)  # fmt: skip
PARSED = st.sampled_from(
    [
        b'{"a":1,"a":1}', b"123456789012345678901234567890", b"1.50", b"1e400", b"-0", b"-0.0",
        b'"\\ud800"', b'"\\u00e9"', b'"\xff"', b"[1, 2]", b"1e16", b"1E-7", b'{"":{"":[{}]}}',
        b"[" * 99 + b"]" * 99, b"[" * 150 + b"]" * 150, b"[" * 300 + b"]" * 300, b"[1", b"NaN",
        b"18446744073709551615", b"18446744073709551616", b'"\x01"', b'"a\nb"', b"0.1",
    ]
)  # fmt: skip
TEXTS = st.sampled_from(
    ['"case_id":"A"', '"case_id":"a\\nb"', '"case_id":"a\\n"', '"case_id":""', '"case_id":"-a"',
     '"case_id":"' + "a" * 129 + '"', '"case_id":"' + "a" * 128 + '"', '"case_id":null']
)  # fmt: skip
PLAIN = orjson.dumps(LINE)
HASHES = st.sampled_from(
    [b'"case_hash":"' + b"a" * 64 + b'"', b'"case_hash":"' + b"a" * 63 + b'"',
     b'"case_hash":"' + b"A" * 64 + b'"', b'"case_hash":"' + b"a" * 64 + b'\\n"']
)  # fmt: skip


def line_of(record):
    return record.model_dump_json().encode() + b"\n"


def put(old):
    return lambda new: PLAIN.replace(old, new if isinstance(new, bytes) else new.encode()) + b"\n"


def parsed(value):
    return put(b'"parsed_output":null')(b'"parsed_output":' + value)


ANY_LINE = st.one_of(
    RESULTS.map(line_of),
    EVENTS.map(line_of),
    JSON.map(orjson.dumps).map(parsed),
    HOSTILE.map(put(b'"e2e_ms":1')),
    PARSED.map(parsed),
    TEXTS.map(put(b'"case_id":"c"')),
    HASHES.map(put(b'"case_hash":null')),
    st.binary(max_size=20).map(lambda junk: junk.replace(b"\n", b"") + b"\n"),
    st.just(json.dumps(LINE).encode() + b"\n"),
    st.just(b"\n"),
)  # fmt: skip


def one_by_one(lines):
    """Return rows and problems as the strict reader gives them, line by line."""
    results, events, bad = [], [], []
    for number, line in enumerate(lines, 1):
        try:
            record = parse_line(line)
        except LineError as exc:
            bad.append((number, str(exc)))
        else:
            row = row_of(record) | {"record_no": number}
            (results if isinstance(record, Result) else events).append(row)
    return results, events, bad


@pytest.mark.peers
@settings(max_examples=200)
@given(st.lists(ANY_LINE, max_size=8))
def test_lines_read_at_once_are_lines_read_one_by_one(lines):
    lines = [part + b"\n" for line in lines for part in line[:-1].split(b"\n")]
    records = read_records(lines)

    results, events, bad = one_by_one(lines)
    problems = list(records.problems)
    fits_no_column = [number for number, why in problems if why.startswith("fits no column")]
    assert [one for one in problems if one[0] not in fits_no_column] == bad
    results = [row for row in results if row["record_no"] not in fits_no_column]
    for model, columns, expected in (
        (Result, records.results, results), (Event, records.events, events),
    ):  # fmt: skip
        schema = arrow_schema(model)
        table = table_from(arrays_of(columns, schema), schema)
        assert table.equals(pa.Table.from_pylist(expected, schema=schema))
        assert columns["record_no"] == [row["record_no"] for row in expected]


def test_lines_that_are_one_record_only_together_are_none():
    first, second = PLAIN.split(b",", 1)
    lines = [first + b",\n", second + b"\n", PLAIN + PLAIN + b"\n"]

    assert [number for number, _ in read_records(lines).problems] == [1, 2, 3]


def test_a_field_that_an_older_version_did_not_write_has_its_default():
    line = {
        name: value for name, value in LINE.items() if name not in {"routing", "schema_version"}
    }

    records = read_records([orjson.dumps(line) + b"\n"])

    assert (records.results["routing"], records.results["schema_version"]) == ([None], [1])


PARTS = st.builds(
    FingerprintParts,
    case=st.just("a" * 16), settings=st.just("b" * 64), endpoint=st.just("c" * 16),
    harness=st.just("d" * 16), tools=st.none() | st.just("e" * 16),
)  # fmt: skip
TRIALS = st.builds(
    PlannedTrial, run_id=TEXT, suite_id=SLUG, model_id=SLUG, case_id=SLUG,
    repetition=st.integers(1, 9), trial_no=st.integers(0, 9), provider=st.just("openai_chat"),
    model=TEXT, thinking_level=st.none() | TEXT, prompt_id=TEXT, prompt_name=st.none() | TEXT,
    case_hash=st.just("0" * 64), run_fingerprint=st.just("1" * 64), fingerprint_parts=PARTS,
    is_scorable=st.booleans(), tags=st.lists(TEXT, max_size=2).map(tuple),
    cluster=st.none() | st.sampled_from(["a", "Django/django", "v1.2_x-y"]),
)  # fmt: skip


@settings(max_examples=60)
@given(st.lists(TRIALS, max_size=4), st.booleans())
def test_a_plan_read_at_once_is_its_trials(trials, is_spaced):
    lines = [plan_line(trial) for trial in trials]
    if is_spaced:
        lines = [json.dumps(json.loads(line)).encode() + b"\n" for line in lines]

    schema = arrow_schema(PlannedTrial)
    table = table_from(arrays_of(read_plan(lines), schema), schema)

    assert table.equals(pa.Table.from_pylist([row_of(trial) for trial in trials], schema=schema))


def test_structs_are_derived_from_every_record_of_a_log():
    for model in (Result, Event, PlannedTrial):
        names = [name for name in model.model_fields if name != "record_type"]
        assert list(shape_of(model).struct.__struct_fields__) == names
        assert issubclass(shape_of(model).struct, msgspec.Struct)


def test_what_a_struct_cannot_say_is_our_mistake():
    class Judging(Record):
        record_type: str = "x"
        name: str

        @field_validator("name")
        @classmethod
        def _judge(cls, name):
            return name

    class Odd(Record):
        record_type: str = "x"
        count: int = Field(multiple_of=2)

    for model in (Judging, Odd):
        with pytest.raises(UnmappedType):
            shape_of(model)
