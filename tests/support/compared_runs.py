"""Runs that are compared: real run folders with few words, in the lake of their folder."""

import json

from schemas.lake.writer import mirror_run
from schemas.run.config import FingerprintParts
from tests.analyze.conftest import STARTED_AT_MS, RunFolder, sha
from tests.support.histories import DAY_MS

PARTS = {"settings": "s", "endpoint": "e", "harness": "h"}


def parts_of(repetition=1, **changed):
    """Return the parts of a plan; `settings` holds the repetition, as the collector's does."""
    named = PARTS | changed
    named["settings"] = f"{named['settings']} {repetition}"
    hashes = {name: text and sha(text)[:16] for name, text in named.items()}
    return FingerprintParts(case=sha("case")[:16], **hashes)


class Runs:
    """Makes runs in one folder, a day apart.

    Args:
        new_run: the fixture.
        is_mirrored: each is mirrored at once; else the sync before the first question brings
            them in.
    """

    def __init__(self, new_run, *, is_mirrored=True):
        self._new_run = new_run
        self._is_mirrored = is_mirrored
        self.runs_dir = new_run("x").runs_dir

    def add(
        self,
        run_id: str,
        day: int,
        models=("m1",),
        cases=("a", "b"),
        repetitions=(1,),
        *,
        result=lambda trial: {},
        plan=lambda case_id, repetition, model_id: {},
        **config,
    ) -> RunFolder:
        """Write a run.

        Args:
            run_id: its name.
            day: after the first day.
            models: model_ids; `id=model string` names another model than `model-id`.
            cases: case_ids.
            repetitions: that are planned.
            result: fields of a trial's result by its plan; None: it has none.
            plan: further fields of a planned trial.
            config: further fields of config.json.
        """
        run = self._new_run(run_id, STARTED_AT_MS + day * DAY_MS)
        for name in models:
            model_id, _, model = name.partition("=")
            for case_id in cases:
                for repetition in repetitions:
                    fields = {
                        "model": model or f"model-{model_id}",
                        "suite_id": config.get("suite_id", "smoke"),
                        "fingerprint_parts": parts_of(repetition),
                    }
                    fields |= plan(case_id, repetition, model_id)
                    trial = run.plan(case_id, repetition, model_id, **fields)
                    said = result(trial)
                    if said is not None:
                        run.result(trial, **said)
        run.write()
        path = run.path / "config.json"
        path.write_text(json.dumps(json.loads(path.read_text()) | config))
        if self._is_mirrored:
            mirror_run(run.path, run.lake)
        return run
