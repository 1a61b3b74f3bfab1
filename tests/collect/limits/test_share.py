"""Parts of a run's limits: they add up, and who comes or goes changes others one way only."""

import asyncio

from hypothesis import given
from hypothesis import strategies as st

from collect.limits import Gate, Limiter, Share, SharedGate, part_of


@given(st.integers(1, 500), st.integers(1, 60))
def test_parts_of_a_limit_add_up_to_it_and_differ_by_one_at_most(limit, n_shares):
    parts = [part_of(limit, rank, n_shares) for rank in range(n_shares)]

    assert sum(parts) == limit
    assert max(parts) - min(parts) <= 1


@given(st.integers(1, 500), st.integers(2, 60), st.data())
def test_who_leaves_lowers_nobodys_part_and_who_joins_raises_nobodys(limit, n_shares, data):
    gone = data.draw(st.integers(0, n_shares - 1))
    before = [part_of(limit, rank, n_shares) for rank in range(n_shares) if rank != gone]
    after = [part_of(limit, rank, n_shares - 1) for rank in range(n_shares - 1)]

    assert all(new >= old for old, new in zip(before, after, strict=True))


def test_a_gate_that_shrinks_lets_those_inside_finish_and_nobody_else_in():
    async def run():
        share = Share()
        gate = SharedGate(4, share)
        for _ in range(4):
            await gate.take()
        share.change(0, 2)
        assert not share.is_within, "four are inside, two may be"
        waiting = asyncio.ensure_future(gate.take())
        for n_left in (3, 2):
            gate.give()
            await asyncio.sleep(0)
            assert not waiting.done(), f"{n_left} are inside"
        assert share.is_within
        gate.give()
        await waiting

    asyncio.run(run())


def test_without_a_share_nothing_begins_and_with_one_again_it_does():
    async def run():
        share = Share(0, 0)
        limiter = Limiter(Gate(8), 8, share=share)
        entering = asyncio.ensure_future(limiter.enter())
        await asyncio.sleep(0.01)
        assert not entering.done()
        assert limiter.is_held
        assert limiter.pace() > 0, "a request in the middle of a trial waits too"
        share.change(1, 2)
        await entering
        assert limiter.limit == 4
        assert limiter.pace() == 0.0
        share.change(0, 1)
        assert limiter.limit == 8

    asyncio.run(run())


def test_the_pace_is_divided_with_the_limit():
    share = Share(0, 2)
    limiter = Limiter(Gate(8), 8, per_minute=1_200, share=share)

    first, second = limiter.pace(), limiter.pace()
    assert first == 0.0
    assert 0.09 < second <= 0.1, "600 a minute of 1,200"
    share.change(0, 1)
    limiter.pace()
    before, after = limiter.pace(), limiter.pace()
    assert 0.04 < after - before <= 0.051


def test_a_limiter_that_is_closed_keeps_nobody_waiting_whatever_its_share():
    async def run():
        share = Share(0, 0)
        slots = SharedGate(1, share)
        limiter = Limiter(slots, 1, share=share)
        entering = [asyncio.ensure_future(limiter.enter()) for _ in range(3)]
        await asyncio.sleep(0)
        limiter.close()
        slots.close()
        share.change(0, 0)
        for one in entering:
            (await one).leave()

    asyncio.run(run())
