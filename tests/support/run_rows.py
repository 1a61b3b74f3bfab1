"""Records of a run as tests want them: every field has a value, and any can be another."""

from schemas.run.config import FingerprintParts, PlannedTrial, RunConfig
from schemas.run.inventory import Host, Inventory
from schemas.run.result import Event, Result

HASH, PART = "a" * 64, "a" * 16
PARTS = FingerprintParts(case=PART, settings=PART, endpoint=PART, harness=PART)


def result(**fields):
    base = {
        "run_id": "r", "provider": "ollama_openai", "model": "real-m", "thinking_level": None,
        "prompt_id": "one", "prompt_name": "Case one", "availability_status": "ok",
        "started_at_ms": 1, "ended_at_ms": 2, "e2e_ms": 10, "ttft_ms": 5, "success": True,
        "failure_type": None, "objective_pass": True, "violation": None, "input_tokens": 1,
        "output_tokens": 2, "raw_output": "Hello.", "parsed_output": None, "tool_calls": (),
        "tool_call_count": 0, "tool_use_success": False, "suite_id": "s", "case_id": "one",
        "model_id": "m", "repetition": 1, "case_hash": HASH, "run_fingerprint": HASH,
        "fingerprint_version": 1, "runner_type": "llm_probe", "status": "success",
        "passed": True, "error_code": None, "error_message": None, "http_status": 200,
        "attempt_count": 1, "requested_model": "real-m", "served_model": "served",
        "served_provider": None, "finish_reason": "stop", "reasoning_tokens": None,
        "cached_input_tokens": None, "cost_usd": None, "cost_source": None,
        "token_source": "provider", "validator_type": "exact", "checks_passed": 0,
        "checks_failed": 0, "checks_errored": 0, "checks": (), "expected_tools": (),
        "tool_call_source": None, "tags": (), "raw_output_truncated": False,
        "artifact_path": None, "reused_from_run_id": None, "clock_late_ms": 0,
    }  # fmt: skip
    return Result.model_validate(base | fields)


def failed(failure_type, status="provider_error", **fields):
    base = {
        "success": False, "failure_type": failure_type, "status": status, "passed": None,
        "objective_pass": None, "availability_status": "error",
    }  # fmt: skip
    return result(**(base | fields))


def event(**fields):
    return Event.model_validate({"run_id": "r", "event": "note", "at_ms": 1} | fields)


def planned(number=0, **fields):
    base = {
        "run_id": "r", "suite_id": "s", "model_id": "m", "case_id": f"c{number}", "repetition": 1,
        "trial_no": number, "runner_type": "llm_probe", "provider": "ollama_openai",
        "model": "real-m", "thinking_level": None, "prompt_id": f"c{number}", "prompt_name": None,
        "case_hash": HASH, "run_fingerprint": HASH, "validator_type": None, "is_scorable": False,
        "fingerprint_parts": PARTS,
        "expected_tools": (), "tags": (),
    }  # fmt: skip
    return PlannedTrial.model_validate(base | fields)


def config(**fields):
    base = {
        "run_id": "r", "started_at_ms": 1, "benchlake_version": "0", "suite_id": "s",
        "suite_title": "S", "suite_path": "s.yaml", "run_profile_id": "p",
        "run_profile_path": "p.yaml", "execution_policy": {}, "models": (), "case_settings": {},
        "n_planned": 1, "config_files": {}, "allowed_hosts": (), "warnings": (),
    }  # fmt: skip
    return RunConfig.model_validate(base | fields)


def inventory():
    return Inventory(
        run_id="r", created_at="2026-01-01T00:00:00Z", packages={}, ollama_list="",
        host=Host(uname="u", python="3", cpu_count=1, memory_bytes=1), ollama_models=(),
        ollama_store_du="", claude_version="", keys_present=(),
    )  # fmt: skip


def line_of(record):
    return record.model_dump_json().encode() + b"\n"
