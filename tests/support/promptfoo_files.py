"""Files of promptfoo, made by hand."""

import json
import sqlite3
from contextlib import closing

PROMPT = {"raw": "Say {{word}}", "label": "Say {{word}}", "id": "a" * 64, "provider": "tiny"}

TABLES = """
create table evals (id text primary key, created_at integer, description text, results text,
    config text, prompts text, vars text, runtime_options text);
create table eval_results (id text, created_at integer, updated_at integer, eval_id text,
    prompt_idx integer, test_idx integer, test_case text, prompt text, prompt_id text,
    provider text, latency_ms integer, cost real, response text, error text, success integer,
    score real, grading_result text, named_scores text, metadata text, failure_reason integer);
create index reasons on eval_results (json_extract(grading_result, '$.reason'));
"""


def component(passed=True, kind="equals", reason="Assertion passed", **fields):
    score = 1 if passed else 0
    return {
        "pass": passed, "score": score, "reason": reason, "assertion": {"type": kind}
    } | fields  # fmt: skip


def row(word="hello", *components, index=0, column=0, **fields):
    """Return a row of an export; it passes where all its assertions do."""
    every = list(components) or [component()]
    passed = all(one["pass"] for one in every)
    score = sum(one["score"] for one in every) / len(every)
    test = {"vars": {"word": word}, "assert": [one["assertion"] for one in every]}
    base = {
        "id": f"row-{index}-{column}", "promptIdx": column, "testIdx": index, "testCase": test,
        "promptId": "a" * 64, "provider": {"id": "openai:chat:acme-tiny", "label": "tiny"},
        "prompt": {"raw": f"Say {word}", "label": "Say {{word}}"}, "vars": {"word": word},
        "response": {
            "output": word, "cached": False, "finishReason": "stop",
            "tokenUsage": {"prompt": 7, "completion": 3, "total": 10},
        },
        "error": None, "failureReason": 0 if passed else 1, "success": passed, "score": score,
        "latencyMs": 27, "cost": 0.25, "namedScores": {"part": 0.5}, "metadata": {},
        "gradingResult": {
            "pass": passed, "score": score, "componentResults": every,
            "reason": "All assertions passed" if passed else "not equal",
        },
    }  # fmt: skip
    return base | fields


def refused(word="down", message="API error: 400 X", **fields):
    """Return a row whose provider gave no answer."""
    return row(word, error=message, failureReason=2, success=False, score=0, gradingResult=None,
               response={"error": message}, **fields)  # fmt: skip


def export(*rows, prompts=(PROMPT,), **fields):
    """Return an export of version 3."""
    summary = {
        "version": 3, "timestamp": "2026-03-04T05:06:07.000Z", "prompts": list(prompts),
        "results": list(rows), "stats": {"successes": 1},
    }  # fmt: skip
    base = {
        "evalId": "eval-abc-2026-03-04T05:06:07", "results": summary,
        "config": {
            "description": "small", "tests": [],
            "providers": [{"id": "openai:chat:acme-tiny", "config": {"apiKey": "hunter2hunter2"}}],
        },
        "shareableUrl": None, "metadata": {"promptfooVersion": "0.123.1"},
    }  # fmt: skip
    return base | fields


def database(path, **evals):
    """Write a database of evaluations, rows by the evaluation's id."""
    with closing(sqlite3.connect(path)) as base:
        base.executescript(TABLES)
        for n, (eval_id, rows) in enumerate(evals.items()):
            document = export()
            base.execute(
                "insert into evals values (?, ?, 'small', '{}', ?, ?, '[]', null)",
                (
                    eval_id,
                    1_772_600_767_000 + n,
                    json.dumps(document["config"]),
                    json.dumps([PROMPT]),
                ),
            )
            base.executemany(
                f"insert into eval_results values ({','.join('?' * 20)})",
                [_stored(eval_id, one) for one in rows],
            )
        base.commit()
    return path


def _stored(eval_id, one):
    return (
        one["id"], "2026-03-04 05:06:07", "2026-03-04 05:06:07", eval_id, one["promptIdx"],
        one["testIdx"], json.dumps(one["testCase"]), json.dumps(one["prompt"]), one["promptId"],
        json.dumps(one["provider"]), one["latencyMs"], one["cost"], json.dumps(one["response"]),
        one["error"], int(one["success"]), one["score"], json.dumps(one["gradingResult"]),
        json.dumps(one["namedScores"]), json.dumps(one["metadata"]), one["failureReason"],
    )  # fmt: skip
