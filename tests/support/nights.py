"""Nights of one suite as real run folders: each model with a chance to pass, and what changed."""

import random
from collections.abc import Mapping
from pathlib import Path

from tests.support.run_builder import RunBuilder, routed
from tests.support.run_rows import host, parts_of, sha


class Nights:
    """Writes one run a night into a folder of runs."""

    def __init__(self, runs_dir: Path, n_cases: int = 10, repetitions: int = 3, seed: int = 7):
        self.runs_dir = runs_dir
        self.n_cases = n_cases
        self.repetitions = repetitions
        self.dice = random.Random(seed)
        self.runs: dict[str, RunBuilder] = {}

    def add(
        self,
        n: int = 1,
        *,
        rates: Mapping[str, float],
        cases: Mapping[str, float] | None = None,
        lost: float = 0.0,
        e2e_ms: float | Mapping[str, float] = 400,
        cost_usd: float | None = None,
        hashes: str = "",
        parts: Mapping[str, str] | None = None,
        served: str | None = None,
        machine: int = 2,
        only: int | None = None,
        clusters: int | None = None,
        suite_id: str = "smoke",
        run_id: str | None = None,
        **config: object,
    ) -> list[str]:
        """Write nights and return their run ids.

        Args:
            n: how many.
            rates: chance to pass of each model.
            cases: chance of single cases, before that of the model.
            lost: share of trials that end in a 500.
            e2e_ms: median time, of all models or of each.
            cost_usd: of a trial.
            hashes: another text is another content of every case.
            parts: of the fingerprint, by name.
            served: what the server says that it serves.
            machine: cores of the machine.
            only: narrowed to so many cases.
            clusters: so many cases make one.
            suite_id: of the suite.
            run_id: by default the night's number.
            config: fields of config.json.
        """
        names = [f"case-{place:02d}" for place in range(self.n_cases)][:only]
        medians = e2e_ms if isinstance(e2e_ms, Mapping) else dict.fromkeys(rates, e2e_ms)
        if only is not None:
            config["narrowed"] = {"cases": names}

        def plan(case_id, repetition, _model_id):
            return {
                "suite_id": suite_id,
                "case_hash": sha(f"{case_id}{hashes}"),
                "cluster": clusters and f"family-{names.index(case_id) // clusters}",
                "fingerprint_parts": parts_of(repetition, **(parts or {})),
            }

        def outcome(trial):
            if self.dice.random() < lost:
                return "http_500"
            chance = (cases or {}).get(trial.case_id, rates[trial.model_id])
            return {
                "passed": self.dice.random() < chance,
                "e2e_ms": round(medians[trial.model_id] * self.dice.lognormvariate(0, 0.1)),
                "cost_usd": cost_usd,
                "cost_source": "computed" if cost_usd else None,
                "served_model": served,
            }

        made = [self._next(run_id) for _ in range(n)]
        for run in made:
            run.config, run.inventory = config, {"host": host(cpu_count=machine)}
            run.night(
                names, outcome, models=routed(*rates), repetitions=self.repetitions, plan=plan
            )
        return [run.run_id for run in made]

    def copy(self, of: str, n: int = 1) -> list[str]:
        """Write nights that take every answer over from an earlier one, and return their run ids.

        Args:
            of: run_id of that night, whose answers are its own.
            n: how many.
        """
        made = [self._next() for _ in range(n)]
        for run in made:
            run.take_over(self.runs[of])
        return [run.run_id for run in made]

    def _next(self, run_id: str | None = None) -> RunBuilder:
        """Return the run of the next night."""
        day = len(self.runs) + 1
        run = RunBuilder(self.runs_dir, run_id or f"night-{day:03d}", day=day)
        self.runs[run.run_id] = run
        return run
