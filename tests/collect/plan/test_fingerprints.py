"""Changing any single field changes exactly the fingerprint parts it should, and no other."""

from dataclasses import replace

import pytest

from collect.config import load_inputs
from collect.plan.plan import make_plan
from schemas.config.agent import Agent
from schemas.config.case import Case, CaseInput, Message, Rubric
from schemas.config.checks import DeterministicCheck
from schemas.config.run_profile import (
    AgentRunProfile,
    ExecutionPolicy,
    RunnerSettings,
    RunProfile,
)
from schemas.config.suite import ModelConfig, Suite
from schemas.run.config import FingerprintParts

USER = {"role": "user", "content": "Say x."}
CHECK = {"check_id": "c", "declarative": {"kind": "final_response_present"}}
RUBRIC = {
    "criteria": [{"name": "n", "what_good_looks_like": "g", "what_bad_looks_like": "b"}],
    "scoring_instructions": "s",
}
CASE = {
    "title": "T",
    "runner": {"type": "llm_probe"},
    "input": {"messages": [USER], "attachments": ["a.txt"], "context": {}},
    "validator": {"type": "exact", "value": "x"},
    "expected_tool_calls": ["ls"],
    "deterministic_checks": [CHECK],
    "expectations": {"hard_expectations": [{"text": "t"}]},
    "rubric": RUBRIC,
    "tags": ["t"],
    "metadata": {"a": 1},
}
MODEL = {"model_id": "m", "provider": "ollama_openai", "base_url": "http://127.0.0.1:1/v1"}
SETTINGS = {"temperature": 0.5, "top_p": 0.5, "max_tokens": 5, "seed": 5}
OPENCLAW = {"agent_id": "one", "image": "i:1", "timeout_seconds": 60}

COMMAND = {"argv": ["a"], "prompt": "stdin"}


class World:
    """A project with one case, one model and two agents, in which one thing can change."""

    def __init__(self, project):
        self.project = project
        self.case, self.model = dict(CASE), dict(MODEL)
        self.settings, self.policy = dict(SETTINGS), {}
        self.override, self.openclaw, self.suite = {}, dict(OPENCLAW), {}
        self.agent = {"openclaw": {"agent": {"id": "a"}}}
        self.command, self.program = {}, "1"
        self.attachment, self.workspace = "1", "1"

    def parts(self):
        p = self.project
        p.case(**self.case)
        p.write("configs/cases/group/one/a.txt", self.attachment)
        for name in ("one", "two"):
            base = {"schema_version": 1, "agent_id": name, "title": "A"}
            p.write(f"configs/agents/{name}/agent.yaml", base | self.agent)
            p.write(f"configs/agents/{name}/workspace/AGENTS.md", f"{self.workspace} {name}")
            p.write(f"configs/agents/{name}/program/run.sh", self.program)
        p.suite(**({"models": [self.model]} | self.suite))
        p.profile(
            runner_defaults=self.settings,
            model_overrides=self.override,
            execution_policy=self.policy,
            openclaw=self.openclaw,
            **({"agent": self.command} if self.command else {}),
        )
        first, *_ = make_plan(load_inputs("s", "p", working_dir=p.root), "r")
        return first.fingerprint_parts.model_dump() | {"whole": first.run_fingerprint}

    def on_openrouter(self):
        self.model = {"model_id": "m", "provider": "openrouter", "requested_model": "v/m"}

    def through_a_cli(self):
        self.model = {"model_id": "m", "provider": "claude_code_cli"}

    def embedded(self):
        self.model = {"model_id": "m", "provider": "embedded"}

    def openclaw_case(self):
        self.case["runner"] = {"type": "openclaw"}

    def command_case(self):
        self.case["runner"] = {"type": "command"}
        self.command = {"agent_id": "one", "image": "i:1", "timeout_seconds": 60}
        self.agent = {"command": COMMAND}

    def tool_case(self):
        self.case["input"] = self.case["input"] | {"context": tools("exec_shell")}


def tools(*names, **fields):
    return {"llm_probe": {"tools": list(names)} | fields}


def put(attribute, **fields):
    def change(world):
        setattr(world, attribute, getattr(world, attribute) | fields)

    return change


def put_input(**fields):
    def change(world):
        world.case["input"] = world.case["input"] | fields

    return change


def setting(name, value):
    return put("settings", **{name: value})


def assign(attribute, value):
    return lambda world: setattr(world, attribute, value)


NOTHING, CASE_ONLY, SETTINGS_ONLY, ENDPOINT = set(), {"case"}, {"settings"}, {"endpoint"}

PLAIN = {
    # every field of a case
    "Case.title": (put("case", title="New"), NOTHING),
    "Case.tags": (put("case", tags=["u"]), NOTHING),
    "Case.cluster": (put("case", cluster="django/django"), NOTHING),
    "Case.metadata": (put("case", metadata={}), NOTHING),
    "Case.solution": (put("case", solution={"text": "x"}), NOTHING),
    "Case.validator": (put("case", validator={"type": "exact", "value": "y"}), CASE_ONLY),
    "Case.expected_tool_calls": (put("case", expected_tool_calls=["df"]), CASE_ONLY),
    "Case.deterministic_checks": (put("case", deterministic_checks=[]), CASE_ONLY),
    "Case.expectations": (put("case", expectations=None), CASE_ONLY),
    "Case.rubric": (put("case", rubric=RUBRIC | {"scoring_instructions": "t"}), CASE_ONLY),
    "Case.runner": (put("case", runner={"type": "llm_probe", "max_tokens": 6}), SETTINGS_ONLY),
    "CaseInput.messages": (put_input(messages=[USER, USER]), CASE_ONLY),
    "CaseInput.attachments": (put_input(attachments=[]), CASE_ONLY),
    "CaseInput.context": (put_input(context=tools("read_file")), {"case", "tools", "settings"}),
    "Message.role": (put_input(messages=[USER | {"role": "system"}, USER]), CASE_ONLY),
    "Message.content": (put_input(messages=[USER | {"content": "y"}]), CASE_ONLY),
    "Message.name": (put_input(messages=[USER | {"name": "n"}]), CASE_ONLY),
    "an attachment's content": (assign("attachment", "2"), CASE_ONLY),
    "DeterministicCheck.check_id": (
        put("case", deterministic_checks=[CHECK | {"check_id": "d"}]), CASE_ONLY),
    "DeterministicCheck.dimensions": (
        put("case", deterministic_checks=[CHECK | {"dimensions": ["task"]}]), CASE_ONLY),
    "DeterministicCheck.description": (
        put("case", deterministic_checks=[CHECK | {"description": "d"}]), CASE_ONLY),
    "DeterministicCheck.declarative": (put("case", deterministic_checks=[
        CHECK | {"declarative": {"kind": "tool_call_count", "count": 1}}]), CASE_ONLY),
    "Rubric.scale": (put("case", rubric=RUBRIC | {"scale": {"max": 5}}), CASE_ONLY),
    "Rubric.criteria": (put("case", rubric={"scoring_instructions": "s"}), CASE_ONLY),
    "Rubric.scoring_instructions": (
        put("case", rubric={"criteria": RUBRIC["criteria"]}), CASE_ONLY),
    # every field of a suite's model
    "ModelConfig.label": (put("model", label="L"), NOTHING),
    "ModelConfig.model_id": (put("model", model_id="other", requested_model="m"), NOTHING),
    "ModelConfig.requested_model": (put("model", requested_model="x"), ENDPOINT),
    "ModelConfig.model_name": (put("model", model_name="x"), ENDPOINT),
    "ModelConfig.openrouter_model": (put("model", openrouter_model="x"), ENDPOINT),
    "ModelConfig.provider": (put("model", provider="openai_chat"), ENDPOINT),
    "ModelConfig.base_url": (put("model", base_url="http://127.0.0.1:1/v2"), ENDPOINT),
    "a loopback port": (put("model", base_url="http://localhost:2/v1"), NOTHING),
    "ModelConfig.api_key_env": (put("model", api_key_env="X_API_KEY"), NOTHING),
    "ModelConfig.thinking_level": (put("model", thinking_level="low"), SETTINGS_ONLY),
    "ModelConfig.primary_params": (
        put("model", primary_params={"reasoning": {"effort": "low"}}), SETTINGS_ONLY),
    "ModelConfig.max_concurrency": (put("model", max_concurrency=1), NOTHING),
    "ModelConfig.requests_per_minute": (put("model", requests_per_minute=60), NOTHING),
    "ModelConfig.warmup": (put("model", warmup=2), NOTHING),
    "ModelConfig.exclusive": (put("model", exclusive=True), NOTHING),
    "ModelConfig.request_options": (put("model", request_options={"a": 1}), SETTINGS_ONLY),
    "a setting on the model": (put("model", top_p=0.25), SETTINGS_ONLY),
    # every setting
    "RunnerSettings.temperature": (setting("temperature", 1), SETTINGS_ONLY),
    "RunnerSettings.top_p": (setting("top_p", 1), SETTINGS_ONLY),
    "RunnerSettings.max_tokens": (setting("max_tokens", 6), SETTINGS_ONLY),
    "RunnerSettings.seed": (setting("seed", 6), SETTINGS_ONLY),
    "RunnerSettings.seed_per_repetition": (setting("seed_per_repetition", True), NOTHING),
    "RunnerSettings.timeout_seconds": (setting("timeout_seconds", 9), NOTHING),
    "RunnerSettings.retries": (setting("retries", 1), NOTHING),
    "RunnerSettings.max_turns": (setting("max_turns", 2), NOTHING),
    "RunnerSettings.stream": (setting("stream", False), NOTHING),
    "an override of this model": (put("override", m={"seed": 9}), SETTINGS_ONLY),
    "an override of another model": (put("override", other={"seed": 9}), NOTHING),
    # execution policy and the rest of the profile
    "ExecutionPolicy.max_concurrency": (put("policy", max_concurrency=9), NOTHING),
    "ExecutionPolicy.run_repetitions": (put("policy", run_repetitions=9), NOTHING),
    "ExecutionPolicy.fail_fast": (put("policy", fail_fast=True), NOTHING),
    "ExecutionPolicy.stop_on_runner_error": (put("policy", stop_on_runner_error=False), NOTHING),
    "the openclaw block": (put("openclaw", image="i:2", agent_id="two"), NOTHING),
    "an agent": (assign("workspace", "2"), NOTHING),
    "Suite.title": (put("suite", title="New"), NOTHING),
    "Suite.metadata": (put("suite", metadata={"a": 1}), NOTHING),
    "Suite.case_selection": (put("suite", case_selection={"include_tags": ["t"]}), NOTHING),
}  # fmt: skip

WITH_TOOLS = {
    "the tools": (put_input(context=tools("exec_shell", "read_file")), {"case", "tools"}),
    "their network": (put_input(context=tools("exec_shell", network="allow")), {"tools"}),
    "what must be called": (
        put_input(context=tools("exec_shell", tool_choice="required")), {"case", "tools"}),
    "RunnerSettings.max_turns": (setting("max_turns", 2), SETTINGS_ONLY),
}  # fmt: skip

WITH_ROUTER = {
    "who serves": (put("model", request_options={"provider": {"only": ["a"]}}), ENDPOINT),
    "another option": (put("model", request_options={"min_p": 0.1}), SETTINGS_ONLY),
    "a vendor": (put("model", provider="v"), NOTHING),
}

WITH_CLI = {
    "ModelConfig.executable": (put("model", executable="/opt/claude"), NOTHING),
    "a setting that is not sent": (setting("temperature", 1), NOTHING),
    "a setting that is sent": (setting("max_tokens", 6), SETTINGS_ONLY),
    "ModelConfig.thinking_level": (put("model", thinking_level="low"), SETTINGS_ONLY),
}

WITH_EMBEDDED = {
    "ModelConfig.context_tokens": (put("model", context_tokens=512), ENDPOINT),
    "ModelConfig.threads": (put("model", threads=3), NOTHING),
    "ModelConfig.model_file": (put("model", model_file="../own.gguf"), ENDPOINT),
}
"""What a file holds is `model_build`, which a run adds; its name is what is asked for."""

WITH_OPENCLAW = {
    "AgentRunProfile.image": (put("openclaw", image="i:2"), {"image"}),
    "AgentRunProfile.agent_id": (put("openclaw", agent_id="two"), {"agent"}),
    "AgentRunProfile.timeout_seconds": (put("openclaw", timeout_seconds=9), NOTHING),
    "AgentRunProfile.turn_timeout_seconds": (
        put("openclaw", turn_timeout_seconds=9), NOTHING),
    "AgentRunProfile.docker_cli": (put("openclaw", docker_cli="podman"), NOTHING),
    "AgentRunProfile.network": (put("openclaw", network="host"), {"image"}),
    "AgentRunProfile.limits": (put("openclaw", limits={"memory_mb": 9}), {"image"}),
    "AgentRunProfile.executable": (
        put("openclaw", executable="local", image=None), {"image"}),
    "what an agent sets its model to": (put("model", primary_params={"a": 1}), SETTINGS_ONLY),
    "Agent.openclaw": (put("agent", openclaw={"agent": {"id": "b"}}), {"agent"}),
    "Agent.title": (put("agent", title="New"), NOTHING),
    "Agent.description": (put("agent", description="d"), NOTHING),
    "Agent.tags": (put("agent", tags=["t"]), NOTHING),
    "Agent.metadata": (put("agent", metadata={"a": 1}), NOTHING),
    "a file of the workspace": (assign("workspace", "2"), {"agent"}),
    "CaseInput.turns": (put_input(turns=[USER]), CASE_ONLY),
    "Suite.openclaw": (put("suite", openclaw={"agent_assignments": [
        {"agent_id": "two", "case_selection": {"include_case_ids": ["one"]}}]}), {"agent"}),
}  # fmt: skip

WITH_COMMAND = {
    "Agent.command": (put("agent", command=COMMAND | {"argv": ["b"]}), {"agent"}),
    "a file of the workspace": (assign("workspace", "2"), {"agent"}),
    "a file of the program": (assign("program", "2"), {"agent"}),
    "another agent": (put("command", agent_id="two"), {"agent"}),
    "another image": (put("command", image="i:2"), {"image"}),
    "Suite.agent": (put("suite", agent={"agent_assignments": [
        {"agent_id": "two", "case_selection": {"include_case_ids": ["one"]}}]}), {"agent"}),
}  # fmt: skip


def differences(project, change, prepare=lambda world: None):
    world = World(project)
    prepare(world)
    before = world.parts()
    change(world)
    after = world.parts()
    return {name for name in before if before[name] != after[name]}


def with_whole(parts):
    return parts | {"whole"} if parts else parts


@pytest.mark.parametrize("field", PLAIN)
def test_a_field_of_a_plain_case(project, field):
    change, parts = PLAIN[field]
    assert differences(project, change) == with_whole(parts)


@pytest.mark.parametrize("field", WITH_TOOLS)
def test_a_field_of_a_case_with_tools(project, field):
    change, parts = WITH_TOOLS[field]
    assert differences(project, change, World.tool_case) == with_whole(parts)


@pytest.mark.parametrize("field", WITH_ROUTER)
def test_a_field_of_a_model_behind_a_router(project, field):
    change, parts = WITH_ROUTER[field]
    assert differences(project, change, World.on_openrouter) == with_whole(parts)


@pytest.mark.parametrize("field", WITH_CLI)
def test_a_field_of_a_model_behind_a_cli(project, field):
    change, parts = WITH_CLI[field]
    assert differences(project, change, World.through_a_cli) == with_whole(parts)


@pytest.mark.parametrize("field", WITH_EMBEDDED)
def test_a_field_of_a_model_that_the_run_serves(project, field):
    project.write("configs/own.gguf", "GGUF")
    change, parts = WITH_EMBEDDED[field]
    assert differences(project, change, World.embedded) == with_whole(parts)


def test_another_version_of_a_cli_is_another_harness(project):
    world = World(project)
    world.through_a_cli()
    world.parts()
    inputs = load_inputs("s", "p", working_dir=project.root)

    def harness(version):
        model = replace(inputs.models[0], harness_version=version)
        (first, *_) = make_plan(replace(inputs, models=(model,)), "r")
        return first.fingerprint_parts.harness

    assert len({harness(None), harness("2.1.197"), harness("2.1.198")}) == 3


@pytest.mark.parametrize("field", WITH_OPENCLAW)
def test_a_field_of_an_openclaw_case(project, field):
    change, parts = WITH_OPENCLAW[field]
    assert differences(project, change, World.openclaw_case) == with_whole(parts)


@pytest.mark.parametrize("field", WITH_COMMAND)
def test_a_field_of_a_case_of_an_agent_by_configuration(project, field):
    change, parts = WITH_COMMAND[field]
    assert differences(project, change, World.command_case) == with_whole(parts)


NAMES_ONLY = {
    "Case.schema_version", "Case.case_id", "Case.input", "Message.source", "Rubric.version",
    "DeterministicCheck.python_hook", "Suite.schema_version", "Suite.suite_id", "Suite.models",
    "Suite.prompt_lists", "Agent.schema_version", "Agent.agent_id", "RunProfile.schema_version",
    "RunProfile.run_profile_id", "RunProfile.title", "RunProfile.runner_defaults",
    "RunProfile.model_overrides", "RunProfile.execution_policy", "RunProfile.openclaw",
    "RunProfile.agent", "RunProfile.sandbox",
}  # fmt: skip
"""Ids that name the files, and fields whose own fields have rows of their own."""


def test_no_field_is_forgotten():
    models = (Case, CaseInput, Message, DeterministicCheck, Rubric, ModelConfig, RunnerSettings,
              ExecutionPolicy, AgentRunProfile, Agent, Suite, RunProfile)  # fmt: skip
    fields = {f"{model.__name__}.{name}" for model in models for name in model.model_fields}

    assert fields - NAMES_ONLY == {
        name
        for name in (PLAIN | WITH_TOOLS | WITH_OPENCLAW | WITH_CLI | WITH_EMBEDDED | WITH_COMMAND)
        if "." in name
    }
    assert set(FingerprintParts.model_fields) - {"harness", "model_build"} == {
        part for table in (PLAIN, WITH_TOOLS, WITH_OPENCLAW) for _, parts in table.values()
        for part in parts
    }  # fmt: skip
