"""No field of the configuration is taken in without a word.

Each acts, is refused, or is warned of by name; `test_field_effects` proves those that act cheaply.
"""

import ast
import re
from functools import cache
from pathlib import Path
from typing import get_args

import pytest
from pydantic import BaseModel

from collect.commands.validate import validate_paths
from collect.config.endpoints import PROVIDERS
from schemas.base import RecordOf
from schemas.config.agent import Agent
from schemas.config.case import Case, Prompt
from schemas.config.checks import OutputArtifactPresent, PythonHook, WorkspaceFilePresent
from schemas.config.evaluation_profile import EvaluationProfile, SecurityPolicy
from schemas.config.prices import Price
from schemas.config.project import ProjectFile
from schemas.config.run_profile import RunProfile
from schemas.config.sandbox import SandboxLimits
from schemas.config.suite import Suite
from schemas.errors import ConfigError
from tests.collect.checks.test_field_effects import CHECKED, LIMITS, PLANNED, VERDICTS, WIRE
from tests.support.paths import ROOT

# ---- warned of or refused by name

MESSAGES = [{"role": "user", "content": "x"}]
BLOCK = {"agent_id": "helper", "image": "i:1", "timeout_seconds": 1}
ASSIGNED = {"agent_id": "helper", "case_selection": {"include_case_ids": ["plain"]}}
RUBRIC = {"criteria": [{"name": "n", "what_good_looks_like": "g", "what_bad_looks_like": "b"}]}
EXACT = {"type": "exact", "value": "x"}
HOOK = {"check_id": "c", "python_hook": {"import_path": "m", "callable_name": "f"}}


def case(**fields):
    return lambda project: project.case("one", **({"validator": EXACT} | fields))


def context(**fields):
    return case(input={"messages": MESSAGES, "context": fields})


def check(**fields):
    written = {"check_id": "c", "declarative": {"kind": "final_response_present"}} | fields
    return case(deterministic_checks=[written])


def looks(kind, **fields):
    return check(declarative={"kind": kind} | fields)


def suite(**fields):
    return lambda project: project.suite(**fields)


def model(**fields):
    return lambda project: project.model(**fields)


def profile(**fields):
    return lambda project: project.profile(**fields)


TURNS = "counts turns with tools, and no case offers any: nothing reads it"
JUDGING = "is for a judge, and --evaluation-profile names none: nothing reads it"
RUNNER = "is for openclaw cases, and none is selected: nothing reads it"
PASSED = "is passed through, but nothing reads it"

UNCOUNTED = {
    "ProfileSettings.max_turns": (
        profile(runner_defaults={"max_turns": 3}), "`runner_defaults.max_turns` " + TURNS),
    "max_turns for one model": (
        profile(model_overrides={"m": {"max_turns": 3}}),
        "`model_overrides.m.max_turns` " + TURNS),
    "max_turns on a suite's model": (model(max_turns=3), "`models[0].max_turns` " + TURNS),
    "Case.expectations": (
        case(expectations={"hard_expectations": [{"text": "Good."}]}), "`expectations` " + JUDGING),
    "Case.rubric": (case(rubric=RUBRIC), "`rubric` " + JUDGING),
}  # fmt: skip
"""What only a case with tools reads; `validate` does not know who will select which cases."""

WARNED = {
    "max_turns of a case": (
        case(runner={"type": "llm_probe", "max_turns": 3}),
        "`runner.max_turns` is for tools, and the case offers none"),
    "LlmProbeContext.tool_choice": (
        context(llm_probe={"tool_choice": "required"}),
        "`input.context.llm_probe.tool_choice` is for tools, and the case offers none"),
    "LlmProbeContext.network": (
        context(llm_probe={"network": "allow"}),
        "`input.context.llm_probe.network` is for tools, and the case offers none"),
    "OpenClawContext.expected_artifact": (
        context(openclaw={"expected_artifact": "a"}),
        "`input.context.openclaw.expected_artifact` is a file of a workspace, and a trial of the "
        "case has none: nothing reads it"),
    "a key of the user's own in the context": (context(hint="x"), "`input.context.hint` " + PASSED),
    "a key of the user's own of a runner": (
        case(runner={"type": "llm_probe", "sandbox": 1}), "`runner.sandbox` " + PASSED),
    "a key of the user's own of a model": (model(owner="x"), "`models[0].owner` " + PASSED),
    "primary_params for an agent": (
        model(primary_params={"a": 1}), "`models[0].primary_params` " + RUNNER),
    "the role beside a source": (
        case(input={"messages": [{"role": "system", "source": {"path": "m.yaml"}}]}),
        "`input.messages[0].role`: nothing reads it, the file says its own"),
    "the name beside a source": (
        case(input={"messages": [{"role": "user", "name": "n", "source": {"path": "m.yaml"}}]}),
        "`input.messages[0].name`: nothing reads it, the file says its own"),
    "a tag to take that no case has": (
        suite(case_selection={"include_tags": ["smoke", "smkoe"]}),
        "`case_selection.include_tags[1]`: no case has this tag; found `smkoe`; "
        "did you mean `smoke`?"),
    "a tag to drop that no case has": (
        suite(case_selection={"exclude_tags": ["slow"]}),
        "`case_selection.exclude_tags[0]`: no case has this tag; found `slow`"),
    "Suite.openclaw": (suite(openclaw={"agent_assignments": [ASSIGNED]}), "`openclaw` " + RUNNER),
}  # fmt: skip
"""What to write, and what is said of it; two texts: by `validate`, and by `plan` and `run`."""

NO_WORKSPACE = "check `c` cannot be made: it looks into a workspace"

REFUSED = {
    "DeterministicCheck.python_hook": (
        case(deterministic_checks=[HOOK]),
        "check `c` cannot be made: python hooks are switched off"),
    "a file that is nowhere": (looks("file_exists", path="gone"), NO_WORKSPACE),
    "OutputArtifactPresent": (looks("output_artifact_present", uri="u"), NO_WORKSPACE),
    "WorkspaceFilePresent": (
        looks("openclaw_workspace_file_present", relative_path="a"), NO_WORKSPACE),
}  # fmt: skip
"""What to write, and what `plan` and `run` refuse it for; `validate` warns in the same words."""


@pytest.fixture
def written(project):
    project.case("plain", validator=EXACT, tags=["smoke"])
    project.write("configs/cases/group/one/m.yaml", MESSAGES[0])
    for part in ("agent.yaml", "workspace/AGENTS.md"):
        agent = {"schema_version": 1, "agent_id": "helper", "title": "H"}
        project.write(f"configs/agents/helper/{part}", agent if part == "agent.yaml" else "x")
    return project


def validated(project):
    validation = validate_paths([Path()], project.root)
    assert validation.problems == ()
    return validation.warnings


@pytest.mark.parametrize("field", WARNED)
def test_what_nothing_reads_is_said_by_validate_and_by_plan_and_run(field, written):
    write, said = WARNED[field]
    by_validate, by_run = (said, said) if isinstance(said, str) else said
    assert not any(by_validate in one for one in validated(written))
    assert not any(by_run in one for one in written.load().warnings)
    write(written)

    (one,) = [one for one in validated(written) if by_validate in one]
    assert re.search(r"\.yaml\b", one)
    (_,) = [one for one in written.load().warnings if by_run in one]


@pytest.mark.parametrize("field", UNCOUNTED)
def test_turns_are_said_to_count_nothing_where_no_case_offers_tools(field, written):
    write, said = UNCOUNTED[field]
    write(written)

    (_,) = [one for one in written.load().warnings if said in one]

    context(llm_probe={"tools": ["exec_shell"]})(written)
    assert not [one for one in written.load().warnings if said in one]


@pytest.mark.parametrize("field", REFUSED)
def test_what_cannot_be_done_is_warned_of_and_refused_by_name(field, written):
    write, said = REFUSED[field]
    write(written)
    written.profile(openclaw=BLOCK)

    (one,) = [one for one in validated(written) if said in one]
    assert one.endswith("; a run refuses it")
    with pytest.raises(ConfigError, match=re.escape(said)):
        written.load()


@pytest.mark.parametrize("many", [1, 7])
def test_what_many_cases_hold_is_said_once(many, written):
    for number in range(many):
        written.case(f"c{number}", validator=EXACT, rubric=RUBRIC, expectations={})

    (one,) = [one for one in written.load().warnings if "for a judge" in one]

    assert one.startswith("case `c0`: " if many == 1 else "cases `c0`, `c1`, `c2` and 4 more: ")
    assert "`expectations` and `rubric` are for a judge" in one


def test_what_is_for_agents_is_said_to_count_nothing_where_no_case_has_one(written):
    written.profile(openclaw=BLOCK)

    (_,) = [one for one in written.load().warnings if "`openclaw` " + RUNNER in one]

    written.case("agentic", runner={"type": "openclaw"})
    assert not [one for one in written.load().warnings if RUNNER in one]


@pytest.mark.parametrize("name", ["timeout_seconds", "stream"])
def test_what_no_agent_reads_is_said_where_all_cases_have_one(name, written):
    value = {"timeout_seconds": 60, "stream": False}[name]
    written.profile(openclaw=BLOCK, runner_defaults={name: value})
    written.case("agentic", runner={"type": "openclaw"}, tags=["agents"])
    said = f"`runner_defaults.{name}` is for llm_probe cases, and all run with openclaw"
    assert not [one for one in written.load().warnings if said in one]

    written.suite(case_selection={"include_tags": ["agents"]})

    (_,) = [one for one in written.load().warnings if said in one]


# ---- proved elsewhere

PROVED = {
    "Case.case_id": "collect/config/test_config.py::test_a_case_id_must_equal_its_folder",
    "CaseInput.turns": "collect/config/test_config.py::test_a_mistake_in_a_case_is_explained",
    "Solution.text":
        "collect/oracle/test_oracle.py::test_a_solution_passes_and_an_empty_answer_does_not",
    "Solution.tool_calls":
        "collect/oracle/test_oracle.py::test_calls_of_a_solution_count_as_the_models",
    "Solution.files":
        "collect/oracle/test_oracle.py::test_files_of_a_solution_are_what_checks_find",
    "Solution.script":
        "collect/oracle/test_oracle.py::"
        "test_a_script_works_in_the_workspace_that_the_agent_begins_with",
    "MessageSource.format":
        "collect/checks/test_field_effects.py::test_a_format_refuses_what_it_does_not_say",
    **{
        f"SandboxLimits.{name}":
            "collect/runners/tools/test_limits.py::test_a_limit_of_the_profile_ends_what_exceeds_it"
        for name in SandboxLimits.model_fields
    },
    **{
        f"SandboxLimits.{name}":
            "collect/runners/tools/test_limits.py::"
            "test_one_file_and_the_processor_are_limited_by_the_kernel"
        for name in ("file_mb", "cpu_seconds")
    },
    "SandboxLimits.cores":
        "collect/sandbox/test_engine.py::test_a_command_is_held_to_its_limits",
    **{
        f"SandboxProfile.{name}":
            "collect/runners/tools/test_tools_in_a_container.py::"
            "test_tools_work_in_the_image_that_the_profile_names"
        for name in ("backend", "image")
    },
    "LlmProbeContext.tools":
        "collect/runners/tools/test_tool_trials.py::"
        "test_what_the_tools_made_is_found_by_checks",
    "DeterministicCheck.dimensions":
        "collect/stored/test_collect_check.py::"
        "test_going_back_to_an_earlier_check_takes_its_outcome_over",
    "SecurityPolicy.allow_local_python_hooks":
        "collect/execute/test_security_policy.py::test_hooks_run_only_where_the_policy_says_so",
    "SecurityPolicy.network_access":
        "collect/execute/test_security_policy.py::"
        "test_a_hook_reaches_the_network_only_where_the_policy_says_so",
    "SecurityPolicy.redact_secrets":
        "collect/execute/test_security_policy.py::"
        "test_what_looks_like_a_key_stays_where_the_policy_says_so_and_our_own_never",
    **{
        f"{record}.{name}": f"collect/stored/test_profile_effects.py::{test}"
        for record, names, test in (
            ("JudgeConfig", ("request_options", "max_tokens"),
             "test_a_field_of_a_judge_is_in_its_request"),
            ("JudgeConfig", ("judge_id", "model"),
             "test_a_judge_without_a_model_is_asked_by_its_id"),
            ("Rubric", ("version",), "test_another_version_of_a_rubric_is_refused"),
            ("JudgeConfig", ("provider", "base_url"), "test_a_provider_decides_how_it_is_asked"),
            ("JudgeConfig", ("api_key_env",), "test_a_key_of_its_own_is_sent"),
            ("JudgeConfig", ("max_concurrency",), "test_so_many_are_asked_at_once"),
            ("JudgeConfig", ("timeout_seconds",), "test_an_answer_has_a_time_limit"),
            ("JudgeConfig", ("retries",), "test_a_request_that_failed_is_repeated_so_often"),
            ("JudgeRunConfig", ("judge_run_id", "judge_id", "repetitions", "sample_size"),
             "test_repetitions_and_their_sample"),
            ("JudgeAggregationConfig", ("method", "pass_threshold"),
             "test_answers_combine_as_the_profile_says"),
            ("AnchorsConfig", ("enabled",), "test_anchors_are_shown_where_they_are_enabled"),
            ("AnchorReference", ("anchor_id", "label", "text"),
             "test_anchors_are_shown_where_they_are_enabled"),
            ("EvaluationProfile", ("judge_system_prompt", "judge_system_prompt_path"),
             "test_the_system_prompt_is_that_of_the_profile"),
            ("Expectation", ("text", "weight"), "test_expectations_are_shown_with_their_weights"),
            ("RubricScale", ("min", "max", "anchors"),
             "test_a_scale_of_its_own_is_shown_and_rescaled"),
            ("Rubric", ("scoring_instructions",), "test_a_scale_of_its_own_is_shown_and_rescaled"),
            ("Criterion", ("name", "what_good_looks_like", "what_bad_looks_like"),
             "test_a_scale_of_its_own_is_shown_and_rescaled"),
        )
        for name in names
    },
    "EvaluationProfile.evaluation_profile_id":
        "collect/config/test_evaluation_profile.py::test_a_mistake_is_explained",
    "EvaluationProfile.title":
        "collect/config/test_evaluation_profile.py::test_the_whole_example_means_what_it_says",
    "Suite.suite_id": "collect/config/test_config.py::test_an_id_must_equal_its_files_name",
    "RunProfile.run_profile_id":
        "collect/config/test_config.py::test_an_id_must_equal_its_files_name",
    "ProfileSettings.timeout_seconds":
        "collect/execute/test_run.py::test_a_time_limit_is_the_wall_clock_of_one_request",
    "ProfileSettings.retries": "collect/execute/test_run.py::test_no_retries_means_one_request",
    "ProfileSettings.transport":
        "collect/providers/test_transport_choice.py::test_the_run_profile_chooses_the_transport",
    "ExecutionPolicy.max_concurrency":
        "collect/execute/test_run.py::test_concurrency_is_bounded_by_profile_and_model",
    "ExecutionPolicy.fail_fast":
        "collect/execute/test_run.py::test_fail_fast_stops_after_the_first_trial_that_fails",
    "ExecutionPolicy.stop_on_runner_error":
        "collect/execute/test_run.py::test_an_error_no_retry_mends_stops_that_model_only",
    "ModelConfig.max_concurrency":
        "collect/execute/test_run.py::test_concurrency_is_bounded_by_profile_and_model",
    "ModelConfig.requests_per_minute":
        "collect/execute/test_run_trouble.py::test_requests_of_a_suites_model_begin_evenly_spaced",
    "ModelConfig.warmup": "collect/execute/test_warm_up.py::test_as_often_as_the_suite_says",
    "ModelConfig.exclusive":
        "collect/execute/test_warm_up.py::"
        "test_an_exclusive_model_has_the_server_to_itself_before_it_is_warmed_up",
    "ModelConfig.executable":
        "collect/providers/test_claude_code.py::test_a_missing_command_is_missing",
    "ModelConfig.model_file":
        "collect/local/test_embedded.py::test_every_file_has_one_server_and_all_is_on_record",
    "ModelConfig.context_tokens":
        "collect/local/test_embedded.py::test_every_file_has_one_server_and_all_is_on_record",
    "ModelConfig.threads":
        "collect/local/test_embedded.py::test_every_file_has_one_server_and_all_is_on_record",
    "ProjectFile.thresholds":
        "collect/execute/test_collect_cli.py::test_thresholds_of_the_project_are_in_force",
    "ProjectFile.prices":
        "collect/execute/test_collect_cli.py::test_plan_estimates_cost_only_where_a_price_is_known",
    "ProjectFile.allowed_hosts":
        "collect/execute/test_collect_cli.py::test_a_host_allowed_by_the_project_may_get_a_key",
    "WebSearchSettings.url":
        "collect/runners/tools/test_web_search.py::"
        "test_results_are_titles_addresses_and_snippets",
    "WebSearchSettings.max_results":
        "collect/runners/tools/test_web_search.py::test_a_model_sees_so_many_results",
    "WebSearchSettings.timeout_seconds":
        "collect/runners/tools/test_web_search.py::test_the_limit_is_of_the_whole_search",
    "WebSearchSettings.blocked":
        "collect/runners/tools/test_web_search.py::test_the_settings_block_beside_the_suite",
    **{
        f"Agent.{name}": "collect/config/test_agents.py::test_the_whole_example_means_what_it_says"
        for name in ("agent_id", "title", "description", "tags")
    },
    **{
        f"OpenClawFragments.{name}":
            "collect/runners/openclaw/test_openclaw_config.py::test_fragments_are_merged"
        for name in ("identity", "agents_defaults", "agent")
    },
    "ModelDefaults.aliases":
        "collect/runners/openclaw/test_openclaw_config.py::test_fragments_are_merged",
    "ModelDefaults.primary_params":
        "collect/runners/openclaw/test_openclaw_config.py::test_params_of_the_model_win",
    "ModelDefaults.fallbacks":
        "collect/config/test_agents.py::test_a_mistake_is_explained",
    "AgentAssignment.agent_id":
        "collect/runners/openclaw/test_openclaw_config.py::test_agents_are_assigned_by_case",
    "RunnerConfig.type":
        "end_to_end/openclaw/test_agent_trials.py::test_a_single_turn_is_answered",
    **{
        f"AgentRunProfile.{name}":
            "end_to_end/openclaw/test_agent_trials.py::"
            "test_what_the_agent_was_and_how_it_ran_is_on_record"
        for name in ("image", "docker_cli")
    },
    "AgentRunProfile.agent_id":
        "collect/runners/openclaw/test_openclaw_config.py::test_agents_are_assigned_by_case",
    "AgentRunProfile.timeout_seconds":
        "end_to_end/openclaw/test_agent_trials.py::"
        "test_a_time_out_that_did_the_work_has_passed_and_one_that_did_not_has_failed",
    "AgentRunProfile.turn_timeout_seconds":
        "end_to_end/openclaw/test_agent_trouble.py::test_a_turn_has_its_own_limit",
    "AgentRunProfile.network":
        "end_to_end/openclaw/test_agent_places.py::"
        "test_a_network_is_there_where_the_profile_says_so",
    "AgentRunProfile.executable":
        "end_to_end/openclaw/test_agent_places.py::test_the_installed_command_is_locked_in",
    **{
        f"{record}.{name}": f"end_to_end/command/test_command_trials.py::{test}"
        for record, names, test in (
            ("CommandAgent", ("argv", "version"), "test_what_ran_is_on_record"),
            ("CommandAgent", ("next_argv",), "test_turns_share_a_home_and_a_workspace"),
            ("CommandAgent", ("prompt",), "test_a_prompt_may_be_a_file_or_a_word"),
            ("CommandAgent", ("environment",), "test_a_single_turn_is_answered"),
            ("CommandAgent", ("files",), "test_a_home_begins_with_the_files_of_the_configuration"),
            ("CommandAgent", ("exit_codes",),
             "test_an_exit_code_means_what_the_configuration_says"),
            ("AnswerSource", ("source", "path"), "test_an_answer_may_be_a_file_or_a_value"),
            ("AgentLogs", ("format", "paths"), "test_a_log_becomes_steps"),
            ("DeclaredUsage", ("input_tokens", "output_tokens", "cached_input_tokens", "counts",
                               "cached"), "test_tokens_that_an_agent_tells_of_itself"),
            ("CommandRunProfile", ("agent_id", "executable", "programs", "limits"),
             "test_what_ran_is_on_record"),
            ("CommandRunProfile", ("timeout_seconds",),
             "test_a_time_out_is_decided_by_what_was_done"),
            ("CommandRunProfile", ("network",),
             "test_the_network_of_the_host_is_there_where_the_profile_says_so"),
        )
        for name in names
    },
    **{
        f"DeclaredUsage.{name}":
            "collect/runners/command/test_reading.py::test_every_count_is_read_where_it_stands"
        for name in ("source", "path", "cache_write_tokens", "reasoning_tokens", "cost_usd")
    },
    **{
        f"CommandRunProfile.{name}":
            "end_to_end/command/test_command_places.py::test_an_image_is_run_as_well"
        for name in ("image", "docker_cli", "turn_timeout_seconds")
    },
    "Thresholds.min_calibration":
        "analyze/gate/test_gate_calibration.py::"
        "test_judges_that_people_do_not_confirm_are_refused",
    "Thresholds.ratio_margin":
        "analyze/comparison/test_compared_independently.py::"
        "test_a_comparison_is_what_plain_counting_of_the_lines_comes_to",
}  # fmt: skip

WHOLE = (PythonHook, OutputArtifactPresent, WorkspaceFilePresent)
"""Refused or warned of as a whole, so that their own fields need no proof."""


@cache
def functions_of(file):
    tree = ast.parse((ROOT / "tests" / file).read_text())
    return {node.name for node in tree.body if isinstance(node, ast.FunctionDef)}


@pytest.mark.parametrize("node", sorted(set(PROVED.values())))
def test_a_proof_that_is_named_is_there(node):
    file, name = node.split("::")
    assert name in functions_of(file)


# ---- and nothing is missing

ROOTS = (
    Case, Prompt, Suite, RunProfile, EvaluationProfile, SecurityPolicy, Agent, ProjectFile,
)  # fmt: skip


def records_in(annotation):
    if isinstance(annotation, type) and issubclass(annotation, BaseModel):
        yield annotation
    if isinstance(annotation, RecordOf):
        yield from annotation.records.values()
    for inner in get_args(annotation):
        yield from records_in(inner)


def records_of(roots, without=()):
    found, left = [], list(roots)
    while left:
        record = left.pop()
        if record not in found and record not in without:
            found.append(record)
            for field in record.model_fields.values():
                left += records_in(field.annotation)
    return found


def needs_proof(name, field):
    """Not what holds records with rows of their own, what tells them apart, or what is yours."""
    if name == "metadata":
        assert "never read" in field.description
        return False
    chooses = name in {"type", "kind"} and len(get_args(field.annotation)) == 1
    return not (chooses or name == "schema_version" or list(records_in(field.annotation)))


def test_every_field_has_its_proof():
    records = records_of(ROOTS, without=WHOLE)
    fields = {
        f"{record.__name__}.{name}": needs_proof(name, field)
        for record in records
        for name, field in record.model_fields.items()
    }
    priced = {f"Price.{name}" for name in Price.model_fields}
    proved = {
        name
        for table in (
            *(VERDICTS, CHECKED, WIRE, PLANNED, LIMITS),
            *(WARNED, UNCOUNTED, REFUSED, PROVED, priced),
        )
        for name in table
        if re.fullmatch(r"\w+\.\w+", name)
    }

    assert proved - fields.keys() == set(), "of fields that are no more"
    assert {name for name, needed in fields.items() if needed} - proved == set()


@pytest.mark.parametrize("record", [one for one in records_of(ROOTS) if "schema_version" in
                                    one.model_fields], ids=lambda one: one.__name__)  # fmt: skip
def test_another_schema_version_is_refused(record):
    with pytest.raises(ValueError, match=r"schema_version\n +must be the integer 1"):
        record.model_validate({"schema_version": 2})


def test_the_page_names_every_field_and_no_other():
    """In YAML blocks the page's own test loads them; here those in backticks, by their spelling."""
    text = (ROOT / "docs" / "configuration.md").read_text()
    prose = re.sub(r"```.*?```", "", text, flags=re.DOTALL)
    declared = [field for record in records_of(ROOTS) for field in record.model_fields.items()]
    fields = {name for name, _ in declared}
    values = {word for _, field in declared for word in words_in(field.annotation)}
    named = {part for word in re.findall(r"`([a-z_.]+)`", prose) for part in word.split(".")}

    assert {name for name in named - fields - values if "_" in name.strip("_")} == NO_FIELDS
    others = "".join((ROOT / "docs" / name).read_text() for name in ("planning.md", "sandbox.md"))
    assert fields - set(re.findall(r"[a-z0-9_]+", text + others)) == set()


NO_FIELDS = {
    *PROVIDERS, "primary_model", "default_model", "disk_report", "not_kept",
    "hooks_disabled", "no_workspace", "objective_pass", "regex_timeout", "sandbox_missing",
    "several_numbers", "skipped_unavailable", "tool_use_success",
} - {"openrouter", "embedded"}  # fmt: skip
"""Snake case on that page that is no field: values, what is refused, and parts of results."""


def words_in(annotation):
    for inner in get_args(annotation):
        if isinstance(inner, str):
            yield inner
        yield from words_in(inner)
