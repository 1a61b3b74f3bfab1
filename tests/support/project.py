"""A small project on disk that tests bend to their needs."""

import json
from pathlib import Path

import yaml

from collect.config import load_inputs, runnable


class Project:
    """Writes YAML files of a project and loads them."""

    def __init__(self, root: Path) -> None:
        self.root = root
        (root / ".git").mkdir()
        for folder in ("cases", "suites", "run_profiles"):
            (root / "configs" / folder).mkdir(parents=True)
        self.suite_path = root / "configs" / "suites" / "s.yaml"
        self.profile_path = root / "configs" / "run_profiles" / "p.yaml"
        self.suite()
        self.profile()

    def write(self, relative, data):
        path = self.root / relative
        path.parent.mkdir(parents=True, exist_ok=True)
        if not isinstance(data, str):
            data = yaml.dump(data, Dumper=yaml.CSafeDumper, sort_keys=False)
        path.write_text(data)
        return path

    def case(self, case_id="one", group="group", **fields):
        base = {
            "schema_version": 1,
            "case_id": case_id,
            "title": f"Case {case_id}",
            "runner": {"type": "llm_probe"},
            "input": {"messages": [{"role": "user", "content": f"Say {case_id}."}]},
        }
        return self.write(f"configs/cases/{group}/{case_id}/test.yaml", base | fields)

    def suite(self, **fields):
        base = {
            "schema_version": 1,
            "suite_id": "s",
            "title": "Suite",
            "models": [
                {
                    "model_id": "m",
                    "provider": "ollama_openai",
                    "warmup": 0,
                    "requested_model": "real-m",
                    "base_url": "http://127.0.0.1:9/v1",
                }
            ],
        }
        return self.write("configs/suites/s.yaml", base | fields)

    def model(self, **fields):
        base = {"model_id": "m", "provider": "ollama_openai", "warmup": 0, "requested_model": "r"}
        self.suite(models=[base | fields])

    def profile(self, **fields):
        base = {"schema_version": 1, "run_profile_id": "p", "title": "Profile"}
        return self.write("configs/run_profiles/p.yaml", base | fields)

    def prompts(self, name, prompts):
        return self.write(f"configs/suites/{name}", json.dumps(prompts))

    def load(self, suite="s", profile="p", working_dir=None, *, skip=False, **options):
        inputs = load_inputs(suite, profile, working_dir=working_dir or self.root, **options)
        return runnable(inputs, skip_unevaluable=skip)
