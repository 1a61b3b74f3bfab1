"""Rows of the view behind comparisons: a case of a run with all that made its verdicts."""

from __future__ import annotations

from typing import Annotated, ClassVar

from pydantic import Field

from analyze.contracts.base import GROUP_ORDER, GroupRow, like
from analyze.contracts.models import TotalTokens
from schemas.base import Count, Positive, Unit

LogSum = Annotated[int, Field()]
"""Whole numbers of 1e-12."""

TotalMillis = Annotated[int, Field(ge=0), Unit("ms")]
"""A sum: what bounds one trial does not bound it."""

FIRST = "Made in this run, answered trials on the first attempt, above 0."
MADE = "Made in this run, known and above 0."
LN = "Sum of their natural logarithms, in 1e-12"
HASH = "Start of the hash, of the first repetition planned"


class CaseOutcomesRow(GroupRow):
    """One case with one model in one run."""

    view: ClassVar[str] = "int_case_outcomes"
    order: ClassVar[str] = f"{GROUP_ORDER}, suite_id, case_id"

    suite_id: str = like("suite_id")
    case_id: str = like("case_id")
    case_hash: str | None = like("case_hash")
    first_repetition: Positive = Field(description="Lowest repetition planned, mostly 1.")
    settings: str | None = Field(description=f"{HASH}; it holds the repetition. Null: not known.")
    endpoint: str | None = Field(description=f"{HASH}: provider, URL, model, routing.")
    harness: str | None = Field(description=f"{HASH}: what executed the trial.")
    tools: str | None = Field(description=f"{HASH}; null: the case offers none.")
    model_build: str | None = Field(description=f"{HASH}: the weights; null: not known.")
    agent: str | None = Field(description=f"{HASH}; null: no agent.")
    image: str | None = Field(description=f"{HASH}; null: no container.")
    tags: tuple[str, ...] = like("tags", "plans")
    cluster: str | None = like("cluster", "plans")
    n_planned: Count = Field(description="Trials of the plan.")
    n_scorable: Count = Field(description="Planned trials that can get a verdict.")
    n_total: Count = Field(description="Trials with a result.")
    n_reused: Count = Field(description="Results taken from an older run.")
    n_scored: Count = Field(description="Trials with a verdict.")
    n_passed: Count = Field(description="Trials that passed.")
    n_independent: Count = Field(description="Trials made in this run with a verdict.")
    n_independent_passed: Count = Field(description="Of them, those that passed.")
    n_timeout: Count = Field(description="Trials that ran out of time.")
    n_truncated: Count = Field(description="Trials whose answer was cut off at a limit.")
    n_free: Count = Field(description="Trials made in this run whose cost is known to be 0.")
    n_answers: Count = Field(description="Answered trials made in this run.")
    n_failed_answers: Count = Field(
        description="Trials made in this run that have a verdict without being answered."
    )
    first_hash: str | None = Field(
        description="Lowest output_hash of those trials; all are the same when it is last_hash."
    )
    last_hash: str | None = Field(description="Highest output_hash of those trials.")
    n_e2e_ms: Count = Field(description=f"Trials with an e2e_ms, in ms. {FIRST}")
    ln_e2e_ms: LogSum | None = Field(description=f"{LN}, of ms.")
    e2e_ms: TotalMillis | None = Field(description="Sum of those e2e_ms, in ms.")
    n_ttft_ms: Count = Field(description=f"Trials with a ttft_ms, in ms. {FIRST}")
    ln_ttft_ms: LogSum | None = Field(description=f"{LN}, of ms.")
    ttft_ms: TotalMillis | None = Field(description="Sum of those ttft_ms, in ms.")
    n_input_tokens: Count = Field(description=f"Trials with input tokens. {MADE}")
    ln_input_tokens: LogSum | None = Field(description=f"{LN}.")
    input_tokens: TotalTokens | None = Field(description="Sum of those input tokens.")
    n_output_tokens: Count = Field(description=f"Trials with output tokens. {MADE}")
    ln_output_tokens: LogSum | None = Field(description=f"{LN}.")
    output_tokens: TotalTokens | None = Field(description="Sum of those output tokens.")
    n_cost: Count = Field(description=f"Trials with a cost. {MADE}")
    ln_cost_nano_usd: LogSum | None = Field(description=f"{LN}, of nano-dollars (USD / 10^9).")
    cost_nano_usd: int | None = Field(
        description="Sum of those costs in whole nano-dollars (USD / 10^9)."
    )
