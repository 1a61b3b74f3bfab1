"""Who is asked, and when it ends: the executor alone, over scripted runners."""

import asyncio
import time
from dataclasses import replace

import pytest

from collect.config.resolved import LoadedCase, ResolvedModel
from collect.execute.budget import Budget
from collect.execute.executor import WORKERS_PER_SLOT, Executor, Hooks
from tests.support.executions import executed
from tests.support.run_rows import planned

CASE = LoadedCase("c", "P0", "name", (), None, (), ())


def model(name, limit=1, **fields):
    facts = {
        "label": None, "provider": "openai_chat", "model": name, "thinking_level": None,
        "base_url": "http://127.0.0.1:1/v1", "api_key_env": None, "key_required": False,
        "max_concurrency": limit, "request_options": {}, "settings": {}, "is_loopback": False,
    } | fields  # fmt: skip
    return ResolvedModel(model_id=name, **facts)


class Work:
    """Trials of models, and what became of them."""

    def __init__(self, *models, n_trials=4, run=None, finished=None, before=None, kinds=("chat",)):
        self.models = models
        self.begun, self.done, self.prepared, self.opened = [], [], [], []
        self.ended, self.closed = [], 0
        self._kinds = kinds
        self._run, self._finished, self._before = run, finished, before
        self.executor = Executor(
            models=models,
            trials_of=lambda name: iter([self._planned(name, n) for n in range(n_trials)]),
            cases={"c": CASE},
            hooks=Hooks(self._open, self._prepare, self._after, lambda *_: None, self._end),
            max_concurrency=8,
            budget=Budget(None, models),
        )

    async def run(self, trial, case, place):
        self.begun.append(trial)
        made = None if self._run is None else await self._run(trial, place)
        return made or executed(trial, case, text="x")

    async def aclose(self):
        self.closed += 1

    def _planned(self, name, number):
        kind = self._kinds[number % len(self._kinds)]
        return planned(model_id=name, case_id="c", repetition=number + 1, runner_type=kind)

    def _open(self, kind, model):
        self.opened.append((kind, model.model_id))
        return self

    async def _prepare(self, model, runner_of):
        assert not [trial for trial in self.begun if trial.model_id == model.model_id]
        self.prepared.append(model.model_id)
        if self._before is not None:
            await self._before(model)

    async def _after(self, model): ...

    async def _end(self, execution):
        self.done.append(execution.trial)
        self.ended.append(execution.outcome)
        if self._finished is not None:
            await self._finished(execution)

    def execute(self):
        asyncio.run(asyncio.wait_for(self.executor.run(), 20))


def test_a_model_is_prepared_once_before_its_first_trial():
    work = Work(model("a"), model("b"))
    work.execute()

    assert sorted(work.prepared) == ["a", "b"]
    assert len(work.done) == 8


def test_a_model_has_one_runner_a_kind_opened_where_a_trial_wants_it_and_closed_with_the_model():
    work = Work(model("a", limit=3), model("b"), n_trials=6, kinds=("chat", "agent"))
    work.execute()

    assert sorted(work.opened) == [
        ("agent", "a"), ("agent", "b"), ("chat", "a"), ("chat", "b"),
    ]  # fmt: skip
    assert work.closed == 4


def test_a_runner_that_cannot_be_opened_costs_its_own_trials_alone():
    work = Work(model("a"), n_trials=4, kinds=("chat", "agent"))
    opened = work._open

    def open_runner(kind, model):
        if kind == "agent":
            message = "no such thing"
            raise ImportError(message)
        return opened(kind, model)

    work.executor.hooks.open_runner = open_runner
    work.execute()

    assert [one.runner_type for one in work.begun] == ["chat", "chat"]
    assert [one.failure_type for one in work.ended] == [None, "exception"] * 2
    assert work.ended[1].error_message == "ImportError: no such thing"


def test_trials_that_wait_leave_their_place_to_as_many_others_and_no_more():
    waiting = []

    async def wait(trial, place):
        waiting.append(len(work.begun) - len(work.done))
        await place.back_off(0.05)

    work = Work(model("a", limit=2), n_trials=12, run=wait)
    work.execute()

    assert len(work.done) == 12
    assert max(waiting) == WORKERS_PER_SLOT * 2


def test_a_model_that_is_stopped_takes_no_other_trial_and_others_go_on():
    async def stop(execution):
        if execution.trial.model_id == "a":
            work.executor.stop_model("a", "enough")

    work = Work(model("a"), model("b"), n_trials=5, finished=stop)
    work.execute()

    assert [trial.model_id for trial in work.done].count("a") == 1
    assert [trial.model_id for trial in work.done].count("b") == 5
    assert work.executor.stopped_models == {"a": "enough"}


def test_a_mistake_of_ours_ends_what_others_are_doing():
    async def asked(trial, place):
        if trial.model_id == "slow":
            await asyncio.sleep(60)

    async def fail(execution):
        message = "our bug"
        raise ZeroDivisionError(message)

    work = Work(model("slow"), model("a"), run=asked, finished=fail)
    began = time.monotonic()
    with pytest.raises(ZeroDivisionError, match="our bug"):
        work.execute()

    assert time.monotonic() - began < 30


@pytest.mark.parametrize(("attempts", "is_given_up"), [(0, False), (1, True)])
def test_an_agent_that_never_asked_says_nothing_of_the_address(attempts, is_given_up):
    async def late(trial, place):
        made = executed(trial, CASE, failure_type="timeout", accepted=False)
        return replace(made, attempt_count=attempts)

    work = Work(model("a"), n_trials=4, run=late)
    work.execute()

    assert bool(work.executor.stopped_models) == is_given_up
