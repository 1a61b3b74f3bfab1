"""Runs that are compared: real run folders with few words, in the lake of their folder."""

from tests.support.run_builder import RunBuilder


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
    ) -> RunBuilder:
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
        run = self._new_run(run_id, day=day)
        run.config = config
        same = {"suite_id": config.get("suite_id", "smoke")}
        pairs = [(name.partition("=")[0], name.partition("=")[2]) for name in models]
        asked = {name: same | {"model": model or f"model-{name}"} for name, model in pairs}
        run.night(cases, result, models=asked, repetitions=repetitions, plan=plan)
        return run.mirror() if self._is_mirrored else run
