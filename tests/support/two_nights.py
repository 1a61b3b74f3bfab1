"""Nights of a suite by what its cases came to: so many passes of so many trials, a case each."""

from tests.analyze.conftest import STARTED_AT_MS, sha

DAY_MS = 86_400_000


def case_name(number):
    return f"case_{number:03d}"


def night(new_run, number, passes, *, reps=3, models=("main",), plan=None, result=None):
    """Write the run `night_<number>` and return it.

    Args:
        new_run: the fixture.
        number: nights after the first.
        passes: trials that pass, a case each.
        reps: trials of each case.
        models: each has the same results.
        plan: (case number, repetition, model_id) to more fields of a planned trial.
        result: the same to more fields of its result; None: it has no result.
    """
    run = new_run(f"night_{number:02d}", STARTED_AT_MS + number * DAY_MS)
    for model_id in models:
        for case, passed in enumerate(passes):
            for repetition in range(1, reps + 1):
                fields = {"model": f"acme/{model_id}", "provider": "openrouter"}
                fields |= plan(case, repetition, model_id) if plan else {}
                trial = run.plan(case_name(case), repetition, model_id, **fields)
                more = result(case, repetition, model_id) if result else {}
                if more is not None:
                    run.result(trial, **{"passed": repetition <= passed} | more)
    run.write()
    return run


def edited(*cases):
    """Return the plan of a night on which the prompts of some cases were edited."""

    def plan(case, repetition, model_id):
        return {"case_hash": sha(f"edited {case}")} if case in cases else {}

    return plan
