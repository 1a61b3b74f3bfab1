"""Labelled traces of coding agents, to measure a detector of loops that they were not made from.

Trace i depends on (seed, i) only. What is debatable is left out: a label is a loop by
construction, and all else is none. Refused calls (429, 503) lie inside the range of a label and
count as no round; an unfinished last round lies outside.
"""

from __future__ import annotations

import random
from collections.abc import Iterator
from typing import Any, NamedTuple

from tests.support.made_agents import (
    OTHERS,
    PAIRS,
    READS,
    SAYINGS,
    VOLATILE,
    WORDS,
    Call,
    Event,
    Track,
    refused,
)

LOOP_KINDS = {
    "loop_static": 4,
    "loop_volatile": 7,
    "loop_varying_width": 3,
    "loop_text": 5,
    "loop_retry": 5,
    "loop_compaction": 4,
    "loop_parallel": 4,
    "loop_subagent": 4,
    "loop_cut": 4,
    "loop_twin_args": 2,
    "loop_near": 3,
    "loop_two": 3,
    "loop_429_text": 2,
}
CLEAN_KINDS = {
    "plain": 3,
    "edit_test": 5,
    "poll": 4,
    "many_reads": 4,
    "rerun_test": 4,
    "reread_compaction": 4,
    "retry_storm": 5,
    "paging": 4,
    "ask_twice": 3,
    "progress": 4,
    "equal_length_args": 4,
    "far_apart": 3,
    "cross_trajectory": 3,
}


class Loop(NamedTuple):
    """One labelled loop; call indexes count the tool_call events of its trajectory from 0."""

    trajectory: str
    first_call: int
    last_call: int
    period: int
    rounds: int


class LoopTrack(Track):
    """A trajectory with loops, and with what looks like one."""

    def __init__(self, rng: random.Random, name: str, start: int, style: dict[str, Any]) -> None:
        super().__init__(rng, name, start, style)
        self.loops: list[Loop] = []

    def loop(self, kind: str) -> None:
        """A loop of the given kind, with its label."""
        rng, w, parallel = self.rng, self.words, kind == "loop_parallel"
        period = (
            1
            if kind in ("loop_near", "loop_429_text")
            else rng.choices((1, 2, 3, 4), (45, 33, 17, 5))[0]
        )
        period = max(period, 2) if parallel or kind == "loop_twin_args" else period
        rounds = rng.choices(range(2, 13), (12, 18, 16, 12, 10, 8, 7, 6, 4, 4, 3))[0]
        rounds = max(rounds, {"loop_compaction": 4, "loop_retry": 3, "loop_text": 3}.get(kind, 2))
        cycle = [self.fresh(VOLATILE)] + [self.call() for _ in range(period - 1)]
        rng.shuffle(cycle)
        if kind == "loop_static":
            cycle = [c._replace(out=self.fill(c.out)) for c in cycle]
        elif kind == "loop_twin_args":  # different calls: their arguments differ in digits only
            path, at = w("src/@a.py"), rng.sample(range(10, 99), period)
            cycle = [Call("exec_shell", {"command": f"sed -n {k}p {path}"}, "", code=0) for k in at]
        elif kind == "loop_429_text":  # a number that looks like a status, but no call was refused
            text = rng.choice(
                (
                    "/repo/@a.py:%d: test_@b was @m",
                    "FAILED test_@b was @m\n1 failed, %d passed in $durs",
                )
            )
            cycle = [self.fresh(VOLATILE[:1])._replace(out=w(text % rng.choice((429, 503))))]
        elif (
            kind == "loop_near" and rng.random() < 0.7
        ):  # the same call before, but with other words
            self.turn(cycle[0]._replace(out=w("first run: @a is @m, @b missing")))
        size = 1 if parallel else period
        steps = [cycle] * rounds if parallel else [[c] for _ in range(rounds) for c in cycle]
        middle = range(size, len(steps) - size)  # the steps of neither the first nor the last round
        retries = (
            rng.sample(middle, rng.randint(1, min(2, len(middle)))) if kind == "loop_retry" else []
        )
        squeeze = rng.randint(2 * size, (rounds - 2) * size) if kind == "loop_compaction" else -1
        first = self.calls
        for i, step in enumerate(steps):
            if i == squeeze:
                self.compaction()
            for _ in range(rng.randint(1, 3) if i in retries else 0):
                self.turn(refused(rng, step[0]))
            if kind == "loop_text" and i in middle and rng.random() < 0.5:
                self.say(
                    "assistant",
                    w(" ".join(rng.sample(SAYINGS, 3))),
                    rng.choice((None, "reasoning")),
                )
            self.turn(*step, text=0.7 if kind == "loop_text" else None)
        self.loops.append(Loop(self.name, first, self.calls - 1, period, rounds))
        if kind == "loop_cut":  # an unfinished further round, outside the label
            k, self.cut = rng.randint(1, period), True
            for j, call in enumerate(cycle[:k]):
                self.turn(call, cut=j == k - 1)
        elif kind == "loop_near" and rng.random() < 0.7:
            self.turn(
                cycle[0]._replace(
                    out=w("all good now: @a repaired by @c"), status="success", code=0
                )
            )

    def clean(self, kind: str) -> None:
        """A stretch that resembles a loop, but is none."""
        rng, w, times = self.rng, self.words, self.rng.randint(3, 10)
        test, again, plan = self.fresh(VOLATILE[:1]), self.call(), list[Call]()
        edits = [self.fresh(OTHERS[2:3]) for _ in range(20)]
        if kind == "edit_test":
            for _ in range(times):
                plan += [edits.pop() for _ in range(rng.choice((1, 1, 1, 2)))]
                plan.append(
                    test._replace(
                        out=w("FAILED test_@a - AssertionError: @b was @m\n1 failed in $durs")
                    )
                )
        elif kind == "rerun_test":
            plan = [test, *edits[: rng.randint(1, 3)], test, edits[5]]
        elif kind == "poll":
            polls = [
                Call(
                    "BashOutput", {"bash_id": b}, rng.choice(("", "still running", "no new output"))
                )
                for b in rng.sample(("bash_1", "bash_2", "bash_3"), rng.choice((1, 1, 2)))
            ]
            plan = [polls[k % len(polls)] for k in range(rng.randint(6, 14))]
        elif kind == "many_reads":
            stem, body = w("/repo/src/@a"), rng.choice(("import this\n", "import @a\n"))
            plan = [
                Call("read_file", {"path": f"{stem}/part{k}.py"}, w(body)) for k in range(times)
            ]
        elif kind == "retry_storm":
            calls = [again] + [self.call() for _ in range(rng.choice((0, 0, 0, 1)))]
            for _ in range(times):
                self.turn(*[refused(rng, c) for c in calls])
            plan = calls if rng.random() < 0.6 else []
        elif kind in ("paging", "progress"):
            run, out = {
                "paging": ("./next-rows", "row: @a bought by @b\nrow: @c returned"),
                "progress": ("make status", "$ts $n done - now building @a for @b"),
            }[kind]
            plan = [Call("exec_shell", {"command": run}, w(out), code=0) for _ in range(times)]
        elif kind == "equal_length_args":
            path, six = w("src/@a.py"), [x for x in WORDS if len(x) == 6]
            marks = rng.sample(rng.choice((six, [str(k) for k in range(100, 999)])), times)
            plan = [
                Call("exec_shell", {"command": f"sed -n /{m}/p {path}"}, "", code=0) for m in marks
            ]
        elif kind in (
            "ask_twice",
            "far_apart",
            "reread_compaction",
        ):  # the same again, other work between
            pair = [self.fresh(READS) for _ in range(2)] if kind == "reread_compaction" else [again]
            for k in range(rng.randint(2, 4) if kind == "far_apart" else 2):
                if kind == "ask_twice":
                    self.say("user", "Why is the build red?")
                elif kind == "reread_compaction" and k:
                    self.compaction()
                for call in pair:
                    self.turn(call)
                self.filler(*((2, 4) if kind == "ask_twice" else (5, 8)))
                if kind == "ask_twice":
                    self.finish()
        for call in plan:
            self.turn(call)


def made_kinds(seed: int, n: int) -> Iterator[tuple[str, list[Event], list[Loop]]]:
    """Yield (kind, events, loops) of n traces."""
    for i in range(n):
        rng = random.Random(f"made_loops:{seed}:{i}")
        kinds = rng.choice((LOOP_KINDS, CLEAN_KINDS))
        kind = rng.choices(list(kinds), list(kinds.values()))[0]
        style = {
            "show_main": rng.random() < 0.5,
            "reuse": rng.random() < 0.4,
            "text": rng.choice((0.1, 0.4, 0.8)),
            "codes": rng.random() < 0.8,
            "stamp": rng.choice(("%Y-%m-%dT%H:%M:%SZ", "%Y-%m-%d %H:%M:%S")),
            "vary": kind == "loop_varying_width",
            "names": rng.sample(PAIRS, len(PAIRS)),
        }
        start = 1_740_000_000_000 + rng.randrange(10**9)
        tracks = [LoopTrack(rng, "main", start, style)]
        shared = [tracks[0].call(), tracks[0].call()]
        subs = (
            rng.randint(1, 3)
            if kind in ("loop_subagent", "cross_trajectory")
            else rng.choice((0, 0, 0, 1, 2))
        )
        places = {"loop_two": [0, rng.randint(0, min(subs, 1))], "loop_subagent": [1]}.get(
            kind, [0]
        )  # of the loops
        for s in range(subs + 1):
            if s:  # a sub-agent starts while main is at work
                begin = rng.randint(start, start + (tracks[0].t - start) * 6 // 10)
                tracks.append(LoopTrack(rng, f"main/{WORDS[s]}", begin, style))
            track = tracks[s]
            track.filler(1, 7)
            if rng.random() < 0.3 and kind != "plain":  # a look-alike beside the real thing
                track.clean(rng.choice(list(CLEAN_KINDS)[1:-1]))
                track.filler(1, 4)
            for call in (
                shared if kind == "cross_trajectory" else []
            ):  # the same calls, once in each trajectory
                track.turn(call)
            if kind in CLEAN_KINDS and s == 0:
                track.clean(kind)
            for _ in range(places.count(s) if kind in LOOP_KINDS else 0):
                track.loop(kind)
                track.filler(*((0, 0) if track.cut else (1, 5)))
            if not track.cut:
                track.filler(0, 3)
                track.finish()
        merged = sorted(
            (item for track in tracks for item in track.items), key=lambda item: item[0]
        )
        yield (
            kind,
            [event for _, event in merged],
            [loop for track in tracks for loop in track.loops],
        )


def made(seed: int, n: int) -> Iterator[tuple[list[Event], list[Loop]]]:
    """Yield (events, loops) of n traces."""
    return ((events, loops) for _, events, loops in made_kinds(seed, n))
