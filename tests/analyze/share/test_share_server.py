"""Pushes and pulls beside a server of objects that fails, is slow, and has others at it."""

import importlib.util
import io
import os
import random
import re
import shutil
import subprocess
import sys
import threading
import time
from collections import Counter
from dataclasses import replace

import deltalake
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from analyze.share import compaction, delta, open_shared, shared_runs
from analyze.share.compaction import compact_shared
from analyze.share.push import push_runs
from analyze.share.said import said_by
from schemas.io.shared_url import OPTIONS
from schemas.lake import Lake, lake_of
from tests.support.analyze_cli import call, forked
from tests.support.azure_server import PROGRAM, AzureServer
from tests.support.nights import Nights
from tests.support.object_server import CUT, LOST, SLOW, TORN, ObjectServer
from tests.support.paths import ROOT
from tests.support.run_builder import STARTED_AT_MS, RunBuilder

pytestmark = pytest.mark.peers

N_RUNS = 20

N_EACH = int(os.environ.get("N_EACH", "3"))
"""Runs that each process pushes: sixteen make 48 pushes of twenty runs, and 112 with 7."""

PUSHES = """
import os
import sys
from pathlib import Path
from analyze.share import open_shared
from analyze.share.push import push_runs
runs, url, *groups = sys.argv[1:]
for group in groups:
    for done in push_runs(Path(runs), group.split(), open_shared(url)):
        assert done.outcome in {"pushed", "there already"}, done
os._exit(0)
"""
"""Pushes some runs, and then others; ends as a command does."""

COMPACTS = """
import sys
from analyze.share import compaction, open_shared
compaction.MIN_SMALL_FILES = 2
while True:
    compaction.compact_shared(open_shared(sys.argv[1]))
"""

MONTHS = {"october": "2025-10", "november": "2025-11", "december": "2025-12"}
BEGAN = {
    name: STARTED_AT_MS + 31 * 86_400_000 * n for n, name in zip((-1, 0, 1), MONTHS, strict=True)
}

SECONDS = 60
"""A command that cannot go on ends earlier."""

PLACES = {
    "a question": {"method": "GET"},
    "rows": {"method": "PUT", "path": ".parquet"},
    "a commit": {"method": "PUT", "path": "/_delta_log/"},
}
FAULTS = (400, 403, 500, 503, CUT, TORN, LOST)
SERVERS = ["s3", "az"]
OF_PUSHES = [
    *(("s3", "a question", what) for what in (400, 403, 500, TORN, LOST)),
    *(("s3", "rows", what) for what in (403, 409, 500, CUT, LOST)),
    *(("s3", "a commit", what) for what in (403, 409, 412, 503, CUT, LOST)),
    *(("az", place, what) for place, what in (("a question", 403), ("rows", CUT))),
    *(("az", "a commit", what) for what in (412, LOST)),
]
SAID = {
    403: "refuses these credentials (403)",
    500: "fails by itself (5xx)",
    503: "is overloaded (503)",
}


@pytest.fixture(scope="module", params=["s3"])
def server(request):
    """A server of S3; a test can ask for one of Azure instead."""
    if request.param == "s3":
        is_here, make = importlib.util.find_spec("moto") is not None, "moto"
    else:
        is_here, make = PROGRAM.exists(), "azurite"
    if not is_here:
        reason = f"the server of objects is not installed: make {make}"
        (pytest.fail if os.environ.get("CI") == "true" else pytest.skip)(reason)
    with ObjectServer() if request.param == "s3" else AzureServer() as started:
        yield started


@pytest.fixture
def team(server, monkeypatch):
    """An empty bucket, and the variables with which every process of the test reaches it."""
    server.new_bucket()
    for name in [name for name in os.environ if name.startswith(("AWS_", "AZURE_"))]:
        monkeypatch.delenv(name)
    use(server.env, monkeypatch)
    yield server
    server.heal()


def use(env, monkeypatch):
    for name, value in env.items():
        monkeypatch.setenv(name, value)


def history(runs, n=3, **fields):
    """Return the ids of runs of two trials, a day apart."""
    names = [f"run-{number:02d}" for number in range(n)]
    for day, name in enumerate(names):
        RunBuilder(runs, name, day=day, **fields).night(["a", "b"]).mirror()
    return names


def push(team, runs, *names):
    """Push in a process of its own."""
    return forked("push", *names, team.url, "--runs", runs, "--no-sync", cwd=runs)


def push_here(team, runs, *names):
    """Push in this process; an error is told as the command does."""
    done = call("push", *names, team.url, "--runs", runs, "--no-sync")
    return replace(done, err=f"error: {done.err}\n") if "://" in done.err else done


def pull_here(team, runs):
    """Pull in this process; an error is told as the command does."""
    done = call("pull", team.url, "--runs", runs)
    return replace(done, err=f"error: {done.err}\n") if "://" in done.err else done


def pull(team, runs, *words):
    return forked("pull", team.url, "--runs", runs, *words, cwd=ROOT)


def local_runs(runs, names):
    return Lake(lake_of(runs)).read_runs(names)


def local_rows(runs, names):
    """Return how many rows a lake has by table and run."""
    return {
        (table, run_id): rows.num_rows
        for run_id, run in local_runs(runs, names).items()
        for table, rows in run.tables.items()
        if rows.num_rows
    }


def same_runs(some, other, names):
    """Return whether two lakes hold the same rows of runs."""
    here, there = local_runs(some, names), local_runs(other, names)
    return set(here) == set(names) and all(
        name in there and here[name].tables == there[name].tables for name in names
    )


def shared_rows(team):
    """Return how many rows a shared lake has by table and run, as any reader of Delta counts.

    No row of a push is there twice.
    """
    names = {key.split("/")[1] for key in team.objects("lake/") if "/_delta_log/" in key}
    found = Counter()
    for name in names:
        table = deltalake.DeltaTable(f"{team.url}/{name}").to_pyarrow_table()
        keys = [shared_runs.PUSH, shared_runs.ROW]
        distinct = table.select(keys).group_by(keys).aggregate([])
        assert table.num_rows == distinct.num_rows, f"{name} has rows twice"
        found.update((name, run_id) for run_id in table["run_id"].to_pylist())
    return dict(found)


def torn_runs(url):
    """Return the runs of which a reader sees some rows only, and how many runs it sees."""
    shared = open_shared(url)
    runs = list(shared.runs().values())
    pushes, months = [run.push for run in runs], {run.month for run in runs}
    torn = []
    for table in {table for run in runs for table in run.content}:
        rows = shared.rows(table, pushes, months) if runs else None
        counts = Counter(rows[shared_runs.PUSH].to_pylist() if rows is not None else ())
        torn += [
            (run.run_id, table, counts[run.push], run.n_rows(table))
            for run in runs
            if counts[run.push] != run.n_rows(table)
        ]
    return torn, len(runs)


def n_compacted(team):
    """Return how often a month of results was written anew."""
    history = deltalake.DeltaTable(f"{team.url}/results").history()
    return sum(one.get("operationParameters", {}).get("mode") == "Overwrite" for one in history)


class Reader(threading.Thread):
    """Looks at a shared lake again and again."""

    def __init__(self, url):
        super().__init__(daemon=True)
        self.url = url
        self.seen, self.torn, self.trouble = [], [], []
        self.is_over = threading.Event()

    def run(self):
        while not self.is_over.is_set():
            try:
                torn, n_runs = torn_runs(self.url)
            except Exception as exc:  # noqa: BLE001 - the test says so
                self.trouble.append(exc)
                return
            self.torn += torn
            self.seen.append(n_runs)

    def end(self):
        self.is_over.set()
        self.join(60)
        assert not self.is_alive()


class Killed:
    """A process that is killed once or twice at a random moment, and begins again."""

    def __init__(self, script, words, folder, dice):
        folder.mkdir()
        self.script, self.words, self.folder = script, words, folder
        self.kill_after = [dice.uniform(0.3, 14) for _ in range(dice.choice((0, 1, 1, 2)))]
        self.n_killed = 0
        self._begin()

    def _begin(self):
        self.began = time.monotonic()
        with (self.folder / "err").open("wb") as err:
            self.process = subprocess.Popen(
                [sys.executable, "-W", "error", "-c", self.script, *self.words],
                cwd=ROOT, stdout=subprocess.DEVNULL, stderr=err,
            )  # fmt: skip

    def is_done(self):
        code = self.process.poll()
        if code is None:
            if self.kill_after and time.monotonic() - self.began > self.kill_after[0]:
                del self.kill_after[0]
                self.process.kill()
            return False
        if code == -9:
            self.n_killed += 1
            self._begin()
            return False
        assert code == 0, (self.folder / "err").read_text()
        return True

    def end(self):
        self.process.kill()
        self.process.wait()


@pytest.mark.parametrize(("server", "n_processes"), [("s3", 16), ("az", 8)], indirect=["server"])
def test_of_many_that_push_at_once_and_are_killed_every_run_is_there_once_and_always_whole(
    team, n_processes, tmp_path, monkeypatch
):
    seed = int(os.environ.get("KILL_SEED", random.randrange(10**6)))
    sys.stdout.write(f"KILL_SEED={seed}\n")
    dice = random.Random(seed)
    use(team.direct, monkeypatch)
    monkeypatch.setenv("PYTHONPATH", str(ROOT))
    runs = tmp_path / "runs"
    names = history(runs, N_RUNS)
    began = time.monotonic()
    reader = Reader(team.url)
    reader.start()
    pushers = []
    for number in range(n_processes):
        some = dice.sample(names, N_EACH)
        groups = [" ".join(some[:3]), *some[3:]]  # together, where others race for one of them
        words = [str(runs), team.url, *groups]
        pushers.append(Killed(PUSHES, words, tmp_path / f"pusher-{number}", dice))
    compactors = [
        Killed(COMPACTS, [team.url], tmp_path / f"compactor-{number}", dice) for number in range(2)
    ]
    try:
        busy = list(pushers)
        while busy:
            busy = [one for one in busy if not one.is_done()]
            assert not any(one.is_done() for one in compactors)
            time.sleep(0.02)
    finally:
        for one in (*pushers, *compactors):
            one.end()
        reader.end()
    seconds = time.monotonic() - began
    n_killed = sum(one.n_killed for one in pushers)
    n_meanwhile = n_compacted(team)
    done = push(team, runs)
    assert compact_shared(open_shared(team.url)).busy == []
    sys.stdout.write(
        f"{seconds:.1f} s, {n_killed} killed, {len(reader.seen)} looks, "
        f"{n_meanwhile} times compacted\n{done.out}"
    )
    assert (done.code, done.err) == (0, "")
    assert n_killed > 0
    assert reader.trouble == []
    assert reader.torn == []
    assert any(0 < n_runs < N_RUNS for n_runs in reader.seen)
    assert reader.seen == sorted(reader.seen)
    assert shared_rows(team) == local_rows(runs, names)
    assert torn_runs(team.url) == ([], N_RUNS)
    assert pull(team, tmp_path / "other").code == 0
    assert same_runs(runs, tmp_path / "other", names)


@pytest.mark.parametrize("server", SERVERS, indirect=True)
def test_a_run_that_is_pushed_twice_is_there_once(team, tmp_path):
    runs = tmp_path / "runs"
    names = history(runs, 1)
    first, second = push(team, runs), push(team, runs)
    assert (first.code, first.out.split(" to ")[0]) == (0, "1 run pushed")
    assert (second.code, second.out) == (0, "1 run there already\n")
    assert shared_rows(team) == local_rows(runs, names)


@pytest.mark.parametrize("server", SERVERS, indirect=True)
def test_old_files_of_a_compacted_lake_are_removed_and_counted_once(team, tmp_path, monkeypatch):
    """Past the proxy, which is of this process: the library holds its lock while it lists files."""
    use(team.direct, monkeypatch)
    monkeypatch.setattr(compaction, "MIN_SMALL_FILES", 3)
    runs = tmp_path / "runs"
    names = history(runs)
    for name in names:
        assert push_here(team, runs, name).code == 0
    before = {key for key in team.objects() if key.endswith(".parquet")}
    done = compact_shared(open_shared(team.url), keep_hours=0)
    after = {key for key in team.objects() if key.endswith(".parquet")}
    assert (done.failed, done.damaged, done.busy) == ("", [], [])
    assert done.n_removed == len(before) == 4 * len(names)
    assert len(after) == 4 and not after & before  # noqa: PT018 - one fact
    assert compact_shared(open_shared(team.url), keep_hours=0).n_removed == 0
    assert pull_here(team, tmp_path / "other").code == 0
    assert same_runs(runs, tmp_path / "other", names)


@pytest.fixture
def grown(tmp_path):
    """A folder of runs with one of three trials, and as it was when one of them was missing."""
    new, old = tmp_path / "new", tmp_path / "old"
    RunBuilder(new, "another", day=-1).night(["a"]).mirror()
    run = RunBuilder(new, "grown").night({"a": [True], "b": [True], "c": [None]}).mirror()
    shutil.copytree(new, old)
    run.result(run.trials[2])
    run.mirror()
    return new, old


def counted_results(team, run_id):
    shared = open_shared(team.url)
    run = shared.runs()[run_id]
    return shared.rows("results", [run.push], [run.month]).num_rows


@pytest.mark.parametrize("server", SERVERS, indirect=True)
def test_a_run_that_grew_counts_with_its_new_rows_only(team, grown, tmp_path):
    new, old = grown
    assert push(team, old, "grown").code == 0
    assert counted_results(team, "grown") == 2
    done = push(team, new, "grown")
    assert (done.code, done.out.split(" to ")[0]) == (0, "1 run pushed again")
    assert counted_results(team, "grown") == 3
    assert pull(team, tmp_path / "other").code == 0
    assert same_runs(new, tmp_path / "other", ["grown"])


def test_an_older_copy_of_a_run_is_refused_and_changes_nothing(team, grown):
    new, old = grown
    assert push(team, new).code == 0
    before = team.objects()
    done = push(team, old)
    assert done.code == 1
    assert "grown: not pushed: the shared lake has 3 rows of its results" in done.out
    assert "1 run there already" in done.out
    assert team.objects() == before


def assert_ends_well(team, done, seconds):
    """Success, or one sentence about the place; no key anywhere."""
    err = done.err
    assert seconds < SECONDS
    assert done.code in {0, 1}, done
    if done.code == 0:
        assert err == ""
    else:
        assert re.fullmatch(rf"error: {re.escape(team.url)}: [^\n]+\n", err), done
    assert_no_key(team, done)


def assert_no_key(team, done):
    objects = team.objects()
    for key in team.secrets:
        assert key not in done.out + done.err
        assert not [name for name, content in objects.items() if key in name]
        assert not [name for name, content in objects.items() if key.encode() in content]


@pytest.mark.parametrize(("server", "place", "what"), OF_PUSHES, indirect=["server"])
def test_a_fault_ends_in_success_or_in_a_sentence_and_the_same_push_goes_on(
    team, tmp_path, monkeypatch, what, place
):
    monkeypatch.setitem(OPTIONS, "max_retries", "2")  # by the library itself, which waits longer
    runs = tmp_path / "runs"
    names = history(runs, 2)
    if what in {409, 412} and place == "a commit":
        fast_races(monkeypatch)
    for name, n in zip(names, (1, float("inf")), strict=True):
        team.spoil(what, n=n, **PLACES[place])
        began = time.monotonic()
        done = (push if n == 1 and what == 403 else push_here)(team, runs, name)
        assert_ends_well(team, done, time.monotonic() - began)
        assert team.n_spoiled >= min(n, 1)
        if isinstance(what, int) and n > 2:
            assert done.code == 1
        if done.code and what in SAID and place != "rows":
            assert SAID[what] in done.err
        team.heal()
        again = push_here(team, runs, name)
        assert (again.code, again.err) == (0, "")
    assert shared_rows(team) == local_rows(runs, names)
    assert torn_runs(team.url) == ([], len(names))


def fast_races(monkeypatch):
    monkeypatch.setattr(delta, "MAX_RACES", 4)
    monkeypatch.setattr(delta, "MAX_REBASES", 2)
    monkeypatch.setattr(delta, "PAUSE_S", 0.01)


@pytest.mark.parametrize("what", FAULTS)
@pytest.mark.parametrize("place", ["/_delta_log/", ".parquet"])
def test_a_pull_that_a_fault_ends_says_so_and_the_same_pull_goes_on(
    team, tmp_path, monkeypatch, what, place
):
    monkeypatch.setitem(OPTIONS, "max_retries", "2")
    runs, other = tmp_path / "runs", tmp_path / "other"
    names = history(runs)
    assert push_here(team, runs).code == 0
    team.spoil(what, method="GET", path=place)
    began = time.monotonic()
    done = pull_here(team, other)
    assert_ends_well(team, done, time.monotonic() - began)
    assert done.code == 1
    assert team.n_spoiled > 0
    team.heal()
    again = pull_here(team, other)
    assert (again.code, again.err) == (0, "")
    assert same_runs(runs, other, names)


@pytest.fixture
def impatient(monkeypatch):
    quick = {"timeout": "1s", "connect_timeout": "1s", "max_retries": "1", "retry_timeout": "3s"}
    for name, value in quick.items():
        monkeypatch.setitem(OPTIONS, name, value)


@pytest.mark.parametrize("place", PLACES)
def test_a_server_that_is_too_slow_is_waited_for_no_longer_than_said(
    team, tmp_path, impatient, place
):
    runs = tmp_path / "runs"
    names = history(runs, 2)
    assert push(team, runs, names[0]).code == 0
    team.spoil(SLOW, **PLACES[place])
    began = time.monotonic()
    done = push_here(team, runs, names[1])
    assert_ends_well(team, done, time.monotonic() - began)
    assert done.code == 1
    team.heal()
    assert push(team, runs).code == 0
    assert shared_rows(team) == local_rows(runs, names)


def test_a_server_that_is_slow_is_waited_for(team, tmp_path, impatient):
    runs = tmp_path / "runs"
    names = history(runs, 1)
    team.spoil(SLOW, seconds=0.05)
    done = push_here(team, runs)
    assert (done.code, done.err) == (0, "")
    assert shared_rows(team) == local_rows(runs, names)


def test_where_nobody_listens_a_sentence_says_so(team, tmp_path, free_port):
    runs = tmp_path / "runs"
    history(runs, 1)
    words = "push", team.url, "--runs", runs, "--no-sync"
    done = forked(*words, cwd=runs, AWS_ENDPOINT_URL=f"http://127.0.0.1:{free_port}")
    assert done.code == 1
    assert done.err == f"error: {team.url}: cannot be reached; nothing was read\n"


def test_a_bucket_that_is_not_there_is_named(team, tmp_path):
    runs = tmp_path / "runs"
    history(runs, 1)
    done = forked("push", "s3://nobody/lake", "--runs", runs, "--no-sync", cwd=runs)
    assert done.code == 1
    assert re.fullmatch(r"error: s3://nobody/lake: has no such bucket; [^\n]+\n", done.err)


PASSWORD = "Pq4hidden/9zz"


@pytest.mark.parametrize(
    "url",
    [
        f"s3://somebody:{PASSWORD.replace('/', '')}@team/lake",
        f"s3://team/lake?secret={PASSWORD}",
        f"s3://team/lake#{PASSWORD}",
        f"https://somebody:{PASSWORD.replace('/', '')}@127.0.0.1/team",
        f"s3://somebody:{PASSWORD}@team/lake",
    ],
)
@pytest.mark.parametrize("command", ["push", "pull"])
def test_a_url_with_a_password_is_refused_and_the_password_not_printed(
    team, tmp_path, command, url
):
    runs = tmp_path / "runs"
    history(runs, 1)
    done = forked(command, url, "--runs", runs, cwd=runs)
    assert done.code == 2
    assert done.err.startswith("error: ")
    assert not re.search("Pq4hidden|9zz", done.out + done.err)
    assert team.requests == []


@pytest.fixture
def months(team, tmp_path):
    """Two runs of each of three months, pushed; and the folder of runs."""
    runs = tmp_path / "runs"
    for name, began in BEGAN.items():
        for number in range(2):
            run = RunBuilder(runs, f"{name}-{number}", began, day=number)
            run.night(["a", "b"]).mirror()
    assert push(team, runs).code == 0
    team.forget()
    return runs


def month_of(path):
    return re.search(r"/month=([^/]+)/", path)[1]


def test_a_pull_of_late_runs_reads_no_rows_of_earlier_months(team, months, tmp_path):
    done = pull(team, tmp_path / "other", "--since", "2025-12")
    assert (done.code, done.out.split(" from ")[0]) == (0, "2 runs pulled")
    read = {one.path for one in team.requests if one.is_data}
    assert {path.split("/lake/")[1].split("/")[0] for path in read} >= {"results", "plans"}
    assert {month_of(path) for path in read} == {MONTHS["december"]}
    assert same_runs(months, tmp_path / "other", ["december-0", "december-1"])


def altered(content, **changes):
    """Return a file of Parquet with the first row of some columns changed."""
    table = pq.read_table(io.BytesIO(content), partitioning=None)
    for name, change in changes.items():
        place = table.schema.get_field_index(name)
        values = table[name].to_pylist()
        values[0] = change(values[0])
        column = pa.array(values, table.schema.field(name).type)
        table = table.set_column(place, table.schema.field(name), column)
    file = io.BytesIO()
    pq.write_table(table, file, compression="zstd", write_statistics=False, store_schema=False)
    return file.getvalue()


def filled_up(content, n_bytes):
    """Return a file of Parquet with as many bytes; what is put in nobody reads."""
    n_footer = int.from_bytes(content[-8:-4], "little") + 8
    assert n_bytes >= len(content)
    return content[:-n_footer] + bytes(n_bytes - len(content)) + content[-n_footer:]


def key_of(team, table, month):
    """Return the first object of a table's rows of a month."""
    return next(key for key in sorted(team.objects(f"lake/{table}/month={month}/")))


def runs_in(content):
    """Return the ids of runs that have rows in a file, from the first row on."""
    rows = pq.read_table(io.BytesIO(content), partitioning=None)
    return list(dict.fromkeys(rows["run_id"].to_pylist()))


def assert_refused(done, runs, other, refused):
    """Some runs are named and left out; the others are as they were pushed."""
    rest = sorted({f"{name}-{number}" for name in MONTHS for number in range(2)} - set(refused))
    assert done.code == 1
    assert done.out.startswith(f"{len(rest)} runs pulled")
    for run_id in refused:
        assert re.search(rf"\brun `{run_id}`: .*nothing of it ", done.out), done
    assert done.out.count("\n") == 1 + len(refused)
    assert local_runs(other, refused) == {}
    assert same_runs(runs, other, rest)


@pytest.mark.parametrize(
    ("table", "column"), [("results", "e2e_ms"), ("plans", "trial_no"), ("outputs", "record_no")]
)
def test_a_run_with_a_row_that_was_altered_is_refused_and_the_others_come_in(
    team, months, tmp_path, table, column
):
    other = tmp_path / "other"
    key = key_of(team, table, MONTHS["november"])
    before = team.read(key)
    after = altered(before, **{column: lambda value: value + 1})
    team.write(key, filled_up(after, len(before)))
    altered_run, *_ = runs_in(before)
    assert_refused(pull(team, other), months, other, [altered_run])
    team.write(key, before)
    done = pull(team, other)
    assert (done.code, done.out.split(" from ")[0]) == (0, "1 run pulled")


@pytest.mark.parametrize("change", ["other size", "half", "gone"])
def test_runs_of_a_file_that_is_another_one_are_refused_and_the_others_come_in(
    team, months, tmp_path, change
):
    other = tmp_path / "other"
    key = key_of(team, "results", MONTHS["november"])
    before = team.read(key)
    if change == "gone":
        team.remove(key)
    elif change == "half":
        team.write(key, before[: len(before) // 2])
    else:
        team.write(key, altered(before, e2e_ms=lambda value: value + 1))
    assert_refused(pull(team, other), months, other, runs_in(before))
    team.write(key, before)
    done = pull(team, other)
    assert (done.code, done.out.split(" from ")[0]) == (0, "2 runs pulled")


def test_a_large_run_is_pushed(team, tmp_path, monkeypatch):
    use(team.direct, monkeypatch)
    nights = Nights(tmp_path / "runs", n_cases=250, repetitions=2)
    (name,) = nights.add(rates={"x": 0.5, "y": 0.5}, run_id="large")
    nights.runs[name].mirror()
    began = time.monotonic()
    done = push(team, nights.runs_dir)
    pushed = time.monotonic() - began
    assert done.code == 0
    began = time.monotonic()
    assert pull(team, tmp_path / "other").code == 0
    pulled = time.monotonic() - began
    sys.stdout.write(f"1,000 trials: pushed in {pushed:.2f} s, pulled in {pulled:.2f} s\n")
    assert counted_results(team, name) == 1000
    assert same_runs(nights.runs_dir, tmp_path / "other", [name])


def test_rows_that_cannot_be_stored_are_told_in_one_sentence_alone(team, tmp_path):
    runs = tmp_path / "runs"
    history(runs, 1)
    team.spoil(403, **PLACES["rows"])
    assert push(team, runs).err.count("\n") == 1


@pytest.mark.parametrize("time_taken", ["503.9µs", "403.2ms", "577.1µs"])
def test_how_long_a_request_took_is_no_status(time_taken):
    text = (
        f"Generic S3 error: Error performing PUT http://127.0.0.1/team/lake/x in {time_taken} - "
        "Server returned non-2xx status code: 409 Conflict"
    )
    assert not re.search(r"\(403\)|5xx|\(503\)", said_by(OSError(text)))


def test_an_older_copy_never_hides_a_run_that_grew_meanwhile(team, grown):
    new, old = grown
    meanwhile = []

    def look_away(_):
        if not meanwhile:
            meanwhile.append(push(team, new, "grown"))

    list(push_runs(old, ["another", "grown"], open_shared(team.url), look_away))
    assert [done.code for done in meanwhile] == [0]
    assert counted_results(team, "grown") == 3
