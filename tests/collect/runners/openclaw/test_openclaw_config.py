"""Each field of the document in openclaw.json, where the document says, and nowhere else."""

from types import SimpleNamespace

import pytest

from collect.config.agents import load_agent
from collect.runners.agents.template import make_template
from collect.runners.agents.turns import MAX_WORD_BYTES
from collect.runners.openclaw.command import turns_of
from collect.runners.openclaw.config import agent_name, openclaw_config
from schemas.config.agent import placeholder
from schemas.errors import ConfigError

AGENT = {
    "schema_version": 1,
    "agent_id": "support_agent",
    "title": "Support",
    "openclaw": {
        "identity": {"name": "Nobody"},
        "agents_defaults": {"timeoutSeconds": 120, "sandbox": "workspace"},
        "agent": {"id": "support-agent", "prompt": "Answer from the files.", "skills": ["x"]},
        "model_defaults": {
            "aliases": {"spare": "", "main": "support-model"},
            "primary_params": {"temperature": 0.5, "a": 1},
        },
    },
}


@pytest.fixture
def made(project):
    """Return the configuration of a case, its model and agent bent to a test's needs."""

    def make(agent=None, case=None, **model):
        whole = agent or AGENT
        folder = f"configs/agents/{whole['agent_id']}"
        project.write(f"{folder}/agent.yaml", whole)
        project.write(f"{folder}/workspace/SOUL.md", "Be kind.\n")
        project.case(**{"runner": {"type": "openclaw"}} | (case or {}))
        project.model(**model)
        project.profile(
            openclaw={"agent_id": whole["agent_id"], "image": "i:1", "timeout_seconds": 9}
        )
        inputs = project.load()
        loaded = inputs.loaded_agents[whole["agent_id"]]
        config = openclaw_config(
            loaded.agent, inputs.models[0], inputs.cases[0], "http://127.0.0.1:1", "password"
        )
        return SimpleNamespace(config=config, case=inputs.cases[0], loaded=loaded, inputs=inputs)

    return make


def entry_of(config):
    (service,) = config["models"]["providers"].values()
    (entry,) = service["models"]
    return entry


def test_fragments_are_merged(made):
    config = made().config
    defaults, (entry,) = config["agents"]["defaults"], config["agents"]["list"]

    assert defaults["timeoutSeconds"] == 120
    assert defaults["sandbox"] == {"mode": "off"}
    assert (defaults["workspace"], defaults["skipBootstrap"]) == ("/workspace", True)
    assert entry == {"id": "support-agent", "skills": ["x"], "model": "custom/r"}
    assert agent_name(made().loaded.agent) == "support-agent"
    assert defaults["models"]["custom/r"]["alias"] == "support-model"
    assert "Nobody" not in str(config)
    assert "Answer from the files." not in str(config)
    assert config["models"]["mode"] == "replace"


def test_an_agent_that_says_nothing_has_the_defaults(made):
    plain = {"schema_version": 1, "agent_id": "plain", "title": "P"}
    config = made(plain).config

    assert config["agents"]["list"] == [{"id": "plain", "model": "custom/r"}]
    assert config["agents"]["defaults"]["models"] == {"custom/r": {"alias": "default"}}


@pytest.mark.parametrize(
    ("model", "ref", "name", "api"),
    [
        ({"provider": "openrouter", "requested_model": "openai/gpt-4o-mini"},
         "openrouter/openai/gpt-4o-mini", "openai/gpt-4o-mini", "openai-completions"),
        ({"provider": "minimax", "model_name": "m2", "requested_model": None},
         "openrouter/minimax/m2", "minimax/m2", "openai-completions"),
        ({"provider": "ollama_openai", "requested_model": "llama3.2:3b"},
         "custom/llama3.2:3b", "llama3.2:3b", "openai-completions"),
        ({"provider": "openai_responses", "requested_model": "gpt-5"},
         "custom/gpt-5", "gpt-5", "openai-responses"),
        ({"provider": "anthropic_messages", "requested_model": "claude-x"},
         "custom/claude-x", "claude-x", "anthropic-messages"),
    ],
)  # fmt: skip
def test_the_model_is_the_suites(made, model, ref, name, api):
    config = made(**model).config
    service, provider = next(iter(config["models"]["providers"].items()))

    assert config["agents"]["defaults"]["model"] == {"primary": ref}
    assert ref == f"{service}/{name}"
    assert entry_of(config)["id"] == name
    path = "" if api == "anthropic-messages" else "/v1"
    assert (provider["baseUrl"], provider["apiKey"]) == (f"http://127.0.0.1:1{path}", "password")
    assert provider["api"] == api


def test_params_of_the_model_win(made):
    config = made(primary_params={"a": 2, "b": [3]}).config

    params = config["agents"]["defaults"]["models"]["custom/r"]["params"]
    assert params == {"temperature": 0.5, "a": 2, "b": [3]}


@pytest.mark.parametrize(
    "model",
    [{"thinking_level": "low"}, {"primary_params": {"reasoning": {"effort": "low"}}}],
)
def test_thinking_level_and_effort_are_one(made, model):
    config = made(provider="openrouter", **model).config

    (of_model,) = config["agents"]["defaults"]["models"].values()
    assert of_model["params"]["reasoning"] == {"effort": "low"}
    assert entry_of(config)["reasoning"] is True


def test_what_openclaw_knows_of_the_model_is_what_is_set(made):
    assert entry_of(made().config)["maxTokens"] == 16_384
    assert entry_of(made().config)["contextWindow"] == 200_000
    assert entry_of(made(max_tokens=77).config)["maxTokens"] == 77
    assert entry_of(made(primary_params={"max_tokens": 88}).config)["maxTokens"] == 88
    case = {"runner": {"type": "openclaw", "max_tokens": 99}}
    assert entry_of(made(case=case).config)["maxTokens"] == 99
    assert entry_of(made(requested_model="some-Thinking-model").config)["reasoning"] is True
    assert entry_of(made(label="Big").config)["name"] == "Big"


def test_agents_are_assigned_by_case(made, project):
    made()
    for name in ("support_agent", "other"):
        project.write(f"configs/agents/{name}/agent.yaml", AGENT | {"agent_id": name})
        project.write(f"configs/agents/{name}/workspace/x.txt", name)
    project.case("two", runner={"type": "openclaw"}, tags=["t"])
    project.suite(
        openclaw={
            "agent_assignments": [{"agent_id": "other", "case_selection": {"include_tags": ["t"]}}]
        }
    )

    inputs = project.load()

    assert inputs.agents == {"one": "support_agent", "two": "other"}
    assert {*inputs.loaded_agents} == {"support_agent", "other"}


def test_a_workspace_begins_with_the_agents_files(made, tmp_path):
    template = make_template(made().loaded, tmp_path / "t")

    files = {one.path: (template.folder / one.path).read_text() for one in template.before.entries}
    assert files.keys() == {"AGENTS.md", "IDENTITY.md", "SOUL.md", "TOOLS.md", "USER.md"}
    assert files["SOUL.md"] == "Be kind.\n"
    assert files["USER.md"] == placeholder("USER.md")

    (tmp_path / "w").mkdir()
    template.copy_to(tmp_path / "w")
    assert {one.name for one in (tmp_path / "w").iterdir()} == files.keys()


def test_the_prompt_stands_on_top_of_agents_md(made, tmp_path):
    template = make_template(made().loaded, tmp_path / "t")

    text = (template.folder / "AGENTS.md").read_text()
    assert text == f"Answer from the files.\n\n{placeholder('AGENTS.md')}"


def test_a_file_that_changed_after_the_plan_is_refused(made, project, tmp_path):
    loaded = made().loaded
    project.write("configs/agents/support_agent/workspace/SOUL.md", "Be cruel.\n")

    with pytest.raises(ConfigError, match="changed after the run was planned"):
        make_template(loaded, tmp_path / "t")
    assert load_agent("support_agent", project.root).sha256 == loaded.sha256


def test_attachments_and_names_are_told(made, project):
    project.write("configs/cases/group/one/notes.txt", "42")
    case = {
        "input": {
            "messages": [
                {"role": "system", "content": "Think."},
                {"role": "user", "content": "What?", "name": "Ann"},
            ],
            "attachments": ["notes.txt"],
        }
    }
    (text,) = turns_of(made(case=case).case)

    assert text == (
        "[1] system: Think.\n\n[2] user: Attached context file: notes.txt\n"
        "--- BEGIN ATTACHMENT notes.txt ---\n42\n--- END ATTACHMENT notes.txt ---\n\n"
        "[3] user (Ann): What?"
    )


def test_only_the_first_turn_has_what_came_before(made):
    case = {
        "input": {
            "messages": [{"role": "assistant", "content": "Hi."}],
            "turns": [{"role": "user", "content": one} for one in ("a", "b", "c")],
            "context": {"openclaw": {"expected_artifact": ["x", "y"], "budget": 3}},
        }
    }

    assert turns_of(made(case=case).case) == [
        '[1] assistant: Hi.\n\na\n\n[openclaw_hints]\n{"expected_artifact":["x","y"],"budget":3}',
        "b",
        "c",
    ]


def test_a_turn_may_be_as_long_as_a_word_on_a_command_line():
    assert MAX_WORD_BYTES < 32 * 4_096
