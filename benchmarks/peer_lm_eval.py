"""The work of peers.py in lm-evaluation-harness; run in its environment, prints one JSON object.

It does not report a latency.
"""

from __future__ import annotations

import json
from pathlib import Path

import lm_eval
from answers import MODEL, answer_of
from project import prompts_of
from work import parse_work


def main() -> None:
    """Evaluate, and print how many answers were right."""
    work = parse_work()
    data = Path("data.jsonl").resolve()
    rows = [{"q": prompt, "a": answer_of(prompt, work.tokens)} for prompt in prompts_of(work.n)]
    data.write_text("".join(json.dumps(row) + "\n" for row in rows))
    task = {
        "task": "bench",
        "dataset_path": "json",
        "dataset_kwargs": {"data_files": {"test": str(data)}},
        "test_split": "test",
        "output_type": "generate_until",
        "doc_to_text": "{{q}}",
        "doc_to_target": "{{a}}",
        "generation_kwargs": {"until": [], "max_gen_toks": 64},
        "metric_list": [{"metric": "exact_match", "aggregation": "mean", "higher_is_better": True}],
    }
    settings = {
        "model": MODEL,
        "base_url": f"{work.base_url}/chat/completions",
        "num_concurrent": work.concurrency,
        "max_retries": 3,
        "tokenized_requests": False,
        "tokenizer_backend": None,
    }
    found = lm_eval.simple_evaluate(
        model="local-chat-completions",
        model_args=settings,
        tasks=[task],
        apply_chat_template=True,
        bootstrap_iters=0,
    )
    share = found["results"]["bench"]["exact_match,none"]
    print(json.dumps({"passed": round(share * work.n), "e2e_ms": None}))


if __name__ == "__main__":
    main()
