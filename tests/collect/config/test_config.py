"""Suites, run profiles and cases: what they mean, and how they explain their mistakes."""

import json

import pytest

from collect.config.cases import find_cases
from schemas.errors import ConfigError


def offering(**probe):
    message = {"role": "user", "content": "x"}
    return {"input": {"messages": [message], "context": {"llm_probe": probe}}}


def said(project, **options):
    with pytest.raises(ConfigError) as caught:
        project.load(**options)
    return str(caught.value)


def ids(project):
    return [case.case_id for case in project.load().cases]


# ---- references


def test_ids_and_paths_name_the_same_file(project):
    project.case()

    by_id = project.load("s", "p")
    by_path = project.load("configs/suites/s.yaml", "./configs/run_profiles/p.yaml")

    assert by_id.suite == by_path.suite
    assert by_id.profile == by_path.profile


def test_the_project_is_found_from_a_folder_below(project):
    project.case()
    below = project.root / "a" / "b"
    below.mkdir(parents=True)

    assert [case.case_id for case in project.load(working_dir=below).cases] == ["one"]


def test_the_search_for_a_project_stops_at_a_repository(project):
    inner = project.root / "inner"
    (inner / ".git").mkdir(parents=True)

    assert "no `configs` folder here or above" in said(project, working_dir=inner)


def test_an_unknown_id_names_the_nearest(project):
    project.write("configs/suites/starter.yaml", "schema_version: 1\n")
    project.case()

    assert "did you mean `starter`?" in said(project, suite="startr")


def test_an_id_must_equal_its_files_name(project):
    project.case()
    project.suite(suite_id="other")

    assert "s.yaml:2: `suite_id`: differs from the file's name `s`; found `other`" in said(project)


def test_a_run_profile_by_another_name_than_its_id_is_found_by_its_path(project):
    project.case()
    project.profile(run_profile_id="quick")

    assert "`run_profile_id`: differs from the file's name `p`; found `quick`" in said(project)
    loaded = project.load("s", "configs/run_profiles/p.yaml")
    assert loaded.profile.run_profile_id == "quick"


def test_a_case_id_must_equal_its_folder(project):
    project.case("one", case_id_written="x")
    text = said(project)
    assert "`case_id_written`: unknown key" in text

    project.case("two")
    path = project.case("one")
    path.write_text(path.read_text().replace("case_id: one", "case_id: uno"))

    assert "`case_id`: differs from its folder; found uno" in said(project)


# ---- mistakes name file, line, key, found, allowed and nearest


@pytest.mark.parametrize("written", ["no", "Yes", "off", "y", "2026-01-05"])
def test_a_cluster_that_may_be_a_boolean_or_a_date_is_written_in_quotes(project, written):
    path = project.case("one")
    text = path.read_text()
    path.write_text(f"{text}cluster: {written}\n")

    message = said(project)

    assert f"`cluster`: may be read as a boolean or a date; found {written}" in message
    assert f'write it in quotes: cluster: "{written}"' in message
    path.write_text(f"{text}cluster: '{written}'\n")
    (loaded,) = find_cases(project.root)
    assert not loaded.problems
    assert loaded.case.cluster == written


@pytest.mark.parametrize("written", ["note", "notes-2026-01-05", "v2", "2026"])
def test_names_that_begin_like_them_are_not_refused(project, written):
    path = project.case("one")
    path.write_text(f"{path.read_text()}cluster: {written}\n")
    (loaded,) = find_cases(project.root)

    assert ("may be read" in str(loaded.problems)) is False
    assert bool(loaded.problems) is (written == "2026")  # a number


@pytest.mark.parametrize(
    ("fields", "message"),
    [
        ({"titel": "x"}, "`titel`: unknown key; did you mean `title`?"),
        ({"tags": "smoke"}, "`tags`: should be a valid array; found `smoke`"),
        ({"cluster": "a b"}, "`cluster`: cannot be used as a name; found `a b`"),
        ({"cluster": "/a"}, "`cluster`: cannot be used as a name; found `/a`"),
        ({"cluster": ""}, "`cluster`: cannot be used as a name; found ``"),
        ({"cluster": 7}, "found `7`; text that looks like a number or a boolean goes in quotes"),
        ({"cluster": True}, "found `true`; text that looks like a number or a boolean goes in"),
        ({"cluster": "a b"}, "allowed: letters, digits, `.`, `_`, `-` and `/`; a letter"),
        ({"cluster": "a" * 129}, "`cluster`: String should have at most 128 characters"),
        ({"clusters": "a"}, "`clusters`: unknown key; did you mean `cluster`?"),
        ({"schema_version": True}, "`schema_version`: must be the integer 1; found `true`"),
        ({"schema_version": 1.0}, "`schema_version`: must be the integer 1; found `1.0`"),
        ({"schema_version": "1"}, "`schema_version`: must be the integer 1; found `1`"),
        ({"schema_version": 2}, "`schema_version`: must be the integer 1; found `2`"),
        ({"runner": {"type": "llmprobe"}}, "did you mean `llm_probe`?"),
        ({"runner": {"type": "llm_probe", "temprature": 0}}, "did you mean `temperature`?"),
        ({"runner": {"type": "llm_probe", "temperature": 3}}, "`runner.temperature`"),
        ({"validator": {"type": "exakt", "value": "x"}}, "did you mean `exact`?"),
        ({"validator": {"value": "x"}}, "required key `type` is missing"),
        ({"validator": {"type": "exact"}}, "`validator.value`: required key is missing"),
        ({"validator": {"type": "exact", "value": 5}}, "`validator.value`"),
        ({"validator": {"type": "one_of", "values": []}}, "`validator.values`"),
        ({"validator": {"type": "regex_fullmatch", "pattern": "("}}, "`validator.pattern`"),
        ({"validator": {"type": "exact", "value": "x", "vlue": 1}}, "did you mean `value`?"),
        ({"input": {"messages": []}}, "a case needs at least one message"),
        ({"input": {"messages": [{"role": "user"}]}}, "exactly one of `content` and `source`"),
        ({"input": {"messages": [{"role": "boss", "content": "x"}]}}, "`input.messages[0].role`"),
        (
            offering(tools=["exec_shel"]),
            "`input.context.llm_probe.tools[0]`: unknown tool; found `exec_shel`; allowed: "
            "exec_shell, read_file, write_file or web_search; did you mean `exec_shell`?",
        ),
        (
            offering(tools=["read_file"] * 2),
            "`input.context.llm_probe.tools[1]`: is named twice; found `read_file`",
        ),
        (
            offering(tools=["read_file"], tool_choice="exec_shell"),
            "`input.context.llm_probe.tool_choice`: unknown value; found `exec_shell`; allowed: "
            "auto, none, required, read_file",
        ),
        (
            {"input": {"messages": [], "context": {"llm_prob": {}}}},
            "`input.context.llm_prob`: unknown key; did you mean `llm_probe`?",
        ),
        (
            {
                "input": {
                    "messages": [{"role": "user", "content": "x"}],
                    "turns": [{"role": "user", "content": "y"}],
                }
            },
            "the llm_probe runner takes no turns; write them as `messages`; turns are for openclaw",
        ),
    ],
)
def test_a_mistake_in_a_case_is_explained(project, fields, message):
    path = project.case(**fields)

    text = said(project)

    assert message in text
    assert f"{path}:" in text


def test_an_openclaw_case_needs_the_profiles_block(project):
    project.case(runner={"type": "openclaw"})

    assert "case `one` runs with openclaw, and the profile has no such block" in said(project)


def test_a_message_says_where_in_the_file(project):
    path = project.case()
    path.write_text(path.read_text() + "validator:\n  type: max_words\n  value: -1\n")
    line = path.read_text().splitlines().index("  value: -1") + 1

    assert f"{path}:{line}: `validator.value`: should be greater than" in said(project)


def test_all_problems_of_all_files_come_together(project):
    project.case("one", titel="x")
    project.case("two", tgas=[])
    project.suite(models=[])

    text = said(project)

    assert "titel" in text
    assert "tgas" in text
    assert "the suite has no models" in text


def test_a_file_that_is_a_list_is_refused(project):
    project.case()
    project.write("configs/suites/s.yaml", "- 1\n")

    assert "must hold a mapping at its top level; found list" in said(project)


# ---- files a case names


def test_attachments_go_before_the_first_user_message_in_their_envelope(project):
    project.case(
        input={
            "messages": [
                {"role": "system", "content": "Be brief."},
                {"role": "user", "content": "Summarise."},
            ],
            "attachments": ["notes.txt"],
        }
    )
    project.write("configs/cases/group/one/notes.txt", "first\nsecond")

    (case,) = project.load().cases

    assert [message["role"] for message in case.messages] == ["system", "user", "user"]
    assert case.messages[1]["content"] == (
        "Attached context file: notes.txt\n--- BEGIN ATTACHMENT notes.txt ---\n"
        "first\nsecond\n--- END ATTACHMENT notes.txt ---"
    )


@pytest.mark.parametrize("name", ["m.yaml", "m.json"])
def test_a_source_holds_one_message_or_a_list(project, name):
    messages = [{"role": "system", "content": "a"}, {"role": "user", "content": "b", "name": "n"}]
    source = [{"role": "user", "source": {"path": name}}]
    project.case(input={"messages": source})
    project.write(f"configs/cases/group/one/{name}", json.dumps(messages))
    assert list(project.load().cases[0].messages) == messages

    project.write(f"configs/cases/group/one/{name}", json.dumps(messages[0]))
    assert list(project.load().cases[0].messages) == messages[:1]


@pytest.mark.parametrize("place", ["../two/secret.txt", "/etc/passwd", "link.txt"])
def test_a_file_outside_the_cases_folder_is_refused(project, place):
    project.case(input={"messages": [{"role": "user", "content": "x"}], "attachments": [place]})
    outside = project.write("configs/cases/group/two/secret.txt", "secret")
    (project.root / "configs/cases/group/one/link.txt").symlink_to(outside)

    assert "`input.attachments[0]`: leaves the case's folder" in said(project)


@pytest.mark.parametrize(
    ("content", "message"), [(None, "no such file"), (b"\xff", "is not UTF-8 text")]
)
def test_a_bad_attachment_is_found_at_load_time(project, content, message):
    project.case(input={"messages": [{"role": "user", "content": "x"}], "attachments": ["a.txt"]})
    if content is not None:
        (project.root / "configs/cases/group/one/a.txt").write_bytes(content)

    assert message in said(project)


# ---- selection


@pytest.mark.parametrize(
    ("selection", "expected"),
    [
        ({}, ["a", "b", "c"]),
        ({"include_case_ids": ["b"]}, ["b"]),
        ({"include_tags": ["x"]}, ["a", "b"]),
        ({"include_tags": ["x"], "exclude_tags": ["y"]}, ["a"]),
        ({"include_tags": ["x"], "exclude_case_ids": ["a"]}, ["b"]),
        ({"include_case_ids": ["c"], "include_tags": ["x"]}, ["a", "b", "c"]),
        ({"include_case_ids": ["b"], "exclude_tags": ["y"]}, ["b"]),
        ({"exclude_case_ids": ["b"]}, ["a", "c"]),
        ({"exclude_tags": ["x"]}, ["c"]),
    ],
)
def test_selection_follows_its_ranking(project, selection, expected):
    project.case("a", tags=["x"])
    project.case("b", tags=["x", "y"])
    project.case("c", tags=["z"])
    project.suite(case_selection=selection)

    assert ids(project) == expected


def test_an_id_both_included_and_excluded_stays_in_with_a_warning(project):
    project.case("a")
    project.suite(case_selection={"include_case_ids": ["a"], "exclude_case_ids": ["a"]})

    inputs = project.load()

    assert [case.case_id for case in inputs.cases] == ["a"]
    assert "both included and excluded" in inputs.warnings[0]


@pytest.mark.parametrize("name", ["include_case_ids", "exclude_case_ids"])
def test_an_unknown_id_in_either_list_is_an_error(project, name):
    project.case("alpha")
    project.suite(case_selection={name: ["alpah"]})

    assert "no case has this id; found `alpah`; did you mean `alpha`?" in said(project)


def test_a_broken_case_breaks_only_suites_that_select_it(project):
    project.case("good", tags=["g"])
    project.case("bad", tags=["b"], titel="x")
    project.suite(case_selection={"include_tags": ["g"]})
    assert ids(project) == ["good"]

    project.suite(case_selection={"include_tags": ["b"]})
    assert "titel" in said(project)


def test_a_case_that_cannot_be_parsed_counts_as_selected_by_tag(project):
    project.case("good", tags=["g"])
    project.write("configs/cases/group/torn/test.yaml", "tags: [g\n")
    project.suite(case_selection={"include_case_ids": ["good"]})
    assert ids(project) == ["good"]

    project.suite(case_selection={"include_tags": ["g"]})
    assert "is not valid YAML" in said(project)


def test_cases_lie_at_depth_one_or_two(project):
    project.case("a", group=".")
    project.case("b", group="g")
    project.case("c", group="g/h")

    assert ids(project) == ["a", "b"]


def test_a_case_id_used_twice_is_an_error(project):
    project.case("a", group="g")
    project.case("a", group="h")

    assert "case_id `a` is also that of" in said(project)


def test_a_suite_without_cases_is_an_error(project):
    assert "the suite selects no case" in said(project)


# ---- prompt lists


def test_a_prompt_list_alone_is_the_whole_suite(project):
    project.case("of_the_project")
    prompts = [
        {"id": "P0", "name": "heartbeat", "prompt": "Say OK.", "validator": {"type": "noop"}},
        {"id": "P 1!", "prompt": "Free?", "expected_tool_calls": ["free"], "variant": "enhanced"},
    ]
    project.prompts("list.json", prompts)
    project.suite(prompt_lists=["list.json"])

    first, second = project.load().cases

    assert (first.case_id, first.prompt_id, first.prompt_name) == ("p0", "P0", "heartbeat")
    assert (second.case_id, second.prompt_id, second.prompt_name) == ("p_1", "P 1!", None)
    assert second.expected_tools == ("free",)
    assert second.tags == ("enhanced",)


def test_a_path_of_a_prompt_list_is_relative_to_the_folder_of_the_suite(project, monkeypatch):
    project.prompts("beside.json", [{"id": "beside", "prompt": "a"}])
    project.write("data/above.json", '[{"id": "above", "prompt": "b"}]')
    absolute = project.write("data/absolute.json", '[{"id": "absolute", "prompt": "c"}]')
    project.suite(prompt_lists=["beside.json", "../../data/above.json", str(absolute)])
    monkeypatch.chdir(project.root / "data")

    assert ids(project) == ["beside", "above", "absolute"]
    project.suite(prompt_lists=["data/above.json"])
    assert "configs/suites/data/above.json" in said(project)


def test_ids_in_other_scripts_stay_apart(project):
    project.prompts("list.json", [{"id": "水", "prompt": "a"}, {"id": "火", "prompt": "b"}])
    project.suite(prompt_lists=["list.json"])

    one, two = project.load().cases

    assert one.case_id != two.case_id
    assert [one.prompt_id, two.prompt_id] == ["水", "火"]


def test_an_id_that_an_earlier_list_has_gets_the_stem_of_its_own_as_prefix(project):
    project.prompts("one.json", [{"id": "P0", "prompt": "a"}])
    project.write("configs/suites/two.jsonl", '{"id": "P0", "prompt": "b"}\n\n')
    project.suite(prompt_lists=["one.json", "two.jsonl"])

    assert ids(project) == ["p0", "two--p0"]


def test_a_second_list_renames_no_case_of_the_first_and_none_without_a_clash(project):
    project.prompts("one.json", [{"id": "P0", "prompt": "a"}, {"id": "P1", "prompt": "b"}])
    project.suite(prompt_lists=["one.json"])
    alone = {case.case_id: case.messages for case in project.load().cases}

    project.prompts("two.json", [{"id": "p1", "prompt": "c"}, {"id": "P2", "prompt": "d"}])
    project.suite(prompt_lists=["one.json", "two.json"])
    both = {case.case_id: case.messages for case in project.load().cases}

    assert list(both) == ["p0", "p1", "two--p1", "p2"]
    assert both.items() >= alone.items()


def test_lists_that_no_prefix_tells_apart_are_refused(project):
    for folder in ("x", "y", "z"):
        project.write(f"configs/suites/{folder}/list.json", '[{"id": "P0", "prompt": "a"}]')
    project.suite(prompt_lists=["x/list.json", "y/list.json"])
    assert ids(project) == ["p0", "list--p0"]

    project.suite(prompt_lists=["x/list.json", "y/list.json", "z/list.json"])
    assert "id becomes case_id `list--p0`, as one of another list does" in said(project)


def test_a_selection_that_names_a_prefix_of_before_is_told_the_id_of_now(project):
    project.prompts("one.json", [{"id": "P0", "prompt": "a"}])
    project.prompts("two.json", [{"id": "P1", "prompt": "b"}])
    project.suite(
        prompt_lists=["one.json", "two.json"], case_selection={"include_case_ids": ["two--p1"]}
    )

    assert "found `two--p1`; did you mean `p1`?" in said(project)


def test_cases_and_prompts_name_their_cluster(project):
    project.case("mine", tags=["t"], cluster="django/django")
    project.case("alone", tags=["t"])
    project.prompts("one.json", [{"id": "P0", "prompt": "a", "cluster": "letters"}])
    project.write(
        "configs/suites/two.jsonl",
        '{"id": "P1", "prompt": "b", "cluster": "letters"}\n{"id": "P2", "prompt": "c"}\n',
    )
    project.suite(
        prompt_lists=["one.json", "two.jsonl"],
        case_selection={
            "include_tags": ["t"], "include_case_ids": ["p0", "p1", "p2"]
        },
    )  # fmt: skip

    assert {case.case_id: case.cluster for case in project.load().cases} == {
        "mine": "django/django", "alone": None,
        "p0": "letters", "p1": "letters", "p2": None,
    }  # fmt: skip


def test_lists_and_cases_go_together_when_the_suite_selects(project):
    project.case("mine", tags=["t"])
    project.prompts("list.json", [{"id": "P0", "prompt": "a"}, {"id": "P1", "prompt": "b"}])
    project.suite(
        prompt_lists=["list.json"],
        case_selection={"include_tags": ["t"], "include_case_ids": ["p0"]},
    )

    assert ids(project) == ["mine", "p0"]


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("[", "is not valid JSON"),
        ('{"id": "a"}', "should be a valid array"),
        ('[{"id": "a"}]', "`[0]`: needs exactly one of `prompt` and `messages`"),
        ('[{"id": "a", "prompt": "x", "validator": {"type": "regexp"}}]', "unknown value"),
        ('[{"id": "A", "prompt": "x"}, {"id": "a", "prompt": "y"}]', "case_id `a`, as `A` does"),
        (
            '[{"id": "a", "prompt": "x", "cluster": "a b"}]',
            "`[0].cluster`: cannot be used as a name",
        ),
        ("[]", "the suite selects no case"),
    ],
)
def test_a_mistake_in_a_prompt_list_is_explained(project, text, message):
    project.write("configs/suites/list.json", text)
    project.suite(prompt_lists=["list.json"])

    assert message in said(project)


# ---- what this version cannot run

MESSAGES = [{"role": "user", "content": "x"}]


def test_a_turn_is_a_users(project):
    case_input = {"turns": [{"role": "user", "content": "a"}, {"role": "system", "content": "b"}]}
    project.case(runner={"type": "openclaw"}, input=case_input)
    project.profile(openclaw={"agent_id": "a", "image": "i:1", "timeout_seconds": 60})
    agent(project, "a")

    assert "`input.turns`: a turn is a user's; found `system`" in said(project)


@pytest.mark.parametrize("provider", ["claude_code_cli"])
def test_an_agent_asks_an_endpoint_and_no_command(project, provider):
    project.case(runner={"type": "openclaw"})
    project.model(provider=provider)
    project.profile(openclaw={"agent_id": "a", "image": "i:1", "timeout_seconds": 60})
    agent(project, "a")

    assert f"an agent cannot ask its model through `{provider}`; allowed: " in said(project)


# ---- checks


def check(**declarative):
    return {"check_id": "c", "declarative": declarative}


@pytest.mark.parametrize(
    ("checks", "message"),
    [
        ([check(kind="final_response_presen")], "did you mean `final_response_present`?"),
        ([check(kind="tool_call_count")], "`deterministic_checks[0].declarative.count`"),
        ([check(kind="tool_call_count", count=-1)], "`deterministic_checks[0].declarative.count`"),
        ([check(kind="status_is", status="ok")], "`deterministic_checks[0].declarative.status`"),
        ([check(kind="file_exists", path="../x")], "leaves the case's folder"),
        ([{"check_id": "c"}], "needs exactly one of `declarative` and `python_hook`"),
        (
            [check(kind="final_response_present"), check(kind="final_response_present")],
            "`deterministic_checks[1].check_id`: is used twice",
        ),
        (
            [{"check_id": "c", "python_hook": {"callable_name": "f"}}],
            "needs exactly one of `path` and `import_path`",
        ),
        (
            [{"check_id": "c", "python_hook": {"callable_name": "f", "path": "no.py"}}],
            "no.py: no such file",
        ),
        (
            [check(kind="openclaw_workspace_file_present", relative_path="a", contains="x",
                   contains_all=["y"])],
            "`contains` cannot stand beside",
        ),
    ],
)  # fmt: skip
def test_a_mistake_in_a_check_is_explained(project, checks, message):
    project.case(deterministic_checks=checks)

    assert message in said(project)


# ---- agents of openclaw cases


def agent(project, name):
    base = {"schema_version": 1, "agent_id": name, "title": name}
    project.write(f"configs/agents/{name}/agent.yaml", base)
    project.write(f"configs/agents/{name}/workspace/AGENTS.md", "Be useful.")


def openclaw(project):
    project.profile(openclaw={"agent_id": "usual", "image": "i:1", "timeout_seconds": 60})
    for name in ("usual", "special", "x", "y"):
        agent(project, name)
    for name in ("a", "b", "c"):
        project.case(name, runner={"type": "openclaw"}, tags=[f"t{name}"])
    return project


def load_agents(project, *assignments):
    from collect.config import load_inputs

    project.suite(openclaw={"agent_assignments": list(assignments)})
    return dict(load_inputs("s", "p", working_dir=project.root).agents)


def assignment(agent_id, **selection):
    return {"agent_id": agent_id, "case_selection": selection}


def test_cases_without_an_assignment_get_the_profiles_agent(project):
    openclaw(project)

    agents = load_agents(project, assignment("special", include_case_ids=["b"]))

    assert agents == {"a": "usual", "b": "special", "c": "usual"}


def test_a_case_that_matches_two_assignments_is_refused_before_anything_runs(project):
    openclaw(project)

    with pytest.raises(ConfigError, match="case `b` matches two assignments: `x` and `y`"):
        load_agents(
            project,
            assignment("x", include_case_ids=["b"]),
            assignment("y", include_tags=["tb"]),
        )


def test_an_assignment_must_select_and_its_ids_must_exist(project):
    openclaw(project)

    with pytest.raises(ConfigError, match="needs `include_case_ids` or `include_tags`"):
        load_agents(project, assignment("x", exclude_tags=["ta"]))
    with pytest.raises(ConfigError, match="no case has this id; found `zz`"):
        load_agents(project, assignment("x", include_case_ids=["zz"]))
