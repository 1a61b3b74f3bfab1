"""A project whose cases run with the real OpenClaw against a scripted model."""

import json
import os
import subprocess
import sys
from typing import NamedTuple

import yaml

from tests.support.agent_model import AgentModel
from tests.support.endpoint import Endpoint

KEY = "sk-scripted-0123456789abcdef0123456789"


class Ended(NamedTuple):
    """How a command ended, and all that it printed."""

    exit_code: int
    output: str


class AgentBench:
    """Writes cases, runs them by the command, and reads what came of it."""

    def __init__(self, root, image):
        self.root = root
        (root / ".git").mkdir(parents=True)
        self.endpoint = Endpoint()
        self.model = self.endpoint.script = AgentModel()
        self.image = image
        self.write("configs/agents/helper/agent.yaml", {
            "schema_version": 1, "agent_id": "helper", "title": "Helper",
            "openclaw": {"agent": {"id": "help-desk", "skills": []}},
        })  # fmt: skip
        self.write("configs/agents/helper/workspace/SOUL.md", "Be brief.\n")
        self.suite()
        self.profile()

    def write(self, name, content):
        path = self.root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(content if isinstance(content, str) else yaml.safe_dump(content))
        return path

    def suite(self, **model):
        base = {
            "model_id": "m", "provider": "openai_chat", "requested_model": "asked-m",
            "base_url": self.endpoint.base_url, "api_key_env": "SCRIPTED_API_KEY",
        }  # fmt: skip
        self.write("configs/suites/s.yaml", {
            "schema_version": 1, "suite_id": "s", "title": "S", "models": [base | model],
        })  # fmt: skip

    def profile(self, repetitions=1, concurrency=4, **block):
        base = {"agent_id": "helper", "docker_cli": "podman", "image": self.image,
                "timeout_seconds": 90}  # fmt: skip
        openclaw = {name: one for name, one in (base | block).items() if one is not None}
        self.write("configs/run_profiles/p.yaml", {
            "schema_version": 1, "run_profile_id": "p", "title": "P",
            "execution_policy": {"max_concurrency": concurrency, "run_repetitions": repetitions},
            "runner_defaults": {"retries": 0}, "openclaw": openclaw,
        })  # fmt: skip

    def case(self, case_id, *turns, messages=(), checks=(), **fields):
        prompts = [{"role": "user", "content": turn} for turn in turns]
        given = {"turns": prompts} if len(prompts) > 1 or messages else {"messages": prompts}
        given |= {"messages": list(messages)} if messages else {}
        self.write(f"configs/cases/{case_id}/test.yaml", {
            "schema_version": 1, "case_id": case_id, "title": case_id,
            "runner": fields.pop("runner", {"type": "openclaw"}),
            "input": given | fields.pop("input", {}),
            "deterministic_checks": [
                {"check_id": f"c{number}", "declarative": check}
                for number, check in enumerate(checks)
            ], **fields,
        })  # fmt: skip

    def command(self, *words, run_id="r", suite="s", profile="p"):
        """Return the command line of a run, new or gone on with."""
        new = ["--suite", suite, "--run-profile", profile, "--run-id", run_id]
        asked = ["--resume", run_id] if "--resume" in words else new
        more = [one for one in words if one != "--resume"]
        return [sys.executable, "-P", "-m", "collect", "run", *asked, "--runs", "runs", *more]

    def environment(self, **more):
        return os.environ | {"SCRIPTED_API_KEY": KEY} | more

    def run(self, *words, env=(), **named):
        """Make a run and return how the command ended."""
        done = subprocess.run(
            self.command(*words, **named),
            cwd=self.root,
            env=self.environment(**dict(env)),
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            check=False,
            timeout=300,
        )
        return Ended(done.returncode, done.stdout)

    def rows(self, run_id="r"):
        """Return the newest line of each trial by case_id and repetition."""
        lines = (self.root / "runs" / run_id / "results.jsonl").read_text().splitlines()
        results = [one for one in map(json.loads, lines) if one["record_type"] == "result"]
        return {(one["case_id"], one["repetition"]): one for one in results}

    def left(self, case_id, repetition=1, run_id="r"):
        """Return the folder of what a trial has left."""
        return self.root / "runs" / run_id / "workspaces" / "m" / case_id / str(repetition)

    def close(self):
        self.endpoint.close()
