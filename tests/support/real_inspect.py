"""The real Inspect: evals on its own mock model, and what its own readers say of the logs."""

import json
import os
import subprocess

import pytest

from tests.support.own_sample import ANSWERS, REFUSED
from tests.support.paths import TOOLS

VERSION = "0.3.285"
INSTALLED = TOOLS / f".inspect-{VERSION}"
PYTHON = TOOLS / f"inspect-{VERSION}" / "bin/python"

CODES = """
import tiktoken

CODES = tiktoken.Encoding("bytes", pat_str=r"[\\s\\S]",
    mergeable_ranks={bytes([n]): n for n in range(256)}, special_tokens={})
tiktoken.get_encoding = tiktoken.encoding_for_model = lambda name: CODES  # else it is fetched
"""

SCRIPT = '''
import json, sys, zipfile

from inspect_ai import Epochs, Task, eval
from inspect_ai._util.zipfile import zipfile_compress_kwargs
from inspect_ai.analysis import SampleSummary, evals_df, samples_df
from inspect_ai.dataset import MemoryDataset, Sample
from inspect_ai.log import read_eval_log
from inspect_ai.log._recorders.chunked.convert import convert_eval_logs_to_chunked
from inspect_ai.model import ModelOutput, ModelUsage, get_model
from inspect_ai.scorer import (
    Score, accuracy, includes, match, mean, scorer, stderr, std, value_to_float,
)
from inspect_ai.solver import generate, solver, system_message, use_tools
from inspect_ai.tool import tool

folder = sys.argv[1]
asked = {}

def answer(input, tools, tool_choice, config):
    text = input[-1].text
    n = asked[text] = asked.get(text, 0) + 1
    if tools and input[-1].role == "user":
        out = ModelOutput.for_tool_call("mockllm/model", "add", {"x": 2, "y": n})
    else:
        out = ModelOutput.from_content("mockllm/model", "4" if (len(text) + n) % 3 else "five")
    out.usage = ModelUsage(input_tokens=7 + n, output_tokens=3, total_tokens=15 + n,
        input_tokens_cache_read=4, input_tokens_cache_write=1, reasoning_tokens=1)
    return out

@tool
def add():
    async def execute(x: int, y: int):
        """Add two numbers.

        Args:
            x: one
            y: other
        """
        if y % 5 == 0:
            raise RuntimeError("no five")
        return str(x + y)
    return execute

@scorer(metrics={"part": [mean(), stderr()], "whole": [accuracy()]})
def parts():
    async def score(state, target):
        said = state.output.completion
        return Score(value={"part": len(said) / 7, "whole": int(said == "4")}, answer=said)
    return score

@scorer(metrics=[mean(), std(), stderr()])
def between():
    async def score(state, target):
        n = len(state.input_text) + state.epoch
        return Score(value=float("nan") if n % 4 == 0 else n / 7, explanation="between")
    return score

@solver
def fragile():
    async def solve(state, generate):
        if state.sample_id == "s2" and state.epoch == 2:
            raise ValueError("broken on purpose")
        if state.sample_id == "s1":
            state.messages += state.messages * 3
        return await generate(state)
    return solve

def samples(n=4):
    asks = [f"{'what ' * k}is 2+2?" for k in range(n)]
    return MemoryDataset([Sample(input=one, target="4", id=f"s{k}") for k, one in enumerate(asks)])

TASKS = {
    "verdicts": Task(dataset=samples(), solver=[system_message("brief"), generate()],
        scorer=[match(), includes(), parts()], epochs=3, name="verdicts"),
    "reduced": Task(dataset=samples(), solver=generate(), scorer=match(),
        epochs=Epochs(3, ["mean", "max"]), name="reduced"),
    "between": Task(dataset=samples(6), solver=generate(), scorer=between(), epochs=2,
        name="between"),
    "failing": Task(dataset=samples(), solver=[use_tools(add()), fragile()], scorer=[match()],
        epochs=3, message_limit=4, name="failing"),
    "unreduced": Task(dataset=samples(), solver=[fragile()], scorer=[match()], epochs=Epochs(3, []),
        name="unreduced"),
}
to_float = value_to_float()

def number(value):
    found = to_float(value)
    return None if found != found else found

def flat(scores):
    for name, score in (scores or {}).items():
        if isinstance(score.value, dict):
            yield from ((f"{name}/{key}", number(value)) for key, value in score.value.items())
        else:
            yield name, number(score.value)

logs = []
for kind in ("zstd", "deflate", "json", "chunked"):
    method = zipfile.ZIP_DEFLATED if kind == "deflate" else zipfile.ZIP_ZSTANDARD
    zipfile_compress_kwargs["compression"] = method
    for name, task in TASKS.items():
        asked.clear()
        model = get_model("mockllm/model", custom_outputs=answer)
        (log,) = eval(task, model=model, display="none",
            log_dir=f"{folder}/{kind}", log_format="json" if kind == "json" else "eval",
            fail_on_error=False, max_samples=1)
        path = log.location
        if kind == "chunked":
            convert_eval_logs_to_chunked(path, f"{folder}/chunks")
            path = f"{folder}/chunks/{path.rpartition('/')[2]}"
        log = read_eval_log(log.location)
        frame = samples_df(log.location, columns=SampleSummary, quiet=True)
        rows = json.loads(frame.to_json(orient="records"))
        evals = evals_df(log.location, quiet=True).iloc[0]
        logs.append({
            "kind": kind, "task": name, "path": path.removeprefix("file://"), "status": log.status,
            "eval_id": log.eval.eval_id, "model": log.eval.model,
            "headline": [evals["score_headline_name"], evals["score_headline_metric"],
                float(evals["score_headline_value"])],
            "scores": [{"name": s.name, "scorer": s.scorer, "reducer": s.reducer,
                "metrics": {k: m.value for k, m in s.metrics.items()}} for s in log.results.scores],
            "eval_frame": json.loads(evals.to_json(double_precision=15)),
            "frame": {f"{r['id']}/{r['epoch']}": r for r in rows},
            "samples": {f"{s.id}/{s.epoch}": {
                "scores": dict(flat(s.scores)), "error": s.error and s.error.message,
                "limit": s.limit and s.limit.type, "total_time": s.total_time,
                "usage": {k: u.model_dump() for k, u in s.model_usage.items()},
                "answer": s.output.completion, "n_messages": len(s.messages)} for s in log.samples},
        })
json.dump(logs, sys.stdout)
'''


SUMS = """
import json, sys
from inspect_ai import Task, eval
from inspect_ai.dataset import MemoryDataset, Sample
from inspect_ai.model import ModelOutput, get_model
from inspect_ai.scorer import match
from inspect_ai.solver import generate

folder, answers, refused = sys.argv[1], *map(json.loads, sys.argv[2:])
asked = {}

def answer(input, tools, tool_choice, config):
    text = input[-1].text
    if text in refused:
        raise RuntimeError("503: overloaded")
    n = asked[text] = asked.get(text, 0) + 1
    return ModelOutput.from_content("mockllm/model", answers[text][n - 1])

samples = [Sample(input=one, target=str(2 * int(one.split("+")[0])), id=one) for one in answers]
task = Task(dataset=MemoryDataset(samples), solver=generate(), scorer=match(location="exact"),
    epochs=len(next(iter(answers.values()))), name="sums")
(log,) = eval(task, model=get_model("mockllm/model", custom_outputs=answer), display="none",
    log_dir=folder, fail_on_error=False, max_samples=1)
print("log at", log.location.removeprefix("file://"))
"""
"""What `own_sample` has, asked by Inspect."""


def real_inspect():
    """Return the Python with Inspect; in CI its absence is a failure, else a reason to skip."""
    if not PYTHON.exists():
        why = f"needs Inspect {VERSION}: make inspect"
        (pytest.fail if os.environ.get("CI") == "true" else pytest.skip)(why)
    return PYTHON


def evaluated(folder):
    """Run evals of every kind, and return what Inspect says of each of their logs."""
    said = _done(folder, SCRIPT)
    return json.loads(said[said.index("[{") :])


def evaluated_sums(folder):
    """Let Inspect ask the sums of `own_sample`; return the path of its log."""
    said = _done(folder, SUMS, json.dumps(ANSWERS), json.dumps([*REFUSED]))
    return said.rpartition("log at ")[2].strip()


def _done(folder, script, *words):
    command = [real_inspect(), "-c", CODES + script, str(folder), *words]
    env = {"PATH": os.environ["PATH"], "HOME": str(folder), "INSPECT_DISPLAY": "none"}
    done = subprocess.run(
        command, capture_output=True, text=True, timeout=200, check=False, cwd=folder, env=env
    )
    assert done.returncode == 0, done.stderr[-4_000:]
    return done.stdout
