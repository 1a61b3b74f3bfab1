"""Whoever comes, dies or is slow to let go: together they never use more than one run may."""

import asyncio
import random
from dataclasses import asdict

import pytest

from collect.console.progress import RunReport
from collect.dispatch import coordinator as module
from collect.dispatch.coordinator import Coordinator, Shard
from collect.dispatch.executors import StartError
from collect.dispatch.funds import Funds
from collect.dispatch.messages import Begin, Division, Ended, Note, Progress, Refused, Stop
from collect.dispatch.record import DispatchRecord
from collect.execute.budget import BudgetNeed
from collect.limits import part_of
from schemas.run.dispatch import DispatchPlan, ShardAttempt, ShardEnd, ShardLoss, read_dispatch

LIMIT = 7
NO_ROOM = "its process cannot be started"


class World:
    """Processes of shards that take their time, and some of them die."""

    name = "processes"
    n_places = 9
    lease_s = 0.02

    def __init__(self, seed, n_shards, deaths):
        self.rng = random.Random(seed)
        self.work = {number: self.rng.randint(5, 60) for number in range(1, n_shards + 1)}
        self.deaths = deaths
        self.alive = set()
        self.unheard = 0
        """What processes use of which nobody hears any more."""
        self.most = 0
        self.later = set()
        self.need = BudgetNeed(0, 0, 0, 0)

    async def start(self, run_dir, begin):
        await asyncio.sleep(self.rng.uniform(0, 0.02))
        if self.deaths and self.rng.random() < 0.1:
            raise StartError(NO_ROOM)
        process = Process(self, int(run_dir.name), begin)
        self.alive.add(process)
        return process

    async def close(self):
        """Nothing is open."""

    def look(self):
        self.most = max(self.most, self.unheard + sum(one.using for one in self.alive))

    def lose(self, using):
        """Let something be used a little longer, by a process that nobody hears."""
        self.unheard += using

        async def end():
            await asyncio.sleep(self.lease_s * 0.9)
            self.unheard -= using

        self.later.add(asyncio.create_task(end()))


class Process:
    """One attempt: it takes a larger part at once, and a smaller one when it has drained."""

    def __init__(self, world, number, begin):
        self.world, self.number, self.begin = world, number, begin
        self.using, self.kept = 0, 0
        self.heard, self.said = asyncio.Queue(), asyncio.Queue()
        self.stopped = False
        self.life = asyncio.create_task(self.live())

    def send(self, message):
        self.heard.put_nowait(message)

    async def receive(self):
        return await self.said.get()

    async def end(self):
        self.life.cancel()
        self.world.alive.discard(self)
        return "it was killed"

    async def live(self):
        world = self.world
        say = self.said.put_nowait
        say(Note("warning: the same of every shard"))
        say(Progress())
        present = 0
        while world.work[self.number] > 0 and not self.stopped:
            while not self.heard.empty():
                message = self.heard.get_nowait()
                self.stopped |= isinstance(message, Stop)
                if isinstance(message, Division):
                    part = part_of(LIMIT, message.rank, message.n_shares)
                    if part < self.using:
                        await asyncio.sleep(world.rng.uniform(0, 0.01))
                    self.using, self.kept = part, message.number
                    world.look()
                    say(Progress(present=present, number=self.kept))
            await asyncio.sleep(0.001)
            world.work[self.number] -= self.using
            present += self.using
            say(Progress(present=present, number=self.kept, need=world.need))
            if world.deaths and world.rng.random() < 0.02:
                world.deaths -= 1
                world.lose(self.using)
                self.using = 0
                say(None)
                return
        self.using = 0
        left = world.work[self.number]
        report = RunReport(str(self.number), "", planned=1, present=int(left <= 0))
        say(Ended(asdict(report)))
        say(None)


@pytest.fixture
def made(tmp_path, monkeypatch):
    """Make shards in a world; returns the coordinator and its record's lines."""

    async def nothing(run_dir):
        return []

    monkeypatch.setattr(module, "brought_in", nothing)
    monkeypatch.setattr(module, "RETRY_S", 0.001)

    def make(world, *, stop_after=None, stops_together=False, funds=None):
        numbers = sorted(world.work)
        plan = DispatchPlan(
            dispatch_id="d", run_group="g-1", started_at_ms=1, benchlake_version="1",
            executor="processes", shards=tuple(map(str, numbers)), n_planned=len(numbers),
        )  # fmt: skip
        record = DispatchRecord.create(tmp_path, plan)
        notes = []
        made = Coordinator(
            record=record,
            shards=[Shard(number, tmp_path / str(number)) for number in numbers],
            executor=world,
            begin=Begin(),
            funds=funds or Funds(None, {}),
            at_once=LIMIT,
            spent=lambda _: 0,
            note=notes.append,
            shown=lambda _: None,
            stops_together=stops_together,
        )

        class Interrupts:
            def watch(self, first, again):
                if stop_after is not None:
                    asyncio.get_running_loop().call_later(stop_after, first)

        try:
            asyncio.run(asyncio.wait_for(made.run(Interrupts()), 30))
        finally:
            record.close()
        return made, notes, read_dispatch(record.path)[1]

    return make


@pytest.mark.parametrize("seed", range(12))
def test_together_they_never_use_more_than_the_limit(made, seed):
    world = World(seed, n_shards=2 + seed % 4, deaths=seed % 5)
    done, notes, lines = made(world)

    assert 0 < world.most <= LIMIT
    assert all(left <= 0 for left in world.work.values())
    assert all(shard.report is not None for shard in done.shards)
    assert notes.count("warning: the same of every shard") == 0
    assert sum("the same of every shard" in note for note in notes) <= 1 + done.n_lost
    attempts = [line for line in lines if isinstance(line, ShardAttempt)]
    ends = [line for line in lines if isinstance(line, ShardEnd | ShardLoss)]
    assert len(attempts) >= len(ends) >= len(done.shards)
    assert done.n_lost == len(attempts) - len(done.shards)


def test_who_is_left_gets_all_of_it(made):
    world = World(1, n_shards=3, deaths=0)
    world.work = {1: 5, 2: 5, 3: 2_000}
    made(world)

    assert world.most == LIMIT


def test_a_shard_that_can_never_be_made_is_given_up_and_the_others_are_made(made, monkeypatch):
    world = World(1, n_shards=3, deaths=0)
    start = world.start

    async def refusing(run_dir, begin):
        if run_dir.name == "2":
            raise StartError(NO_ROOM)
        return await start(run_dir, begin)

    world.start = refusing
    done, notes, _ = made(world)

    assert [shard.is_given_up for shard in done.shards] == [False, True, False]
    assert f"2 is given up after 5 attempts: {NO_ROOM}" in notes
    assert world.work[1] <= 0 >= world.work[3]


def test_what_is_refused_on_a_machine_is_said_once_and_not_tried_again(made):
    world = World(1, n_shards=2, deaths=0)
    start, begun = world.start, []

    async def refusing(run_dir, begin):
        begun.append(run_dir.name)
        process = await start(run_dir, begin)
        if run_dir.name == "1":
            process.life.cancel()
            process.said = asyncio.Queue()
            process.said.put_nowait(Refused("no sandbox here", 2))
            process.said.put_nowait(None)
        return process

    world.start = refusing
    done, notes, _ = made(world)

    assert sorted(begun) == ["1", "2"]
    assert "1: no sandbox here" in notes
    assert done.shards[0].refused.exit_code == 2
    assert done.shards[1].report is not None


def test_what_cost_nobody_knows_what_stays_spent_when_its_shard_ends(made):
    """An answer whose cost is not told is in no log; the process that asked counted it."""
    world = World(1, n_shards=1, deaths=0)
    world.need = BudgetNeed(spent=70, reserved=0, required=0, widest=10)
    funds = Funds(100, {1: 0})
    made(world, funds=funds)

    assert funds.left == 30


def test_a_stop_reaches_every_shard_and_nothing_is_begun_after_it(made):
    world = World(1, n_shards=3, deaths=0)
    world.work = dict.fromkeys(world.work, 10**9)
    done, notes, lines = made(world, stop_after=0.2)

    assert all(shard.report is not None for shard in done.shards)
    assert notes[-1].startswith("stopping: trials in flight may finish")
    assert sum(isinstance(line, ShardAttempt) for line in lines) == 3


def test_with_fail_fast_one_that_stops_early_stops_all(made):
    world = World(1, n_shards=3, deaths=0)
    world.work = {1: 30, 2: 10**9, 3: 10**9}
    start = world.start

    async def stopping(run_dir, begin):
        process = await start(run_dir, begin)
        if run_dir.name == "1":
            process.send(Stop())
        return process

    world.start = stopping
    done, _, _ = made(world, stops_together=True)

    assert all(shard.report is not None for shard in done.shards)
