"""Every option of `collect` acts: a test says so, and no option is without one."""

import json
from pathlib import Path

import pytest
import typer
from typer.testing import CliRunner

from collect.cli import app
from tests.collect.config.test_every_field import functions_of
from tests.support.kept_run import Kept, collect

OPTIONS = {
    "--suite": "collect/config/test_config.py::test_ids_and_paths_name_the_same_file",
    "--run-profile": "collect/config/test_config.py::test_ids_and_paths_name_the_same_file",
    "run --resume":
        "collect/run_folder/test_resume.py::test_failures_that_may_pass_are_tried_again_and_others_stay",
    "run --reuse": "collect/run_folder/test_resume.py::test_reuse_asks_only_what_is_new",
    "run --run-id":
        "collect/execute/test_collect_cli.py::test_a_taken_or_unusable_run_id_is_refused",
    "run --case": "collect/config/test_every_option.py::test_flags_of_a_run_act_together",
    "run --tag": "collect/config/test_every_option.py::test_flags_of_a_run_act_together",
    "run --model": "collect/config/test_every_option.py::test_flags_of_a_run_act_together",
    "run --max-trials": "collect/config/test_every_option.py::test_flags_of_a_run_act_together",
    "run --shard": "collect/config/test_every_option.py::test_flags_of_a_run_act_together",
    "run --processes":
        "collect/dispatch/test_processes.py::test_every_trial_is_made_once_within_the_limits_of_one",
    **{f"run {flag}": "collect/dispatch/test_ray.py::"
       "test_a_node_that_dies_loses_nothing_and_ctrl_c_is_gone_on_with"
       for flag in ("--executor", "--address")},
    "run --shards": "collect/dispatch/test_ray.py::test_without_a_cluster_there_it_says_so",
    "run --label": "collect/config/test_every_option.py::test_flags_of_a_run_act_together",
    "run --runs": "collect/config/test_every_option.py::test_flags_of_a_run_act_together",
    "run --json": "collect/execute/test_collect_cli.py::test_run_prints_one_json_object",
    "run --lake":
        "collect/console/test_push_after_run.py::test_a_run_is_pushed_at_its_end",
    "run --report":
        "collect/console/test_report_after_run.py::test_the_path_of_the_report_comes_last",
    "run --max-cost":
        "collect/execute/test_pricing.py::test_no_trial_begins_that_may_take_the_run_above_its_limit",
    "run --assume-price":
        "collect/execute/test_pricing.py::test_no_trial_begins_that_may_take_the_run_above_its_limit",
    "--skip-unevaluable":
        "collect/config/test_unevaluable.py::test_what_is_skipped_has_no_verdict_and_is_named",
    "--unsafe-no-sandbox":
        "collect/runners/tools/test_sandbox_of_a_run.py::"
        "test_without_a_sandbox_only_when_it_is_said",
    "--evaluation-profile":
        "collect/execute/test_security_policy.py::"
        "test_the_policy_is_in_the_plan_and_in_the_run_and_goes_on_with_it",
    "run --keep-workspaces": "collect/execute/test_workspaces.py::test_whose_files_stay",
    "run --workspaces-mb":
        "collect/execute/test_workspaces.py::"
        "test_what_goes_beyond_the_limit_is_thrown_away_and_said_once",
    **{f"check {flag}": f"collect/stored/test_collect_check.py::{test}" for flag, test in {
        "--suite": "test_another_suite_gives_the_checks",
        "--case": "test_cases_and_models_are_chosen_and_unknown_ones_refused",
        "--model": "test_cases_and_models_are_chosen_and_unknown_ones_refused",
        "--force": "test_what_is_as_before_is_not_made_again_unless_it_is_asked_for",
        "--json": "test_an_edited_check_is_made_on_the_stored_files_and_no_model_is_asked",
        "--runs": "test_a_run_elsewhere_is_found",
    }.items()},
    **{f"evaluate {flag}": f"collect/stored/test_pairwise.py::{test}" for flag, test in {
        "--against": "test_who_is_preferred_in_both_orders_wins",
        "--against-model": "test_two_models_of_one_run",
    }.items()},
    **{f"evaluate {flag}": f"collect/stored/test_collect_evaluate.py::{test}" for flag, test in {
        "--evaluation-profile": "test_judgements_of_two_profiles_stand_beside_each_other",
        "--suite": "test_another_suite_gives_the_rubric",
        "--case": "test_cases_and_models_can_be_chosen",
        "--model": "test_cases_and_models_can_be_chosen",
        "--force": "test_force_asks_again_and_what_was_said_stays",
        "--max-cost": "test_money_bounds_what_judges_are_asked",
        "--assume-price": "test_money_bounds_what_judges_are_asked",
        "--json": "test_a_stored_answer_is_judged_and_no_model_is_asked_again",
        "--runs": "test_a_run_elsewhere_is_found",
    }.items()},
    "--allow-host":
        "collect/execute/test_collect_cli.py::test_allow_host_lets_a_key_go_to_a_named_host",
    "doctor --allow-host":
        "collect/doctor/test_doctor.py::"
        "test_a_key_is_not_sent_to_a_foreign_host_unless_it_is_allowed",
    **{f"plan {flag}": "collect/execute/test_collect_cli.py::test_selection_flags_reach_the_plan"
       for flag in ("--case", "--tag", "--model", "--max-trials", "--shard", "--json")},
    "plan --runs": "collect/config/test_every_option.py::test_flags_of_a_run_act_together",
    **{f"init {flag}": f"collect/tables/test_table_suite.py::{test}" for flag, test in {
        "--from": "test_a_table_of_another_tool_is_a_suite",
        "--input": "test_columns_that_are_named_are_taken",
        "--expected": "test_columns_that_are_named_are_taken",
        "--id": "test_columns_that_are_named_are_taken",
        "--system": "test_columns_that_are_named_are_taken",
        "--validator": "test_a_validator_that_is_named_is_taken",
    }.items()},
    "demo --runs": "collect/config/test_every_option.py::test_options_reach_what_they_are_for",
    "demo --json": "collect/config/test_every_option.py::test_options_reach_what_they_are_for",
    "demo --model-file": "end_to_end/test_real_model.py::test_another_gguf_gets_its_own_name",
    "validate --oracle":
        "collect/oracle/test_oracle.py::test_a_solution_passes_and_an_empty_answer_does_not",
    "validate --agent":
        "collect/oracle/test_oracle.py::test_an_agent_that_does_nothing_must_not_pass",
    "validate --json": "collect/config/test_validate.py::test_json_holds_every_fact",
    "doctor --suite":
        "collect/doctor/test_doctor.py::"
        "test_without_a_suite_all_of_the_project_are_looked_at_and_a_broken_one_hides_no_other",
    "doctor --evaluation-profile":
        "collect/doctor/test_doctor_judges.py::test_a_profile_that_is_named_is_looked_at_alone",
    "doctor --runs": "collect/doctor/test_doctor.py::test_a_folder_that_cannot_be_written_fails",
    "doctor --json": "collect/config/test_every_option.py::test_options_reach_what_they_are_for",
}  # fmt: skip


@pytest.mark.parametrize("node", sorted(set(OPTIONS.values())))
def test_a_proof_that_is_named_is_there(node):
    file, name = node.split("::")
    assert name in functions_of(file)


def options_of(command):
    given = typer.main.get_command(app).commands[command].params
    return {name for one in given for name in one.opts if name.startswith("--")} - {"--help"}


COMMANDS = ("run", "plan", "check", "evaluate", "demo", "init", "validate", "doctor")


@pytest.mark.parametrize("command", COMMANDS)
def test_every_option_of_a_command_has_its_proof(command):
    missing = {
        name
        for name in options_of(command)
        if name not in OPTIONS and f"{command} {name}" not in OPTIONS
    }

    assert missing == set()


def test_no_proof_is_of_an_option_that_is_no_more():
    offered = {f"{command} {name}" for command in COMMANDS for name in options_of(command)}

    for named in OPTIONS:
        assert any(named in (one, one.split()[1]) for one in offered), named


def test_flags_of_a_run_act_together(project, endpoint):
    for name in "abcd":
        project.case(name, tags=["t"] if name != "d" else [])
    base = {"provider": "ollama_openai", "base_url": endpoint.base_url, "warmup": 0}
    project.suite(models=[base | {"model_id": name} for name in ("m1", "m2")])
    chosen = [word for name in "abd" for word in ("--case", name)]

    done = collect(
        project.root, "run", "--suite", "s", "--run-profile", "p", "--runs", "kept",
        "--run-id", "r", *chosen, "--tag", "t", "--model", "m2", "--shard", "1/1",
        "--max-trials", "1", "--label", "one", "--label", "two",
    )  # fmt: skip

    assert done.returncode == 0, done.stderr
    kept = Kept(project.root / "kept" / "r")
    assert kept.planned() == [("m2", "a", 1)]
    config = json.loads((kept.dir / "config.json").read_text())
    assert config["labels"] == ["one", "two"]
    assert config["narrowed"] == {
        "cases": ["a", "b", "d"], "tags": ["t"], "models": ["m2"], "max_trials": 1, "shard": "1/1",
    }  # fmt: skip

    plan = ("plan", "--suite", "s", "--run-profile", "p", "--json", "--runs", "kept")
    assert json.loads(collect(project.root, *plan).stdout)["since_run_id"] == "r"


@pytest.mark.parametrize(
    ("command", "place", "plain", "given"),
    [
        ("demo", "collect.commands.demo.demo", (Path("runs"), None, False),
         (Path("x"), Path("y"), True)),
        ("doctor", "collect.doctor.run_doctor", (None, None, Path("runs"), (), False),
         ("s", "e", Path("x"), ["h"], True)),
    ],
)  # fmt: skip
def test_options_reach_what_they_are_for(command, place, plain, given, monkeypatch):
    got = []

    def instead(*values, as_json, again):
        got.append((*values, as_json))
        return 0

    monkeypatch.setattr(place, instead)
    own = {
        "demo": ["--model-file", "y"],
        "doctor": ["--suite", "s", "--evaluation-profile", "e", "--allow-host", "h"],
    }
    for flags in ([], ["--runs", "x", "--json", *own[command]]):
        assert CliRunner().invoke(app, [command, *flags]).exit_code == 0

    assert got == [plain, given]
