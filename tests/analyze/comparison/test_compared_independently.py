"""Every number of a comparison, held against one that was worked out from the lines on disk."""

import json
import math
import os
import random
from functools import lru_cache
from itertools import chain
from shutil import rmtree

import jsonschema
import pytest

from analyze.api import History, open_history
from analyze.query.session import open_session
from schemas.config.known_issues import KnownFile, Quarantined
from schemas.config.project import Thresholds
from schemas.errors import ConfigError
from schemas.output.comparison import ThresholdsUsed
from schemas.run.config import FingerprintParts
from tests.support.paths import ROOT
from tests.support.plain_comparison import (
    AXES,
    LIMITS,
    METRICS,
    Run,
    compare_plainly,
    gate_plainly,
    plans_in_time,
    rows_of,
)
from tests.support.run_builder import STARTED_AT_MS, RunBuilder, routed
from tests.support.run_rows import sha

pytestmark = pytest.mark.peers

SEEDS = range(int(os.environ.get("FIRST_SEED", "0")), int(os.environ.get("LAST_SEED", "3")))
QUESTIONS = 2
EXITS = {"passed": 0, "failed": 1, "cannot_judge": 3}
GATED = ("passed_rate", *METRICS)
MODELS = {
    "m1": ("openrouter", "acme/one", None),
    "m2": ("openrouter", "acme/one", None),
    "m3": ("openrouter", "acme/one", "high"),
    "m4": ("ollama_openai", "two", None),
    "m5": ("ollama_openai", "two", None),
}
FAILURES = ("timeout", "http_503", "http_429", "http_401", "connection_error", "exception",
             "empty_response", "max_turns_exceeded", "output_truncated",
             "stream_interrupted", "sandbox_missing", "of_a_later_version")  # fmt: skip


class Nights:
    """Random runs of one suite, none of them kind."""

    def __init__(self, seed, runs_dir):
        self.rng = rng = random.Random(seed)
        self.runs_dir = runs_dir
        many = rng.random() < 0.6
        self.cases = [f"c{n}" for n in range(rng.randint(18, 45) if many else rng.randint(1, 8))]
        self.models = rng.sample(sorted(MODELS), rng.choice((1, 2, 3, 5)))
        self.reps = rng.choice((1, 1, 3, 3, 4, 7))
        self.is_harsh = rng.random() < 0.4
        self.rates = {
            (m, c): rng.choice((0, 0.5, 0.8, 1, 1)) for m in self.models for c in self.cases
        }
        self.unscorable = {c for c in self.cases if rng.random() < 0.06}
        self.tags = {c: tuple(rng.sample(("x", "y", "z"), rng.randint(0, 2))) for c in self.cases}
        self.same_answers = rng.random() < 0.2
        self.is_cheap = rng.random() < 0.3
        for night in range(rng.randint(2, 6)):
            self._night(night)

    def often(self, chance):
        return self.rng.random() < (chance if self.is_harsh else chance / 12)

    def _night(self, night):
        rng = self.rng
        drop, slower = rng.choice((0, 0, 0.15, 0.5)), rng.choice((1, 1, 1.03, 1.4))
        shards = 2 if rng.random() < 0.2 else 1
        judge = sha("judge") if rng.random() < 0.9 else None
        changed = {axis: rng.choice(("a", "b", None)) for axis in
                   ("tools", "model_build", "agent", "image", "settings", "endpoint", "harness")
                   if self.often(0.12)}  # fmt: skip
        for axis in {"settings", "endpoint", "harness"} & changed.keys():
            changed[axis] = changed[axis] or "c"
        reps = self.reps + (rng.choice((-1, 1, 2)) if self.often(0.5) else 0)
        first = 2 if self.often(0.1) and reps > 1 else 1
        outage = rng.choice(FAILURES) if self.often(0.5) else None
        names = {m: "r" + m if self.often(0.1) else m for m in self.models if not self.often(0.1)}
        serves = rng.choice((None, "x-1", "x-1", "x-2")) if self.often(0.6) else "x-1"
        trials = [
            (m, c, rep)
            for m in self.models
            if m in names
            for c in self.cases
            if not self.often(0.08)
            for rep in range(first, max(reps, first) + 1)
        ]
        edited = {c for c in self.cases if self.often(0.1)}
        for shard in range(shards):
            run = RunBuilder(self.runs_dir, f"n{night}-{shard}", STARTED_AT_MS + shard, day=night)
            for m, c, rep in trials[shard::shards]:
                provider, model, level = MODELS[m]
                parts = {"settings": "s", "endpoint": "e", "harness": "h"} | changed
                parts["settings"] += str(rep)
                trial = run.plan(
                    c, rep, names[m],
                    provider=provider, model=model, thinking_level=level, tags=self.tags[c],
                    case_hash=sha(c + " edited" if c in edited else c),
                    validator_type=None if c in self.unscorable else "exact",
                    fingerprint_parts=FingerprintParts(
                        case=sha(c)[:16],
                        **{k: v and sha(v)[: rng.choice((16, 64))] for k, v in parts.items()},
                    ),
                )  # fmt: skip
                if self.often(0.1):
                    self._result(run, trial, m, 0, 1, "http_503", serves)
                if self.often(0.05):
                    continue
                failure = rng.choice(FAILURES) if self.often(0.1) else None
                if outage and rng.random() < 0.4:
                    failure = outage
                self._result(run, trial, m, drop, slower, failure, serves)
                if self.often(0.03):
                    self._result(run, trial, m, drop, slower, None, serves)
            run.event("run_ended")
            if rng.random() < 0.1:
                run.lines.append(b'{"record_type":"result","run_')
            run.config = {"judge_hash": judge, "run_group": f"g{night}" if shards > 1 else None}
            run.write()

    def _result(self, run, trial, m, drop, slower, failure, serves):
        rng = self.rng
        if failure == "timeout" and not trial.is_scorable:
            failure = None
        fields = {
            "served_model": serves if rng.random() < 0.9 else None,
            "e2e_ms": None if self.often(0.1) else int(rng.choice((0, 1, 900)) if self.often(0.1)
                      else 400 * slower * math.exp(rng.gauss(0, 0.05))),
            "ttft_ms": rng.choice((None, 0, 90, 100)),
            "input_tokens": rng.randint(10, 12),
            "output_tokens": rng.choice((None, 0, 20)) if self.often(0.3) else rng.randint(20, 30),
            "cost_usd": 0.0 if self.is_cheap else round(rng.uniform(1e-6, 1e-4), 9),
            "attempt_count": 2 if self.often(0.2) else 1,
            "reused_from_run_id": "old" if self.often(0.2) else None,
            "routing": "pinned" if trial.provider == "openrouter" else None,
        }  # fmt: skip
        if self.same_answers and rng.random() < 0.99:
            fields["raw_output"] = trial.case_id
        if failure is None:
            fields["passed"] = rng.random() < max(self.rates[m, trial.case_id] - drop, 0)
        elif failure == "timeout" and rng.random() < 0.3:
            fields["passed"] = None
        if not trial.is_scorable:
            fields["passed"] = None
        if failure is not None:
            fields["failure_type"] = failure
        run.result(trial, **fields)


def runs_in(runs_dir):
    return {path.parent.name: Run(path.parent) for path in runs_dir.glob("*/plan.jsonl")}


def last_of(runs, plans, candidate, number):
    """What `last:N` is for each model of a candidate: its run_ids by the base's model_id."""
    rows = rows_of(runs)
    asked = [
        {(row.model, row.model_id) for row in rows if row.run.run_id in plan} for plan in plans
    ]
    only = {}
    for model, model_id in asked[candidate]:
        mine = [n for n in range(candidate) if model_id in {name for _, name in asked[n]}]
        found = [(n, model_id) for n in mine[-number:]]
        if not found:
            twins = [
                (n, [name for its, name in asked[n] if its == model]) for n in range(candidate)
            ]
            found = [(n, names[0]) for n, names in twins if len(names) == 1][-number:]
        for n, name in found:
            only.setdefault(name, set()).update(plans[n])
    return only


def question_of(nights, runs):
    """Return what is asked of random nights: arguments of `compare`, and what they mean."""
    rng, plans = nights.rng, plans_in_time(runs)
    allow = tuple(axis for axis in AXES if rng.random() < 0.15)
    kind = rng.choice(("runs", "runs", "previous", "last", "two"))
    newest = len(plans) - 1
    if kind == "two":
        rows = [row for row in rows_of(runs) if row.run.run_id in plans[newest]]
        there = sorted({row.model_id for row in rows})
        if len(there) > 1:
            two = tuple(rng.sample(there, 2))
            ids = plans[newest]
            asked = {"base": ids[-1], "model": two[0], "against": two[1]}
            return asked | {"allow": allow}, {"base_ids": ids, "candidate_ids": ids, "two": two,
                                              "allow": allow}  # fmt: skip
    if kind in {"previous", "last"}:
        number = 1 if kind == "previous" else rng.randint(1, 4)
        only = last_of(runs, plans, newest, number)
        base_ids = {one for some in only.values() for one in some}
        asked = {"base": "previous" if kind == "previous" else f"last:{number}"}
        asked["candidate"] = rng.choice(plans[newest])
        meant = {"base_ids": base_ids, "candidate_ids": plans[newest], "only": only}
        return asked | {"allow": allow}, meant | {"allow": allow}
    middle = rng.randint(1, newest)
    before = rng.sample(plans[:middle], rng.randint(1, min(3, middle)))
    after = rng.sample(plans[middle:], rng.randint(1, min(2, len(plans) - middle)))
    asked = {
        "base": ",".join(plan[0] for plan in before),
        "candidate": ",".join(plan[-1] for plan in after),
    }
    meant = {"base_ids": [*chain(*before)], "candidate_ids": [*chain(*after)]}
    return asked | {"allow": allow}, meant | {"allow": allow}


@lru_cache
def schema_of(name):
    path = ROOT / f"schemas/json/{name}.schema.json"
    return jsonschema.Draft202012Validator(json.loads(path.read_text()))


def assert_same(found, wanted, where=""):
    """Hold what is wanted against what was found; fields that are not wanted are passed over."""
    if isinstance(wanted, dict):
        if where.endswith("causes"):
            assert found == wanted, where
        for name, value in wanted.items():
            assert_same(found[name], value, f"{where}.{name}")
    elif isinstance(wanted, (list, tuple)):
        assert len(found) == len(wanted), (where, found, wanted)
        for n, (one, other) in enumerate(zip(found, wanted, strict=True)):
            assert_same(one, other, f"{where}[{n}]")
    elif isinstance(wanted, (set, frozenset)):
        assert sorted(found) == sorted(wanted), where
    elif isinstance(wanted, float) and found is not None:
        assert found == pytest.approx(wanted, rel=1e-8, abs=1e-9), where
    else:
        assert found == wanted, where


def hold(found, wanted):
    """Hold a comparison against a plain one."""
    said = json.loads(found.model_dump_json())
    schema_of("comparison").validate(said)
    assert_same(said["axes"], wanted["axes"], "axes")
    excluded = [
        (e["model_id"], e["suite_id"], e["case_id"], e["reason"], tuple(e["axes"]))
        for e in said["excluded"]
    ]
    assert sorted(excluded) == sorted(wanted["excluded"])
    assert sorted(said["unmatched"]) == sorted(wanted["unmatched"])
    names = (
        "model_id",
        "candidate_model_id",
        "base",
        "candidate",
        "difference",
        "ratios",
        "verdict",
    )
    assert_same(
        said["groups"],
        [{name: group[name] for name in names} for group in wanted["groups"]],
        "groups",
    )
    for group, mine in zip(said["groups"], wanted["groups"], strict=True):
        keys = (
            group["candidate_provider"],
            group["candidate_model"],
            group["candidate_thinking_level"],
        )
        assert keys == mine["keys"][1]
        assert bool(group["reasons"]) or group["verdict"] not in {"not_comparable", "unchanged"}
        late = [side for side in ("base", "candidate") if (mine[side]["timeout_share"] or 0) > 0.05]
        assert [w.split(":")[0] for w in group["warnings"] if "timed out" in w] == late
        cut = [
            side
            for side in ("base", "candidate")
            if mine[side]["n_truncated"] > 0.01 * mine[side]["n_total"]
        ]
        assert [w.split(":")[0] for w in group["warnings"] if "cut off" in w] == cut
    assert_same(said["overall"], wanted["overall"], "overall")
    assert_same(said["tags"], wanted["tags"], "tags")
    changes = [
        (
            (c["difference"], c["suite_id"], c["case_id"], c["candidate_model_id"]),
            (c["base_passed"], c["base_scored"], c["candidate_passed"], c["candidate_scored"]),
            c["flip"],
            tuple(command.split()[2] for command in c["commands"]),
        )
        for c in said["cases"]
    ]
    assert [one[0][0] for one in changes] == sorted(one[0][0] for one in changes), "worst first"
    by_case = {one[0][1:]: one for one in changes}
    assert len(by_case) == len(changes)
    assert_same(by_case, {one[0][1:]: one for one in wanted["cases"]}, "cases")


def limits_of(rng):
    """Return thresholds, at times other than the packaged ones."""
    if rng.random() < 0.5:
        return LIMITS
    return {"pass_rate_margin": rng.choice((0.2, 0.6)), "ratio_margin": rng.choice((0.02, 0.3)),
            "min_coverage": rng.choice((0.3, 0.8)), "alpha": rng.choice((0.01, 0.2))}  # fmt: skip


def used(limits):
    return ThresholdsUsed(thresholds=Thresholds(**limits), path=None, sha256=None)


@pytest.mark.parametrize("seed", SEEDS)
def test_a_comparison_is_what_plain_counting_of_the_lines_comes_to(seed, tmp_path):
    nights = Nights(seed, tmp_path / "runs")
    runs = runs_in(nights.runs_dir)
    with open_history(nights.runs_dir) as history:
        for _ in range(QUESTIONS):
            asked, meant = question_of(nights, runs)
            limits = limits_of(nights.rng)
            if not meant["base_ids"]:
                with pytest.raises(ConfigError):
                    history.compare(**asked, limits=used(limits))
                continue
            found = history.compare(**asked, by_tag=True, limits=used(limits))
            hold(found, compare_plainly(runs, **meant, limits=limits))


@pytest.mark.parametrize("seed", SEEDS)
def test_a_gate_is_what_plain_counting_of_the_lines_comes_to(seed, tmp_path):
    nights = Nights(seed + 5000, tmp_path / "runs")
    runs, rng = runs_in(nights.runs_dir), nights.rng
    plans = plans_in_time(runs)
    with open_history(nights.runs_dir) as history:
        for _ in range(QUESTIONS):
            limits, metrics = limits_of(rng), rng.sample(GATED, rng.randint(1, 3))
            middle = rng.randint(1, len(plans) - 1)
            base_ids, candidate_ids = rng.choice(plans[:middle]), rng.choice(plans[middle:])
            known = [
                Quarantined(suite_id="smoke", case_id=case, model_id=model, reason="r", author="a")
                for case in nights.cases
                for model in (rng.choice((None, *nights.models)),)
                if rng.random() < 0.05
            ]
            rules = {"max_drop": rng.choice((0, 0.1, 0.3)), "prove": rng.random() < 0.4}
            allow = rng.sample(AXES, rng.choice((0, len(AXES))))
            found = history.gate(
                candidate_ids[0], baseline=base_ids[-1], metrics=metrics, allow=allow, **rules,
                limits=used(limits),
                quarantine=KnownFile(schema_version=1, quarantined=tuple(known)) if known else None,
            )  # fmt: skip
            wanted = compare_plainly(
                runs, base_ids, candidate_ids, allow=allow, limits=limits,
                without={(one.suite_id, one.case_id, one.model_id) for one in known},
            )  # fmt: skip
            hold(found.comparison, wanted | {"tags": []})
            schema_of("gate").validate(json.loads(found.model_dump_json()))
            lines = gate_plainly(wanted["groups"], metrics, alpha=limits["alpha"], **rules)
            assert [(one.model_id, one.metric, one.outcome) for one in found.lines] == lines
            outcomes = {outcome for *_, outcome in lines} or {"cannot_judge"}
            worst = next(o for o in ("failed", "cannot_judge", "passed") if o in outcomes)
            assert (found.outcome, found.exit_code) == (worst, EXITS[worst])


@pytest.mark.parametrize("threads", [1, 2, 8])
def test_neither_the_order_of_lines_nor_threads_change_a_byte(threads, tmp_path):
    nights = Nights(7, tmp_path / "runs")
    with open_history(nights.runs_dir) as history:
        wanted = history.compare("n0-0,n1-0", "latest", by_tag=True, allow=AXES).model_dump_json()
    for path in (tmp_path / "runs").glob("*/plan.jsonl"):
        lines = path.read_text().splitlines(keepends=True)
        nights.rng.shuffle(lines)
        path.write_text("".join(lines))
        results = path.with_name("results.jsonl")
        results.write_bytes(_shuffled(results.read_bytes(), nights.rng))
    rmtree(tmp_path / "runs" / "lake")
    with open_session(tmp_path / "runs", threads=threads) as session:
        again = History(session).compare("n0-0,n1-0", "latest", by_tag=True, allow=AXES)
    assert again.model_dump_json() == wanted


def _shuffled(log, rng):
    """Return whole lines in another order, but for those of one trial among themselves."""
    whole, _, torn = log.rpartition(b"\n")
    trials = {}
    for line in whole.split(b"\n"):
        said = json.loads(line)
        key = said.get("model_id"), said.get("case_id"), said.get("repetition")
        trials.setdefault(key, []).append(line)
    slots = [key for key, lines in trials.items() for _ in lines]
    rng.shuffle(slots)
    return b"\n".join(trials[key].pop(0) for key in slots) + b"\n" + torn


def nightly(new_run, number, said, *, n_cases=12, reps=1, models=("m1",)):
    """Write one night; `said` gives the fields of a result by case number, repetition and model."""
    cases = [f"case-{case:02d}" for case in range(n_cases)]
    run = new_run(f"night-{number}", day=number).night(
        cases,
        lambda trial: said(cases.index(trial.case_id), trial.repetition, trial.model_id),
        models=routed(*models), repetitions=reps,
    )  # fmt: skip
    return run.runs_dir


def test_times_of_the_trials_that_an_outage_left_are_not_judged(new_run):
    for number in (0, 1):
        runs_dir = nightly(
            new_run, number, lambda case, *_: {"failure_type": "http_503"} if case < 6 else {}
        )
    with open_history(runs_dir) as history:
        judged = history.gate(metrics=["e2e_ms", "output_tokens"])
        lower = history.gate(metrics=["e2e_ms", "output_tokens"], min_coverage=0.5)

    assert (judged.exit_code, [line.outcome for line in judged.lines]) == (3, ["cannot_judge"] * 2)
    assert "only 50.0 % of the trials have a verdict" in judged.lines[0].why
    assert lower.exit_code == 0


def test_times_of_a_suite_without_checks_are_judged(new_run):
    for number in (0, 1):
        run = new_run(f"night-{number}", STARTED_AT_MS + number)
        for case in range(8):
            trial = run.plan(f"case-{case}", validator_type=None)
            run.result(trial, passed=None, e2e_ms=(400 + case) * (1 + 4 * number))
        run.write()
    with open_history(run.runs_dir) as history:
        assert history.gate(metrics=["e2e_ms"]).outcome == "failed"
        assert history.gate().outcome == "cannot_judge"


def test_a_model_without_a_usable_night_is_not_judged_and_not_called_new(new_run):
    for number in range(4):
        runs_dir = nightly(
            new_run, number, models=("m1", "m2"),
            said=lambda _case, _rep, model, number=number: {"failure_type": "http_503"}
            if model == "m2" and number < 3 else {},
        )  # fmt: skip
    with open_history(runs_dir) as history:
        found = history.gate(baseline="history")

    assert [(line.model_id, line.outcome) for line in found.lines] == [
        ("m1", "passed"), ("m2", "cannot_judge"),
    ]  # fmt: skip
    assert "12 provider" in found.lines[1].why
    assert (found.exit_code, found.comparison.unmatched) == (3, ())
    assert found.comparison.groups[0].base.run_ids == ("night-0", "night-1", "night-2")


def test_time_outs_of_cases_without_checks_are_not_held_against_a_verdict(new_run):
    for number in (0, 1):
        run = new_run(f"night-{number}", STARTED_AT_MS + number)
        for case in range(16):
            trial = run.plan(f"case-{case}", validator_type="exact" if case < 6 else None)
            run.result(trial, **{} if case < 6 else {"failure_type": "timeout", "passed": None})
        run.write()
    with open_history(run.runs_dir) as history:
        (group,) = history.compare("previous").groups

    assert (group.base.n_timeout, group.base.timeout_share, group.warnings) == (0, 0.0, ())


def test_four_cases_never_fail_a_gate_however_many_trials_its_baseline_lost(new_run):
    def said(case, rep, _model, number):
        lost = number < 7 and rep == 1 and number < case < 4
        broke = number == 7 and case < 4
        return {"failure_type": "http_503"} if lost else {"passed": not broke}

    for number in range(8):
        runs_dir = nightly(
            new_run, number, lambda *trial, number=number: said(*trial, number), n_cases=30, reps=3
        )
    with open_history(runs_dir) as history:
        found = history.gate(baseline="history")

    (group,) = found.comparison.groups
    assert (group.difference.n_nonzero, group.difference.p) == (4, 0.0625)
    assert found.outcome == "passed"
