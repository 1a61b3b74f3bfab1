"""Finished answers are handed over one a pass of the loop, and nobody is forgotten."""

import asyncio

import pytest
import uvloop

from collect.http_client.pool import CompletionQueue

LOOPS = pytest.mark.parametrize(
    "loop_factory", [asyncio.new_event_loop, uvloop.new_event_loop], ids=["asyncio", "uvloop"]
)


def on(loop_factory, work):
    with asyncio.Runner(loop_factory=loop_factory) as runner:
        return runner.run(asyncio.wait_for(work, 20))


@LOOPS
def test_one_goes_a_pass_in_the_order_they_came(loop_factory):
    async def run():
        completions, seen, passes = CompletionQueue(), [], 0
        loop, counting = asyncio.get_running_loop(), True

        def count():
            nonlocal passes
            passes += 1
            if counting:
                loop.call_soon(count)

        async def one(number):
            await completions.wait_turn()
            seen.append((number, passes))

        loop.call_soon(count)
        await asyncio.gather(*(one(number) for number in range(50)))
        counting = False
        return seen

    seen = on(loop_factory, run())
    assert [number for number, _ in seen] == list(range(50))
    assert len({at for _, at in seen}) == 50, "no two in the same pass"


@LOOPS
def test_those_who_gave_up_hold_up_nobody(loop_factory):
    async def run():
        completions = CompletionQueue()
        tasks = [asyncio.create_task(completions.wait_turn()) for _ in range(10)]
        await asyncio.sleep(0)
        for task in tasks[::2]:
            task.cancel()
        ends = await asyncio.gather(*tasks, return_exceptions=True)
        assert [isinstance(end, asyncio.CancelledError) for end in ends] == [True, False] * 5
        await completions.wait_turn()

    on(loop_factory, run())


@LOOPS
def test_after_a_rest_turns_go_on(loop_factory):
    async def run():
        completions, taken = CompletionQueue(), 0
        for _ in range(3):
            await completions.wait_turn()
            taken += 1
            await asyncio.sleep(0.01)
        return taken

    assert on(loop_factory, run()) == 3
