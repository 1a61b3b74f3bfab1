"""`analyze regressions`: what people read, what they paste, and how it ends."""

import json
import tomllib

import pytest

from analyze.gate.known_issues import read_known
from schemas.output.regressions import Regressions
from tests.support.analyze_cli import call, forked
from tests.support.nights import Nights

pytestmark = pytest.mark.usefixtures("warm_engines")


@pytest.fixture(scope="module")
def drop(tmp_path_factory):
    """A history of one suite in which one model fell and one case of another broke."""
    nights = Nights(tmp_path_factory.mktemp("drop") / "runs", n_cases=25)
    nights.add(8, rates={"m": 1.0, "other": 0.95}, served="one")
    broken = {"case-03": 0.0}
    for _ in range(8):
        nights.add(1, rates={"m": 0.6, "other": 0.95}, cases=broken, served="two")
    return nights.runs_dir


@pytest.fixture(scope="module")
def steady(tmp_path_factory):
    """A history in which nothing shifted."""
    return uneventful(tmp_path_factory.mktemp("steady"))


def uneventful(folder):
    nights = Nights(folder / "runs")
    nights.add(7, rates={"m": 0.9})
    return nights.runs_dir


def test_a_shift_for_the_worse_ends_with_1_and_says_how_to_go_on(drop):
    done = call("regressions", "--runs", drop)
    assert done.code == 1
    assert "smoke / m: pass rate fell from 100.0 to " in done.out
    assert "since night-009" in done.out
    assert "  careful: the server says that it serves another model since" in done.out
    assert "  changed with it: served_model: one -> two" in done.out
    look = f"compare night-008 night-009 --model m --allow served_model --runs {drop}"
    assert f"\n  analyze {look}\n" in done.out
    assert "\nnot comparable" not in call(*look.split()).out
    assert "smoke / other / case-03: fell from" in done.out


def test_nothing_new_ends_with_0(steady):
    done = call("regressions", "--runs", steady)
    assert done.code == 0
    assert done.out.startswith("nothing shifted: 7 runs, 2 series and 10 cells with runs enough\n")
    assert "not judged: smoke / m: cost: no cost above 0 of it is known" in done.out


def pasted(out, tmp_path, name="known.toml"):
    """Write what a command says to paste into a file, filled in."""
    lines = [line.strip() for line in out.splitlines() if line.startswith("    ")]
    text = "\n".join(["schema_version = 1", *lines])
    path = tmp_path / name
    path.write_text(text.replace('= ""  # to fill in', '= "seen"'))
    return path


def test_series_with_too_few_runs_are_not_said_to_have_enough(tmp_path):
    Nights(tmp_path / "runs", n_cases=5, repetitions=1).add(rates={"m": 1.0})
    done = call("regressions", "--runs", tmp_path / "runs")
    assert done.out.startswith("nothing shifted: 1 run, 0 series and 0 cells with runs enough\n")


def test_what_it_says_to_paste_silences_every_alert(drop, tmp_path):
    path = pasted(call("regressions", "--runs", drop, columns=500).out, tmp_path)
    assert len(read_known(path).acknowledged) == 2
    done = call("regressions", "--runs", drop, "--known", path)
    assert done.code == 0
    assert done.out.startswith("no new shift for the worse, 2 acknowledged; 16 runs")
    assert "(known to seen) smoke / m: pass rate fell" in done.out
    assert "[[acknowledged]]" not in done.out
    assert "acknowledged by seen: seen" in call(
        "regressions", "--runs", drop, "--known", path, "--all"
    ).out  # fmt: skip


def test_an_entry_that_is_not_filled_in_is_refused_with_its_line(drop, tmp_path):
    path = tmp_path / "known.toml"
    out = call("regressions", "--runs", drop, columns=500).out
    lines = [line.strip() for line in out.splitlines() if line.startswith("    ")]
    path.write_text("\n".join(["schema_version = 1", *lines]))
    done = call("regressions", "--runs", drop, "--known", path)
    assert done.code == 2
    assert f"{path}:8: `acknowledged" in done.err


def test_an_entry_for_no_shift_is_named(steady, tmp_path):
    path = tmp_path / "known.yaml"
    path.write_text(
        "schema_version: 1\nacknowledged:\n- {suite_id: smoke, model_id: m, metric: e2e_ms,"
        " first_run: night-002, direction: up, reason: moved, author: ann}\n"
    )
    done = call("regressions", "--runs", steady, "--known", path)
    assert done.code == 0
    assert (
        "acknowledged, and no such shift: smoke / m: time rose since night-002 (ann: moved)"
        in done.out
    )


@pytest.mark.parametrize("columns", [80, 120])
def test_sentences_fit_the_terminal(drop, columns):
    out = call("regressions", "--runs", drop, "--all", columns=columns).out
    sentences = [line for line in out.splitlines() if not line.startswith("  analyze ")]
    assert max(map(len, sentences)) <= columns


def test_json_is_the_declared_record_unrounded(drop):
    for flags in (["--json"], ["--format", "json"]):
        done = call("regressions", "--runs", drop, *flags)
        assert done.code == 1
        found = Regressions.model_validate_json(done.out)
        assert [shift.first_run for shift in found.shifts] == ["night-009"]
        (size,) = (shift["size"] for shift in json.loads(done.out)["shifts"])
        assert size == found.shifts[0].after - found.shifts[0].before


def test_markdown_has_a_section_an_alert_and_toml_that_can_be_read(drop):
    done = call("regressions", "--runs", drop, "--format", "md")
    assert done.code == 1
    assert done.out.startswith("# Level shifts\n\n2 shifts for the worse; 16 runs, ")
    assert done.out.count("\n## smoke / ") == 2
    first = done.out.split("```toml\n")[1].split("```")[0]
    assert tomllib.loads(first)["acknowledged"][0]["first_run"] == "night-009"


def test_what_began_before_since_is_left_out_and_not_news(drop):
    done = call("regressions", "--runs", drop, "--since", "night-011")
    assert done.code == 0
    assert done.out.startswith("nothing shifted (--since night-011): 16 runs")


def test_a_better_level_is_told_in_a_line_and_is_no_bad_news(tmp_path):
    nights = Nights(tmp_path / "runs")
    nights.add(7, rates={"m": 0.5})
    nights.add(6, rates={"m": 1.0})
    done = call("regressions", "--runs", nights.runs_dir)
    assert done.code == 0
    assert done.out.startswith("no shift for the worse, 1 for the better; 13 runs")
    assert "(better) smoke / m: pass rate rose from" in done.out
    assert "  analyze compare" in call("regressions", "--runs", nights.runs_dir, "--all").out


def test_names_from_outside_are_shown_and_never_obeyed(tmp_path):
    hostile = "n\x1b[31m\u202e`|<b>'\"$(x)"
    nights = Nights(tmp_path / "runs")
    nights.add(6, rates={"m": 1.0})
    nights.add(1, rates={"m": 0.3}, run_id=hostile, served="bad\x1b[2J")
    nights.add(6, rates={"m": 0.3}, served="bad\x1b[2J")
    text = call("regressions", "--runs", nights.runs_dir, columns=500).out
    markdown = call("regressions", "--runs", nights.runs_dir, "--format", "md").out
    for out in (text, markdown):
        assert "\x1b" not in out
        assert "\u202e" not in out
    assert "<b>" not in markdown.partition("```toml")[0]
    path = pasted(text, tmp_path)
    assert read_known(path).acknowledged[0].first_run == hostile
    assert call("regressions", "--runs", nights.runs_dir, "--known", path).code == 0


@pytest.mark.parametrize(
    ("flags", "words"),
    [
        (["--suite", "smke"], "did you mean `smoke`?"),
        (["--model", "n"], "no run has model `n`"),
        (["--since", "nigth-001"], "did you mean `night-001`?"),
        (["--since", "2026-02-30"], "there is no such day"),
        (["--known", "nowhere.toml"], "nowhere.toml"),
    ],
)
def test_what_means_nothing_is_refused(steady, flags, words):
    done = call("regressions", "--runs", steady, *flags)
    assert done.code == 2
    assert words in done.err


def test_without_runs_it_says_how_to_make_some(tmp_path):
    (tmp_path / "runs").mkdir()
    done = call("regressions", "--runs", tmp_path / "runs")
    assert (done.code, done.out) == (0, "no runs yet: make one with `collect run`\n")


def test_a_process_of_its_own_writes_nothing_but_its_answer(tmp_path):
    steady = uneventful(tmp_path)
    done = forked("regressions", "--runs", steady, "--no-sync", cwd=steady.parent)
    assert (done.code, done.err) == (0, "")
    assert done.out.startswith("no runs yet")  # nothing was brought into the lake
    done = forked("regressions", "--runs", steady, cwd=steady.parent)
    assert (done.code, done.err) == (0, "")
    assert done.out.startswith("nothing shifted: 7 runs")


def test_the_folder_by_default_is_not_named_in_a_command(drop):
    done = forked("regressions", cwd=drop.parent)
    assert "\n  analyze compare night-008 night-009 --model other --allow served_model\n" in (
        done.out
    )
