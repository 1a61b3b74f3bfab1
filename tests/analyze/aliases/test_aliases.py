"""Renamed cases: a history of which one id changed says what it says without the change.

The twin of each history is the same bytes with an id replaced in its first nights, so that nothing
of how aliases are read is in what is expected.
"""

import errno
import json
import re
import shlex
import shutil
from concurrent.futures import ThreadPoolExecutor
from itertools import pairwise

import pytest

from analyze.aliases import join_cases, renames_among, separate_cases
from analyze.api import MARTS, open_history
from analyze.lake.content_ids import CaseIdUse
from analyze.lake.overlay import NAMED_TABLES
from analyze.lake.raw_tables import connect, fill
from analyze.lake.sync import sync
from analyze.query.session import Session
from schemas.errors import ConfigError
from schemas.lake import ALIASES, Join, join, lake_columns, live_files, read_aliases, remove_alias
from schemas.run.alias import AliasRow
from tests.support.analyze_cli import call
from tests.support.compared_runs import Runs
from tests.support.nights import Nights
from tests.support.run_rows import sha

pytestmark = [pytest.mark.peers, pytest.mark.usefixtures("warm_engines")]

N_NIGHTS = 8
N_OLD = 4
"""Nights of the twin with the old id."""

KNOWN = """\
schema_version = 1

[[quarantined]]
suite_id = "smoke"
case_id = "{}"
reason = "flaky"
author = "ann"
"""


@pytest.fixture(scope="module")
def twins(tmp_path_factory):
    """Two folders of runs: one where `case-03` is called so always, one where it was `old-03`."""
    folder = tmp_path_factory.mktemp("twins")
    plain, renamed = folder / "plain" / "runs", folder / "renamed" / "runs"
    nights = Nights(plain, n_cases=6, repetitions=3, seed=4)
    nights.add(N_NIGHTS - 3, rates={"m": 0.9, "n": 0.6}, cases={"case-03": 0.5}, cost_usd=0.01)
    nights.add(3, rates={"m": 0.3, "n": 0.6}, cost_usd=0.01)
    shutil.copytree(plain, renamed)
    for number in range(1, N_OLD + 1):
        for path in (renamed / f"night-{number:03d}").glob("*.json*"):
            path.write_text(path.read_text().replace('"case-03"', '"old-03"'))
    sync(plain)
    before = {path: path.read_bytes() for path in renamed.rglob("*.json*")}
    said = call("alias", "smoke", "old-03", "case-03", "--runs", renamed)
    assert said.out == "`old-03` is `case-03` now\n"
    assert {path: path.read_bytes() for path in before} == before
    return plain, renamed


@pytest.mark.parametrize(
    "words",
    [
        ("compare", "night-001,night-004", "night-006", "--by", "tag"),
        ("gate", "night-008", "--baseline", "last:4"),
        ("regressions",),
        ("flaky", "--all"),
        ("power",),
        ("route",),
    ],
    ids=lambda words: words[0],
)
def test_a_history_with_an_alias_says_what_it_says_without_a_rename(twins, words):
    said = []
    for runs in twins:
        done = call(*words, "--runs", runs, "--no-sync", "--json")
        said.append((done.code, done.out.replace(str(runs), "RUNS")))

    assert len(said[0][1]) > 100
    assert said[1] == said[0]


def test_every_view_has_the_case_under_its_newest_id(twins):
    said = []
    for runs in twins:
        with Session(runs, threads=1) as session:
            said.append(
                {
                    view: session.rows(f"select * from {view} order by all")
                    for view in MARTS
                    if view not in {"case_aliases", "runs", "cost_quality", "model_summary"}
                }
            )
    plain, renamed = said

    for view, rows in plain.items():
        # what a prompt list calls it stays as each run wrote it
        written = [
            tuple("case-03" if value == "old-03" else value for value in row)
            for row in renamed[view]
        ]
        assert sorted(written, key=repr) == sorted(rows, key=repr), view
    assert any(len(rows) > 100 for rows in plain.values())


def test_every_table_that_names_cases_is_known():
    naming = {
        table
        for table, columns in lake_columns().items()
        if {"run_id", "case_id"} <= {column.name for column in columns}
    }
    assert naming == NAMED_TABLES


def test_a_report_has_one_history_of_the_case(twins):
    with open_history(twins[1], sync=False) as history:
        report = history.report("night-008", transcript_bytes=20_000)

    assert {cell.case_id for cell in report.matrix.cells} == {f"case-{n:02d}" for n in range(6)}
    assert not report.comparison.excluded


@pytest.mark.parametrize("name", ["old-03", "case-03"])
def test_a_file_of_known_cases_may_name_either_id(twins, tmp_path, name):
    known = tmp_path / "known.toml"
    known.write_text(KNOWN.format(name))

    with open_history(twins[1], sync=False) as history:
        gate = history.gate("night-008", baseline="night-002", known=known)
        flaky = history.flaky(quarantine=known)

    assert [entry.case_id for entry in gate.quarantined] == ["case-03"]
    assert not gate.unused
    assert {cell.case_id for cell in flaky.cells if cell.quarantined} == {"case-03"}


def test_a_run_shows_what_it_wrote_and_how_that_is_called_now(twins):
    with open_history(twins[1], sync=False) as history:
        assert "renamed since: old-03 is case-03" in history.show("night-002")
        for name in ("old-03", "case-03"):
            page = history.show("night-002", name)
            assert page.startswith("old-03 · run night-002\n")
            assert "also called  case-03" in page
        assert history.show("night-002", "case-03", "m", 1).startswith("old-03 · m · repetition 1")
        assert history.show("night-008", "old-03").startswith("case-03 · run night-008")
        assert "renamed since" not in history.show("night-008")
        with pytest.raises(ConfigError, match="has no case `old-04`"):
            history.show("night-002", "old-04")


def test_a_database_file_has_the_newest_ids_too(twins, tmp_path):
    import duckdb

    _, runs = twins
    assert call("open", "--db", tmp_path / "x.duckdb", "--runs", runs).code == 0
    with duckdb.connect(str(tmp_path / "x.duckdb"), read_only=True) as connection:
        found = connection.sql("select distinct case_id from raw_results order by 1").fetchall()

    assert found == [(f"case-{n:02d}",) for n in range(6)]


# ---- what is noticed, refused and taken back


@pytest.fixture
def runs(new_run):
    """Runs of one suite, a day apart; a case is hashed by the letter its id begins with."""
    made = Runs(new_run)
    by_letter = {"plan": lambda case_id, repetition, model_id: {"case_hash": sha(case_id[0])}}

    def add(run_id, day, *cases, **fields):
        return made.add(run_id, day, cases=cases, **(by_letter | fields))

    add("mon", 1, "a", "b", "c")
    add("tue", 2, "a2", "b", "c")
    made.another = add
    return made


def said(runs, *words):
    return call(*words, "--runs", runs.runs_dir, columns=300)


def cases_of(runs):
    """Return how many runs asked each case."""
    with Session(runs.runs_dir, threads=1) as session:
        return dict(
            session.rows(
                "select case_id, count(distinct run_id) from planned_trials group by case_id"
            )
        )


def test_compare_gate_and_regressions_notice_a_rename_and_print_what_joins_it(runs):
    line = (
        "case `a2` has the content of `a`, which is gone: "
        f"`analyze alias smoke a a2 --runs {runs.runs_dir}` joins them"
    )
    assert line in said(runs, "compare", "mon", "tue").out
    assert line in said(runs, "gate", "tue").out
    assert line in said(runs, "regressions").out
    assert "which is gone" in said(runs, "regressions", "--format", "md").out

    assert said(runs, *shlex.split(line.split("`")[5])[1:-2]).code == 0
    assert "which is gone" not in said(runs, "compare", "mon", "tue").out


def test_an_alias_is_made_once_listed_and_taken_back(runs):
    assert "no case of suite `smoke` is joined" in said(runs, "alias", "smoke").out
    assert said(runs, "alias", "smoke", "a", "a2").out == "`a` is `a2` now\n"
    files = live_files(runs.runs_dir / "lake", ALIASES)
    assert said(runs, "alias", "smoke", "a", "a2").out == "`a` was `a2` already\n"
    assert live_files(runs.runs_dir / "lake", ALIASES) == files
    listed = json.loads(said(runs, "alias", "smoke", "--json").out)
    with Session(runs.runs_dir, threads=1) as session:
        rows = session.rows("select suite_id, old_case_id, case_id from case_aliases")
    assert rows == [("smoke", "a", "a2")]
    assert [(one["old_case_id"], one["case_id"]) for one in listed["aliases"]] == [("a", "a2")]
    assert listed["renames"] == []
    assert cases_of(runs) == {"a2": 2, "b": 2, "c": 2}

    assert said(runs, "alias", "smoke", "a", "a2", "--undo").out == "`a` stands for itself again\n"
    assert cases_of(runs) == {"a": 1, "a2": 1, "b": 2, "c": 2}
    again = said(runs, "alias", "smoke", "a", "a2", "--undo")
    assert (again.code, "joined to none" in again.err) == (2, True)
    assert said(runs, "alias", "smoke", "a", "a2").out == "`a` is `a2` now\n"


def test_what_cannot_be_joined_is_refused_and_changes_nothing(runs):
    runs.another("wed", 3, "d")
    runs.another("other", 4, "e", suite_id="other")
    refusals = {
        (
            "smok",
            "a",
            "a2",
        ): "allowed: other, smoke; did you mean `smoke`?",
        ("smoke", "a", "zz"): "asked a case `zz`; allowed: a, a2, b, c, d",
        ("smoke", "a22", "b"): "asked a case `a22`; did you mean `a2`?",
        ("smoke", "a2", "e"): "asked a case `e`",
        ("smoke", "b", "c"): "run `mon` asked both `b` and `c`: they are two cases",
        ("smoke", "a", "a"): "`a` is one id",
        ("smoke", "a", "d"): "never had the same content",
    }

    with Session(runs.runs_dir, threads=1) as session:
        for (suite_id, old, new), says in refusals.items():
            with pytest.raises(ConfigError, match=re.escape(says)):
                join_cases(session, suite_id, old, new)
        with pytest.raises(ConfigError, match="`a` is not joined to `a2` in suite `smoke`"):
            separate_cases(session, "smoke", "a", "a2")
    assert not live_files(runs.runs_dir / "lake", ALIASES)


@pytest.mark.parametrize("words", [("smoke", "a"), ("smoke", "--undo"), ("smoke", "a", "--undo")])
def test_half_an_alias_is_a_usage_error(runs, words):
    assert said(runs, "alias", *words).code == 2


def joined(runs, old, new):
    with Session(runs.runs_dir, threads=1) as session:
        return join_cases(session, "smoke", old, new)


def test_a_chain_ends_in_the_newest_id_and_can_be_undone_in_any_order(runs):
    runs.another("wed", 3, "a3", "b", "c")
    assert joined(runs, "a", "a2")
    assert joined(runs, "a2", "a3")
    assert cases_of(runs) == {"a3": 3, "b": 3, "c": 3}
    assert not joined(runs, "a", "a3")
    with pytest.raises(ConfigError, match="`analyze alias smoke a a2 --undo`"):
        joined(runs, "a3", "a")

    with Session(runs.runs_dir, threads=1) as session:
        separate_cases(session, "smoke", "a2", "a3")
    assert cases_of(runs) == {"a2": 2, "a3": 1, "b": 3, "c": 3}
    assert joined(runs, "a2", "a3")
    with Session(runs.runs_dir, threads=1) as session:
        separate_cases(session, "smoke", "a", "a2")
    assert cases_of(runs) == {"a": 1, "a3": 2, "b": 3, "c": 3}


def test_a_later_run_that_asks_both_ids_asks_two_cases(runs):
    joined(runs, "a", "a2")
    runs.another("wed", 3, "a", "a2", "b", "c")

    assert cases_of(runs) == {"a": 1, "a2": 3, "b": 3, "c": 3}
    assert "wed" in said(runs, "alias", "smoke").out
    with Session(runs.runs_dir, threads=1) as session:
        assert session.rows("select count(*) from trials where run_id = 'wed'") == [(4,)]


def test_an_id_of_one_suite_says_nothing_of_another(runs):
    runs.another("x", 3, "a", "b", "c", suite_id="other")
    joined(runs, "a", "a2")

    assert cases_of(runs) == {"a": 1, "a2": 2, "b": 3, "c": 3}


def test_prune_restore_and_compaction_keep_aliases(runs):
    joined(runs, "a", "a2")
    lake = runs.runs_dir / "lake"
    before = [path.read_bytes() for path in live_files(lake, ALIASES)]

    sync(runs.runs_dir)
    assert [len(live_files(lake, table)) for table in ("plans", "results")] == [1, 1]  # compacted
    said(runs, "sync", "--prune", "mon")
    said(runs, "sync", "mon")

    assert [path.read_bytes() for path in live_files(lake, ALIASES)] == before
    assert cases_of(runs) == {"a2": 2, "b": 2, "c": 2}


def test_writers_at_once_lose_nothing(tmp_path):
    lake = tmp_path / "runs" / "lake"
    pairs = [(f"old{n}", f"new{n}") for n in range(24)]

    def one(pair):
        return join(lake, "s", [Join(*pair)], "person")

    with ThreadPoolExecutor(8) as pool:
        assert list(pool.map(one, pairs)) == [1] * len(pairs)

    known = read_aliases(lake)
    assert {old: known["s", old].case_id for old, _ in pairs} == dict(pairs)
    assert len({row.recorded_at_ms for row in known.values()}) == len(pairs)


def test_a_long_chain_joined_in_any_order_ends_at_its_end(tmp_path):
    lake = tmp_path / "runs" / "lake"
    names = [f"id{n}" for n in range(9)]
    links = [Join(*pair) for pair in pairwise(names)]
    for one in (links[n] for n in (3, 0, 7, 4, 1, 6, 2, 5)):
        join(lake, "s", [one], "person")
    known = read_aliases(lake)
    assert {old: row.case_id for (_, old), row in known.items()} == dict.fromkeys(names[:-1], "id8")

    with pytest.raises(ConfigError, match="`id8` would stand for itself: `id3` leads to it"):
        join(lake, "s", [Join("id8", "id3")], "person")
    remove_alias(lake, "s", "id4")
    known = read_aliases(lake)
    newest = [known["s", name].case_id for name in names[:-1]]
    assert newest == ["id4"] * 4 + [None] + ["id8"] * 3


def test_aliases_outlive_the_lake(runs):
    joined(runs, "a", "a2")
    kept = runs.runs_dir / "aliases.jsonl"
    before = kept.read_bytes()
    shutil.rmtree(runs.runs_dir / "lake")

    assert said(runs, "sync").code == 0

    assert cases_of(runs) == {"a2": 2, "b": 2, "c": 2}
    assert kept.read_bytes() == before
    assert before.count(b"\n") == 1


def test_aliases_of_an_older_lake_are_carried_over_once(runs):
    joined(runs, "a", "a2")
    kept, lake = runs.runs_dir / "aliases.jsonl", runs.runs_dir / "lake"
    before = kept.read_bytes()
    kept.unlink()
    (lake / "manifest" / "aliases.json").unlink()

    done = said(runs, "runs")

    assert kept.read_bytes() == before
    assert f"1 alias row was copied from the lake to {kept}" in done.err
    assert said(runs, "runs").err == ""
    assert len(live_files(lake, ALIASES)) == 1


def test_what_others_committed_is_joined_and_a_torn_line_stops_nothing(runs):
    joined(runs, "a", "a2")
    kept = runs.runs_dir / "aliases.jsonl"
    row = AliasRow.model_validate_json(kept.read_bytes())
    back = row.model_copy(
        update={"joined_to": None, "case_id": None, "recorded_at_ms": row.recorded_at_ms + 1}
    )
    torn = b'{"suite_id": "smo'
    kept.write_bytes(kept.read_bytes() + back.model_dump_json().encode() + b"\n" + torn)

    done = said(runs, "runs")

    assert f"{kept}:3: is no alias" in done.err
    assert cases_of(runs) == {"a": 1, "a2": 1, "b": 2, "c": 2}
    joined(runs, "a", "a2")
    assert torn in kept.read_bytes(), "nobody's line is taken away"
    assert cases_of(runs) == {"a2": 2, "b": 2, "c": 2}


def test_a_damaged_file_of_aliases_is_made_again(runs):
    joined(runs, "a", "a2")
    (path,) = live_files(runs.runs_dir / "lake", ALIASES)
    path.write_bytes(b"")

    done = said(runs, "runs")

    assert f"{path}: is empty" in done.err
    assert f"is written again from {runs.runs_dir / 'aliases.jsonl'}" in done.err
    assert cases_of(runs) == {"a2": 2, "b": 2, "c": 2}


def test_without_an_alias_nothing_is_read_otherwise(runs):
    def view():
        with connect() as connection:
            fill(connection, runs.runs_dir / "lake", ["plans"])
            ((sql,),) = connection.sql(
                "select sql from duckdb_views() where view_name = 'raw_plans'"
            ).fetchall()
            return sql

    assert "case_names" not in view()
    joined(runs, "a", "a2")
    assert "case_names" in view()


def test_a_lake_that_cannot_be_written_is_said_and_left_as_it_is(runs, monkeypatch):
    def refused(*_):
        raise OSError(errno.ENOSPC, "No space left on device", "somewhere")

    monkeypatch.setattr("schemas.lake.writer.sync_path", refused)
    done = said(runs, "alias", "smoke", "a", "a2")

    assert (done.code, done.err) == (
        1, "somewhere: No space left on device; nothing was joined or taken apart",
    )  # fmt: skip
    assert not list((runs.runs_dir / "lake" / ALIASES).rglob("*.*"))


# ---- which id goes on with which


def asked(**places):
    return [CaseIdUse("s", "h", case_id, frozenset(where)) for case_id, where in places.items()]


@pytest.mark.parametrize(
    ("ids", "renames"),
    [
        (asked(a={1, 2}), []),
        (asked(a={1, 2}, b={3}), [("a", "b")]),
        (asked(b={3}, a={1, 2}, c={4, 5}), [("a", "b"), ("b", "c")]),
        (asked(a={1, 5}, b={2, 3}), [("b", "a")]),  # and back again
        (asked(a={1, 2}, b={2, 3}), []),  # side by side
        (asked(a={1}, x={1, 2}, b={2}), []),  # nobody can say which of two goes on
    ],
)
def test_a_rename_is_an_id_after_another_one_and_never_beside_it(ids, renames, tmp_path):
    found = renames_among(ids, tmp_path)

    assert [(one.old_case_id, one.case_id) for one in found] == renames
