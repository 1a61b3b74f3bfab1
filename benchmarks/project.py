"""Writes a benchlake project of N cases for one endpoint: what `collect run` gets in benchmarks.

python benchmarks/project.py DIR --base-url http://127.0.0.1:8000/v1 -n 1000 --concurrency 64
cd DIR && collect run --suite bench --run-profile bench
"""

from __future__ import annotations

import argparse
import json
from pathlib import Path

from answers import MODEL, answer_of


def prompts_of(n: int) -> list[str]:
    """Return N different prompts."""
    return [f"Case {number}: reply with ok" for number in range(1, n + 1)]


def case_id_of(prompt: str) -> str:
    """Return the case that asks a prompt."""
    return f"case-{int(prompt.split(' ')[1].rstrip(':')):06d}"


def write_project(
    folder: Path,
    *,
    base_url: str,
    n: int,
    concurrency: int,
    tokens: int,
    stream: bool = False,
    retries: int = 5,
) -> None:
    """Write a project whose suite and run profile are both called `bench`.

    Args:
        folder: a new or empty folder.
        base_url: of the endpoint, with its /v1.
        n: cases, each with a prompt of its own and the exact answer that is right.
        concurrency: requests in flight.
        tokens: of an answer, as the endpoint was started with.
        stream: whether answers are streamed.
        retries: after a transient failure.
    """
    suites, profiles = folder / "configs" / "suites", folder / "configs" / "run_profiles"
    for made in (folder / ".git", suites, profiles):  # the search for configs/ ends at a .git
        made.mkdir(parents=True)
    prompts = [
        {
            "id": case_id_of(prompt),
            "name": prompt.partition(":")[0],
            "prompt": prompt,
            "validator": {"type": "exact", "value": answer_of(prompt, tokens)},
        }
        for prompt in prompts_of(n)
    ]
    (suites / "prompts.json").write_text(json.dumps(prompts))
    # JSON is YAML; this way the script needs nothing but itself.
    suite = {
        "schema_version": 1,
        "suite_id": "bench",
        "title": "Benchmark of the collector",
        "models": [
            {
                "model_id": "m",
                "provider": "openai_chat",
                "requested_model": MODEL,
                "base_url": base_url,
            }
        ],
        "prompt_lists": ["prompts.json"],
    }
    profile = {
        "schema_version": 1,
        "run_profile_id": "bench",
        "title": "Benchmark of the collector",
        "runner_defaults": {"stream": stream, "retries": retries, "timeout_seconds": 60},
        "execution_policy": {"max_concurrency": concurrency, "run_repetitions": 1},
    }
    (suites / "bench.yaml").write_text(json.dumps(suite, indent=2))
    (profiles / "bench.yaml").write_text(json.dumps(profile, indent=2))


def main() -> None:
    """Write one project."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("folder", type=Path)
    parser.add_argument("--base-url", required=True)
    parser.add_argument("-n", type=int, default=1000)
    parser.add_argument("--concurrency", type=int, default=64)
    parser.add_argument("--tokens", type=int, default=16)
    parser.add_argument("--stream", action="store_true")
    parser.add_argument("--retries", type=int, default=5)
    options = vars(parser.parse_args())
    write_project(options.pop("folder"), **options)


if __name__ == "__main__":
    main()
