"""Nights of one suite as real run folders: each model with a chance to pass, and what changed."""

import json
import random
from collections.abc import Mapping
from pathlib import Path

from schemas.run.config import FingerprintParts
from tests.analyze.conftest import STARTED_AT_MS, RunFolder, sha

DAY_MS = 86_400_000


class Nights:
    """Writes one run a night into a folder of runs."""

    def __init__(self, runs_dir: Path, n_cases: int = 10, repetitions: int = 3, seed: int = 7):
        self.runs_dir = runs_dir
        self.n_cases = n_cases
        self.repetitions = repetitions
        self.dice = random.Random(seed)
        self.n_nights = 0

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
        made = []
        for _ in range(n):
            self.n_nights += 1
            name = run_id or f"night-{self.n_nights:03d}"
            run = RunFolder(self.runs_dir, name, STARTED_AT_MS + self.n_nights * DAY_MS)
            for model_id, rate in rates.items():
                median = e2e_ms[model_id] if isinstance(e2e_ms, Mapping) else e2e_ms
                for place in range(self.n_cases if only is None else only):
                    case_id = f"case-{place:02d}"
                    chance = (cases or {}).get(case_id, rate)
                    for repetition in range(1, self.repetitions + 1):
                        trial = run.plan(
                            case_id, repetition, model_id, model=f"acme/{model_id}",
                            provider="openrouter", suite_id=suite_id,
                            case_hash=sha(f"{case_id}{hashes}"),
                            cluster=clusters and f"family-{place // clusters}",
                            fingerprint_parts=self._parts(parts or {}, repetition),
                        )  # fmt: skip
                        run.result(
                            trial, passed=self.dice.random() < chance,
                            e2e_ms=round(median * self.dice.lognormvariate(0, 0.1)),
                            cost_usd=cost_usd, cost_source="computed" if cost_usd else None,
                            served_model=served,
                        ) if self.dice.random() >= lost else run.result(
                            trial, failure_type="http_500"
                        )  # fmt: skip
            run.write()
            self._edit(run.path / "config.json", suite_id=suite_id, **config)
            if only is not None:
                names = [f"case-{place:02d}" for place in range(only)]
                self._edit(run.path / "config.json", narrowed={"cases": names})
            host = {"uname": "Linux", "python": "3", "cpu_count": machine, "memory_bytes": 2**33}
            self._edit(run.path / "inventory.json", host=host)
            made.append(name)
        return made

    def copy(self, of: str, n: int = 1) -> list[str]:
        """Write nights that take every answer over from an earlier one, and return their run ids.

        Args:
            of: run_id of that night, whose answers are its own.
            n: how many.
        """
        made = []
        for _ in range(n):
            self.n_nights += 1
            name = f"night-{self.n_nights:03d}"
            folder = self.runs_dir / name
            folder.mkdir()
            for old in (self.runs_dir / of).iterdir():
                text = old.read_text().replace(f'"{of}"', f'"{name}"')
                if old.name == "results.jsonl":
                    taken = f'"reused_from_run_id":"{of}"'
                    text = text.replace('"reused_from_run_id":null', taken)
                (folder / old.name).write_text(text)
            self._edit(folder / "config.json", started_at_ms=STARTED_AT_MS + self.n_nights * DAY_MS)
            made.append(name)
        return made

    def _parts(self, parts: Mapping[str, str], repetition: int) -> FingerprintParts:
        named = {"case": "a", "endpoint": "c", "harness": "d"} | dict(parts)
        settings = f"{named.pop('settings', 'b')} {repetition}"
        return FingerprintParts(
            settings=sha(settings)[:16], **{name: sha(text)[:16] for name, text in named.items()}
        )

    @staticmethod
    def _edit(path: Path, **fields: object) -> None:
        path.write_text(json.dumps(json.loads(path.read_text()) | fields))
