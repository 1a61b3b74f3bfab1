"""Configurations of the older tool, as its documentation has them, run unchanged."""

import contextlib
import json

import pytest

from tests.support.agent_bench import AgentBench
from tests.support.real_openclaw import real_image

pytestmark = pytest.mark.agents

TURNS = """\
schema_version: 1
case_id: drafts
title: Two drafts
runner:
  type: openclaw
input:
  messages:
    - role: system
      content: Keep context across user turns.
  turns:
    - role: user
      content: "Create draft.md. [write draft.md: one] [say: Created]"
    - role: user
      content: "Revise draft.md and create report.md. [write report.md: Café DONE] [say: Done]"
  context:
    openclaw:
      expected_artifact: report.md
deterministic_checks:
  - check_id: report-present
    dimensions: [task]
    declarative:
      kind: openclaw_workspace_file_present
      relative_path: report.md
      contains_all: [cafe, done]
  - check_id: response-present
    dimensions: [task]
    declarative:
      kind: final_response_present
  - check_id: succeeded
    declarative:
      kind: status_is
      status: success
  - check_id: artifact
    declarative:
      kind: output_artifact_present
tags: [smoke, support_agent]
"""

MINIMAL = """\
schema_version: 1
case_id: my_case
title: My case
runner:
  type: openclaw
input:
  messages:
    - role: user
      content: "What is 2 + 2? [say: 4]"
expectations:
  hard_expectations:
    - text: Answers with 4.
deterministic_checks:
  - check_id: response-present
    dimensions: [task]
    declarative:
      kind: final_response_present
tags: [smoke]
"""

SUITE = """\
schema_version: 1
suite_id: my_suite
title: My benchmark suite
models:
  - model_id: gpt4o_mini
    requested_model: openai/gpt-4o-mini
    label: GPT-4o mini
    primary_params:
      reasoning:
        effort: low
case_selection:
  include_tags: [smoke]
  exclude_case_ids: [known_flaky_case]
openclaw:
  agent_assignments:
    - agent_id: support_agent
      case_selection:
        include_tags: [support_agent]
"""

PROFILE = """\
schema_version: 1
run_profile_id: standard_run
title: Standard run profile
runner_defaults:
  temperature: 0
  max_tokens: 1024
  timeout_seconds: 60
  retries: 2
  max_turns: 8
execution_policy:
  max_concurrency: 2
  run_repetitions: 1
  fail_fast: false
  stop_on_runner_error: true
openclaw:
  agent_id: basic_agent
  image: {image}
  timeout_seconds: 120
  docker_cli: podman
"""

AGENT = """\
schema_version: 1
agent_id: {name}
title: An agent
openclaw:
  identity: {{name: Robin}}
  agents_defaults: {{timeoutSeconds: 100}}
  agent: {{id: {id}, prompt: Answer briefly.}}
  model_defaults: {{aliases: {{main: main-model}}}}
"""


def test_suite_profile_agents_and_cases_run_end_to_end(tmp_path):
    bench = AgentBench(tmp_path / "project", real_image())
    with contextlib.closing(bench):
        bench.write("configs/cases/group/drafts/test.yaml", TURNS)
        bench.write("configs/cases/my_case/test.yaml", MINIMAL)
        flaky = MINIMAL.replace("my_case", "known_flaky_case")
        bench.write("configs/cases/known_flaky_case/test.yaml", flaky)
        bench.write("configs/suites/my_suite.yaml", SUITE)
        bench.write("configs/run_profiles/standard_run.yaml", PROFILE.format(image=bench.image))
        for name, own in (("basic_agent", "main"), ("support_agent", "support-agent")):
            agent = AGENT.format(name=name, id=own)
            bench.write(f"configs/agents/{name}/agent.yaml", agent)
            bench.write(f"configs/agents/{name}/workspace/SOUL.md", name)

        result = bench.run(
            suite="my_suite",
            profile="standard_run",
            env={"OPENROUTER_BASE_URL": bench.endpoint.base_url, "OPENROUTER_API_KEY": "sk-or-x"},
        )

        rows = bench.rows()
        assert result.exit_code == 0, result.output
        assert {key[0]: row["passed"] for key, row in rows.items()} == {
            "drafts": True, "my_case": True,
        }  # fmt: skip
        assert rows["drafts", 1]["checks_passed"] == 4
        given = bench.root / "runs/r/workspaces/gpt4o_mini"
        config = json.loads((given / "drafts/1/agent/openclaw.json").read_text())
        assert config["agents"]["list"][0]["id"] == "support-agent"
        assert config["agents"]["defaults"]["model"]["primary"] == "openrouter/openai/gpt-4o-mini"
        config = json.loads((given / "my_case/1/agent/openclaw.json").read_text())
        assert config["agents"]["list"][0]["id"] == "main"
        for body in bench.model.bodies:
            assert body["model"] == "openai/gpt-4o-mini"
            assert (body["temperature"], body["max_tokens"]) == (0, 1024)
            assert body["reasoning"]["effort"] == "low"
            assert "max_completion_tokens" not in body
