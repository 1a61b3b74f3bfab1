"""`analyze sql` as a user meets it: in its own process, in every format, and at its prompt."""

import csv
import json
import os
import pty
import signal
import subprocess
import sys
import time
from pathlib import Path

import pyarrow.parquet as pq
import pytest

from schemas.lake import live_files
from tests.support.forks import forks
from tests.support.paths import ROOT

COMMAND = [sys.executable, "-W", "error", "-m", "analyze", "sql", "--no-sync"]


@pytest.fixture
def ask(run, tmp_path):
    """Return a runner of `analyze sql` beside a lake of three trials."""
    for n in range(3):
        run.result(run.plan(f"c{n}"), passed=n > 0, raw_output=f"=1+{n}")
    run.mirror()

    def call(*args, stdin=""):
        env = os.environ | {"PYTHONPATH": str(ROOT), "XDG_STATE_HOME": str(tmp_path / "state")}
        return forks("analyze").run(tmp_path, ["sql", "--no-sync", *args], env, stdin)

    return call


def answer(done):
    assert (done.returncode, done.stderr) == (0, "")
    return done.stdout


def test_a_table_is_aligned_and_counted(ask):
    text = answer(ask("select model_id, n_total, passed_rate from model_summary"))

    assert text == (
        "model_id  n_total  passed_rate\n"
        "--------  -------  -----------\n"
        "m1              3     0.666667\n"
        "\n"
        "1 row\n"
    )


def test_rows_that_are_not_shown_are_counted(ask):
    text = answer(ask("select case_id from trials order by 1", "--max-rows", "2"))

    assert text.endswith("c1\n\n2 rows shown of 3; --max-rows 0 shows all\n")
    assert answer(ask("from range(150)", "--max-rows", "0")).endswith("\n150 rows\n")


def test_json_is_exact_and_never_nan(ask):
    query = (
        "select 9007199254740993 as big, 170141183460469231731687303715884105727 as huge, "
        "1.10::decimal(5, 2) as price, 'nan'::double as nan, 1e400 as much, null as none, "
        "[1, null] as list, {'a': 'x'} as pair, timestamp '2025-11-21 22:00:00' as at, "
        "chr(27) || '[31m' as red, true as yes, 0.1 + 0.2e0 as third"
    )
    text = answer(ask(query, "--json"))

    assert "9007199254740993" in text
    assert "170141183460469231731687303715884105727" in text
    assert '"price": 1.10' in text
    assert text.isascii()
    assert "\x1b" not in text
    (row,) = json.loads(text)
    assert (row["nan"], row["much"], row["none"], row["list"]) == (None, None, None, [1, None])
    assert (row["pair"], row["at"], row["red"]) == ({"a": "x"}, "2025-11-21 22:00:00", "\x1b[31m")
    assert (row["yes"], row["third"]) == (True, 0.1 + 0.2)


def test_no_rows_are_an_empty_array(ask):
    assert json.loads(answer(ask("select 1 where false", "--json"))) == []


def test_a_moment_with_a_time_zone_needs_no_other_package(ask):
    (row,) = json.loads(answer(ask("select now() as at, 1 as n", "--json")))

    assert row["at"].startswith("20")
    assert row["n"] == 1


def test_names_that_come_twice_get_a_number(ask):
    query = "select x.a, y.a, 3 as a_2 from (select 1 as a) as x, (select 2 as a) as y"
    assert json.loads(answer(ask(query, "--json"))) == [{"a": 1, "a_3": 2, "a_2": 3}]
    assert answer(ask(query, "--format", "csv")) == "a,a_3,a_2\n1,2,3\n"
    assert answer(ask(query)).split("\n")[0].split() == ["a", "a_3", "a_2"]


def test_csv_tells_null_from_empty_and_runs_nothing(ask):
    query = (
        "select raw_output, null as none, '' as empty, 'a,\"b\"' as quoted, -1 as n, "
        "chr(10) || 'x' as line from outputs order by case_id limit 1"
    )
    text = answer(ask(query, "--format", "csv"))

    assert text == 'raw_output,none,empty,quoted,n,line\n\'=1+0,,"","a,""b""",-1,"\nx"\n'
    assert list(csv.reader(text.splitlines(keepends=True)))[1][3] == 'a,"b"'


def test_markdown_is_a_table_without_markup_in_it(ask):
    text = answer(ask("select '<b>|x' as \"a|b\", 1 as n", "--format", "md"))

    assert text == "| a\\|b | n |\n| --- | ---: |\n| &lt;b&gt;\\|x | 1 |\n"


def test_what_a_terminal_would_obey_is_spelled_out(ask):
    query = "select 'a' || chr(27) || ']0;x' || chr(7) || chr(8238) || chr(10) || 'b' as x"

    for form in ("table", "md"):
        text = answer(ask(query, "--format", form))
        assert all(char.isprintable() or char == "\n" for char in text)
        assert "x1b" in text


def test_a_file_is_written_in_the_format_of_its_name(ask, tmp_path):
    done = ask("select case_id, e2e_ms from trials order by 1", "--output", "out.parquet")

    assert (done.returncode, done.stdout) == (0, "")
    assert "out.parquet" in done.stderr
    assert pq.read_table(tmp_path / "out.parquet").to_pylist() == [
        {"case_id": f"c{n}", "e2e_ms": 400} for n in range(3)
    ]
    ask("select 1 as a", "--output", "out.csv")
    assert (tmp_path / "out.csv").read_text() == "a\n1\n"
    assert list(tmp_path.glob(".tmp-*")) == []


def test_a_query_that_fails_leaves_the_file_alone(ask, tmp_path):
    (tmp_path / "out.csv").write_text("mine")

    done = ask("select nope from trials", "--output", "out.csv")

    assert done.returncode == 2
    assert (tmp_path / "out.csv").read_text() == "mine"


def test_a_file_that_cannot_be_written_is_named(ask):
    done = ask("select 1", "--output", "no/such/out.csv")

    assert (done.returncode, done.stdout) == (1, "")
    assert done.stderr.startswith("error: no/such/out.csv: cannot be written")


def test_parquet_goes_down_a_pipe(ask, tmp_path):
    with (tmp_path / "piped.parquet").open("wb") as out:
        subprocess.run(
            [*COMMAND, "select 1 as a, 2 as a", "--format", "parquet"],
            cwd=tmp_path,
            env=os.environ | {"PYTHONPATH": str(ROOT)},
            stdout=out,
            timeout=60,
            check=True,
        )

    assert pq.read_table(tmp_path / "piped.parquet").to_pylist() == [{"a": 1, "a_2": 2}]


@pytest.mark.parametrize(
    ("query", "said"),
    [
        ("from modl_summary", "there is no table or view `modl_summary`; did you mean `model_sum"),
        ("select modelid from trials", "there is no column `modelid`; did you mean `model_id`?"),
        ("select 'x' + interval 1 day + 1 from", "the query cannot be read: syntax error"),
        ("select cast('x' as integer)", "the query failed: "),
        ("from read_csv('/etc/passwd')", "`read_csv` is not let through"),
        ("drop table x", "DROP is not let through"),
    ],
)
def test_a_mistake_is_one_sentence(ask, query, said):
    done = ask(query)

    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr.startswith(f"error: {said}")
    assert done.stderr.count("\n") == 1


@pytest.mark.parametrize(
    "options",
    [
        ("--max-rows", "x"),
        ("--max-rows", "-1"),
        ("--format", "xml"),
        ("--timeout", "0"),
        ("--json", "--format", "csv"),
        ("--timeout",),
    ],
)
def test_a_wrong_option_is_a_usage_error(ask, options):
    done = ask("select 1", *options)

    assert (done.returncode, done.stdout) == (2, "")
    assert "rror" in done.stderr


def test_a_query_comes_from_standard_input(ask):
    assert answer(ask("-", "--json", stdin="select 1 as a -- one\n")) == '[\n  {"a": 1}\n]\n'


def test_a_file_of_the_lake_may_bear_any_name(ask, run):
    for path in live_files(run.lake, "results"):
        path.rename(path.with_name(f"it's [0] {path.name}"))

    assert json.loads(answer(ask("select count(*) as n from trials", "--json"))) == [{"n": 3}]


def test_time_is_limited(ask):
    done = ask("select count(*) from range(1000000000) a, range(1000) b", "--timeout", "0.2")

    assert (done.returncode, done.stdout) == (1, "")
    assert "stopped after 0.2 s" in done.stderr


def test_ctrl_c_ends_a_query(ask, tmp_path):
    endless = "select count(*) from range(1000000000) a, range(1000) b where a.range % 3 = b.range"
    process = subprocess.Popen(
        [*COMMAND, endless],
        cwd=tmp_path,
        env=os.environ | {"PYTHONPATH": str(ROOT)},
        stderr=subprocess.PIPE,
        text=True,
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL),  # noqa: PLW1509 - xdist ignores it
    )
    time.sleep(3)
    process.send_signal(signal.SIGINT)
    _, said = process.communicate(timeout=8)

    assert process.returncode == 130
    assert "Traceback" not in said


def test_a_function_that_hears_nothing_does_not_outlive_the_limit(ask, tmp_path):
    """It would take minutes, and the engine looks for a request to stop between rows only."""
    deaf = "select levenshtein(repeat('a', 300000), repeat('b', 300000)) as distance"
    began = time.monotonic()

    done = ask("--timeout", "0.5", "--output", "answer.csv", deaf)

    assert time.monotonic() - began < 25
    assert done.returncode == 1
    assert "stopped after 0.5 s" in done.stderr
    assert list(tmp_path.rglob("*answer*")) == list(tmp_path.rglob(".tmp-*")) == []


def test_queries_from_a_pipe_are_answered_one_by_one(ask):
    done = ask(
        "--json", stdin=".help\nselect 1 as a; select 2\n as a;\nselect ';' as a\n;\nselect 4 as a"
    )

    said = answer(done)
    assert "Ctrl-D" in said
    assert [line.strip() for line in said.splitlines() if '"a"' in line] == [
        '{"a": 1}',
        '{"a": 2}',
        '{"a": ";"}',
        '{"a": 4}',
    ]


def test_a_mistake_in_a_pipe_stops_nothing_and_is_the_exit_code(ask):
    done = ask("--json", stdin="select nope from trials;\nselect 1 as a;\ncopy x to 'y';\n")

    assert done.returncode == 2
    assert done.stderr.count("error: ") == 2
    assert '{"a": 1}' in done.stdout


def test_the_prompt_knows_its_views_and_leaves(ask):
    said = answer(ask(stdin=".views\n.schema run_summary\n.quit\nselect 1;\n"))

    assert "model_summary" in said
    assert "One row per run" in said
    assert "1 row\n" not in said


def test_the_prompt_works_in_a_terminal(ask, tmp_path):
    ours, theirs = pty.openpty()
    process = subprocess.Popen(
        COMMAND,
        cwd=tmp_path,
        env=os.environ
        | {"PYTHONPATH": str(ROOT), "XDG_STATE_HOME": str(tmp_path / "state"), "TERM": "dumb"},
        stdin=theirs,
        stdout=theirs,
        stderr=theirs,
        close_fds=True,
    )
    os.close(theirs)
    os.write(ours, b"select 40 +\n2 as answer;\n.quit\n")
    said = b""
    while True:
        try:
            chunk = os.read(ours, 4096)
        except OSError:
            break
        if not chunk:
            break
        said += chunk
    os.close(ours)

    assert process.wait(timeout=30) == 0
    assert b"42" in said
    assert b"analyze> " in said
    assert "40 +" in (tmp_path / "state" / "benchlake" / "sql_history").read_text()


def test_a_device_is_written_to_and_stays_one(ask, tmp_path):
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    reader = subprocess.Popen(["cat", str(pipe)], stdout=subprocess.PIPE, text=True)

    done = ask("select 1 as a", "--format", "csv", "--output", "pipe")

    assert (done.returncode, reader.communicate(timeout=30)[0]) == (0, "a\n1\n")
    assert pipe.is_fifo()


def test_an_output_file_keeps_its_mode_and_a_link_stays_a_link(ask, tmp_path):
    mine = tmp_path / "mine.csv"
    mine.write_text("old")
    mine.chmod(0o600)
    link = tmp_path / "link.csv"
    link.symlink_to("mine.csv")

    done = ask("select 1 as a", "--output", "link.csv")

    assert (done.returncode, mine.read_text()) == (0, "a\n1\n")
    assert link.is_symlink()
    assert mine.stat().st_mode & 0o777 == 0o600


def test_an_output_file_without_a_query_is_a_usage_error(ask, tmp_path):
    done = ask("--output", "out.csv", stdin="select 1;")

    assert done.returncode == 2
    assert "--output needs a query" in done.stderr
    assert not (tmp_path / "out.csv").exists()


def test_a_type_that_parquet_does_not_know_is_named(ask, tmp_path):
    done = ask("select interval 1 month as pause", "--output", "out.parquet")

    assert done.returncode == 2
    assert done.stderr.startswith("error: Parquet has no form for a column of `pause` INTERVAL")
    assert list(tmp_path.glob("*.parquet")) == []


def test_parquet_is_stopped_at_its_time_limit_too(ask):
    done = ask("from range(100000000000)", "--timeout", "0.5", "--output", "out.parquet")

    assert (done.returncode, done.stderr.startswith("error: the query was stopped")) == (1, True)


def test_bytes_that_are_no_utf8_are_a_mistake_in_one_line(ask):
    done = ask("select '\udcff'")

    assert done.returncode == 2
    assert done.stderr.startswith("error: the query is not UTF-8")


def test_without_a_time_limit_nothing_is_stopped(ask):
    assert "1 row" in answer(ask("select 1", "--timeout", "inf"))


def test_a_csv_has_no_value_where_a_number_is_none(ask):
    text = answer(ask("select 'nan'::double as a, 1 as b, '\uff1d1' as c", "--format", "csv"))

    assert text == "a,b,c\n,1,'\uff1d1\n"


def test_an_output_that_is_full_is_told_in_one_line(ask, tmp_path):
    with Path("/dev/full").open("w") as full:
        done = subprocess.run(
            [*COMMAND, "select 1"],
            cwd=tmp_path,
            env=os.environ | {"PYTHONPATH": str(ROOT)},
            stdout=full,
            stderr=subprocess.PIPE,
            text=True,
            timeout=60,
            check=False,
        )

    assert (done.returncode, done.stderr) == (
        1,
        "error: standard output: No space left on device\n",
    )
