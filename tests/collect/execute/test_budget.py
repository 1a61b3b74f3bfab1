"""`--max-cost`: what is promised never exceeds the limit, and waiting for money stops nobody."""

import asyncio
from dataclasses import replace

import pytest

from collect.execute.budget import Budget
from collect.execute.executor import Executor, Hooks
from collect.limits import Gate, Limiter
from collect.providers.base import Reply, Usage
from schemas.config.prices import NANO, Price
from tests.support.executions import executed
from tests.support.run_rows import planned

PRICE = Price(
    model="r", valid_from="2026-01-01", input_usd_per_million=0, output_usd_per_million=1_000
)
"""A thousandth of a dollar for each token that comes out."""


@pytest.fixture
def inputs(project):
    """A model of which a trial costs a cent at most, and its one case."""
    project.case()
    project.model(base_url="http://127.0.0.1:9/v1")
    project.profile(runner_defaults={"max_tokens": 10})
    return project.load()


def priced(inputs, price=PRICE):
    return replace(inputs.models[0], price=price)


def used(tokens):
    return Usage(0, tokens, raw={})


def place_of():
    return Limiter(Gate(99), 99).enter()


async def settle():
    for _ in range(5):
        await asyncio.sleep(0)


class Spender:
    """Reserves and settles trials of one model by hand."""

    def __init__(self, inputs, max_usd, spent_usd=0.0, price=PRICE):
        self.price = price
        self.case = inputs.cases[0]
        self.trial = planned(case_id=self.case.case_id)
        self.budget = Budget(max_usd, (priced(inputs, price),), spent_usd)

    async def reserve(self, place=None):
        return await self.budget.reserve(self.trial, self.case, place or await place_of())

    def settle(self, reserved, **facts):
        self.budget.settle(reserved, executed(self.trial, self.case, **facts), self.price)


def test_without_a_limit_nothing_is_reserved(inputs):
    async def run():
        spender = Spender(inputs, None)
        assert [await spender.reserve() for _ in range(3)] == [0, 0, 0]
        spender.settle(0, usage=used(10))

    asyncio.run(run())


def test_a_trial_reserves_the_most_it_may_cost(inputs):
    async def run():
        assert await Spender(inputs, 1.0).reserve() == NANO // 100

    asyncio.run(run())


def test_a_trial_reserves_for_the_dearest_tokens_there_may_be(inputs):
    price = PRICE.model_copy(update={"reasoning_usd_per_million": 2_000.0})

    async def run():
        assert await Spender(inputs, 1.0, price=price).reserve() == NANO // 50

    asyncio.run(run())


def test_what_was_spent_before_counts(inputs):
    async def run():
        assert await Spender(inputs, 0.05, spent_usd=0.041).reserve() is None
        assert await Spender(inputs, 0.05, spent_usd=0.04).reserve() == NANO // 100
        assert await Spender(inputs, 0.0).reserve() is None

    asyncio.run(run())


def test_a_trial_waits_while_others_may_turn_out_cheaper(inputs):
    async def run():
        spender = Spender(inputs, 0.02)
        first, second = await spender.reserve(), await spender.reserve()
        third = asyncio.create_task(spender.reserve())
        await settle()
        assert not third.done()
        spender.settle(first, usage=used(1))
        await settle()
        assert not third.done(), "0.1 + 1 + 1 cents are more than 2"
        spender.settle(second, usage=used(1))
        assert await asyncio.wait_for(third, 5) == NANO // 100

    asyncio.run(run())


def test_when_nobody_can_turn_out_cheaper_any_more_it_is_over(inputs):
    async def run():
        spender = Spender(inputs, 0.015)
        first = await spender.reserve()
        waiting = [asyncio.create_task(spender.reserve()) for _ in range(3)]
        await settle()
        spender.settle(first, usage=used(10))
        assert await asyncio.wait_for(asyncio.gather(*waiting), 5) == [None, None, None]

    asyncio.run(run())


@pytest.mark.parametrize(
    ("facts", "left_for"),
    [
        ({"usage": used(3)}, 3),  # by its price
        ({"usage": used(3), "cost_usd": 0.001}, 3),  # as the server says
        ({}, 2),  # nobody knows: the reservation stays
        ({"failure_type": "timeout"}, 2),
        ({"attempt_count": 0, "failure_type": "connection_error"}, 3),  # nothing was asked
    ],
)
def test_a_reservation_gives_way_to_what_is_known(inputs, facts, left_for):
    async def run():
        spender = Spender(inputs, 0.03501)
        spender.settle(await spender.reserve(), **facts)
        fits = 0
        for _ in range(left_for):
            fits += await spender.reserve() is not None
        more = asyncio.create_task(spender.reserve())
        await settle()
        assert not more.done()
        more.cancel()
        await asyncio.gather(more, return_exceptions=True)
        return fits

    assert asyncio.run(run()) == left_for


def test_a_released_reservation_is_free_again(inputs):
    async def run():
        spender = Spender(inputs, 0.01)
        first = await spender.reserve()
        second = asyncio.create_task(spender.reserve())
        await settle()
        spender.budget.release(first)
        assert await asyncio.wait_for(second, 5) == first

    asyncio.run(run())


def test_without_max_tokens_the_dearest_trial_so_far_is_what_one_may_cost(project, endpoint):
    project.case()
    project.model(base_url=endpoint.base_url)
    inputs = project.load()

    async def run():
        spender = Spender(inputs, 0.01)
        spender.settle(await spender.reserve(), usage=used(4))
        second = await spender.reserve()
        assert second == 4 * NANO // 1000
        spender.settle(second, usage=used(2))
        assert await asyncio.wait_for(spender.reserve(), 5) == 4 * NANO // 1000

    asyncio.run(run())


def test_where_nothing_bounds_a_trial_and_its_cost_cannot_be_told_no_other_begins(project):
    project.case()
    project.model(base_url="http://127.0.0.1:9/v1")
    inputs = project.load()

    async def run():
        spender = Spender(inputs, 1.0)
        spender.settle(await spender.reserve(), failure_type="http_500", attempt_count=3)
        spender.settle(await spender.reserve(), usage=Usage(raw=[{}, None]))
        assert await spender.reserve() is None
        free = Spender(inputs, 1.0, price=PRICE.model_copy(update={"output_usd_per_million": 0.0}))
        free.settle(await free.reserve(), usage=Usage())
        assert await free.reserve() == 0

    asyncio.run(run())


def test_who_waits_for_money_holds_no_place(inputs):
    async def run():
        spender = Spender(inputs, 0.01)
        places = Gate(1)
        limiter = Limiter(places, 2)
        first_place = await limiter.enter()
        first = await spender.reserve(first_place)
        first_place.leave()  # as before a retry
        second_place = await limiter.enter()
        second = asyncio.create_task(spender.reserve(second_place))
        await settle()
        await asyncio.wait_for(first_place.take(), 5)
        spender.settle(first, usage=used(0))
        await settle()
        assert not second.done(), "it has its money, and waits for its place"
        first_place.leave()
        assert await asyncio.wait_for(second, 5) == NANO // 100
        assert places._taken == places.limit

    asyncio.run(run())


class Scripted:
    """A runner whose trials cost ten tokens, after as many waits before a retry as it is told."""

    def __init__(self, waits=0):
        self.waits = waits
        self.asked = 0

    async def run(self, trial, case, place):
        self.asked += 1
        for _ in range(self.waits):
            await asyncio.sleep(0.01)
            place.learn(Reply(failure_type="http_429"))
            await place.back_off(0.01)
        await asyncio.sleep(0.01)
        return executed(trial, case, usage=used(1), attempt_count=1 + self.waits)

    async def warm_up(self):
        raise AssertionError

    async def aclose(self): ...


def execute(inputs, *, names, max_usd, limit, waits, n_trials=4, stop_after=None, on_finished=None):
    """Return how many trials of hosted models were handed over, and why it stopped."""
    models = tuple(
        replace(priced(inputs), model_id=name, is_loopback=False, max_concurrency=limit)
        for name in names
    )
    case, done = inputs.cases[0], []

    async def nothing(*_): ...

    async def finished(execution):
        done.append(execution)
        if on_finished is not None:
            on_finished()
        if stop_after is not None and len(done) == stop_after:
            executor.stop("enough")

    hooks = Hooks(
        open_runner=lambda *_: Scripted(waits),
        before_model=nothing,
        after_model=nothing,
        throttled=lambda model, limit: None,
        finished=finished,
    )
    executor = Executor(
        models=models,
        trials_of=lambda name: iter(
            [planned(model_id=name, case_id=case.case_id, repetition=n) for n in range(1, n_trials)]
        ),
        cases={case.case_id: case},
        hooks=hooks,
        max_concurrency=limit,
        budget=Budget(max_usd, models),
    )
    asyncio.run(asyncio.wait_for(executor.run(), 20))
    return len(done), executor.stop_reason


def test_workers_are_started_as_trials_are_there_for_them(inputs):
    tasks = []
    n_done, _ = execute(
        inputs, names="a", max_usd=None, limit=100_000, waits=0, n_trials=9,
        on_finished=lambda: tasks.append(len(asyncio.all_tasks())),
    )  # fmt: skip

    assert n_done == 8
    assert max(tasks) < 8 + 5


@pytest.mark.parametrize("names", ["a", "ab", "abc"])
@pytest.mark.parametrize("waits", [0, 1, 6])
def test_trials_that_wait_for_money_and_trials_that_wait_for_a_retry_end(inputs, names, waits):
    """One that waits for money in a place that another needs for its retry would never end."""
    n_done, reason = execute(inputs, names=names, max_usd=0.015, limit=2, waits=waits)

    n_affordable = 6  # a tenth of a cent each; the next may cost a cent
    assert n_done == min(3 * len(names), n_affordable)
    assert (reason is not None) is (3 * len(names) > n_affordable)


def test_a_stop_ends_trials_that_wait_for_money(inputs):
    n_done, reason = execute(
        inputs, names="ab", max_usd=0.019, limit=4, waits=0, n_trials=9, stop_after=1
    )

    assert reason == "enough"
    assert n_done <= 2, "one more may have had its money already"
