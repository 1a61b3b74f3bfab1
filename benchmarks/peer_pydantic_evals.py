"""The work of peers.py in pydantic-evals with the openai SDK, which it leaves to its users to call.

Run in its environment, prints one JSON object.
"""

from __future__ import annotations

import json

from answers import MODEL, answer_of
from openai import AsyncOpenAI
from project import case_id_of, prompts_of
from pydantic_evals import Case, Dataset
from pydantic_evals.evaluators import EqualsExpected
from quantiles import spread
from work import parse_work


def main() -> None:
    """Evaluate, and print the durations that the report holds."""
    work = parse_work()
    client = AsyncOpenAI(base_url=work.base_url, api_key="none")

    async def ask(prompt: str) -> str:
        answer = await client.chat.completions.create(
            model=MODEL, messages=[{"role": "user", "content": prompt}]
        )
        return answer.choices[0].message.content or ""

    cases = [
        Case(name=case_id_of(one), inputs=one, expected_output=answer_of(one, work.tokens))
        for one in prompts_of(work.n)
    ]
    dataset = Dataset(name="bench", cases=cases, evaluators=[EqualsExpected()])
    report = dataset.evaluate_sync(ask, max_concurrency=work.concurrency, progress=False)
    passed = sum(all(one.value for one in case.assertions.values()) for case in report.cases)
    times = [case.task_duration * 1000 for case in report.cases]
    print(json.dumps({"passed": passed, "e2e_ms": spread(times)}))


if __name__ == "__main__":
    main()
