"""A run of cases for a judge, and what its judges left."""

import json

import zstandard

from schemas.run.trace import REFERENCE, whole_frame
from tests.support.judge_endpoint import JudgedModel
from tests.support.kept_run import collect, collect_log

SUITE = ("--suite", "s", "--run-profile", "p")
RUBRIC = {"criteria": [
    {"name": "Manners", "what_good_looks_like": "Greets.", "what_bad_looks_like": "Does not."},
]}  # fmt: skip


class Judged:
    """A run of cases for a judge, which is judged later."""

    def __init__(self, project, endpoint):
        self.project, self.endpoint = project, endpoint
        self.model = endpoint.script = JudgedModel()
        project.model(base_url=endpoint.base_url)
        self.dir = project.root / "runs" / "r"
        self.profile()

    def profile(self, name="strict", *, judge=(), runs=None, judges=None, **fields):
        main = {"judge_id": "main", "type": "llm_probe", "provider": "openai_chat",
                "model": "judge-1", "base_url": self.endpoint.base_url}  # fmt: skip
        base = {
            "schema_version": 1, "evaluation_profile_id": name, "title": "Strict",
            "judges": judges or [main | dict(judge)],
            "judge_runs": runs or [{"judge_run_id": "once", "judge_id": "main"}],
            "aggregation": {"pass_threshold": 7},
        }  # fmt: skip
        self.project.write(f"configs/evaluation_profiles/{name}.yaml", base | fields)

    def run(self, *words, n_cases=1, **fields):
        for number in range(n_cases):
            self.project.case(f"c{number}", **{"rubric": RUBRIC} | fields)
        done = collect_log(self.project.root, "run", *SUITE, "--run-id", "r", *words)
        assert done.returncode == 0, done.stderr
        return done

    def evaluate(self, *words, code=0, profile="strict", mirrored=False, env=None):
        make = collect if mirrored else collect_log
        named = ("--evaluation-profile", profile) if profile else ()
        done = make(self.project.root, "evaluate", "r", *named, *words, **(env or {}))
        assert done.returncode == code, done.stderr + done.stdout
        return done

    def report(self, *words, **how):
        return json.loads(self.evaluate("--json", *words, **how).stdout)

    def lines(self, kind=None):
        path = self.dir / "evaluations.jsonl"
        every = [json.loads(one) for one in path.read_text().splitlines()] if path.exists() else []
        return [one for one in every if kind in (None, one["record_type"])]

    def judge_record(self, line):
        name, offset = REFERENCE.fullmatch(line["artifact_path"]).groups()
        with (self.dir / name).open("rb") as file:
            return json.loads(zstandard.decompress(whole_frame(file, int(offset))))
