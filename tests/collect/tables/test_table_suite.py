"""`collect init DIR --from TABLE`: a table becomes a suite that validates, plans, runs, judges."""

import json
import re
import subprocess
import sys
from pathlib import Path

import pytest
import yaml
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from typer.testing import CliRunner

from collect.cli import app
from collect.config.prompt_lists import MAX_ENTRIES, load_prompt_list
from collect.tables.prompts import MADE, NOT_HERE, validator_of
from collect.tables.rows import KINDS
from collect.tables.suite import write_table_suite
from schemas.config.case import Prompt
from schemas.errors import BenchError, ConfigError
from tests.support.endpoint import stream_of
from tests.support.kept_run import Kept


@pytest.fixture
def here(tmp_path, monkeypatch):
    (tmp_path / ".git").mkdir()
    monkeypatch.chdir(tmp_path)
    return tmp_path


def collect(*words):
    """Return what a command prints; what it refuses is raised."""
    done = CliRunner().invoke(app, list(map(str, words)))
    if isinstance(done.exception, BenchError):
        raise done.exception
    assert done.exit_code == 0, done.output
    return done.output


def made(content, name="data.csv", *flags):
    """Write a table, make a suite of it, check it, and return (its prompts, what was said)."""
    Path(name).write_bytes(content if isinstance(content, bytes) else content.encode())
    said = collect("init", "mine", "--from", name, *flags)
    suites = Path("mine/configs/suites")
    (suite,) = suites.glob("*.yaml")
    lines = suite.with_suffix(".jsonl").read_text().splitlines()
    assert "no problems" in collect("validate", "mine")
    plan = json.loads(collect("plan", "--suite", suite, "--run-profile",
                              Path("mine/configs/run_profiles/demo.yaml"), "--json"))  # fmt: skip
    assert len(plan["cases"]) == len(lines)
    return [json.loads(line) for line in lines], said


def refused(content, name="data.csv", *flags):
    with pytest.raises(ConfigError) as raised:
        made(content, name, *flags)
    assert not Path("mine").exists()
    return str(raised.value)


def ask(number, prompt, kind, **facts):
    return {"id": number, "prompt": prompt, "validator": {"type": kind, **facts}}


SYSTEM = {"role": "system", "content": "Be brief."}
USER = {"role": "user", "content": "2 + 2?"}
ESSAY = "word " * 30

TABLES = {
    "GSM8K": (
        "gsm8k.jsonl",
        '{"question": "a?", "answer": "5 + 3 = 8.\\n#### 1,008"}\n'
        '{"question": "b?", "answer": "So\\n#### -7"}\n',
        [ask("row_1", "a?", "number", value=1008), ask("row_2", "b?", "number", value=-7)],
        "expected is what stands behind `####`",
    ),
    "Inspect": (
        "inspect.csv",
        "input,target,id\nCapital of France?,Paris,fr\nGold?,Au,au\n",
        [ask("fr", "Capital of France?", "contains", value="Paris"),
         ask("au", "Gold?", "exact", value="Au")],
        "validator `contains`, 1 row",
    ),
    "OpenAI evals": (
        "evals.jsonl",
        json.dumps({"input": [SYSTEM, USER], "ideal": ["four", "vier"]}) + "\n"
        + json.dumps({"input": "3?", "ideal": 3}),
        [{"id": "row_1", "messages": [SYSTEM, USER],
          "validator": {"type": "contains", "values": ["four", "vier"], "match": "any"}},
         ask("row_2", "3?", "exact", value="3")],
        "id: row numbers",
    ),
    "messages and ideal": (
        "chat.json",
        json.dumps([{"messages": [USER], "ideal": "4"}], indent=1),
        [ask("row_1", "2 + 2?", "number", value=4)],
        "validator `number`, 1 row",
    ),
    "promptfoo": (
        "promptfoo.csv",
        'question,__expected\na,contains: Paris\nb,yes\nc,"contains-any: x, y"\nd,is-json\n'
        "e,regex: ^a+$\nf,not-contains: no\n",
        [ask("row_1", "a", "contains", value="Paris"), ask("row_2", "b", "exact", value="yes"),
         ask("row_3", "c", "contains", values=["x", "y"], match="any"),
         ask("row_4", "d", "json_keys"), ask("row_5", "e", "regex_search", pattern="^a+$"),
         ask("row_6", "f", "not_contains", value="no")],
        "what the cell of each row says",
    ),
    "spreadsheet": (
        "Sheet 1.csv",
        b'\xef\xbb\xbfPrompt;Label;System Prompt\r\n"a;\r\n""b""";pos;Be brief.\r\nc;neg;\r\n'
        b"d;pos;\r\ne;neg;\r\n;;\r\n",
        [{"id": "row_1", "messages": [SYSTEM, {"role": "user", "content": 'a;\r\n"b"'}],
          "validator": {"type": "exact", "value": "pos"}},
         ask("row_2", "c", "exact", value="neg"), ask("row_3", "d", "exact", value="pos"),
         ask("row_4", "e", "exact", value="neg")],
        "validator `exact`, 4 rows: there are 2 short labels",
    ),
    "pandas, tabs": (
        "frame.tsv",
        f"\tquestion\tanswer\n0\ta\tParis\n1\tb\t{ESSAY}\n",
        [ask("row_1", "a", "contains", value="Paris"), ask("row_2", "b", "noop")],
        "give them to an LLM as a judge",
    ),
    "money and percent": (
        "money.csv",
        'question,answer\na,"$1,234.50"\nb,50%\nc,-3\nd,1e3\n',
        [ask("row_1", "a", "number", value=1234.5), ask("row_2", "b", "number", value=50),
         ask("row_3", "c", "number", value=-3), ask("row_4", "d", "number", value=1000)],
        "the last number of an answer is compared",
    ),
    "names made of digits": (
        "codes.csv",
        "question,answer\na,007\nb,0042\n",
        [ask("row_1", "a", "exact", value="007"), ask("row_2", "b", "contains", value="0042")],
        "found in many an answer by accident",
    ),
    "no answers": (
        "2024.csv",
        "prompt\na\nb\n",
        [ask("row_1", "a", "noop"), ask("row_2", "b", "noop")],
        "the table has no expected answers",
    ),
}  # fmt: skip


@pytest.mark.parametrize("tool", TABLES)
def test_a_table_of_another_tool_is_a_suite(here, tool):
    name, content, wanted, says = TABLES[tool]

    prompts, said = made(content, name)

    assert prompts == wanted
    assert says in said
    suite = next(Path("mine/configs/suites").glob("*.yaml")).read_text()
    assert says in re.sub(r"\n# +", " ", suite), "the file says it too, in a comment"
    assert yaml.safe_load(suite)["title"] == name


def test_columns_that_are_named_are_taken(here):
    table = "nr,system,q,a,extra\nX 1,Be brief.,2 + 2?,4,-\n"

    prompts, said = made(table, "data.csv", "--input", "q", "--expected", "A", "--id", "nr",
                         "--system", "none")  # fmt: skip
    assert prompts == [ask("X 1", "2 + 2?", "number", value=4)]
    assert "not used: `system`, `extra`" in said

    prompts, _ = made_again(table, "--input", "q", "--expected", "none", "--system", "system")
    assert prompts == [{"id": "row_1", "messages": [SYSTEM, USER], "validator": {"type": "noop"}}]


def made_again(content, *flags):
    for file in Path("mine/configs/suites").iterdir():
        file.unlink()
    return made(content, "data.csv", *flags)


def test_a_validator_that_is_named_is_taken(here):
    table = "question,answer\na,4\nb,44\n"

    wanted = [{"type": "exact", "value": "4"}, {"type": "exact", "value": "44"}]
    prompts, _ = made(table, "data.csv", "--validator", "exact")
    assert [one["validator"] for one in prompts] == wanted
    for kind in ("contains", "noop"):
        prompts, said = made_again(table, "--validator", kind)
        assert {one["validator"]["type"] for one in prompts} == {kind}
        assert f"validator `{kind}`, 2 rows" in said
    for file in Path("mine/configs/suites").iterdir():
        file.unlink()
    with pytest.raises(ConfigError, match=r"data\.csv:3: `answer`: is no number"):
        made("question,answer\na,4\nb,four\n", "data.csv", "--validator", "number")


REFUSED = {
    "no column is known": ("q,a\nx,y\n", "found the columns `q`, `a`; `--input COLUMN` names it"),
    "two could be it": ("prompt,question\nx,y\n", "`prompt` or `question` could be the input"),
    "answers unknown": ("input,a\nx,y\n", "`--expected none` says that there is none"),
    "two assertions": ("input,__expected1,__expected2\nx,y,z\n", "a case has one validator"),
    "no header": ("What is 2+2?,4\n3+3?,6\n", "the first line has to name the columns"),
    "two names": ("id,input,id\n1,x,2\n", "data.csv:1: `id`: two columns have this name"),
    "empty input": ("input,answer\n a ,4\n,5\n", "data.csv:3: `input`: is empty; fill it in"),
    "empty answer": ('input,answer\n"a\nb",4\nc,\n', "data.csv:4: `answer`: is empty"),
    "too few cells": ("input,answer\na\nb,5\n", "data.csv:2: has 1 cell, the header has 2; text"),
    "too many cells": ("input,answer\na,b,c\n", "data.csv:2: has 3 cells, the header has 2"),
    "torn row": (
        "input,answer\na,4\nb",
        "data.csv:3: has 1 cell, the header has 2; the file seems",
    ),
    "torn quote": ('input,answer\na,4\n"b,5\nc,6\n', "data.csv:3: opens a quote that never closes"),
    "stray quote": ('input,answer\n"a" b,4\n', "data.csv:2: goes on behind a closing quote"),
    "Latin-1": ("input,answer\ncafé,4\n".encode("latin-1"), "data.csv:2: is not UTF-8 text; save"),
    "UTF-16": ("input,answer\na,4\n".encode("utf-16"), "data.csv:1: is not UTF-8 text; save it as"),
    "NUL": ("input,answer\na\0,4\n", "data.csv:2: holds a NUL byte"),
    "same id": ("id,input\n1,a\n2,b\n1,c\n", "data.csv:4: `id`: makes the case_id `1`, as line 2"),
    "same id as a name": ("id,input\nA 1,a\na_1,b\n", "makes the case_id `a_1`, as line 2 does"),
    "empty id": ("id,input\n,a\n", "data.csv:2: `id`: is empty"),
    "nothing": ("", "data.csv: is empty; the first line names the columns"),
    "no rows": ("input,answer\n\n", "data.csv: holds no rows"),
    "judge": ("input,__expected\na,llm-rubric: nice\n", "data.csv:2: `__expected`: `llm-rubric`"),
    "bad pattern": ("input,__expected\na,regex: (\n", "data.csv:2: `__expected`: is not a valid"),
    "long cell": ("input,answer\n" + "x" * 2_000_001 + ",4\n", "a cell of more than 2,000,000"),
}

REFUSED_LINES = {
    "not JSON": ('{"input": "a"}\n{"input": }\n', "data.jsonl:2: is not valid JSON"),
    "torn line": ('{"input": "a"}\n{"inp', "data.jsonl:2: is not valid JSON: Unterminated string "),
    "no object": ('["a"]\n', "data.jsonl:1: should be an object"),
    "key twice": ('{"input": "a", "input": "b"}\n', "data.jsonl:1: holds `input` twice"),
    "NaN": ('{"input": NaN}\n', "data.jsonl:1: is not valid JSON: NaN is none"),
    "missing": ('{"input": "a", "id": 1}\n{"id": 2}', "data.jsonl:2: `input`: is missing"),
    "null": ('{"input": "a", "target": null}\n', "data.jsonl:1: `target`: is empty"),
    "object": ('{"input": {"a": 1}}\n', "data.jsonl:1: `input`: should be a text or a number"),
    "half": ('{"input": "\\ud800"}\n', "data.jsonl:1: `input`: holds half a character"),
    "answered": ('{"messages": [{"role": "assistant", "content": "x"}]}\n',
                 "the last message should be the user's; found role `assistant`"),
    "no role": ('{"messages": [{"content": "x"}]}\n', "the last message should be the user's"),
    "bad message": ('{"messages": [{"role": "bot", "content": "x"}, {"role": "user", "content": '
                    '"y"}]}\n', "data.jsonl:1: `messages`: should be 'system'"),
    "half a message": ('{"messages": [{"role": "user", "content": "\\ud800"}]}\n',
                       "data.jsonl:1: `messages`: holds half a character"),
}  # fmt: skip


@pytest.mark.parametrize("mistake", REFUSED)
def test_what_is_wrong_with_a_table_has_its_line_and_what_to_do(here, mistake):
    content, says = REFUSED[mistake]
    assert says in refused(content)


@pytest.mark.parametrize("mistake", REFUSED_LINES)
def test_what_is_wrong_with_a_line_has_its_number(here, mistake):
    content, says = REFUSED_LINES[mistake]
    assert says in refused(content, "data.jsonl")


def test_every_problem_is_said_at_once(here):
    said = refused("id,input,answer\n1,,\n,a,5\n1,b,\n")
    assert [line.split(";")[0] for line in said.splitlines()] == [
        "data.csv:2: `answer`: is empty",
        "data.csv:2: `input`: is empty",
        "data.csv:3: `id`: is empty",
        "data.csv:4: `answer`: is empty",
        "data.csv:4: `id`: makes the case_id `1`, as line 2 does",
    ]
    said = refused("input,answer\n" + ",4\n" * 150)
    assert said.count("`input`: is empty") == 100, "and no more than anybody reads"


def test_a_table_of_a_million_rows_is_refused_with_its_limit(here):
    said = refused("input,answer\n" + "a,4\n" * (MAX_ENTRIES + 1))
    assert "data.csv:100002: holds more than 100,000 rows; take a part" in said

    with Path("big.csv").open("wb") as file:
        file.truncate(64_000_001)
    with pytest.raises(ConfigError, match="is too large"):
        collect("init", "mine", "--from", "big.csv")


def test_what_is_no_table_is_refused(here):
    assert "allowed: .csv, .tsv, .jsonl, .json" in refused("a", "data.xlsx")
    with pytest.raises(ConfigError, match=r"gone\.csv: no such file"):
        collect("init", "mine", "--from", "gone.csv")
    with pytest.raises(ConfigError, match="did you mean `answer`"):
        made("input,answer\na,4\n", "data.csv", "--expected", "anwser")


def test_options_of_a_table_need_one(here):
    done = CliRunner().invoke(app, ["init", "mine", "--input", "q"])
    assert done.exit_code == 2
    assert "--from FILE names one" in " ".join(done.output.split())
    assert not Path("mine").exists()


def test_nothing_that_is_there_is_overwritten(here):
    own = {"notes.txt": "mine", ".gitignore": "own", "configs/run_profiles/demo.yaml": "mine too"}
    for name, text in own.items():
        (Path("mine") / name).parent.mkdir(parents=True, exist_ok=True)
        (Path("mine") / name).write_text(text)
    Path("data.csv").write_text("input,answer\na,4\n")
    collect("init", "mine", "--from", "data.csv")
    before = {path: path.read_bytes() for path in Path("mine").rglob("*") if path.is_file()}
    assert {name: (Path("mine") / name).read_text() for name in own} == own

    Path("data.csv").write_text("input,answer\nb,5\n")
    with pytest.raises(ConfigError) as raised:
        collect("init", "mine", "--from", "data.csv")

    assert "data.jsonl: is there already; rename the table" in str(raised.value)
    assert before == {p: p.read_bytes() for p in Path("mine").rglob("*") if p.is_file()}


def test_a_folder_that_cannot_be_written_is_left_as_it_was(here):
    Path("data.csv").write_text("input,answer\na,4\n")
    Path("mine/configs").mkdir(parents=True)
    Path("mine/configs/suites").write_text("a file")

    with pytest.raises(BenchError, match="mine cannot be written"):
        collect("init", "mine", "--from", "data.csv")

    left = [path for path in Path("mine").rglob("*") if path.is_file()]
    assert left == [Path("mine/configs/suites")]


def test_a_second_table_joins_the_project(here):
    made("input,answer\na,4\n", "one.csv")
    Path("two.csv").write_text("input,answer\nb,5\n")
    said = collect("init", "mine", "--from", "two.csv")

    assert "collect plan --suite two --run-profile demo" in said
    assert "checked 2 suites, 3 run profiles: no problems" in collect("validate", "mine")


ANSWERS = {
    "Tom has 5 and buys 3.": "That is 5 + 3 = **8**.",
    "And in dollars?": "$1,200.50",
    "Wrong?": "I think 41, no: 43.",
}


def test_a_run_of_it_has_the_right_verdicts(here, endpoint):
    made(
        'id,question,answer\na,Tom has 5 and buys 3.,8\nb,And in dollars?,"1,200.5"\nc,Wrong?,42\n'
    )
    suite = Path("mine/configs/suites/data.yaml")
    model = {"model_id": "m", "provider": "ollama_openai", "base_url": endpoint.base_url}
    suite.write_text(yaml.safe_dump(yaml.safe_load(suite.read_text()) | {"models": [model]}))
    endpoint.script = lambda wire, request: wire.stream(
        stream_of(ANSWERS.get(request.body["messages"][-1]["content"], "?"))
    )

    done = subprocess.run(
        [sys.executable, "-P", "-m", "collect", "run", "--suite", "data", "--run-profile", "once",
         "--run-id", "r"],
        cwd="mine", capture_output=True, text=True, check=False,
    )  # fmt: skip

    assert done.returncode == 0, done.stderr
    rows = {row["case_id"]: row for row in Kept(here / "mine" / "runs" / "r").results()}
    assert {name: row["passed"] for name, row in rows.items()} == {"a": True, "b": True, "c": False}
    assert rows["c"]["violation"] == "number_mismatch got=43 want=42"
    assert {row["validator_type"] for row in rows.values()} == {"number"}


@pytest.mark.parametrize("name", [*MADE, *sorted(NOT_HERE), "not-equals", "not-regex"])
def test_an_assertion_is_a_validator_or_refused_but_never_a_text(name):
    validator = validator_of(f"{name}: a")
    if name not in MADE:
        assert validator is None
        return
    assert validator["type"] != "noop"
    Prompt.model_validate({"id": "p", "prompt": "x", "validator": validator})


MORE = ("id", "answer", "system")
CELL = st.text('ab1,;"\n\t é\ufeff\\{}[]:', max_size=8) | st.sampled_from(["4", "1,000", "x" * 120])
LINES = st.lists(
    st.fixed_dictionaries({"input": st.one_of(CELL, st.none(), st.lists(CELL))},
                          optional=dict.fromkeys(MORE, CELL | st.lists(CELL))),
    max_size=5,
).map(lambda rows: "\n".join(map(json.dumps, rows)).encode())  # fmt: skip
RAW = st.lists(CELL, max_size=12).map(lambda cells: ("input,answer\n" + ",".join(cells)).encode())


@settings(max_examples=150, deadline=None,
          suppress_health_check=[HealthCheck.function_scoped_fixture])  # fmt: skip
@given(st.sampled_from(KINDS), LINES | RAW | st.binary(max_size=40))
def test_any_file_is_a_suite_that_loads_or_is_refused(here, kind, content):
    table = Path(f"data{kind}")
    table.write_bytes(content)
    suites = Path("mine/configs/suites")
    for file in suites.glob("*"):
        file.unlink()
    try:
        write_table_suite(Path("mine"), table, {})
    except ConfigError as exc:
        refusal = str(exc)
    else:
        refusal = None
    if refusal is None:
        assert load_prompt_list(suites / "data.jsonl")[0]
    else:
        assert str(table) in refusal
        assert not list(suites.glob("*"))
