"""The work of peers.py in Inspect AI; run in its environment, prints one JSON object."""

from __future__ import annotations

import json
import os

from answers import MODEL, answer_of
from inspect_ai import Task, eval
from inspect_ai.dataset import MemoryDataset, Sample
from inspect_ai.scorer import exact
from inspect_ai.solver import generate
from project import prompts_of
from quantiles import spread
from work import parse_work


def main() -> None:
    """Evaluate, and print the latencies that the log holds."""
    work = parse_work()
    os.environ["BENCH_API_KEY"] = "none"
    samples = [
        Sample(id=number, input=prompt, target=answer_of(prompt, work.tokens))
        for number, prompt in enumerate(prompts_of(work.n), start=1)
    ]
    [log] = eval(
        Task(dataset=MemoryDataset(samples), solver=generate(), scorer=exact()),
        model=f"openai-api/bench/{MODEL}",
        model_base_url=work.base_url,
        max_connections=work.concurrency,
        max_samples=work.concurrency,
        display="none",
        log_dir="logs",
    )
    done = log.samples or []
    times = [
        event.output.time * 1000
        for sample in done
        for event in sample.events
        if event.event == "model" and event.output.time is not None
    ]
    passed = sum(score.value == "C" for sample in done for score in (sample.scores or {}).values())
    print(json.dumps({"passed": passed, "e2e_ms": spread(times)}))


if __name__ == "__main__":
    main()
