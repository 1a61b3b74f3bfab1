"""Runs to be exported as Every Eval Ever, and the files of an export read back."""

import hashlib
import json

import orjson
import zstandard

from analyze.importers import IMPORTERS, ImportRequest
from schemas.run.trace import artifact_frame
from tests.support import lm_eval_files, promptfoo_files
from tests.support.analyze_cli import call
from tests.support.inspect_logs import members, sample, write_eval
from tests.support.run_rows import TOOL_EVENTS

SUMS = {"exact_match,strict": 0.5, "exact_match,loose": 1.0}
SUM_ROWS = (
    lm_eval_files.generated(0, 1.0, name="strict"),
    lm_eval_files.generated(1, 0.0, name="strict", answers=("It is 4",)),
    lm_eval_files.generated(0, 1.0, name="loose"),
    lm_eval_files.generated(1, 1.0, name="loose", answers=("It is 4",)),
)

PROMPT = "Be a strict judge."


class Exported:
    """One evaluation of an export: its aggregate, its rows, and where they lie."""

    def __init__(self, root, path):
        self.path = path.relative_to(root).as_posix()
        self.aggregate = json.loads(path.read_text("utf-8"))
        self.results = {
            one["metric_config"]["metric_id"]: one for one in self.aggregate["evaluation_results"]
        }
        details = self.aggregate.get("detailed_evaluation_results")
        self.rows = []
        if details is not None:
            content = (root / details["file_path"]).read_bytes()
            assert hashlib.sha256(content).hexdigest() == details["checksum"]
            self.rows = [json.loads(line) for line in content.decode().splitlines()]
            assert len(self.rows) == details["total_rows"]

    @property
    def details(self):
        return self.aggregate["source_metadata"]["additional_details"]

    def row(self, case_id, repetition=1):
        wanted = case_id, str(repetition)
        (found,) = (
            row
            for row in self.rows
            if (row["metadata"]["case_id"], row["metadata"]["repetition"]) == wanted
        )
        return found


def export(what, root, *words):
    """Export and read back, by the local name of the model; nothing but these files is there."""
    done = call("export", "eee", what, "-o", root, *words)
    assert done.code == 0, done.err
    names = {path.relative_to(root).as_posix() for path in root.rglob("*") if path.is_file()}
    assert {line.partition("/data/")[2] for line in done.out.splitlines()} == {
        name.removeprefix("data/") for name in names
    }
    found = [Exported(root, path) for path in sorted(root.rglob("*.json"))]
    detail_files = {
        one.aggregate["detailed_evaluation_results"]["file_path"] for one in found if one.rows
    }
    assert names == {one.path for one in found} | detail_files
    info = [one.aggregate["model_info"]["additional_details"] for one in found]
    return {one.get("model_id", ""): each for one, each in zip(info, found, strict=True)}


def write_cases(run, **validators):
    """Write the cases of a run, each with a message and perhaps a validator."""
    case_ids = dict.fromkeys(trial.case_id for trial in run.trials)
    lines = [
        orjson.dumps({
            "case_id": case_id, "messages": [{"role": "user", "content": f"Say {case_id}."}],
            "validator": validators.get(case_id),
            "context": {"llm_probe": {"tools": ["df"] if case_id == "tool" else []}},
        })
        for case_id in case_ids
    ]  # fmt: skip
    run.write()
    (run.path / "cases.jsonl.zst").write_bytes(zstandard.compress(b"\n".join(lines) + b"\n"))


def mixed(new_run, run_id="run-1"):
    """A run of two models called the same: passes, fails, failures of both kinds, tools, gaps."""
    run = new_run(run_id)
    for model_id, level in (("calm", None), ("wild", "high")):
        own = {"model_id": model_id, "thinking_level": level}
        for repetition in (1, 2, 3):
            run.result(run.plan("mostly", repetition, **own), passed=repetition != 2)
            run.result(run.plan("late", repetition, **own), failure_type="timeout", raw_output="")
            run.result(run.plan("gone", repetition, **own), failure_type="http_503")
        run.traced(run.plan("tool", 1, **own), *TOOL_EVENTS, raw_output="It is half full.")
        run.plan("missing", 1, **own)
    write_cases(run, mostly={"type": "one_of", "values": ["yes", "ja"]})
    return run


def judged(new_run, run_id="judged"):
    """A run of which two trials were judged, one by no answer that could be used."""
    run = new_run(run_id)
    for case_id, said in (("a", 8), ("b", 4.5), ("c", "refusal")):
        trial = run.plan(case_id)
        run.result(trial, passed=True)
        run.judged(trial, said, threshold=7)
    (path,) = _judge_file(run)
    run.asked(run.trials[0], 9, iteration=2, artifact_path=path)
    write_cases(run)
    return run


def _judge_file(run):
    folder = run.path / "artifacts"
    folder.mkdir(parents=True)
    exchange = {"exchanges": [{"messages": [{"role": "system", "content": PROMPT}]}]}
    (folder / "judge.judge.jsonl.zst").write_bytes(artifact_frame(exchange))
    return ["artifacts/judge.judge.jsonl.zst#0"]


def imports(tmp_path, runs_dir):
    """Runs that were imported from three other tools, by the name of the importer."""
    log = write_eval(tmp_path / "log.eval", members(sample(), sample(epoch=2, value="I")))
    rows = promptfoo_files.export(promptfoo_files.row(), promptfoo_files.refused(index=1))
    (tmp_path / "out.json").write_text(json.dumps(rows))
    results = lm_eval_files.results(sums=SUMS)
    sums = lm_eval_files.evaluated(tmp_path / "acme__tiny", results, sums=SUM_ROWS)
    paths = {"inspect": log, "promptfoo": tmp_path / "out.json", "lm-eval": sums}
    found = {}
    for name, path in paths.items():
        (written,) = IMPORTERS[name].run(ImportRequest(path, runs_dir))
        found[name] = written.run_dir
    return found
