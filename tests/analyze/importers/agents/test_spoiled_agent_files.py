"""What agents have left, spoiled in hundreds of ways: a run, or a sentence, and nothing between."""

import json
import random

import pytest

from analyze.api import open_history
from analyze.importers.detect import detect
from schemas.errors import BenchError
from schemas.redact import MARK
from schemas.run.result import parse_line
from tests.support.agent_logs import SAMPLES, spoiled
from tests.support.agent_sessions import (
    Claude,
    codex,
    imported,
    put,
    rows_of,
    said_by,
    text,
    texts_of,
    use,
)

N_SEEDS = 300
KEY = "sk-abcdefghijklmnopqrst123456"
FORKED = "50ae871a-f00c-4ca3-9780-0151fdca3b14"

FILES = {
    "claude-code": {
        "11111111-2222-4333-8444-555555555555.jsonl": "claude-2.1.197-session.jsonl",
        "51efecaa-d1f0-4ea1-9a3c-28eba4155f7c.jsonl": "claude-2.1.197-parent.jsonl",
        "agent-a0bbf22755092f6e3.jsonl": "claude-2.1.197-started.jsonl",
        f"{FORKED}.jsonl": "claude-2.1.197-forked.jsonl",
    },
    "codex": {
        "rollout-1.jsonl": "codex-0.171.0-session.jsonl",
        "rollout-2.jsonl": "codex-0.171.0-parent.jsonl",
        "rollout-3.jsonl": "codex-0.171.0-started.jsonl",
        "rollout-4.jsonl": "codex-0.171.0-refused.jsonl",
    },
    "mini-swe-agent": {
        f"{name}/{name}.traj.json": f"mini-swe-agent-2.4.6-{name}.json"
        for name in ("submitted", "refused", "unfollowed", "killed")
    },
}
"""Real files by the name that each has in a folder."""


def scratched(raw, seed):
    """Return bytes with some of them changed, and the end cut off now and then."""
    chance = random.Random(seed)
    found = bytearray(raw)
    for _ in range(chance.randrange(1, 12)):
        found[chance.randrange(len(found))] = chance.choice(b'\x00\xff"{}[],:\n9e-')
    return bytes(found[: chance.randrange(len(found))] if not chance.randrange(4) else found)


@pytest.mark.parametrize("form", FILES)
def test_spoiled_files_become_a_run_or_a_sentence(form, tmp_path):
    runs_dir, n_runs, messages = tmp_path / "runs", 0, []
    for seed in range(N_SEEDS):
        folder = tmp_path / f"in-{seed}"
        chance = random.Random(seed)
        for name, sample in FILES[form].items():
            raw = (SAMPLES / sample).read_bytes()
            path = folder / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(
                chance.choice([spoiled, scratched])(raw, seed * 100 + chance.randrange(99))
            )
        assert {one.format for one in detect(folder)} <= {form}
        try:
            written = imported(form, folder, runs_dir, run_id=f"r{seed}")
        except BenchError as exc:
            messages.append(str(exc).strip())
            continue
        for run in written:
            n_runs += 1
            lines = (run.run_dir / "results.jsonl").read_bytes().splitlines(keepends=True)
            assert [parse_line(one).run_id for one in lines] == [run.run_dir.name] * run.n_trials
            assert all(one.message.strip() for one in run.findings)
            (again,) = imported(form, folder, runs_dir, run_id=f"r{seed}")
            assert not again.is_new

    assert n_runs > N_SEEDS / 2
    assert all(messages)
    assert [one.name for one in runs_dir.iterdir() if one.name.startswith(".")] == []
    with open_history(runs_dir) as history:
        ((n_trials, n_steps),) = history.sql(
            "SELECT (SELECT count(*) FROM trials), (SELECT count(*) FROM steps)"
        ).rows()
    assert (n_trials > n_runs, n_steps > n_trials) == (True, True)


def test_secrets_of_a_session_stay_in_the_original_alone(tmp_path):
    claude = Claude("s1")
    put(tmp_path / "p" / "s1.jsonl", claude.user(f"Use {KEY} now"),
        claude.answer("m1", text(f"I have {KEY}"), use("c1", "Bash", command=f"curl {KEY}")),
        claude.result("c1", f"no {KEY}", is_error=True))  # fmt: skip
    put(tmp_path / "c" / "rollout-1.jsonl", codex("session_meta", 1, id="s2", cwd="/x"),
        codex("turn_context", 1, model="m"), said_by(2, "user", f"Use {KEY}"),
        said_by(3, "assistant", f"I have {KEY}"),
        codex("event_msg", 4, type="error", message=f"refused {KEY}"))  # fmt: skip
    runs_dir = tmp_path / "runs"

    for form, folder in (("claude-code", "p"), ("codex", "c")):
        (run,) = imported(form, tmp_path / folder, runs_dir)
        (row,) = rows_of(run).values()
        assert KEY not in json.dumps(row)
        assert (MARK in row["prompt_name"], MARK in row["raw_output"]) == (True, True)
    said = json.dumps(texts_of(runs_dir))
    assert (KEY in said, MARK in said) == (False, True)
