"""Result -> JSONL -> Arrow -> Parquet -> Result: nothing is lost, rounded or guessed."""

import io
from typing import get_args

import orjson
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from pydantic import ValidationError

from schemas.base import MAX_QUANTITY
from schemas.config.validators import VALIDATORS
from schemas.errors import UnmappedType
from schemas.failures import AvailabilityStatus, TrialStatus
from schemas.io.arrow import arrow_schema, arrow_type, record_of, row_of
from schemas.lake.rows.tables import TABLES
from schemas.run.result import CheckOutcome, CheckResult, Event, LakeColumns, Result

BIG = st.integers(0, MAX_QUANTITY)
TEXT = st.text(st.characters(codec="utf-8"), max_size=40)
SLUG = st.from_regex(r"[a-z0-9][a-z0-9_-]{0,9}", fullmatch=True)
SHA = st.from_regex(r"[0-9a-f]{64}", fullmatch=True)
FLOAT = st.floats(0, 1e6, allow_nan=False)
JSON = st.recursive(
    st.none() | st.booleans() | st.integers(-(2**62), 2**62) | TEXT
    | st.floats(allow_nan=False, allow_infinity=False),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(TEXT, inner, max_size=3),
    max_leaves=8,
)  # fmt: skip


def maybe(strategy):
    return st.none() | strategy


RESULTS = st.builds(
    Result,
    run_id=TEXT, provider=TEXT, model=TEXT, thinking_level=maybe(TEXT), prompt_id=TEXT,
    prompt_name=maybe(TEXT), availability_status=st.sampled_from(get_args(AvailabilityStatus)),
    started_at_ms=BIG, ended_at_ms=BIG, e2e_ms=maybe(BIG), ttft_ms=maybe(BIG),
    success=st.booleans(), failure_type=maybe(TEXT), objective_pass=maybe(st.booleans()),
    violation=maybe(TEXT), input_tokens=maybe(BIG), output_tokens=maybe(BIG), raw_output=TEXT,
    parsed_output=JSON, tool_calls=st.tuples(TEXT, TEXT), tool_call_count=BIG,
    tool_use_success=st.booleans(), suite_id=TEXT, case_id=SLUG, model_id=SLUG,
    repetition=st.integers(1, 2**31), case_hash=maybe(SHA), run_fingerprint=maybe(SHA),
    fingerprint_version=maybe(st.integers(1, 9)), runner_type=st.just("llm_probe"),
    status=st.sampled_from(get_args(TrialStatus)), passed=maybe(st.booleans()),
    error_code=maybe(TEXT), error_message=maybe(TEXT), http_status=maybe(st.integers(100, 599)),
    attempt_count=BIG, requested_model=maybe(TEXT), served_model=maybe(TEXT),
    served_provider=maybe(TEXT), finish_reason=maybe(TEXT), reasoning_tokens=maybe(BIG),
    cached_input_tokens=maybe(BIG), cost_usd=maybe(FLOAT),
    cost_source=maybe(st.sampled_from(["provider", "computed"])), token_source=maybe(TEXT),
    validator_type=maybe(st.sampled_from(VALIDATORS.names)), checks_passed=BIG, checks_failed=BIG,
    checks_errored=BIG,
    checks=st.lists(
        st.builds(
            CheckResult,
            check_id=TEXT,
            kind=TEXT,
            outcome=st.sampled_from(get_args(CheckOutcome)),
            message=maybe(TEXT),
        ),
        max_size=2,
    ).map(tuple),
    expected_tools=st.just(("ls",)), tool_call_source=maybe(st.sampled_from(["api", "text"])),
    tags=st.lists(TEXT, max_size=3).map(tuple), raw_output_truncated=st.booleans(),
    artifact_path=maybe(TEXT), reused_from_run_id=maybe(TEXT), clock_late_ms=maybe(BIG),
)  # fmt: skip
EVENTS = st.builds(Event, run_id=TEXT, event=TEXT, at_ms=BIG, model_id=maybe(SLUG), detail=JSON)


def through_parquet(record):
    schema = arrow_schema(type(record))
    table = pa.Table.from_pylist([row_of(record)], schema=schema)
    file = io.BytesIO()
    pq.write_table(table, file)
    (row,) = pq.ParquetFile(io.BytesIO(file.getvalue())).read().to_pylist()
    return record_of(type(record), row)


@settings(max_examples=150)
@given(RESULTS)
def test_a_result_survives_every_border(result):
    line = result.model_dump_json()

    read = Result.model_validate_json(line, strict=True)
    back = through_parquet(read)

    assert back == read == result
    assert back.model_dump_json() == line


@settings(max_examples=100)
@given(EVENTS)
def test_an_event_survives_every_border(event):
    read = Event.model_validate_json(event.model_dump_json(), strict=True)

    assert through_parquet(read) == read == event


@settings(max_examples=50)
@given(RESULTS)
def test_a_line_is_one_line_of_standard_json(result):
    line = result.model_dump_json()

    assert "\n" not in line
    assert orjson.loads(line)["raw_output"] == result.raw_output


LINE = {
    "record_type": "result", "run_id": "r", "provider": "p", "model": "m", "thinking_level": None,
    "prompt_id": "P", "prompt_name": None, "availability_status": "ok", "started_at_ms": 1,
    "ended_at_ms": 2, "e2e_ms": 1, "ttft_ms": None, "success": True, "failure_type": None,
    "objective_pass": None, "violation": None, "input_tokens": None, "output_tokens": None,
    "raw_output": "", "parsed_output": None, "tool_calls": [], "tool_call_count": 0,
    "tool_use_success": False, "suite_id": "s", "case_id": "c", "model_id": "m", "repetition": 1,
    "case_hash": None, "run_fingerprint": None, "fingerprint_version": None,
    "runner_type": "llm_probe", "status": "success", "passed": None, "error_code": None,
    "error_message": None, "http_status": None, "attempt_count": 1, "requested_model": None,
    "served_model": None, "served_provider": None, "finish_reason": None,
    "reasoning_tokens": None, "cached_input_tokens": None, "cost_usd": None, "cost_source": None,
    "token_source": None, "validator_type": None, "checks_passed": 0, "checks_failed": 0,
    "checks_errored": 0, "checks": [], "expected_tools": [], "tool_call_source": None, "tags": [],
    "raw_output_truncated": False, "artifact_path": None, "reused_from_run_id": None,
    "clock_late_ms": None,
}  # fmt: skip


def test_the_plain_line_is_a_result():
    assert Result.model_validate_json(orjson.dumps(LINE), strict=True).case_id == "c"


@pytest.mark.parametrize(
    ("field", "value"),
    [("e2e_ms", 2**41), ("input_tokens", 2**63),
     ("e2e_ms", 1.5), ("e2e_ms", "1"), ("e2e_ms", True), ("e2e_ms", -1), ("repetition", 0),
     ("success", 1), ("success", "true"), ("availability_status", "fine"), ("http_status", 7),
     ("tool_calls", "ls"), ("cost_usd", -0.1), ("case_hash", "abc"), ("case_id", "Not A Slug"),
     ("run_id", None)],
)  # fmt: skip
def test_a_value_of_another_kind_is_refused_and_never_rounded(field, value):
    with pytest.raises(ValidationError, match=field):
        Result.model_validate_json(orjson.dumps(LINE | {field: value}), strict=True)


@pytest.mark.parametrize("number", [b"NaN", b"Infinity", b"1e999"])
def test_numbers_that_are_none_are_refused(number):
    line = orjson.dumps(LINE).replace(b'"cost_usd":null', b'"cost_usd":' + number)
    with pytest.raises(ValidationError):
        Result.model_validate_json(line, strict=True)


def test_every_column_says_what_it_is():
    for model in (Result, LakeColumns):
        for field in arrow_schema(model):
            described = (field.metadata or {}).get(b"description")
            assert described or field.name == "record_type", field.name


def test_units_are_in_the_columns_metadata():
    schema = TABLES["results"]
    assert schema.field("e2e_ms").metadata[b"unit"] == b"ms"
    assert schema.field("input_tokens").metadata[b"unit"] == b"tokens"
    assert schema.field("cost_usd").metadata[b"unit"] == b"USD"


def test_text_of_answers_lies_apart_from_the_numbers():
    assert {"raw_output", "parsed_output", "error_message"}.isdisjoint(TABLES["results"].names)
    assert {"raw_output", "parsed_output", "error_message"} < set(TABLES["outputs"].names)


def test_a_type_without_a_column_type_is_our_mistake():
    with pytest.raises(UnmappedType):
        arrow_type(set[int])
