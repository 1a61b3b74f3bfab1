"""From an execution to its line: the one verdict, what a failure leaves empty, and the cut."""

import pytest

from collect.checks.base import Verdict
from collect.config.resolved import LoadedCase
from collect.execute.outcome import NO_TOOLS, NO_VERDICT, artifact_of, result_of
from collect.providers.base import Reply, Usage
from collect.runners.trace import Trace
from collect.tools import tool_use
from schemas.failures import FAILURES, classify
from schemas.run.result import cut
from tests.support.cpu_time import loops
from tests.support.executions import executed
from tests.support.run_rows import planned


def execution(reply, is_scorable=True, **fields):
    trial = planned(
        case_id="c", provider="openai_chat", prompt_id="P0", prompt_name="name",
        validator_type="exact", is_scorable=is_scorable, expected_tools=("ls",), tags=("t",),
    )  # fmt: skip
    case = LoadedCase("c", "P0", "name", (), None, ("ls",), ("t",))
    trace = Trace()
    trace.final_output(reply.text)
    return executed(trial, case, reply, trace=trace.events, **fields)


def result(reply, verdict=NO_VERDICT, tools=NO_TOOLS, **fields):
    return result_of(execution(reply, **fields), verdict, tools, "artifacts/m.jsonl.zst#0")


@pytest.mark.parametrize("objective_pass", [True, False, None])
def test_without_a_failure_the_verdict_is_the_validators(objective_pass):
    line = result(Reply(text="x"), Verdict(objective_pass, None, None))

    assert line.passed is objective_pass
    assert (line.success, line.status, line.availability_status) == (True, "success", "ok")


@pytest.mark.parametrize(
    "failure_type", [*FAILURES, "http_401", "http_404", "http_429", "http_500"]
)
def test_a_failure_counts_only_when_it_is_the_models_own(failure_type):
    line = result(Reply(failure_type=failure_type, error_message="why"))

    meaning = classify(failure_type)
    assert line.passed is (False if meaning.cause == "model" else None)
    assert line.success is False
    assert (line.objective_pass, line.violation, line.parsed_output) == (None, None, None)
    assert (line.tool_calls, line.tool_use_success) == ((), False)
    assert line.availability_status == meaning.availability_status
    assert line.status == meaning.status


def test_an_untaken_request_that_times_out_is_not_the_models():
    assert result(Reply(failure_type="timeout", accepted=True)).passed is False
    assert result(Reply(failure_type="timeout", accepted=False)).passed is None


@pytest.mark.parametrize(
    ("failure_type", "availability", "retryable"),
    [
        ("http_401", "auth_error", False),
        ("http_403", "auth_error", False),
        ("api_key_missing", "auth_error", False),
        ("http_429", "rate_limited", True),
        ("http_404", "skipped_unavailable", False),
        ("connection_error", "skipped_unavailable", True),
        ("cli_missing", "skipped_unavailable", False),
        ("http_400", "error", False),
        ("http_408", "error", True),
        ("http_409", "error", True),
        ("http_425", "error", True),
        ("http_503", "error", True),
        ("timeout", "error", True),
        ("stream_interrupted", "error", True),
        ("invalid_response", "error", False),
        ("exception", "error", False),
        ("empty_response", "ok", False),
        ("output_truncated", "ok", False),
        ("max_turns_exceeded", "ok", False),
    ],
)
def test_availability_says_whether_the_provider_served_us(failure_type, availability, retryable):
    meaning = classify(failure_type)

    assert (meaning.availability_status, meaning.retryable) == (availability, retryable)


def test_a_failure_type_of_no_table_is_our_mistake():
    with pytest.raises(KeyError):
        classify("no_such_thing")


def test_numbers_and_names_reach_their_fields():
    reply = Reply(
        text="`ls -l`",
        finish_reason="stop",
        served_model="served",
        served_provider="up",
        usage=Usage(9, 4, 2, 5, raw={"prompt_tokens": 9}, source="api"),
        cost_usd=0.25,
        http_status=200,
        e2e_ms=400,
        ttft_ms=200,
    )
    line = result(reply, tools=tool_use(reply.text, (), ("ls",)), clock_late_ms=3)

    assert (line.e2e_ms, line.ttft_ms, line.clock_late_ms) == (400, 200, 3)
    assert (line.input_tokens, line.output_tokens) == (9, 4)
    assert (line.reasoning_tokens, line.cached_input_tokens, line.token_source) == (2, 5, "api")
    assert (line.cost_usd, line.cost_source) == (0.25, "provider")
    assert (line.requested_model, line.served_model, line.served_provider) == (
        "real-m", "served", "up",
    )  # fmt: skip
    assert (line.tool_calls, line.tool_call_count, line.tool_call_source) == (("ls",), 1, "text")
    assert line.tool_use_success
    assert (line.prompt_id, line.prompt_name, line.tags) == ("P0", "name", ("t",))
    assert line.http_status == 200
    assert line.artifact_path == "artifacts/m.jsonl.zst#0"


def test_what_is_unknown_is_null_and_never_zero():
    line = result(Reply(text="x"))

    numbers = "e2e_ms ttft_ms input_tokens output_tokens reasoning_tokens cached_input_tokens"
    for name in f"{numbers} cost_usd cost_source token_source http_status".split():
        assert getattr(line, name) is None, name


@pytest.mark.parametrize(
    ("text", "limit", "kept", "was_cut"),
    [("abc", 3, "abc", False), ("abcd", 3, "abc", True), ("aé", 2, "a", True),
     ("éé", 3, "é", True), ("😀", 3, "", True), ("", 0, "", False)],
)  # fmt: skip
def test_text_is_cut_between_characters(text, limit, kept, was_cut):
    assert cut(text, limit) == (kept, was_cut)


def test_a_long_answer_is_cut_in_the_line_and_whole_in_the_artifact():
    text = "é" * 40_000
    done = execution(Reply(text=text))

    line = result_of(done, NO_VERDICT, NO_TOOLS, None)

    assert len(line.raw_output.encode()) == 65_536
    assert line.raw_output_truncated
    assert artifact_of(done)["trace"][-1]["content"] == text


@pytest.mark.parametrize("failure_type", [None, "empty_response", "http_500"])
def test_a_case_with_nothing_to_judge_by_has_no_verdict_however_it_ends(failure_type):
    done = execution(Reply(text="x", failure_type=failure_type), is_scorable=False)

    assert result_of(done, NO_VERDICT, NO_TOOLS, None).passed is None


@pytest.mark.parametrize(
    "text",
    [
        "A bearer certificate is a bearer instrument; Authorization: required always.",
        "Authorization = everything-you-may-do",
        "The token bearer internationalization",
    ],
)
def test_words_of_a_language_are_not_taken_for_secrets(text):
    assert result(Reply(text=text)).raw_output == text


def test_redaction_takes_linear_time():
    text = "authorization:" + " " * 300_000 + "bearer" + " " * 300_000
    found = []

    cost = loops(lambda: found.append(result(Reply(text=text))))

    assert found[0].raw_output_truncated
    assert cost < 200, "quadratic work would take minutes"


def test_what_a_validator_extracted_is_cut_as_well():
    text = "é" * 70_000
    assert len(result(Reply(text="x"), Verdict(True, None, text)).parsed_output) == 32_768
    assert (
        len(result(Reply(text="x"), Verdict(True, None, {"text": text})).parsed_output["text"])
        == 32_768
    )
    assert result(Reply(text="x"), Verdict(True, None, {"key": [text] * 4})).parsed_output is None
    assert result(Reply(text="x"), Verdict(True, None, {"key": 1})).parsed_output == {"key": 1}


def test_secrets_stay_out_of_the_line(monkeypatch):
    from schemas import redact

    monkeypatch.setenv("SOME_API_KEY", "hunter2hunter2")
    for known in (redact._secret_values, redact._secret_marks):
        known.cache_clear()
    said = "Authorization: Bearer abcdefghijkl0123456 hunter2hunter2 sk-abcdefghijklmnopqrstuvwx"

    line = result(
        Reply(
            text=said,
            failure_type="http_401",
            error_message=said,
            error_code=said,
            served_model=said,
            served_provider=said,
            finish_reason=said,
        ),
    )
    judged = result(Reply(text=said), Verdict(False, f"want={said}", {"text": [said, 1]}))

    for known in (redact._secret_values, redact._secret_marks):
        known.cache_clear()
    for one in (line, judged):
        text = one.model_dump_json()
        for secret in ("hunter2", "abcdefghijkl", "sk-abc"):
            assert secret not in text
    assert judged.parsed_output["text"][1] == 1


def test_a_key_across_the_cut_of_a_short_text_leaves_no_beginning():
    from collect.execute.outcome import MAX_TEXT_BYTES

    said = "x" * (MAX_TEXT_BYTES - 12) + " sk-abcdefghijklmnopqrstuvwx"

    line = result(Reply(failure_type="http_401", error_message=said, served_model=said))

    assert "sk-abc" not in line.model_dump_json()
    assert line.error_message.endswith("x [redacted]")
