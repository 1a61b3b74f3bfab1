"""The rows of runs that nobody made: varied enough to compress, group and sort like real ones.

Models differ in skill and speed, cases in difficulty; one prompt changes half way through, one
model loses skill in the last quarter; 3 % of the trials fail, most of them for reasons outside the
model. Columns come from `schemas.lake.rows.tables.TABLES`; one that nothing here knows is null.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from schemas.lake.rows.tables import TABLES

SEED = 20261122
BEGIN_MS = 1_735_689_600_000
"""2025-01-01, UTC: the first run; the last one is a year later."""
SPAN_MS = 365 * 86_400_000

FAILURES = (
    # failure_type, availability_status, status, http_status, share
    (None, "ok", "success", 200, 0.97),
    ("timeout", "error", "timed_out", None, 0.008),
    ("http_500", "error", "provider_error", 500, 0.008),
    ("http_429", "rate_limited", "provider_error", 429, 0.008),
    ("output_truncated", "ok", "failed", 200, 0.006),
)
SYLLABLES = [consonant + vowel for consonant in "bdfklmnprst" for vowel in "aeiou"]


@dataclass(frozen=True)
class Shape:
    """How many of each; a run asks every model every case, so many times."""

    n_runs: int
    n_models: int = 5
    n_cases: int = 10
    repetitions: int = 2
    words: int = 20
    """In an answer, on average."""
    prefix: str = "night"
    begin_ms: int = BEGIN_MS

    @property
    def rows_per_run(self) -> int:
        """Return the trials of one run."""
        return self.n_models * self.n_cases * self.repetitions

    @property
    def n_rows(self) -> int:
        """Return the trials of all runs."""
        return self.n_runs * self.rows_per_run

    @property
    def block_runs(self) -> int:
        """Return how many runs are made at once: about 100,000 rows."""
        return max(1, 100_000 // self.rows_per_run)

    def run_id(self, number: int) -> str:
        """Return the name of a run."""
        return f"{self.prefix}_{number:06d}"

    def started_at_ms(self, number: int) -> int:
        """Return when a run began."""
        return self.begin_ms + number * SPAN_MS // self.n_runs

    def model_id(self, number: int) -> str:
        """Return the name of a model."""
        return f"model_{number:02d}"

    def case_id(self, number: int) -> str:
        """Return the name of a case."""
        return f"case_{number:04d}"


def digest(*parts: object) -> str:
    """Return a sha256 that stands for a thing."""
    return hashlib.sha256(repr(parts).encode()).hexdigest()


def _vocabulary() -> tuple[pa.Array, np.ndarray[Any, Any]]:
    """Return words, the common ones first, and how many of all words each and those before it are.

    The n-th word is about 1 / (n + 2.7) as common as the first: Zipf's law as Mandelbrot has it.
    """
    random = np.random.default_rng(SEED)
    made = ["".join(random.choice(SYLLABLES, random.integers(1, 5))) for _ in range(6000)]
    words = list(dict.fromkeys(made))
    share = 1 / (np.arange(len(words)) + 2.7)
    return pa.array(words), np.cumsum(share / share.sum())


VOCABULARY, UP_TO = _vocabulary()


class _Block:
    """Who was asked what in a stretch of runs, and what came of it, as arrays of equal length."""

    def __init__(self, shape: Shape, runs: range) -> None:
        self.shape, self.runs = shape, runs
        self.random = np.random.default_rng([SEED, shape.rows_per_run, runs.start])
        self.n = len(runs) * shape.rows_per_run
        place = np.arange(self.n) % shape.rows_per_run
        self.run = np.arange(self.n) // shape.rows_per_run
        self.place = place
        self.model = place // (shape.n_cases * shape.repetitions)
        self.repetition = place // shape.n_cases % shape.repetitions
        self.case = place % shape.n_cases
        number = runs.start + self.run
        self.is_new_prompt = (self.case == 0) & (number * 2 >= shape.n_runs)
        self.has_tools = self.case % 4 == 3
        self._outcome(number)

    def _outcome(self, number: np.ndarray[Any, Any]) -> None:
        random, shape = self.random, self.shape
        skill = 0.9 - 0.08 * self.model - 0.5 * (self.case % 7) / 7
        worse = (self.model == 1) & (number * 4 >= shape.n_runs * 3)
        self.kind = random.choice(len(FAILURES), self.n, p=[row[4] for row in FAILURES])
        self.success = self.kind == 0
        self.verdict = random.random(self.n) < np.clip(skill - 0.2 * worse, 0.02, 0.98)
        speed = 350 * (1 + self.model)
        self.e2e = (speed * random.lognormal(0, 0.35, self.n)).astype(np.int64) + 20
        self.ttft = (self.e2e * random.uniform(0.1, 0.4, self.n)).astype(np.int64)
        self.words = 3 + random.poisson(shape.words - 3, self.n)
        self.input = 40 + 13 * (self.case % 11) + self.model
        self.output = (self.words * 1.4).astype(np.int64)
        self.nano = self.input * 150 + self.output * 600
        self.late = random.poisson(1.5, self.n)
        begins = np.array([shape.started_at_ms(one) for one in self.runs])
        gap = 1_000 * (1 + self.model)
        self.started = begins[self.run] + self.place * gap + random.integers(0, 50, self.n)


def block_of_runs(shape: Shape, runs: range, *, text: bool) -> dict[str, pa.Table]:
    """Return the tables of some runs, in the order in which the trials were made.

    Args:
        shape: of the whole history.
        runs: which of its runs.
        text: whether `outputs` has rows; without them nothing is written about answers.
    """
    block = _Block(shape, runs)
    columns = _trial_columns(block)
    tables = {"plans": _table("plans", columns | _plan_columns(block), block.n)}
    answers = _answers(block) if text else None
    columns |= _result_columns(block, answers)
    tables["results"] = _table("results", columns, block.n)
    if answers is not None:
        tables["outputs"] = _table("outputs", columns | {"raw_output": answers}, block.n)
    return tables | {"runs": _table("runs", _run_columns(shape, runs), len(runs))}


def _pick(names: list[Any], indices: np.ndarray[Any, Any], kind: pa.DataType) -> pa.Array:
    return pa.array(names, kind).take(pa.array(indices))


def _where(keep: np.ndarray[Any, Any], values: np.ndarray[Any, Any]) -> pa.Array:
    return pa.array(values, mask=~keep)


def _trial_columns(block: _Block) -> dict[str, Any]:
    """Return the columns that a plan and a result share."""
    shape, text = block.shape, pa.string()
    models, cases = range(shape.n_models), range(shape.n_cases)
    tools = pa.array([["grep", "rg"] if one % 4 == 3 else [] for one in cases], pa.list_(text))
    tags = pa.array([["nightly", f"group_{one % 5}"] for one in cases], pa.list_(text))
    hashes = [digest("case", one) for one in cases] + [digest("case", 0, "new")]
    version = np.where(block.is_new_prompt, shape.n_cases, block.case)
    prints = [
        digest("fingerprint", model, case, repetition)
        for model in models
        for case in (*cases, "new")
        for repetition in range(shape.repetitions)
    ]
    print_indices = (
        block.model * (shape.n_cases + 1) + version
    ) * shape.repetitions + block.repetition
    return {
        "run_id": _pick([shape.run_id(one) for one in block.runs], block.run, text),
        "suite_id": "nightly",
        "model_id": _pick([shape.model_id(one) for one in models], block.model, text),
        "case_id": _pick([shape.case_id(one) for one in cases], block.case, text),
        "repetition": block.repetition + 1,
        "runner_type": "llm_probe",
        "provider": _pick([transport(one) for one in models], block.model, text),
        "model": _pick([served_name(one) for one in models], block.model, text),
        "thinking_level": _pick([thinking_level(one) for one in models], block.model, text),
        "prompt_id": _pick([shape.case_id(one) for one in cases], block.case, text),
        "prompt_name": _pick([f"Question number {one}" for one in cases], block.case, text),
        "case_hash": _pick(hashes, version, text),
        "run_fingerprint": _pick(prints, print_indices, text),
        "fingerprint_version": 1,
        "validator_type": "one_of",
        "expected_tools": tools.take(pa.array(block.case)),
        "tags": tags.take(pa.array(block.case)),
    }


def transport(model: int) -> str:
    """Return the provider of a model."""
    return "openai_chat" if model % 2 else "ollama_openai"


def served_name(model: int) -> str:
    """Return what the server calls a model."""
    return f"vendor/small-model-{model:02d}:latest"


def thinking_level(model: int) -> str | None:
    """Return the reasoning effort of a model; null for most."""
    return "high" if model % 3 == 2 else None


def _plan_columns(block: _Block) -> dict[str, Any]:
    kind = TABLES["plans"].field("fingerprint_parts").type
    shape = block.shape
    version = np.where(block.is_new_prompt, shape.n_cases, block.case)
    parts = pa.array(
        [
            {
                "case": digest("case", case)[:16],
                "settings": digest("settings", model)[:16],
                "endpoint": digest("endpoint", model)[:16],
                "harness": digest("harness")[:16],
                "tools": None,
                "model_build": digest("build", model)[:16],
                "agent": None,
                "image": None,
            }
            for model in range(shape.n_models)
            for case in (*range(shape.n_cases), "new")
        ],
        kind,
    )
    return {
        "record_type": "trial",
        "trial_no": block.place,
        "fingerprint_parts": parts.take(pa.array(block.model * (shape.n_cases + 1) + version)),
        "is_scorable": True,
    }


def _result_columns(block: _Block, answers: pa.Array | None) -> dict[str, Any]:
    text, ok = pa.string(), block.success
    failed = block.kind == 4
    called = block.has_tools & ok & (block.verdict | (block.e2e % 2 == 0))
    calls = pa.array([[], ["grep"], ["find"]], pa.list_(text))
    prices = np.where(block.model % 2, 1, 0).astype(bool)
    return {
        "record_type": "result",
        "availability_status": _pick([row[1] for row in FAILURES], block.kind, text),
        "started_at_ms": block.started,
        "ended_at_ms": block.started + block.e2e + 3,
        "e2e_ms": _where(ok | failed, block.e2e),
        "ttft_ms": _where(ok | failed, block.ttft),
        "success": ok,
        "failure_type": _pick([row[0] for row in FAILURES], block.kind, text),
        "objective_pass": _where(ok, block.verdict),
        "violation": pc.if_else(
            pa.array(ok & ~block.verdict), pa.scalar("not_one_of"), pa.scalar(None, text)
        ),
        "input_tokens": _where(ok | failed, block.input),
        "output_tokens": _where(ok | failed, block.output),
        "tool_calls": calls.take(pa.array(np.where(called, 2 - block.verdict, 0))),
        "tool_call_count": called.astype(np.int64),
        "tool_use_success": called & block.verdict,
        "schema_version": 1,
        "status": _pick([row[2] for row in FAILURES], block.kind, text),
        "passed": _where(ok | failed | (block.kind == 1), block.verdict & ok),
        "error_message": pc.if_else(
            pa.array(ok), pa.scalar(None, text), pa.scalar("the server said no")
        ),
        "http_status": _pick([row[3] for row in FAILURES], block.kind, pa.int64()),
        "attempt_count": np.where(ok, 1, 3),
        "requested_model": _pick(
            [served_name(one) for one in range(block.shape.n_models)], block.model, text
        ),
        "served_model": _pick(
            [served_name(one) for one in range(block.shape.n_models)], block.model, text
        ),
        "finish_reason": pc.if_else(pa.array(ok), pa.scalar("stop"), pa.scalar(None, text)),
        "cost_usd": _where(ok & prices, block.nano / 1e9),
        "cost_source": pc.if_else(
            pa.array(ok & prices), pa.scalar("computed"), pa.scalar(None, text)
        ),
        "token_source": pc.if_else(pa.array(ok | failed), pa.scalar("api"), pa.scalar(None, text)),
        "checks_passed": 0,
        "checks_failed": 0,
        "checks_errored": 0,
        "checks": _empty_lists("checks", block.n),
        "scores": _empty_lists("scores", block.n),
        "tool_call_source": pc.if_else(pa.array(called), pa.scalar("text"), pa.scalar(None, text)),
        "raw_output_truncated": False,
        "artifact_path": _artifacts(block),
        "clock_late_ms": block.late,
        "record_no": block.place + 1,
        "output_hash": _hashes(block, answers),
    }


def _hashes(block: _Block, answers: pa.Array | None) -> pa.Array:
    """Return the hashes of the answers; without them, of answers of which a third are alike."""
    if answers is not None:
        return pa.array(
            [hashlib.sha256(one.encode()).hexdigest()[:16] for one in answers.to_pylist()]
        )
    digits = block.random.bytes(8 * block.n).hex()
    usual = block.model * block.shape.n_cases + block.case
    place = np.where(block.random.random(block.n) < 0.33, usual, np.arange(block.n))
    return pa.array([digits[16 * one : 16 * one + 16] for one in place.tolist()])


def _artifacts(block: _Block) -> pa.Array:
    shape = block.shape
    names = [f"artifacts/{shape.model_id(one)}.jsonl.zst#" for one in range(shape.n_models)]
    offset = pa.array(block.place * 412 + 17).cast(pa.string())
    return pc.binary_join_element_wise(_pick(names, block.model, pa.string()), offset, "")


def _answers(block: _Block) -> pa.Array:
    """Return texts of words that are common or rare as words are."""
    points = block.random.random(int(block.words.sum())).clip(max=UP_TO[-1])
    rank = np.searchsorted(UP_TO, points)
    ends = np.concatenate([[0], np.cumsum(block.words)]).astype(np.int32)
    lists = pa.ListArray.from_arrays(pa.array(ends), VOCABULARY.take(pa.array(rank)))
    return pc.binary_join(lists, " ")


def _run_columns(shape: Shape, runs: range) -> dict[str, Any]:
    return {
        "run_id": pa.array([shape.run_id(one) for one in runs]),
        "suite_id": "nightly",
        "suite_title": "Every night",
        "started_at_ms": np.array([shape.started_at_ms(one) for one in runs]),
        "run_profile_id": "standard",
        "benchlake_version": "0.1.0",
        "n_planned": shape.rows_per_run,
        "labels": pa.array(
            [["baseline"] if one == 0 else [] for one in runs], pa.list_(pa.string())
        ),
        "is_imported": False,
        "is_narrowed": False,
        "recorded_at_ms": np.array([shape.started_at_ms(one) for one in runs]),
    }


def _table(name: str, columns: Mapping[str, Any], n: int) -> pa.Table:
    """Return the declared columns; a plain value stands in every row, an unknown one is null."""
    made = []
    for field in TABLES[name]:
        value = columns.get(field.name)
        if isinstance(value, pa.Array | pa.ChunkedArray | np.ndarray):
            array = value if not isinstance(value, np.ndarray) else pa.array(value)
            made.append(array.cast(field.type) if array.type != field.type else array)
        else:
            made.append(pa.repeat(pa.scalar(value, field.type), n))
    return pa.Table.from_arrays(made, schema=TABLES[name])


def _empty_lists(column: str, n: int) -> pa.Array:
    kind = TABLES["results"].field(column).type
    return pa.array([[]], kind).take(pa.array(np.zeros(n, np.int64)))
