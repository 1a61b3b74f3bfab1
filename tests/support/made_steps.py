"""Made histories of steps: what agents may leave behind at worst, as rows of raw tables.

Nothing here knows what a view makes of it. History i depends on (seed, i) only.
"""

from __future__ import annotations

import random
from functools import partial

from schemas.failures import FAILURES
from schemas.run.step import Step

RAW = ("steps", "results", "plans", "runs")
BLANK = dict.fromkeys(Step.model_fields)
MODELS = (
    ("m1", "p", "x", None),
    ("m2", "p", "x", "low"),
    ("m3", "p", "x", None),
    ("m1", "q", "y", None),
)
"""Two local names of one model, one name of two, and a model with and without thinking."""

PATHS = ("main", "main/a", "main/ab", "main/a/b", "main/a/bc", "main/a/b/c")
TOOLS = ("sh", "edit", "Sh", None)
EFFECTS = ("read", "write", "write", "check", "search", "wait", "run", None)
CLASSES = ("exit_code", "tool_error", "rate_limited", "unavailable", "timeout", None)
LIMITS = ("max_turns", "max_budget", "max_seconds", None)
REASONS = (
    None, None, "stop", "stop", "tool_calls", "length", "refusal", "content_filter", "max_tokens",
    "end_turn", "LENGTH",
)  # fmt: skip
FAILED = (*FAILURES, "http_401", "http_402", "http_408", "http_429", "http_500", "http_503")
UNKNOWN = ("of_tomorrow", "http_9", "http_999")
NUMBERS = (None, 0, 1, 7, 100, 12_345, 2**40 - 1, 2**40)
COSTS = (None, None, 0.0, 1e-9, 0.1, 0.25, 123.456789, 1e6)
TIMES = (None, 0, 1_000, 1_763_762_400_000, 253_402_300_799_999, 253_402_300_800_000, 2**53 - 5)
USAGE = (
    "input_tokens", "cached_input_tokens", "cache_write_tokens", "output_tokens",
    "reasoning_tokens", "cost_usd",
)  # fmt: skip


class MadeSteps:
    """The rows of one history of runs, by the raw tables.

    Args:
        seed: of everything.
        number: of the history; runs and suites of two have no name in common.
    """

    def __init__(self, seed: int, number: int) -> None:
        self.random, self.number = random.Random(f"{seed} {number}"), number
        self.rows: dict[str, list[dict]] = {name: [] for name in RAW}
        self.n_cases = self.random.randint(1, 5)
        self.is_tame = number % 3 == 0  # loops and clusters need calls that are alike
        for run_no in range(self.random.randint(1, 4)):
            self._add_run(run_no)
        for rows in self.rows.values():
            self.random.shuffle(rows)

    def _one(self, choices, *more):
        return self.random.choice((*choices, *more))

    def _is(self, chance):
        return self.random.random() < chance

    def _add_run(self, run_no):
        run_id = f"{self._one(('r', 'R', 'a-b', 'é'))}{run_no}-{self.number}"
        started = None if self._is(0.25) else 1_763_762_400_000 + self.random.randrange(2)
        suite_id = f"{self._one(('s', 's', 's', 't'))}{self.number}"
        known = {"run_id": run_id, "suite_id": suite_id, "started_at_ms": started, "labels": []}
        if self._is(0.95):  # else nobody described it
            self.rows["runs"].append(known | {"recorded_at_ms": 1})
        if self._is(0.3):
            later = {"recorded_at_ms": 2, "labels": ["x"]}
            self.rows["runs"].append(known | later)
        record_no = 0
        clusters = [self._one((None, "k", "l")) for _ in range(self.n_cases)]
        models = self.random.sample(MODELS[:3], self.random.randint(1, 2))
        models = [MODELS[3]] if self._is(0.1) else models
        for model in models:
            for case_no in range(self.n_cases):
                for repetition in range(1, self.random.randint(1, 3) + 1):
                    key = dict(
                        zip(("model_id", "provider", "model", "thinking_level"), model, strict=True)
                    )
                    key |= {"run_id": run_id, "suite_id": suite_id, "case_id": f"c{case_no}"}
                    key |= {"repetition": repetition, "expected_tools": []}
                    cluster = clusters[case_no] if self._is(0.95) else self._one((None, "l"))
                    is_scorable = self._is(0.7)
                    self.rows["plans"].append(
                        key | {"cluster": cluster, "is_scorable": is_scorable}
                    )
                    if self._is(0.1):
                        continue  # never ran
                    supersedes = None
                    for attempt in range(1, 4):
                        record_no += 1
                        self._add_record(key, record_no, attempt, supersedes)
                        supersedes = record_no
                        if self._is(0.75):
                            break

    def _add_record(self, key, record_no, attempt, supersedes):
        failure = self._one(FAILED) if self._is(0.3) else None
        failure = self._one(UNKNOWN) if self._is(0.03) else failure
        succeeded = failure is None and self._is(0.98)  # else without a word why
        started = self._one(TIMES[1:])
        ended = max(0, started + self._one((-5, 0, 10, 1_000, 100_000, 2**40)))
        served = succeeded or failure in (
            "empty_response",
            "output_truncated",
        )
        self.rows["results"].append(
            key
            | {
                "record_no": record_no, "supersedes": supersedes, "failure_type": failure,
                "finish_reason": self._one(REASONS), "passed": self._one((None, True, False)),
                "availability_status": "ok" if served else "error", "success": succeeded,
                "status": "success" if succeeded else "failed",
                "error_code": self._one((None, None, "odd")),
                "checks_errored": self._one((0, 0, 0, 1)), "checks_passed": 0, "checks_failed": 0,
                "started_at_ms": started, "ended_at_ms": min(ended, 2**53),
                "tool_ms": self._one(NUMBERS, None, None), "checks": [], "tool_calls": [],
                "tags": [], "tool_call_count": 0, "raw_output_truncated": False,
                "attempt_count": 1, "tool_use_success": False, "clock_late_ms": None,
                "reused_from_run_id": self._one((None, None, None, None, "r0")),
                "validator_type": self._one((None, "exact", "exact")),
            }
        )  # fmt: skip
        if self._is(0.9):
            trial = {name: key[name] for name in ("run_id", "model_id", "case_id", "repetition")}
            trial |= {"record_no": record_no, "attempt": attempt}
            self.rows["steps"] += MadeTrial(self.random, trial, started, self.is_tame).rows


class MadeTrial:
    """The steps of one record."""

    def __init__(self, chance, trial, started_at_ms, is_tame):
        self.random, self.trial, self.is_tame = chance, trial, is_tame
        self.started_at_ms, self.rows = started_at_ms, []
        self.turns, self.counted, self.ids = {}, {}, [None, "1", "2"]
        self.paths = PATHS[: self._one((1, 1, 2, 3, 6))]
        if self._one((False,) * 9 + (True,)):
            self.paths = self.paths[1:] or ("main/lost/below",)  # nobody noted its parent
        self.counts = self._one((None, "delta", "cumulative", "cumulative"))
        self.cached = self._one((None, "inside", "beside", "beside"))
        self.zeros = self._one((False,) * 5 + (True,))
        self.copied_share = self._one((0.0, 0.08, 0.08, 0.08, 0.4))
        if self.random.random() < 0.03:
            self.copied_share = 1.0
        makers = (
            (self._answer, 4), (self._calls, 5), (self._stray_result, 1), (self._silent_call, 1),
            (self._message, 1), (self._retry, 1), (self._repeat, 3), (self._limit, 0.3),
            (partial(self._mark, "compaction"), 0.5), (partial(self._mark, "reasoning"), 0.5),
        )  # fmt: skip
        for _ in range(self._one((1, 3, 8, 15, 25))):
            made = self.random.choices([one for one, _ in makers], [n for _, n in makers])[0]
            made(self._one(self.paths))

    def _one(self, choices, *more):
        return self.random.choice((*choices, *more))

    def _add(self, kind, path, **fields):
        at = self.started_at_ms + self.random.randint(-50, 1_000)
        at = self._one((None, max(at, 0), max(at, 0)))
        row = {
            "step_no": len(self.rows) + 1, "trajectory": path, "turn_no": self.turns.get(path, 0),
            "kind": kind, "is_error": False, "started_at_ms": at,
            "ended_at_ms": None if at is None else at + self._one((-3, 0, 40)) if at > 3 else at,
            "is_copied_context": self.random.random() < self.copied_share,
        } | fields  # fmt: skip
        self.rows.append(BLANK | self.trial | row)

    def _usage(self, path):
        counts = self.counts if self.random.random() < 0.95 else self._one(("delta", "cumulative"))
        usage = {name: self._one(NUMBERS[:5] if self.is_tame else NUMBERS) for name in USAGE[:5]}
        usage["cost_usd"] = self._one(COSTS)
        if self.zeros:
            usage = {name: value and 0 for name, value in usage.items()}
        if counts == "cumulative":
            before = self.counted.setdefault(path, {})
            for name, value in usage.items():
                if value is not None:
                    grown = before.get(name, 0) + value
                    is_kept = self.random.random() < 0.85 and grown <= (
                        1e6 if name == "cost_usd" else 2**40
                    )
                    before[name] = usage[name] = grown if is_kept else value
        return usage | {"usage_counts": counts, "usage_cached": self.cached}

    def _answer(self, path):
        self.turns[path] = self.turns.get(path, 0) + (self.random.random() < 0.9)
        usage = self._usage(path) if self.random.random() < 0.9 else {}
        duration = {"duration_ms": self._one(NUMBERS, None)}
        self._add("message", path, role="assistant", **duration, **usage)

    def _message(self, path):
        self._add("message", path, role=self._one(("user", "system", "tool", None)))

    def _call(self, path, call_id):
        n = 2 if self.is_tame else 3
        self._add(
            "tool_call", path, tool=self._one(TOOLS[:n], *TOOLS), call_id=call_id,
            effect=self._one(EFFECTS), args_hash=self._one(("a" * 16, "b" * 16, "c" * 16)[:n]),
            target_hash=self._one((None, "f", "g", "h")),
        )  # fmt: skip

    def _result(self, path, call_id, tool=None):
        is_error = self.random.random() < 0.4
        shown = self._one((None, 0, 5, 2**40))
        self._add(
            "tool_result", path, tool=tool, call_id=call_id, is_error=is_error,
            error_class=self._one(CLASSES) if is_error else None,
            exit_code=self._one((None, 0, 2)), duration_ms=self._one(NUMBERS),
            result_hash=self._one(("1", "2")), shown_bytes=shown,
            result_norm_hash=self._one(("x", "x", "y", None)),
            produced_bytes=self._one((None, 5, 9, 2**40)), truncated=self._one((None, True, False)),
        )  # fmt: skip

    def _new_id(self):
        if self.random.random() < 0.6:
            self.ids.append(str(len(self.ids) + 10))
            return self.ids[-1]
        return self._one(self.ids)

    def _calls(self, path):
        """Some calls at once, and most of their results, maybe of a trajectory beside them."""
        ids = [self._new_id() for _ in range(self._one((1, 1, 1, 2, 3)))]
        for call_id in ids:
            self._call(path, call_id)
            if call_id is None and self.random.random() < 0.8:
                self._result(path, None)
        self.random.shuffle(ids)
        for call_id in ids:
            if call_id is not None and self.random.random() < 0.9:
                where = path if self.random.random() < 0.95 else self._one(self.paths)
                self._result(where, call_id, self._one(TOOLS))

    def _silent_call(self, path):
        self._call(path, self._new_id())

    def _stray_result(self, path):
        self._result(path, self._one((*self.ids, "later")))
        self.ids.append("later")  # its call may come yet

    def _retry(self, path):
        waited = self._one(NUMBERS)
        usage = self._usage(path) if self.random.random() < 0.3 else {}
        self._add(
            "error", path, is_error=True, error_class=self._one(FAILED), wait_ms=waited,
            duration_ms=self._one(NUMBERS), **usage,
        )  # fmt: skip

    def _limit(self, path):
        self._add("limit", path, error_class=self._one(LIMITS))

    def _mark(self, kind, path):
        self._add(kind, path)

    def _repeat(self, path):
        """A cycle of calls that comes again and again, with what may lie in between."""
        cycle = [
            (self._one(TOOLS), self._one(("a", "b", "c")), self._one(("x", "y", None)))
            for _ in range(self._one((1, 1, 2, 2, 3, 4)))
        ]
        effect = self._one(("read", "run", "wait", "write", None))
        for place in range(self.random.randint(2, 4 * len(cycle) + 1)):
            tool, args, norm = cycle[place % len(cycle)]
            call_id = None if self.random.random() < 0.2 else f"{len(self.rows)}"
            fields = {"tool": tool, "call_id": call_id}
            fields["is_copied_context"] = self.copied_share == 1
            if self.random.random() < 0.7:
                self._answer(path)
            self._add("tool_call", path, effect=effect, args_hash=args, **fields)
            if self.random.random() < 0.02:
                continue
            busy = self.random.random() < 0.05
            self._add(
                "tool_result", path, result_norm_hash=norm, is_error=busy or norm == "y",
                error_class="rate_limited" if busy else "exit_code" if norm == "y" else None,
                duration_ms=self._one(NUMBERS), **fields,
            )  # fmt: skip
