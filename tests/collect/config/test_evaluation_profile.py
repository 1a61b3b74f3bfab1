"""Evaluation profiles: what they mean, and how they explain their mistakes."""

import pytest
import yaml

from collect.config.evaluation import load_evaluation_profile
from schemas.errors import ConfigError

WHOLE = """
schema_version: 1
evaluation_profile_id: panel
title: Three opinions, the middle one counts
judge_system_prompt_path: prompts/strict.md
judges:
  - judge_id: large
    type: llm_probe
    model: vendor/large-model
    request_options: {temperature: 0, reasoning: {effort: none}}
  - judge_id: local
    type: llm_probe
    provider: ollama_openai
    model: small
    seed: 7
  - judge_id: spare
    type: llm_probe
    provider: openai
    model: gpt-x
judge_runs:
  - {judge_run_id: large_run, judge_id: large, repetitions: 3, sample_size: 2}
  - {judge_run_id: local_run, judge_id: local}
aggregation: {method: all_pass, pass_threshold: 0.7}
anchors:
  enabled: true
  references:
    - {anchor_id: perfect, label: Perfect chain, text: Called both tools and said what they told.}
security_policy: {allow_local_python_hooks: true, network_access: allow, redact_secrets: false}
metadata: {owner: me}
"""
JUDGE = {"judge_id": "main", "type": "llm_probe", "model": "vendor/m"}
RUN = {"judge_run_id": "r", "judge_id": "main"}


@pytest.fixture(autouse=True)
def no_addresses(monkeypatch):
    for name in ("OLLAMA_OPENAI_BASE", "OPENAI_BASE_URL", "OPENROUTER_BASE_URL"):
        monkeypatch.delenv(name, raising=False)


def write(project, text, name="panel"):
    return project.write(f"configs/evaluation_profiles/{name}.yaml", text)


def profile_of(project, **fields):
    base = {"schema_version": 1, "evaluation_profile_id": "e", "title": "E"}
    base |= {"judges": [JUDGE], "judge_runs": [RUN]}
    write(project, base | fields, "e")
    return load_evaluation_profile("e", project.root)


def said(project, **fields):
    with pytest.raises(ConfigError) as caught:
        profile_of(project, **fields)
    return str(caught.value)


def test_the_whole_example_means_what_it_says(project):
    path = write(project, WHOLE)
    project.write("configs/evaluation_profiles/prompts/strict.md", "Be strict.\n")

    loaded = load_evaluation_profile("panel", project.root)

    assert loaded.path == path
    assert loaded.system_prompt == "Be strict.\n"
    assert len(loaded.sha256) == len(loaded.prompt_sha256) == 64
    large, local, spare = loaded.judges
    assert (large.timeout_s, large.retries, large.max_tokens) == (120, 5, 4_000)
    assert large.model.max_concurrency == 4
    large, local, spare = (judge.model for judge in loaded.judges)
    assert (large.provider, large.model) == ("openrouter", "vendor/large-model")
    assert (large.api_key_env, large.key_required) == ("OPENROUTER_API_KEY", True)
    assert large.request_options == {"temperature": 0, "reasoning": {"effort": "none"}}
    assert (local.base_url, local.key_required) == ("http://localhost:11434/v1", False)
    assert local.request_options == {"seed": 7}, "further fields go into the body"
    assert (spare.provider, spare.model) == ("openrouter", "openai/gpt-x")
    assert [run.sample_size for run in loaded.profile.judge_runs] == [2, None]
    assert [run.repetitions for run in loaded.profile.judge_runs] == [3, 1]
    assert loaded.profile.aggregation.pass_threshold == 0.7
    assert loaded.profile.security_policy.network_access == "allow"
    assert loaded.warnings == ()


def test_the_least_profile_has_the_documents_defaults(project):
    loaded = profile_of(project, judges=[], judge_runs=[])

    assert loaded.system_prompt is None
    assert loaded.profile.aggregation.method == "median"
    assert loaded.profile.aggregation.pass_threshold is None
    assert loaded.profile.anchors.enabled is False
    policy = loaded.profile.security_policy
    assert (policy.allow_local_python_hooks, policy.network_access) == (False, "deny")
    assert policy.redact_secrets is True


def test_a_profile_is_named_by_id_or_path(project):
    profile_of(project)

    by_path = load_evaluation_profile("configs/evaluation_profiles/e.yaml", project.root)
    assert by_path.profile == load_evaluation_profile("e", project.root).profile
    with pytest.raises(ConfigError, match=r"no evaluation profile `ee`; allowed: e"):
        load_evaluation_profile("ee", project.root)
    assert "differs from the file's name `e`; found `f`" in said(project, evaluation_profile_id="f")


def test_a_threshold_of_exactly_one_warns(project):
    loaded = profile_of(project, aggregation={"pass_threshold": 1})

    assert "`aggregation.pass_threshold` is 1 of 10" in loaded.warnings[0]
    assert loaded.warnings[0].startswith(f"{loaded.path}:")
    assert profile_of(project, aggregation={"pass_threshold": 1.01}).warnings == ()


@pytest.mark.parametrize("threshold", [0, -1, 10.5])
def test_a_threshold_off_the_scale_is_refused(project, threshold):
    assert "pass_threshold" in said(project, aggregation={"pass_threshold": threshold})


@pytest.mark.parametrize("method", ["majority_vote", "all_pass"])
def test_votes_need_a_threshold(project, method):
    assert f"`{method}` needs a `pass_threshold`" in said(project, aggregation={"method": method})
    assert profile_of(project, aggregation={"method": method, "pass_threshold": 6})


def test_an_unused_judge_is_fine_and_unused_anchors_warn(project):
    other = JUDGE | {"judge_id": "other"}
    assert profile_of(project, judges=[JUDGE, other]).warnings == ()

    assert "no references" in profile_of(project, anchors={"enabled": True}).warnings[0]


def test_a_judge_without_a_model_is_asked_by_its_id_with_a_warning(project):
    loaded = profile_of(project, judges=[{"judge_id": "main", "type": "llm_probe"}])

    assert loaded.judges[0].model.model == "main"
    assert "names no `model`; `main` is asked" in loaded.warnings[0]


@pytest.mark.parametrize(
    ("fields", "message"),
    [
        ({"judges": [JUDGE, JUDGE]}, "`judges[1].judge_id`: is used twice"),
        ({"judge_runs": [RUN, RUN]}, "`judge_runs[1].judge_run_id`: is used twice"),
        ({"judge_runs": [RUN | {"judge_id": "mian"}]}, "did you mean `main`?"),
        ({"judges": []}, "no judge has this id; found `main`; allowed: none is declared"),
        ({"judge_runs": []}, "judge_runs: [{judge_run_id: main, judge_id: main}]"),
        ({"judge_system_prompt": "  "}, "`judge_system_prompt`: is empty"),
        ({"judge_system_prompt_path": "gone.md"}, "gone.md: no such file"),
        ({"judges": [JUDGE | {"mdoel": "x"}]}, "`judges[0].mdoel`: unknown key"),
        ({"judges": [JUDGE | {"stream": True}]}, "`judges[0].stream`: is written by the judge"),
        ({"judges": [JUDGE | {"type": "human"}]}, "allowed: 'llm_probe'"),
        (
            {"judges": [JUDGE | {"seed": 1, "request_options": {"seed": 2}}]},
            "stands in `request_options` too",
        ),
        (
            {"judges": [JUDGE | {"request_options": {"model": "x"}}]},
            "`judges[0].request_options.model`",
        ),
    ],
)
def test_a_mistake_is_explained(project, fields, message):
    assert message in said(project, **fields)


def test_all_mistakes_of_a_profile_come_together(project):
    text = said(
        project,
        judges=[JUDGE, JUDGE | {"provider": "ollama"}],
        judge_runs=[RUN | {"judge_id": "nobody"}],
        judge_system_prompt_path="gone.md",
    )

    for piece in ("is used twice", "server `ollama`", "no judge has this id", "no such file"):
        assert piece in text


@pytest.mark.parametrize(
    ("raw", "message"), [(b"", "is empty"), (b" \n", "is empty"), (b"\xff", "is not UTF-8")]
)
def test_a_prompt_file_must_hold_text(project, raw, message):
    project.write("configs/evaluation_profiles/p.md", "x").write_bytes(raw)

    assert message in said(project, judge_system_prompt_path="p.md")


def test_a_prompt_file_lies_in_the_project(project, tmp_path_factory):
    project.write("prompts/judge.md", "Judge.")
    loaded = profile_of(project, judge_system_prompt_path="../../prompts/judge.md")
    assert loaded.system_prompt == "Judge."

    secret = tmp_path_factory.mktemp("else") / "secret.md"
    secret.write_text("x")
    (project.root / "prompts" / "link.md").symlink_to(secret)
    for place in (str(secret), "../../prompts/link.md", "../../../other.md"):
        assert "leaves the project" in said(project, judge_system_prompt_path=place)


# ---- keys and hosts: the rules of suite models


def test_a_foreign_host_needs_a_key_of_its_own_and_leave(project):
    judge = JUDGE | {"base_url": "https://judge.example/v1"}
    assert "OPENROUTER_API_KEY is not sent" in said(project, judges=[judge])

    judge |= {"api_key_env": "JUDGE_API_KEY"}
    assert "--allow-host judge.example" in said(project, judges=[judge])

    loaded = load_evaluation_profile("e", project.root, allowed_hosts=["Judge.Example"])
    assert loaded.judges[0].model.api_key_env == "JUDGE_API_KEY"


def test_the_key_of_another_transport_goes_nowhere(project):
    judge = JUDGE | {"base_url": "https://judge.example/v1", "api_key_env": "ANTHROPIC_API_KEY"}
    write(project, yaml.safe_dump({"schema_version": 1, "evaluation_profile_id": "e",
          "title": "E", "judges": [judge], "judge_runs": [RUN]}), "e")  # fmt: skip

    with pytest.raises(ConfigError, match="needs a key variable of its own"):
        load_evaluation_profile("e", project.root, allowed_hosts=["judge.example"])


def test_an_address_from_the_environment_obeys_the_same_rules(project, monkeypatch):
    monkeypatch.setenv("OPENROUTER_BASE_URL", "https://evil.example/v1")

    assert "`judges[0].provider`: `evil.example` is not a host" in said(project)


def test_a_password_in_an_address_is_not_repeated(project):
    text = said(project, judges=[JUDGE | {"base_url": "https://me:hunter2@openrouter.ai"}])

    assert "holds a user name or password" in text
    assert "hunter2" not in text
