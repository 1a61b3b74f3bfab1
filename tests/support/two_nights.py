"""Nights of a suite by what its cases came to: so many passes of so many trials, a case each."""

from tests.support.run_builder import routed
from tests.support.run_rows import sha


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
    place = {case_name(case): case for case in range(len(passes))}

    def planned(case_id, *trial):
        return plan(place[case_id], *trial) if plan else {}

    def outcome(trial):
        case, repetition = place[trial.case_id], trial.repetition
        more = result(case, repetition, trial.model_id) if result else {}
        return more if more is None else {"passed": repetition <= passes[case]} | more

    run = new_run(f"night_{number:02d}", day=number)
    return run.night(list(place), outcome, models=routed(*models), repetitions=reps, plan=planned)


def edited(*cases):
    """Return the plan of a night on which the prompts of some cases were edited."""

    def plan(case, repetition, model_id):
        return {"case_hash": sha(f"edited {case}")} if case in cases else {}

    return plan
