"""`collect validate`: whole projects and single files, every problem at once."""

import json
from pathlib import Path

import pytest

from collect.commands.validate import text, to_json, validate_paths
from tests.support.paths import ROOT


def validated(project, *paths):
    return validate_paths([Path(path) for path in paths or ["."]], project.root)


def whats(validation):
    return [problem.what for problem in validation.problems]


@pytest.fixture
def whole(project):
    """A project with one file of every kind."""
    project.case("one", tags=["t"])
    project.prompts("list.json", [{"id": "P0", "prompt": "x"}])
    project.suite(prompt_lists=["list.json"], case_selection={"include_tags": ["t"]})
    project.write(
        "configs/evaluation_profiles/e.yaml",
        {"schema_version": 1, "evaluation_profile_id": "e", "title": "E"},
    )
    project.write(
        "configs/agents/helper/agent.yaml",
        {"schema_version": 1, "agent_id": "helper", "title": "H"},
    )
    project.write("configs/agents/helper/workspace/AGENTS.md", "x")
    project.profile(openclaw={"agent_id": "helper", "image": "i:1", "timeout_seconds": 1})
    project.write("benchlake.yaml", {"schema_version": 1})
    return project


@pytest.mark.parametrize("place", [".", "configs"])
def test_a_whole_project_is_counted_by_kind(whole, place):
    validation = validated(whole, place)

    assert validation.problems == ()
    assert validation.exit_code == 0
    assert validation.checked == {
        "project file": 1,
        "case": 1,
        "suite": 1,
        "run profile": 1,
        "evaluation profile": 1,
        "agent": 1,
        "prompt list": 0,
    }
    assert text(validation).endswith(
        "checked 1 project file, 1 case, 1 suite, 1 run profile, 1 evaluation profile, 1 agent: "
        "no problems"
    )


def test_this_repositorys_own_project_is_valid():
    validation = validate_paths([ROOT], ROOT)

    assert validation.problems == ()
    assert validation.checked["case"] > 20


@pytest.mark.parametrize(
    ("path", "kind"),
    [
        ("configs/cases/group/one/test.yaml", "case"),
        ("configs/cases/group/one", "case"),
        ("configs/suites/s.yaml", "suite"),
        ("configs/suites/list.json", "prompt list"),
        ("configs/run_profiles/p.yaml", "run profile"),
        ("configs/evaluation_profiles/e.yaml", "evaluation profile"),
        ("configs/agents/helper/agent.yaml", "agent"),
        ("configs/agents/helper", "agent"),
        ("benchlake.yaml", "project file"),
    ],
)
def test_a_single_file_is_known_by_its_name_folder_or_id(whole, path, kind):
    validation = validated(whole, path)

    assert validation.problems == ()
    assert {name for name, count in validation.checked.items() if count} == {kind}


def test_a_file_of_no_known_kind_names_the_five(project):
    project.write("what.yaml", {"title": "x"})

    (problem,) = validated(project, "what.yaml").problems

    assert problem.what == "is of no known kind"
    for kind in ("case", "suite", "run profile", "evaluation profile", "agent"):
        assert kind in problem.allowed


def test_it_never_stops_at_the_first(whole):
    whole.case("two", titel="x")
    whole.case("three", tgas=[])
    whole.suite(models=[], case_selection={"include_case_ids": ["oen"]})
    whole.profile(runner_defaults={"temperature": 9})
    whole.write("configs/evaluation_profiles/e.yaml", "a: [")
    whole.write("configs/agents/helper/agent.yaml", {"schema_version": 1})
    whole.write("benchlake.yaml", {"schema_version": 2})

    validation = validated(whole)
    files = [problem.path.name for problem in validation.problems]

    assert validation.exit_code == 2
    assert {*files} == {"test.yaml", "s.yaml", "p.yaml", "e.yaml", "agent.yaml", "benchlake.yaml"}
    assert files == sorted(files, key=list(dict.fromkeys(files)).index), "file by file"
    assert validated(whole) == validation
    assert "is not valid YAML" in text(validation)


def test_a_broken_case_is_reported_once_for_all_suites(whole):
    whole.case("one", tags=["t"], titel="x")
    other = (whole.root / "configs/suites/s.yaml").read_text().replace("suite_id: s", "suite_id: z")
    whole.write("configs/suites/z.yaml", other)

    problems = validated(whole).problems

    assert [problem.key for problem in problems if problem.path.name == "test.yaml"] == ["titel"]


def test_a_suites_selection_and_agents_are_resolved(whole):
    whole.suite(
        case_selection={"include_case_ids": ["oen"]},
        openclaw={
            "agent_assignments": [
                {"agent_id": "helpre", "case_selection": {"include_case_ids": ["one"]}}
            ]
        },
    )

    said = text(validated(whole, "configs/suites/s.yaml"))

    assert "no case has this id; found `oen`; did you mean `one`?" in said
    assert "no agent `helpre`; allowed: helper; did you mean `helper`?" in said


def test_an_image_that_is_not_pinned_is_refused(whole):
    block = {"agent_id": "helper", "image": "i:latest", "timeout_seconds": 1}
    whole.profile(openclaw=block)

    assert "`image` must be pinned: name@sha256:… or name:tag" in text(validated(whole))


@pytest.mark.parametrize(
    ("fields", "said"),
    [
        ({}, "needs an `image`, or `executable: local`"),
        ({"executable": "local", "image": "i:1"}, "`image` is not for `executable: local`"),
        ({"executable": "local", "network": "bridge"}, "`network: bridge` is a container's"),
        ({"executable": "local", "limits": {"cores": 1}}, "`cores` is for containers"),
        ({"image": "i:1", "docker_cli": "nerdctl"}, "allowed: 'docker' or 'podman'"),
        ({"image": "i:1", "network": "none"}, "allowed: 'endpoint', 'bridge' or 'host'"),
    ],
)
def test_an_openclaw_block_that_cannot_run_is_refused(whole, fields, said):
    whole.profile(openclaw={"agent_id": "helper", "timeout_seconds": 1} | fields)

    assert said in text(validated(whole))


def test_what_would_never_be_read_is_said(whole):
    whole.write("configs/suites/other.yml", "x: 1")
    whole.write("configs/suits/s.yaml", "x: 1")
    whole.write("configs/cases/a/b/c/test.yaml", "x: 1")
    (whole.root / "configs/agents/empty").mkdir()

    said = "\n".join(validated(whole).warnings)

    assert "name it other.yaml" in said
    assert "did you mean `suites`?" in said
    assert "cases lie at depth one or two" in said
    assert "has no agent.yaml" in said


def test_json_holds_every_fact(whole, monkeypatch):
    monkeypatch.chdir(whole.root)
    whole.case("one", tags=["t"], titel="x")

    report = json.loads(to_json(validated(whole)))

    assert report["exit_code"] == 2
    assert report["checked"]["case"] == 1
    (problem,) = report["problems"]
    assert problem["path"] == "configs/cases/group/one/test.yaml"
    lines = (whole.root / problem["path"]).read_text().splitlines()
    assert lines[problem["line"] - 1] == "titel: x"
    assert (problem["key"], problem["what"]) == ("titel", "unknown key")
    assert (problem["nearest"], problem["found"], problem["allowed"]) == ("title", None, None)


def test_folders_and_files_that_are_not_there_or_hold_nothing(project):
    (project.root / "empty").mkdir()

    assert whats(validated(project, "gone.yaml")) == ["no such file"]
    assert "holds neither" in whats(validated(project, "empty"))[0]


def test_hosts_of_the_project_file_may_get_a_key(project):
    project.case()
    project.model(
        provider="openai_chat", base_url="https://my.example/v1", api_key_env="MY_API_KEY"
    )
    assert "may not get a key yet" in whats(validated(project))[0]

    project.write("benchlake.yaml", {"schema_version": 1, "allowed_hosts": ["my.example"]})
    assert validated(project).problems == ()


def test_a_prompt_list_named_twice_is_read_once(whole):
    whole.suite(prompt_lists=["list.json", "list.json"])

    assert whats(validated(whole)) == ["is named twice in `prompt_lists`"]
