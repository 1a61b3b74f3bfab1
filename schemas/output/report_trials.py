"""Trials of a report word for word: answers of flipped cases side by side, and transcripts.

Transcripts are as many as the page may embed; each has what a reader chooses trials by.
"""

from __future__ import annotations

from typing import Literal

from pydantic import Field

from schemas.base import Count, Millis, Positive, Record, UsdSum


class DiffPart(Record):
    """A stretch of two answers that are held side by side."""

    kind: Literal["same", "base", "candidate"] = Field(
        description="`base`: only the base said it; `candidate`: only the candidate did."
    )
    text: str


class Flip(Record):
    """A case whose majority of verdicts changed, with an answer of each side."""

    suite_id: str
    case_id: str
    model_id: str = Field(description="Of the base.")
    candidate_model_id: str
    flip: Literal["broke", "fixed"]
    base_passed: Count
    base_scored: Positive
    candidate_passed: Count
    candidate_scored: Positive
    base_run_id: str
    base_repetition: Positive = Field(description="The first trial that went as most did.")
    base_answer: str = Field(description="Its raw output, or its beginning.")
    candidate_run_id: str
    candidate_repetition: Positive
    candidate_answer: str
    is_cut: bool = Field(description="At least one answer is longer than what is here.")
    diff: tuple[DiffPart, ...] = Field(description="Both answers in reading order.")
    commands: tuple[str, ...] = Field(description="That show the answers of both sides.")


class TranscriptPart(Record):
    """One turn of a transcript."""

    kind: Literal["message", "tool_call", "tool_result", "runner", "final_output"]
    name: str = Field(description="Role of a message, name of a tool, or what the runner did.")
    text: str = Field(description="Its content, or the beginning and the end of it.")
    is_error: bool
    after_ms: int | None = Field(description="Since the first turn, in ms.")
    n_left_out: Count = Field(description="Characters in the middle that are not here.")
    agent: str | None = Field(
        default=None, description="Of an agent that the main one started: `main/<name>`."
    )
    cost_usd: UsdSum | None = Field(default=None, description="Of the request behind the turn.")


class Transcript(Record):
    """One trial as it went."""

    run_id: str
    model_id: str
    case_id: str
    repetition: Positive
    why: Literal["flipped", "failed", "other"] = Field(
        description="The case flipped; the trial failed or did not pass; neither."
    )
    is_baseline: bool = Field(description="It is the baseline's, beside one of this run.")
    verdict: str = Field(description="In words, such as `did not pass`.")
    passed: bool | None
    failure_type: str | None = Field(default=None, description="Null: it was answered.")
    reason: str = Field(default="", description="Why it did not pass, in a line.")
    expected: str = Field(default="", description="What the case asks for, in words.")
    tags: tuple[str, ...] = Field(default=(), description="Of the case.")
    tools: tuple[str, ...] = Field(default=(), description="That were called, each once.")
    e2e_ms: Millis | None = None
    cost_usd: UsdSum | None = None
    facts: tuple[tuple[str, str], ...] = Field(description="Name and value, as `show` has them.")
    judged: tuple[str, ...] = Field(description="What was expected and what came, line by line.")
    parts: tuple[TranscriptPart, ...]
    n_parts_left_out: Count = Field(
        description="Turns that are not here; a part named `left out here` stands in their place."
    )
    missing: str | None = Field(
        description="Why there is no trace, or its beginning alone; the answer is the last part."
    )
    command: str = Field(description="That shows all of it.")


class Transcripts(Record):
    """Trials that can be read in the report itself."""

    shown: tuple[Transcript, ...] = Field(description="Flipped ones first, then failed, others.")
    n_trials: Count = Field(description="Trials of this run that have a result.")
    n_not_passed: Count = Field(description="Of them, that failed or did not pass.")
    n_left_out: Count = Field(description="Of n_trials, that are not here.")
    budget_bytes: Count = Field(description="Of what a page embeds of them: deflated, as base64.")
    command: str = Field(description="That lists the trials of the run.")
