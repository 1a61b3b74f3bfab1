"""Who may ask, and when: places are never lost, one server's limits slow no other."""

import asyncio
import random
import time

import pytest

from collect.limits import MAX_HOLD_S, MIN_ROUND_ANSWERS, Gate, Limiter, Stopped
from collect.providers.base import Reply

FINE = Reply(text="ok")
TOO_MANY = Reply(failure_type="http_429")


def learn(limiter, n_fine, n_refused):
    """Tell a limiter answers until it looks at its limit, the refused ones spread evenly."""
    place_answers = [TOO_MANY] * n_refused + [FINE] * n_fine
    for reply in place_answers:
        limiter.learn(reply)


async def settle():
    for _ in range(5):
        await asyncio.sleep(0)


def most_at_once(limit, places, n_trials):
    """Return how many of `n_trials` held a place at the same time at most."""

    async def run():
        limiter = Limiter(Gate(places), limit)
        inside, most = 0, 0

        async def trial():
            nonlocal inside, most
            place = await limiter.enter()
            inside += 1
            most = max(most, inside)
            await asyncio.sleep(0.001)
            inside -= 1
            place.leave()

        await asyncio.gather(*(trial() for _ in range(n_trials)))
        return most

    return asyncio.run(run())


@pytest.mark.parametrize(("limit", "places", "most"), [(3, 9, 3), (9, 2, 2), (1, 1, 1)])
def test_the_models_limit_and_the_runs_limit_both_hold(limit, places, most):
    assert most_at_once(limit, places, 20) == most


def test_a_place_is_taken_once_and_given_back_once():
    async def run():
        places = Gate(2)
        limiter = Limiter(places, 2)
        place = await limiter.enter()
        await place.take()
        other = await limiter.enter()
        assert places._taken == places.limit
        place.leave()
        place.leave()
        other.leave()
        first, second = await limiter.enter(), await limiter.enter()
        assert places._taken == places.limit, "two places, not three"
        first.leave()
        second.leave()

    asyncio.run(run())


def test_while_a_trial_waits_before_a_retry_another_model_has_its_place():
    async def run():
        places = Gate(1)
        slow, quick = Limiter(places, 1), Limiter(places, 1)
        place = await slow.enter()
        waiting = asyncio.create_task(place.back_off(30))
        await settle()
        (await asyncio.wait_for(quick.enter(), 5)).leave()
        assert not waiting.done(), "it waited all the time"
        waiting.cancel()
        await asyncio.gather(waiting, return_exceptions=True)
        place.leave()
        (await asyncio.wait_for(slow.enter(), 5)).leave()
        assert places._taken < places.limit, "every place was given back"

    asyncio.run(run())


def test_while_a_trial_waits_for_its_turn_in_the_minute_another_model_has_its_place():
    async def run():
        places = Gate(1)
        paced, quick = Limiter(places, 2, per_minute=1), Limiter(places, 1)
        first = await paced.enter()
        await first.before_request()
        first.leave()
        second = await paced.enter()
        waiting = asyncio.create_task(second.before_request())
        await settle()
        assert not waiting.done()
        (await asyncio.wait_for(quick.enter(), 5)).leave()
        waiting.cancel()
        await asyncio.gather(waiting, return_exceptions=True)

    asyncio.run(run())


def test_requests_begin_evenly_spaced():
    async def run():
        limiter = Limiter(Gate(9), 9, per_minute=1_200)
        began = []

        async def ask():
            place = await limiter.enter()
            await place.before_request()
            began.append(time.monotonic())
            place.leave()

        start = time.monotonic()
        await asyncio.gather(*(ask() for _ in range(7)))
        return [at - start for at in began]

    began = asyncio.run(run())
    for number, at in enumerate(sorted(began)):
        assert at >= number * 0.05 - 0.005, began


def test_without_a_limit_a_minute_nobody_waits():
    assert Limiter(Gate(1), 1).pace() == 0.0


def test_too_many_429_cost_places_and_keeping_up_gives_them_back():
    limits = []
    limiter = Limiter(Gate(64), 32, on_shrink=limits.append)

    learn(limiter, n_fine=24, n_refused=8)
    assert (limiter.limit, limits) == (24, [24])
    learn(limiter, n_fine=0, n_refused=24)
    assert (limiter.limit, limits) == (12, [24, 12])
    for _ in range(400):
        learn(limiter, n_fine=1, n_refused=0)
    assert limiter.limit == 32, "not more than it began with"
    assert limits == [24, 12], "growing is nothing to tell"


def test_a_few_429_are_left_to_the_retries():
    limiter = Limiter(Gate(64), 32)
    for _ in range(10):
        learn(limiter, n_fine=31, n_refused=1)
    assert limiter.limit == 32


def test_one_place_always_stays():
    limits = []
    limiter = Limiter(Gate(4), 4, on_shrink=limits.append)
    for _ in range(20):
        learn(limiter, n_fine=0, n_refused=MIN_ROUND_ANSWERS)
    assert limiter.limit == 1
    assert limits == [2, 1]


def test_a_smaller_limit_holds_for_those_who_come_after_it():
    async def run():
        limiter = Limiter(Gate(8), 8)
        inside = [await limiter.enter() for _ in range(8)]
        learn(limiter, n_fine=0, n_refused=8)
        assert limiter.limit == 4
        waiting = asyncio.create_task(limiter.enter())
        for place in inside[:4]:
            place.leave()
        await settle()
        assert not waiting.done(), "four are inside still"
        inside[4].leave()
        place = await asyncio.wait_for(waiting, 5)
        for one in (place, *inside):
            one.leave()

    asyncio.run(run())


def test_a_larger_limit_lets_those_who_wait_in():
    async def run():
        limiter = Limiter(Gate(8), 8)
        learn(limiter, n_fine=0, n_refused=8)
        inside = [await limiter.enter() for _ in range(4)]
        waiting = asyncio.create_task(limiter.enter())
        await settle()
        assert not waiting.done()
        learn(limiter, n_fine=8, n_refused=0)
        assert limiter.limit == 5
        (await asyncio.wait_for(waiting, 5)).leave()
        for place in inside:
            place.leave()

    asyncio.run(run())


def test_those_who_stop_waiting_leave_no_place_behind():
    """Cancelled before, at and after the moment a place is granted."""

    async def run():
        places = Gate(2)
        limiter = Limiter(places, 2)
        for turns in range(6):
            inside = [await limiter.enter(), await limiter.enter()]
            waiting = [asyncio.create_task(limiter.enter()) for _ in range(4)]
            await settle()
            for place in inside:
                place.leave()
            for _ in range(turns):
                await asyncio.sleep(0)
            for task in waiting:
                task.cancel()
            for end in await asyncio.gather(*waiting, return_exceptions=True):
                if not isinstance(end, BaseException):
                    end.leave()
            both = [await asyncio.wait_for(limiter.enter(), 5) for _ in range(2)]
            assert places._taken == places.limit, "two places are there, and no third"
            for place in both:
                place.leave()

    asyncio.run(run())


def test_they_are_let_in_in_the_order_they_came():
    async def run():
        limiter = Limiter(Gate(4), 1)
        first, order = await limiter.enter(), []

        async def trial(number):
            place = await limiter.enter()
            order.append(number)
            place.leave()

        tasks = [asyncio.create_task(trial(number)) for number in range(5)]
        await settle()
        first.leave()
        await asyncio.gather(*tasks)
        return order

    assert asyncio.run(run()) == [0, 1, 2, 3, 4]


def held_back(n_fine, n_refused, retry_after_s=30.0):
    limiter = Limiter(Gate(64), 64)
    learn(limiter, n_fine, 0)
    for _ in range(n_refused):
        limiter.learn(Reply(failure_type="http_429", retry_after_s=retry_after_s))
    return limiter.pace()


def test_a_server_that_says_how_long_to_stay_away_is_left_alone():
    assert 25 < held_back(n_fine=10, n_refused=10) <= 30
    assert held_back(n_fine=10, n_refused=10, retry_after_s=9_999) <= MAX_HOLD_S
    assert held_back(n_fine=10, n_refused=10, retry_after_s=None) == 0


def test_a_shorter_wait_that_is_asked_for_later_does_not_end_a_longer_one():
    limiter = Limiter(Gate(64), 64)
    for retry_after_s in [30.0] * 10 + [1.0] * 10:
        limiter.learn(Reply(failure_type="http_429", retry_after_s=retry_after_s))

    assert 25 < limiter.pace() <= 30


@pytest.mark.parametrize(("n_fine", "n_refused"), [(0, 1), (0, 2), (14, 2), (60, 4)])
def test_a_few_429_hold_nobody_else_back(n_fine, n_refused):
    """A server that refuses 3 % at random would else stand still most of the time."""
    assert held_back(n_fine, n_refused) == 0


def test_at_any_limit_three_in_a_hundred_refused_at_random_cost_hardly_a_place():
    dice = random.Random(7)
    for limit in (4, 16, 64, 256):
        limiter, limits = Limiter(Gate(256), limit), []
        for _ in range(20_000):
            limiter.learn(TOO_MANY if dice.random() < 0.03 else FINE)
            limits.append(limiter.limit)
        assert sum(limits) / len(limits) > 0.85 * limit, limit


def test_who_waits_without_a_place_makes_room_and_ends_with_a_stop():
    async def run():
        calls = []
        limiter = Limiter(Gate(1), 1, on_room=lambda: calls.append(1))
        place = await limiter.enter()
        waiting = asyncio.create_task(place.back_off(60))
        await settle()
        assert calls == [1]
        limiter.close()
        with pytest.raises(Stopped):
            await asyncio.wait_for(waiting, 5)
        with pytest.raises(Stopped):
            await limiter.sleep(60)
        (await asyncio.wait_for(limiter.enter(), 5)).leave()

    asyncio.run(run())
