"""Agents by configuration: mistakes get their sentence, and cases the agent of their kind."""

import pytest

from collect.config.agents import load_agent_file
from schemas.errors import ConfigError

RIGHT = {"argv": ["agent"], "prompt": "stdin"}


@pytest.fixture
def write(project):
    def written(command, agent_id="own"):
        body = {"schema_version": 1, "agent_id": agent_id, "title": "Own", "command": command}
        return project.write(f"configs/agents/{agent_id}/agent.yaml", body)

    return written


def usage(**fields):
    right = {"input_tokens": "i", "output_tokens": "o", "counts": "delta", "cached": "inside"}
    return {"usage": {name: one for name, one in (right | fields).items() if one is not None}}


WRONG = {
    "no command line": ({"argv": []}, "command.argv"),
    "no word on the prompt": ({"prompt": None}, "command.prompt"),
    "another way for the prompt": ({"prompt": "pipe"}, "'stdin', 'file' or 'argument'"),
    "a prompt that nobody gives": (
        {"prompt": "argument"}, "`prompt: argument` and no {prompt} in `argv`"),
    "a later turn without it": (
        {"argv": ["a", "{prompt}"], "next_argv": ["a"], "prompt": "argument"},
        "`prompt: argument` and no {prompt} in `next_argv`"),
    "a prompt that is given twice": (
        {"argv": ["a", "{prompt}"]}, "{prompt} in `argv`, and `prompt: stdin` gives it otherwise"),
    "an unknown placeholder": (
        {"argv": ["a", "{modle}"]}, "`modle` in braces is none of prompt, prompt_file, model,"),
    "braces of its own": (
        {"files": {"a.json": '{"a": 1}'}}, "braces of your own are written twice"),
    "a file outside of the home": ({"files": {"../a": "x"}}, "`../a` is no path below the home"),
    "a value without its path": (
        {"answer": {"source": "json"}}, "`path` is for `file` and `json`, which need it"),
    "a meaning that there is not": (
        {"exit_codes": {3: "bad"}}, "'done', 'limit', 'agent_error' or 'infrastructure'"),
    "an exit code that there is not": ({"exit_codes": {300: "done"}}, "exit_codes"),
    "tokens of an unknown meaning": (usage(counts=None), "command.usage.counts"),
    "cached tokens of an unknown place": (usage(cached=None), "command.usage.cached"),
    "a log in no place of the agent's": (
        {"logs": {"format": "plain", "paths": ["/var/log/a"]}}, "`/var/log/a` is neither `stdout`"),
    "a log in no known format": (
        {"logs": {"format": "plane", "paths": ["stdout"]}}, "did you mean `plain`"),
    "a log that would count twice": (
        {"logs": {"format": "codex", "paths": ["stdout"]}}, "name its session files in `paths`"),
    "a field that there is not": ({"enviroment": {}}, "did you mean `environment`"),
}  # fmt: skip


@pytest.mark.parametrize("mistake", WRONG)
def test_a_mistake_is_explained(write, mistake):
    fields, said = WRONG[mistake]
    command = {name: one for name, one in (RIGHT | fields).items() if one is not None}

    with pytest.raises(ConfigError) as caught:
        load_agent_file(write(command))

    assert said in str(caught.value)
    assert "agent.yaml:" in str(caught.value)


def test_an_agent_is_of_one_kind(project):
    body = {"schema_version": 1, "agent_id": "own", "title": "O", "command": RIGHT, "openclaw": {}}
    with pytest.raises(ConfigError, match="two kinds of agents"):
        load_agent_file(project.write("configs/agents/own/agent.yaml", body))


def test_workspace_and_program_are_read_where_they_are(project, write):
    path = write(RIGHT)
    assert (load_agent_file(path).workspace, load_agent_file(path).program) == ((), ())

    project.write("configs/agents/own/workspace/a/b.txt", "x")
    project.write("configs/agents/own/program/run.sh", "y")
    loaded = load_agent_file(path)

    assert [one.relative_path for one in loaded.workspace] == ["a/b.txt"]
    assert [one.relative_path for one in loaded.program] == ["run.sh"]


def agentic(project, kind="command", agent_id="own", **case):
    project.case(**({"runner": {"type": kind}} | case))
    project.model()
    place = {"agent_id": agent_id, "image": "i:1", "timeout_seconds": 9}
    project.profile(**{"agent" if kind == "command" else "openclaw": place})


def test_a_case_has_the_agent_of_the_profile_or_of_its_suite(project, write):
    write(RIGHT)
    write(RIGHT, "other")
    agentic(project)
    assert project.load().agents == {"one": "own"}

    chosen = {"agent_id": "other", "case_selection": {"include_case_ids": ["one"]}}
    project.suite(models=[{"model_id": "m", "provider": "openai_chat", "requested_model": "r",
                           "base_url": "http://localhost:1"}],
                  agent={"agent_assignments": [chosen]})  # fmt: skip
    assert project.load().agents == {"one": "other"}


@pytest.mark.parametrize("kind", ["command", "openclaw"])
def test_an_agent_of_another_kind_is_refused(project, write, kind):
    write(RIGHT)
    project.write("configs/agents/claw/agent.yaml",
                  {"schema_version": 1, "agent_id": "claw", "title": "C"})  # fmt: skip
    project.write("configs/agents/claw/workspace/SOUL.md", "x")
    other = {"command": ("claw", "openclaw"), "openclaw": ("own", "command")}[kind]
    agentic(project, kind, other[0])

    with pytest.raises(ConfigError, match=f"is an agent of {other[1]}, and case `one` runs with"):
        project.load()


def test_turns_need_a_command_line_that_goes_on(project, write):
    write(RIGHT)
    turns = [{"role": "user", "content": "a"}, {"role": "user", "content": "b"}]
    agentic(project, input={"turns": turns})

    with pytest.raises(ConfigError, match="has no `next_argv`, and case `one` has 2 turns"):
        project.load()


def test_a_profile_without_the_block_is_refused(project, write):
    write(RIGHT)
    agentic(project)
    project.profile()

    with pytest.raises(ConfigError, match="runs with command, and the profile has no such block"):
        project.load()


@pytest.mark.parametrize(
    ("fields", "said"),
    [
        ({"programs": ["opt"], "executable": "local", "image": None}, "agent.programs"),
        ({"programs": ["/opt"]}, "`programs` is for `executable: local`"),
        ({"image": None}, "needs an `image`, or `executable: local`"),
        ({"image": "i"}, "pinned"),
    ],
)
def test_a_place_that_cannot_be_is_explained(project, write, fields, said):
    write(RIGHT)
    agentic(project)
    place = {"agent_id": "own", "image": "i:1", "timeout_seconds": 9} | fields
    project.profile(agent={name: one for name, one in place.items() if one is not None})

    with pytest.raises(ConfigError) as caught:
        project.load()

    assert said in str(caught.value)
