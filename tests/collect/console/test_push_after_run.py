"""`collect run --lake URL`: a run is pushed when it has ended, however it did."""

import json
import os
import signal

import pytest

from analyze.share import open_shared
from tests.support import kept_run

pytestmark = pytest.mark.peers

RUN = ("run", "--suite", "s", "--run-profile", "p", "--run-id", "r")


@pytest.fixture
def ready(project, endpoint):
    """A project of eight cases and an endpoint that answers."""
    for number in range(8):
        project.case(f"c{number}")
    project.model(base_url=endpoint.base_url)
    return project


@pytest.fixture
def url(tmp_path):
    return f"file://{tmp_path}/team/lake"


def shared_results(url):
    """Return how many results each run of a shared lake has."""
    return {name: run.n_rows("results") for name, run in open_shared(url).runs().items()}


def test_a_run_is_pushed_at_its_end(ready, url):
    done = kept_run.collect(ready.root, *RUN, "--lake", url, "--json")

    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout)["pushed_to"] == url
    assert shared_results(url) == {"r": 8}


def test_a_run_that_was_interrupted_is_pushed_and_once_more_when_it_is_complete(
    ready, url, endpoint, answers
):
    def script(wire, _):
        wire.sleep(0.3)
        wire.stream(answers.stream_of("ok"))

    endpoint.script = script
    process = kept_run.begin(ready.root, *RUN, "--lake", url)
    log = ready.root / "runs" / "r" / "results.jsonl"
    kept_run.wait_for(lambda: log.exists() and log.read_bytes().count(b"\n") >= 2)
    process.send_signal(signal.SIGINT)
    _, err = process.communicate(timeout=60)
    some = shared_results(url)
    done = kept_run.collect(ready.root, "run", "--resume", "r", "--lake", url)

    assert process.returncode == 130, err
    assert 2 <= some["r"] < 8
    assert done.returncode == 0, done.stderr
    assert shared_results(url) == {"r": 8}


def test_a_run_that_could_not_be_pushed_is_kept_and_told(ready, tmp_path, url):
    (tmp_path / "team").write_text("no folder")
    done = kept_run.collect(ready.root, *RUN, "--lake", url, "--json")

    assert done.returncode == 1
    said = json.loads(done.stdout)
    assert (said["pushed_to"], said["exit_code"], said["present"]) == (None, 1, 8)
    assert f"error: {url}: cannot be used (" in done.stderr
    assert done.stderr.splitlines()[-1] == (
        "not pushed: `analyze push` ended with code 1; the run is kept, and this pushes it: "
        f"analyze push r {url} --runs runs"
    )


def test_a_url_that_is_none_is_refused_before_anything_is_asked(ready, endpoint):
    done = kept_run.collect(ready.root, *RUN, "--lake", "team/lake")

    assert done.returncode == 2
    assert "`team/lake` is no URL of a shared lake" in done.stderr
    assert not (ready.root / "runs" / "r").exists()
    assert endpoint.requests == []


def test_the_push_has_the_keys_of_its_server_and_no_others(ready, url, tmp_path):
    seen = tmp_path / "seen"
    site = tmp_path / "site"
    site.mkdir()
    (site / "sitecustomize.py").write_text(
        "import json, os, sys\n"
        "if sys.orig_argv[1:5] == ['-P', '-m', 'analyze', 'push']:\n"
        f"    open({str(seen)!r}, 'w').write(json.dumps(dict(os.environ)))\n"
    )
    keys = {"AWS_SECRET_ACCESS_KEY": "of the server", "OPENAI_API_KEY": "of a model"}
    path = os.pathsep.join([str(site), os.environ.get("PYTHONPATH", "")])
    kept_run.collect(ready.root, *RUN, "--lake", url, PYTHONPATH=path, **keys)
    env = json.loads(seen.read_text())

    assert env["AWS_SECRET_ACCESS_KEY"] == "of the server"
    assert "OPENAI_API_KEY" not in env
