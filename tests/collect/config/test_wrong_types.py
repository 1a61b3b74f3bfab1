"""A wrong type in any field of the five kinds is a problem that names the field."""

import copy

import pytest

from schemas.config.agent import Agent
from schemas.config.case import Case
from schemas.config.command_agent import CommandAgent
from schemas.config.evaluation_profile import EvaluationProfile
from schemas.config.run_profile import RunProfile
from schemas.config.suite import Suite
from schemas.errors import ConfigError
from schemas.io.validation import parse
from schemas.io.yaml import Source, dotted

SELECTION = {
    "include_case_ids": ["a"],
    "exclude_case_ids": ["b"],
    "include_tags": ["t"],
    "exclude_tags": ["u"],
}
CHECKS = [
    {"kind": "final_response_present"},
    {"kind": "tool_call_count", "count": 2},
    {"kind": "file_exists", "path": "a"},
    {"kind": "file_contains", "path": "a", "text": "b"},
    {"kind": "path_exists", "path": "/tmp/a"},
    {"kind": "status_is", "status": "success"},
    {"kind": "output_artifact_present", "artifact_id": "a", "artifact_type": "b", "uri": "c"},
    {"kind": "openclaw_workspace_file_present", "relative_path": "a", "contains": "b"},
    {
        "kind": "openclaw_workspace_file_present",
        "relative_path": "a",
        "contains_all": ["b"],
        "contains_any": ["c"],
    },
]
WHOLE = {
    Case: {
        "schema_version": 1,
        "case_id": "weather",
        "title": "Weather",
        "cluster": "forecasts",
        "runner": {"type": "llm_probe"},
        "input": {
            "messages": [
                {"role": "system", "content": "Be brief.", "name": "boss"},
                {"role": "user", "source": {"path": "ask.yaml", "format": "yaml"}},
            ],
            "turns": [{"role": "user", "content": "And tomorrow?"}],
            "attachments": ["notes.txt"],
        },
        "validator": {"type": "one_of", "values": ["rain"]},
        "expected_tool_calls": ["exec_shell"],
        "deterministic_checks": [
            *(
                {"check_id": f"c{number}", "dimensions": ["task"], "declarative": declared}
                for number, declared in enumerate(CHECKS)
            ),
            {"check_id": "h", "python_hook": {"path": "h.py", "callable_name": "f"}},
            {"check_id": "i", "python_hook": {"import_path": "a.b", "callable_name": "f"}},
        ],
        "expectations": {
            "hard_expectations": [{"text": "Names the town.", "weight": 2.5}],
            "soft_expectations": [{"text": "Is friendly."}],
        },
        "rubric": {
            "version": 1,
            "scale": {"min": 0, "max": 5, "anchors": {"5": "All of it."}},
            "criteria": [
                {"name": "Facts", "what_good_looks_like": "True", "what_bad_looks_like": "Made up"}
            ],
            "scoring_instructions": "At most 2 when a check fails.",
        },
        "tags": ["smoke"],
        "solution": {"text": "42", "files": "a", "script": "b.sh", "tool_calls": ["exec_shell"]},
        "metadata": {},
    },
    Suite: {
        "schema_version": 1,
        "suite_id": "s",
        "title": "S",
        "models": [
            {
                "model_id": "m",
                "label": "M",
                "requested_model": "a",
                "openrouter_model": "b",
                "provider": "openai_chat",
                "model_name": "c",
                "base_url": "http://localhost",
                "api_key_env": "A_API_KEY",
                "thinking_level": "high",
                "max_concurrency": 1,
                "request_options": {},
            }
        ],
        "case_selection": SELECTION,
        "openclaw": {"agent_assignments": [{"agent_id": "a", "case_selection": SELECTION}]},
        "agent": {"agent_assignments": [{"agent_id": "b", "case_selection": SELECTION}]},
        "prompt_lists": ["a.json"],
        "metadata": {},
    },
    RunProfile: {
        "schema_version": 1,
        "run_profile_id": "p",
        "title": "P",
        "runner_defaults": {
            "temperature": 0.5,
            "top_p": 1,
            "max_tokens": 5,
            "seed": 1,
            "seed_per_repetition": True,
            "timeout_seconds": 5,
            "retries": 1,
            "max_turns": 2,
            "stream": False,
        },
        "model_overrides": {"m": {"temperature": 1}},
        "execution_policy": {
            "max_concurrency": 2,
            "run_repetitions": 3,
            "fail_fast": False,
            "stop_on_runner_error": True,
        },
        "openclaw": {"agent_id": "a", "image": "i:1", "timeout_seconds": 9, "docker_cli": "podman"},
        "agent": {"agent_id": "b", "executable": "local", "timeout_seconds": 9, "programs": ["/a"]},
        "sandbox": {
            "backend": "podman",
            "image": "registry.example/tools:1",
            "limits": {"command_seconds": 9, "memory_mb": 500},
        },
    },
    EvaluationProfile: {
        "schema_version": 1,
        "evaluation_profile_id": "e",
        "title": "E",
        "judges": [
            {
                "judge_id": "j",
                "type": "llm_probe",
                "model": "m",
                "provider": "openrouter",
                "base_url": "http://localhost",
                "api_key_env": "A_TOKEN",
                "request_options": {},
            }
        ],
        "judge_runs": [{"judge_run_id": "r", "judge_id": "j", "repetitions": 3, "sample_size": 2}],
        "aggregation": {"method": "mean", "pass_threshold": 0.7},
        "anchors": {
            "enabled": True,
            "references": [{"anchor_id": "a", "label": "l", "text": "t"}],
        },
        "security_policy": {
            "allow_local_python_hooks": True,
            "network_access": "allow",
            "redact_secrets": False,
        },
        "judge_system_prompt": "Judge.",
        "metadata": {},
    },
    Agent: {
        "schema_version": 1,
        "agent_id": "a",
        "title": "A",
        "description": "Helps.",
        "tags": ["t"],
        "openclaw": {
            "identity": {},
            "agents_defaults": {},
            "agent": {"id": "a-1", "prompt": "Be kind."},
            "model_defaults": {"aliases": {"main": "x"}, "fallbacks": [], "primary_params": {}},
        },
        "metadata": {},
    },
    CommandAgent: {
        "argv": ["a", "{prompt}"],
        "next_argv": ["a", "on", "{prompt}"],
        "prompt": "argument",
        "environment": {"KEY": "{api_key}"},
        "files": {".a/config": "x"},
        "version": ["a", "--version"],
        "answer": {"source": "json", "path": "a.b"},
        "exit_codes": {"3": "limit"},
        "usage": {
            "source": "file",
            "path": "u.json",
            "input_tokens": "i",
            "output_tokens": "o",
            "cached_input_tokens": "c",
            "cache_write_tokens": "w",
            "reasoning_tokens": "r",
            "cost_usd": "u",
            "counts": "delta",
            "cached": "inside",
        },
        "logs": {"format": "plain", "paths": ["stdout"]},
    },
}


def places(value, key=()):
    """Return the key of everything in a value, itself left out."""
    inner = value.items() if isinstance(value, dict) else enumerate(value)
    for name, item in inner:
        yield (*key, name)
        if isinstance(item, dict | list):
            yield from places(item, (*key, name))


def wrong_for(value):
    """Return values of other types than this one; an integer stands for any number."""
    others = [{"x": []}, ["x"], "x", 7, True]
    kinds = (int, float) if type(value) in {int, float} else (type(value),)
    return [other for other in others if type(other) not in kinds]


def replaced(data, key, value):
    data = copy.deepcopy(data)
    place = data
    for part in key[:-1]:
        place = place[part]
    place[key[-1]] = value
    return data


def test_the_examples_are_whole_and_right(tmp_path):
    for model, data in WHOLE.items():
        assert parse(model, Source(tmp_path, data, ""))
        assert set(model.model_fields) - set(data) <= {"judge_system_prompt_path", "command"}, model


@pytest.mark.parametrize(
    ("model", "key"),
    [(model, key) for model, data in WHOLE.items() for key in places(data)],
    ids=lambda value: dotted(value) if isinstance(value, tuple) else value.__name__,
)
def test_a_wrong_type_is_named_by_its_field(model, key, tmp_path):
    right = WHOLE[model]
    for part in key:
        right = right[part]
    for wrong in wrong_for(right):
        data = replaced(WHOLE[model], key, wrong)
        with pytest.raises(ConfigError) as caught:
            parse(model, Source(tmp_path, data, ""))
        said = [problem.key for problem in caught.value.problems]
        around = dotted(key[:-1]) or dotted(key)  # a discriminator is named by what it is in
        assert any(one.startswith((dotted(key), around)) for one in said), (wrong, said)


@pytest.mark.parametrize("model", WHOLE)
def test_an_unknown_key_is_named_wherever_it_stands(model, tmp_path):
    free = ("metadata", "runner", "models", "request_options", "primary_params", "identity")
    free += ("agents_defaults", "agent", "judges", "anchors", "model_overrides", "model_defaults")
    free += ("key_rules", "context", "environment", "files", "exit_codes")
    for key in places(WHOLE[model]):
        if not isinstance(key[-1], str) or any(part in free for part in key):
            continue
        value = WHOLE[model]
        for part in key:
            value = value[part]
        if not isinstance(value, dict):
            continue
        data = replaced(WHOLE[model], key, value | {"zzz": 1})
        with pytest.raises(ConfigError, match="zzz`: unknown key"):
            parse(model, Source(tmp_path, data, ""))
