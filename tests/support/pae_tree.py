"""Writes outputs of personal_agent_eval, with every file and field that the tool writes."""

import json
from hashlib import sha256

SUITE = "examples"
FULL = {name: sha256(name.encode()).hexdigest() for name in ("profile", "new", "old")}
FP6 = FULL["profile"][:6]
PROFILE = f"run_profile_{FP6}"
RUN_ID = f"pae_{SUITE}_{FP6}"
STARTED = "2026-04-22T21:54:16.057644Z"
STARTED_MS = 1_776_894_856_057
ENDED = "2026-04-22T21:54:22.324380Z"
EVALUATIONS = ("judge_new", FULL["new"]), ("judge_old", FULL["old"])

MODELS = {"alpha_1": "acme/alpha-1", "beta": "beta/large"}
DIMENSIONS = ("autonomy", "closeness", "efficiency", "process", "spark", "task")


def write(path, data):
    """Write a file as the tool does: sorted, indented, real characters."""
    path.parent.mkdir(parents=True, exist_ok=True)
    text = json.dumps(data, indent=2, sort_keys=True, ensure_ascii=False)
    path.write_text(text + "\n", encoding="utf-8")


def message(role, content, **metadata):
    return {
        "event_type": "message", "role": role, "content": content, "name": None,
        "metadata": metadata,
    }  # fmt: skip


def runner(name, **metadata):
    return {"event_type": "runner", "name": name, "detail": f"{name}.", "metadata": metadata}


def tool(call_id, name, arguments, output, status="success"):
    """A call, its result, and the result once more as a message."""
    yield {
        "event_type": "tool_call", "call_id": call_id, "tool_name": name,
        "raw_arguments": json.dumps(arguments), "parsed_arguments": arguments,
        "metadata": {"index": 0, "type": "function"},
    }  # fmt: skip
    yield {
        "event_type": "tool_result", "call_id": call_id, "status": status, "output": output,
        "metadata": {},
    }  # fmt: skip
    said = json.dumps({"status": status, "output": output})
    yield message("tool", said, tool_call_id=call_id) | {"name": name}


def final(content):
    return {"event_type": "final_output", "content": content, "metadata": {}}


def run(model, case, number, *events, **changes):
    """A run file; `changes` replace whole parts of it."""
    usage = {
        "input_tokens": 2111, "output_tokens": 258, "reasoning_tokens": 103, "total_tokens": 2369,
        "cached_input_tokens": 1344, "cache_write_tokens": 0,
    }  # fmt: skip
    base = {
        "identity": {
            "schema_version": 1, "run_id": run_id(model, case, number), "case_id": case,
            "suite_id": SUITE, "run_profile_id": "quick", "runner_type": "llm_probe",
        },
        "status": "success",
        "timing": {
            "queued_at": STARTED, "started_at": STARTED, "completed_at": ENDED,
            "duration_seconds": 6.2667,
        },
        "request": {
            "requested_model": MODELS.get(model, model), "gateway": "openrouter",
            "execution_parameters": {
                "temperature": 0.0, "top_p": None, "max_tokens": 768, "seed": None, "max_turns": 6,
                "timeout_seconds": 90.0, "retries": 0, "tool_choice": None,
            },
            "metadata": {"attachments": [], "case_metadata": {}, "resolved_tools": ["exec_shell"]},
        },
        "provider": {
            "gateway": "openrouter", "provider_name": "Acme", "finish_reason": "stop",
            "provider_model_id": f"{MODELS.get(model, model)}-20260318", "request_id": None,
            "response_id": "gen-1", "native_finish_reason": "stop",
            "metadata": {"status_code": 200, "created": 1776894860, "response_headers": {}},
        },
        "usage": {
            "normalized": usage, "cost_usd": 0.00062,
            "raw_provider_usage": {"prompt_tokens": 662, "completion_tokens": 77},
        },
        "trace": [
            {"sequence": n, "timestamp": None, **event} for n, event in enumerate(events)
        ],
        "output_artifacts": [],
        "error": None,
        "runner_metadata": {"attempt_count": 1, "model_id": model, "tool_capable": True},
    }  # fmt: skip
    return base | changes


def failed(status, code, text="it did not work", **extra):
    """The parts of a run that failed."""
    error = {
        "code": code, "message": text, "error_type": "OpenRouterError", "retryable": True,
        "provider_code": None, "metadata": {},
    }  # fmt: skip
    nothing = {"normalized": dict.fromkeys(("input_tokens", "output_tokens")), "cost_usd": None}
    provider = {"gateway": "openrouter", "metadata": {}, "finish_reason": None}
    return {"status": status, "error": error | extra, "usage": nothing, "provider": provider}


def agent(model, case, number):
    """A run of the agent in its container: no event of a call, cached tokens counted apart."""
    text = json.dumps({"payloads": [{"text": "Done."}], "meta": {"durationMs": 15872}}, indent=2)
    made = run(
        model, case, number,
        runner("openclaw_executor_selected", docker_cli="docker"),
        message("user", "Make report.md."),
        runner("agent_invoked", agent_id="basic"),
        final(text),
    )  # fmt: skip
    usage = {"input_tokens": 143, "output_tokens": 202, "cached_input_tokens": 22656}
    summary = {"tool_summary": {"calls": 3, "failures": 0, "tools": ["exec", "write"]}}
    made["identity"]["runner_type"] = "openclaw"
    made["request"]["gateway"] = made["provider"]["gateway"] = "openclaw"
    made["request"]["metadata"] = {"openclaw": {"agent_id": "basic", "container_image": "img:1"}}
    made["provider"] = {"gateway": "openclaw", "metadata": {"returncode": 0}}
    made["usage"] = {"normalized": usage, "cost_usd": 0.25, "raw_provider_usage": None}
    made["runner_metadata"] = {"openclaw": {"metadata": {"observable_summary": summary}}}
    return made


def run_id(model, case, number):
    return "run_" + sha256(f"{model} {case} {number}".encode()).hexdigest()[:32]


def final_result(model, case, number, *, checks=(0, 0, 0), score=8.5):
    passed, wrong, errors = checks
    return {
        "schema_version": 1, "case_id": case, "run_id": run_id(model, case, number),
        "deterministic_dimensions": dict.fromkeys(DIMENSIONS),
        "judge_dimensions": dict.fromkeys(DIMENSIONS, 8.0),
        "final_dimensions": dict.fromkeys(DIMENSIONS, 8.0),
        "judge_overall": {"score": score, "evidence": ["report.md is there"]},
        "final_score": score,
        "summary": {
            "deterministic_passed_checks": passed, "deterministic_failed_checks": wrong,
            "deterministic_error_checks": errors, "judge_successful_iterations": 1,
            "judge_failed_iterations": 0,
        },
        "security": {"verdict": "not_evaluated", "warnings": []},
        "warnings": [],
    }  # fmt: skip


class Tree:
    """An `outputs/` folder in the making."""

    def __init__(self, root, suite=SUITE, repetitions=2):
        self.root = root
        self.folder = root / "runs" / f"suit_{suite}" / PROFILE
        self.evaluations = root / "evaluations" / f"suit_{suite}" / f"evaluation_profile_{FP6}"
        self._common = {
            "schema_version": 1, "suite_id": suite, "run_profile_id": "quick",
            "run_profile_fingerprint": FULL["profile"],
        }  # fmt: skip
        own = {"runner_type": "llm_probe", "run_repetitions": repetitions}
        write(self.folder / "manifest.json", self._common | own)

    def place(self, model, case, number=1):
        return self.folder / model / case / f"run_{number}.json"

    def run(self, model, case, number, *events, **changes):
        self.put(model, case, number, run(model, case, number, *events, **changes))

    def put(self, model, case, number, data):
        """Write a run with what the tool writes beside it."""
        path = self.place(model, case, number)
        write(path, data)
        payload = {"kind": "run", "fingerprint": sha256(case.encode()).hexdigest(), "payload": {}}
        write(path.with_suffix(".fingerprint_input.json"), payload)
        listed = [
            {"repetition_index": n, "run_fingerprint": sha256(case.encode()).hexdigest()}
            for n in range(number)
        ]
        own = {"model_id": model, "case_id": case, "openclaw_agent_id": None, "iterations": listed}
        write(path.parent / "manifest.json", self._common | own)

    def evaluate(self, model, case, number, profile="judge_new", *, final=True, **facts):
        """Write what an evaluation leaves: the older one in the older layout."""
        folder = self.evaluations / f"eval_profile_{profile}_{dict(EVALUATIONS)[profile][:6]}"
        own = {
            "evaluation_profile_id": profile, "evaluation_fingerprint": dict(EVALUATIONS)[profile],
            "aggregation_method": "median", "judge_system_prompt_source": "inline",
            "judge_system_prompt": "You are strict.",
        }  # fmt: skip
        write(folder / "manifest.json", self._common | own)
        place = folder / model / case
        write(place / "manifest.json", self._common | own | {"model_id": model, "case_id": case})
        place.joinpath(f"evaluation_result_summary_{number}.md").write_text("# Evaluation\n")
        if profile == "judge_new":
            place /= "raw_outputs"
        write(place / f"judge_{number}.json", {"schema_version": 1, "judge_name": "primary"})
        if final:
            write(place / f"final_result_{number}.json", final_result(model, case, number, **facts))


def full_tree(root):
    """Two models, three cases, two repetitions; an error, a time-out, an agent; two evaluations.

    Not there: the agent's second repetition of the second model.
    """
    tree = Tree(root)
    for model in MODELS:
        for number in (1, 2):
            tree.run(
                model, "plain", number, message("user", "Say hello — now."),
                runner("provider_attempt", attempt=1),
                message("assistant", "Hello!", reasoning="They want a greeting."),
                final("Hello!"),
            )  # fmt: skip
            tree.run(
                model, "tooled", number, message("user", "Which files?"),
                message("assistant", None, reasoning="I look."),
                *tool("call_1", "exec_shell", {"command": "ls"}, {"returncode": 0, "stdout": "a"}),
                message("assistant", "Only a."), final("Only a."),
            )  # fmt: skip
            if (model, number) != ("beta", 2):
                tree.put(model, "agent", number, agent(model, "agent", number))
            tree.evaluate(model, "plain", number, checks=(2, 0, 0), score=9.0)
            tree.evaluate(model, "plain", number, "judge_old", checks=(2, 0, 0), score=7.25)
            tree.evaluate(model, "tooled", number, checks=(1, 1, 0))
    tree.run("beta", "plain", 2, message("user", "Hi"), **failed("provider_error", "429"))
    tree.run("beta", "tooled", 1, message("user", "Hi"), **failed("timed_out", "timeout"))
    tree.evaluate("alpha_1", "agent", 1, final=False)
    blob = tree.folder / "alpha_1/agent/run_1.artifacts/openclaw_logs--openclaw.log"
    blob.parent.mkdir()
    blob.write_bytes(b"\x00log\xff")
    return tree
