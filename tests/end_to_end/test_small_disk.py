"""A disk that is really full: a sentence, nothing torn, and with more room the run goes on."""

import random
import string

import pyarrow.parquet as pq
import pytest

from schemas.lake.footer import read_lake_file
from tests.support.disk import mounted_disk
from tests.support.kept_run import Kept, assert_fits_together, collect, seal_often, wait_for
from tests.support.processes import processes_of

pytestmark = pytest.mark.peers

N_TRIALS = 240
N_LETTERS = 20_000
"""Of an answer: 240 of them are 5 MB, in results.jsonl alone."""


@pytest.fixture
def disk(tmp_path):
    with mounted_disk(tmp_path / "disk") as disk:
        yield disk
        wait_for(lambda: not processes_of(disk.folder))


@pytest.fixture
def work(project, endpoint, answers, tmp_path, monkeypatch):
    """A project whose answers do not compress, and a mirror that seals every 20 rows."""
    project.prompts("long.json", [
        {"id": f"l{number}", "name": f"Long {number}", "prompt": f"Long {number}"}
        for number in range(N_TRIALS)
    ])  # fmt: skip
    model = {"model_id": "m", "provider": "ollama_openai", "warmup": 0, "requested_model": "r",
             "base_url": endpoint.base_url}  # fmt: skip
    project.suite(models=[model], prompt_lists=["long.json"])
    project.profile(execution_policy={"max_concurrency": 4}, runner_defaults={"stream": False})
    monkeypatch.setenv("PYTHONPATH", seal_often(tmp_path))

    def script(wire, request):
        dice = random.Random(request.body["messages"][0]["content"])
        wire.sleep(0.02)
        wire.answer(answers.whole("".join(dice.choices(string.ascii_letters, k=N_LETTERS))))

    endpoint.script = script
    return project


def assert_one_sentence(done, runs, *words):
    assert (done.returncode, done.stdout) == (1, "")
    assert "Traceback" not in done.stderr, done.stderr
    errors = [line for line in done.stderr.splitlines() if line.startswith("error: ")]
    assert len(errors) == 1, done.stderr
    assert done.stderr.endswith(errors[0] + "\n"), "the last word"
    for word in (str(runs / "r"), "No space left on device", *words):
        assert word in errors[0]


def assert_nothing_is_half_there(runs):
    for path in (runs / "lake").rglob("*.parquet"):
        assert pq.read_table(path).num_rows == read_lake_file(path).n_rows
    assert list(runs.rglob(".tmp-*")) == []


def test_a_run_that_fills_the_disk_ends_with_a_sentence_and_goes_on_with_more_room(
    work, endpoint, disk
):
    runs = disk.folder / "runs"
    new = ("run", "--suite", "s", "--run-profile", "p", "--runs", runs, "--run-id", "r")
    done = collect(work.root, *new)

    resume = f"`collect run --resume r --runs {runs}` completes it"
    assert_one_sentence(done, runs, "what was finished is kept; make room, then", resume)
    wait_for(lambda: not processes_of(runs))
    assert_nothing_is_half_there(runs)
    kept = Kept(runs / "r")
    n_written = len(kept.results())
    assert 0 < n_written < N_TRIALS
    for row in kept.results():
        kept.artifact(row)

    again = collect(work.root, "run", "--resume", "r", "--runs", runs)
    assert again.returncode == 1, "still no room"
    assert "Traceback" not in again.stderr, again.stderr
    assert "No space left on device" in again.stderr
    wait_for(lambda: not processes_of(runs))
    assert_nothing_is_half_there(runs)
    assert len(kept.results()) >= n_written

    disk.resize("64m")
    done = collect(work.root, "run", "--resume", "r", "--runs", runs)
    assert done.returncode == 0, done.stderr
    kept = assert_fits_together(runs / "r")
    assert_nothing_is_half_there(runs)
    assert len(kept.results()) == len(kept.counted()) == N_TRIALS
    assert all(row["success"] for row in kept.results())
    assert all(len(row["raw_output"]) == N_LETTERS for row in kept.results())


def test_a_disk_that_is_full_before_the_first_request_asks_nothing(work, endpoint, disk):
    (disk.folder / "ballast").write_bytes(b"x" * (3 * 2**20 - 2**16))
    runs = disk.folder / "runs"

    new = ("run", "--suite", "s", "--run-profile", "p", "--runs", runs, "--run-id", "r")
    done = collect(work.root, *new)

    advice = "nothing was asked yet; make room or choose another --runs"
    assert_one_sentence(done, runs, "plan.jsonl", advice)
    assert endpoint.requests == []
    assert_nothing_is_half_there(runs)
