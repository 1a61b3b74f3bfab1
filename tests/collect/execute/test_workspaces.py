"""Which files of trials stay, and how much room they may take."""

import json

import pytest

from collect.execute.checking import Keeper
from tests.support.kept_run import Kept, collect_log
from tests.support.sandboxes import sandboxed
from tests.support.tool_endpoint import ToolModel

pytestmark = sandboxed

SUITE = ("--suite", "s", "--run-profile", "p", "--run-id", "r")


@pytest.fixture
def work(project, endpoint):
    endpoint.script = ToolModel([("write_file", {"path": "a.txt", "content": "x"})])
    project.model(base_url=endpoint.base_url)
    for case_id, text in (("good", "x"), ("bad", "y")):
        check = {"kind": "file_contains", "path": "a.txt", "text": text}
        project.case(
            case_id,
            input={
                "messages": [{"role": "user", "content": "Write."}],
                "context": {"llm_probe": {"tools": ["write_file"]}},
            },
            deterministic_checks=[{"check_id": "c", "declarative": check}],
        )
    return project


def kept_of(root):
    places = (
        root / "runs" / "r" / "workspaces" / "m" / case_id / "1" for case_id in ("good", "bad")
    )
    return [(place / "workspace" / "a.txt").is_file() for place in places]


@pytest.mark.parametrize(
    ("flags", "kept"),
    [
        ((), [True, True]),
        (("--keep-workspaces", "all"), [True, True]),
        (("--keep-workspaces", "failed"), [False, True]),
        (("--keep-workspaces", "none"), [False, False]),
    ],
)
def test_whose_files_stay(work, flags, kept):
    done = collect_log(work.root, "run", *SUITE, *flags)

    assert done.returncode == 0, done.stderr
    run_dir = work.root / "runs" / "r"
    assert kept_of(work.root) == kept
    passed = {row["case_id"]: row["passed"] for row in Kept(run_dir).results()}
    assert passed == {"good": True, "bad": False}, "checks looked before anything went"
    for case_id in passed:
        written = json.loads((run_dir / f"workspaces/m/{case_id}/1/workspace.json").read_text())
        assert [one["path"] for one in written["changes"]] == ["a.txt"]
    assert json.loads((run_dir / "config.json").read_text())["keep_workspaces"] == (
        flags[1] if flags else "all"
    )


def test_a_resumed_run_keeps_as_it_was_planned(work):
    collect_log(work.root, "run", *SUITE, "--keep-workspaces", "none", "--max-trials", "1")

    refused = collect_log(work.root, "run", "--resume", "r", "--keep-workspaces", "all")
    assert refused.returncode == 2
    assert "--keep-workspaces" in refused.stderr


def test_what_goes_beyond_the_limit_is_thrown_away_and_said_once(work, endpoint):
    big = ("exec_shell", {"command": "head -c 700000 /dev/zero > big"})
    endpoint.script = ToolModel([big])
    for case_id in ("good", "bad", "third", "fourth"):
        work.case(
            case_id,
            input={
                "messages": [{"role": "user", "content": "Write."}],
                "context": {"llm_probe": {"tools": ["exec_shell"]}},
            },
        )

    done = collect_log(work.root, "run", *SUITE, "--workspaces-mb", "1")

    assert done.returncode == 0, done.stderr
    run_dir = work.root / "runs" / "r"
    assert len(list(run_dir.glob("workspaces/m/*/1/workspace/big"))) == 1
    assert len(list(run_dir.glob("workspaces/m/*/1/workspace.json"))) == 4
    assert done.stderr.count("files of trials are not kept from here on") == 1
    assert len(Kept(run_dir).events("workspaces_full")) == 1


def test_a_run_that_goes_on_counts_what_it_has(tmp_path):
    for number in range(3):
        place = tmp_path / "workspaces" / "m" / "c" / str(number) / "workspace"
        place.mkdir(parents=True)
        (place / "a").write_bytes(b"x" * 400_000)
    first = Keeper(tmp_path, "all", 1)
    first.settle("workspaces/m/c/2", passed=True)
    assert first.n_beyond == 1
    assert not (tmp_path / "workspaces/m/c/2/workspace").exists()
    again = Keeper(tmp_path, "all", 1)
    again.settle("workspaces/m/c/1", passed=None)
    assert again.n_beyond == 0
