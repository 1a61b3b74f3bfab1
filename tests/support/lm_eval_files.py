"""Files of lm-evaluation-harness, made by hand."""

import hashlib
import json

STAMP = "2026-03-04T05-06-07.123456"


def sha(value):
    return hashlib.sha256(str(value).encode()).hexdigest()


def generated(doc_id, score, *, name="none", metric="exact_match", answers=("4",), **fields):
    """Return a row of a generation."""
    base = {
        "doc_id": doc_id, "doc": {"question": f"q{doc_id}"}, "target": "4",
        "arguments": {"gen_args_0": {"arg_0": f"Q: q{doc_id}\nA:", "arg_1": {"until": ["\n"]}}},
        "resps": [list(answers)], "filtered_resps": [answers[0]], "filter": name,
        "metrics": [metric], "doc_hash": sha(doc_id), "prompt_hash": sha(f"p{doc_id}"),
        "target_hash": sha("4"), metric: score,
    }  # fmt: skip
    return base | fields


def chosen(doc_id, likelihoods, **scores):
    """Return a row of a choice; `likelihoods` by its text."""
    context = f"The capital of {doc_id} is"
    return {
        "doc_id": doc_id, "doc": {}, "target": "0",
        "arguments": {
            f"gen_args_{n}": {"arg_0": context, "arg_1": one} for n, one in enumerate(likelihoods)
        },
        "resps": [[[str(value), "False"]] for value in likelihoods.values()],
        "filtered_resps": [[str(value), "False"] for value in likelihoods.values()],
        "filter": "none", "metrics": list(scores), **scores,
    }  # fmt: skip


def results(**entries):
    """Return a file of results; each entry is a task's metrics."""
    return {
        "results": {
            task: {"name": task, "alias": task, "sample_len": 2} | entry
            for task, entry in entries.items()
        },
        "group_subtasks": {}, "configs": {}, "versions": dict.fromkeys(entries, 1.0),
        "n-shot": dict.fromkeys(entries, 0), "higher_is_better": {}, "n-samples": {},
        "config": {
            "model": "local-completions", "limit": None,
            "model_args": {"model": "acme/tiny", "api_key": "sk-abcdefghijklmnopqrst123456"},
        },
        "git_hash": "abc", "date": 1_772_600_767.25, "lm_eval_version": "0.4.13",
        "model_source": "local-completions", "model_name": "acme/tiny",
    }  # fmt: skip


def evaluated(folder, summary, *, stamp=STAMP, **samples):
    """Write results and the rows of each task; returns the path of the results."""
    folder.mkdir(parents=True, exist_ok=True)
    for task, rows in samples.items():
        lines = "".join(json.dumps(row) + "\n" for row in rows)
        (folder / f"samples_{task}_{stamp}.jsonl").write_text(lines)
    path = folder / f"results_{stamp}.json"
    path.write_text(json.dumps(summary))
    return path
