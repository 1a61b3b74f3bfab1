"""Trials of an agent by configuration, locked in: what it does, leaves, says and costs."""

import contextlib
import json
import sys

import pytest

from analyze.api import open_history
from tests.support.agent_bench import KEY
from tests.support.cage import scratch_folders, temporary_folder
from tests.support.command_bench import AGENT, COMMAND, CommandBench

pytestmark = pytest.mark.agents

LOOKS = (
    "env; cat /proc/*/environ /proc/*/cmdline; "
    "find /home /workspace /tmp /etc /run /opt -type f -size -99k ! -name seen.txt -exec cat {} +"
)
KNOCKS = """python3 - <<'P'
import socket
for host, port in (("127.0.0.1", PORT), ("1.1.1.1", 443)):
    try: socket.create_connection((host, port), 2); print("open")
    except OSError as exc: print(exc.errno)
P
"""


@pytest.fixture(scope="module")
def ran(tmp_path_factory):
    """Run six cases at once, one of them into its time limit."""
    bench = CommandBench(tmp_path_factory.mktemp("command") / "project")
    with contextlib.closing(bench):
        bench.profile(timeout_seconds=8, concurrency=6)
        bench.write("configs/agents/own/workspace/notes/given.txt", "from the template\n")
        made = {"kind": "file_contains", "path": "report.md", "text": "two"}
        bench.case("single", "#single [say: Hello there]",
                   validator={"type": "contains", "value": "Hello"})  # fmt: skip
        bench.case("turns", "#turns [write draft.md: one] [say: First]",
                   "[write report.md: two] [say: Second]", checks=[made])  # fmt: skip
        bench.case("late", "#late [write report.md: two] [hang]", checks=[made])
        bench.case("lazy", "#lazy [hang]", checks=[made])
        bench.case("looks", f"#looks [exec: ({LOOKS}) > seen.txt 2>&1] [say: Looked]")
        knocks = KNOCKS.replace("PORT", str(bench.endpoint.port))
        bench.write("configs/agents/own/workspace/knock.sh", knocks)
        bench.case("knocks", "#knocks [exec: sh knock.sh > reached.txt 2>&1] [say: Tried]")
        result = bench.run()
        yield bench, result, bench.rows()


def test_a_single_turn_is_answered(ran):
    _, result, rows = ran
    row = rows["single", 1]

    assert (row["status"], row["passed"], row["raw_output"]) == ("success", True, "Hello there"), (
        row, result.output,
    )  # fmt: skip
    assert (row["runner_type"], row["attempt_count"]) == ("command", 1)
    assert row["ttft_ms"] <= row["e2e_ms"]


def test_turns_share_a_home_and_a_workspace(ran):
    bench, _, rows = ran
    row = rows["turns", 1]
    record = json.loads((bench.left("turns") / "workspace.json").read_text())

    assert (row["passed"], row["raw_output"]) == (True, "Second")
    assert row["tool_calls"] == ["write"]
    assert {one["path"]: one["change"] for one in record["changes"]} == {
        "draft.md": "added", "report.md": "added",
    }  # fmt: skip
    assert "notes/given.txt" in {one["path"] for one in record["entries"]}
    assert "AGENTS.md" not in {one["path"] for one in record["entries"]}


def test_a_time_out_is_decided_by_what_was_done(ran):
    _, _, rows = ran

    for case_id, passed in (("late", True), ("lazy", False)):
        row = rows[case_id, 1]
        assert (row["status"], row["failure_type"]) == ("timed_out", "timeout"), row
        assert (row["passed"], row["error_code"]) == (passed, "agent_timeout"), row


@pytest.mark.parametrize("case_id", ["single", "turns", "looks", "late"])
def test_tokens_are_those_that_the_endpoint_has_counted(ran, case_id):
    bench, _, rows = ran
    row = rows[case_id, 1]

    assert (row["input_tokens"], row["output_tokens"]) == bench.model.tokens(case_id)


def test_the_key_is_on_the_wire_and_nowhere_inside(ran):
    bench, _, rows = ran
    seen = (bench.left("looks") / "workspace" / "seen.txt").read_text(errors="replace")

    assert rows["looks", 1]["status"] == "success"
    assert "BASE=http://127.0.0.1:" in seen, "it has looked"
    assert KEY not in seen
    assert all(one["authorization"] == f"Bearer {KEY}" for one in bench.model.headers)
    for path in (bench.root / "runs").rglob("*"):
        assert not path.is_file() or KEY.encode() not in path.read_bytes(), path


def test_nothing_answers_inside_but_the_way_to_the_model(ran):
    bench, _, _ = ran
    said = (bench.left("knocks") / "workspace" / "reached.txt").read_text().split()

    assert said == ["111", "101"], "refused, and no way there"


def test_what_ran_is_on_record(ran):
    bench, _, _ = ran
    config = json.loads((bench.root / "runs/r/config.json").read_text())["agent"]
    own = config["agents"]["own"]

    assert (config["executable"], config["image"]) == ("local", None)
    assert config["programs"] == [sys.base_prefix]
    assert own["version"] == f"Python {sys.version.split()[0]}"
    inventory = json.loads((bench.root / "runs/r/inventory.json").read_text())
    assert inventory["agents"] == {"own": own["version"]}
    assert set(own["files"]) == {"notes/given.txt", "knock.sh"}
    assert set(own["program"]) == {"agent.py"}


def test_calls_on_the_wire_are_steps_where_no_log_is_read(ran):
    bench, _, _ = ran
    with open_history(bench.root / "runs") as history:
        rows = history.sql(
            "SELECT kind, tool, input_tokens FROM steps WHERE case_id = 'turns' ORDER BY step_no"
        ).rows()

    called = [tool for kind, tool, _ in rows if kind == "tool_call"]
    counted = sum(tokens or 0 for _, _, tokens in rows)
    assert called == ["write", "write"]
    assert counted == bench.model.tokens("turns")[0]


# ---- one run each


@pytest.fixture
def bench(tmp_path):
    made = CommandBench(tmp_path / "project")
    with contextlib.closing(made):
        yield made


def ask(bench, command, program=(), *turns):
    bench.agent({"prompt": "stdin"} | command, program)
    bench.case("one", *(turns or ("#one [say: Made]",)))
    result = bench.run()
    return bench.rows().get(("one", 1), {"output": result.output})


@pytest.mark.parametrize("prompt", ["file", "argument"])
def test_a_prompt_may_be_a_file_or_a_word(bench, prompt):
    argv = ["python3", "{program}/agent.py", "{prompt_file}"]
    if prompt == "argument":
        line = 'printf %s "$1" > /tmp/asked; python3 {program}/agent.py /tmp/asked'
        argv = ["sh", "-c", line, "sh", "{prompt}"]
    with temporary_folder() as temporary:
        row = ask(
            bench, COMMAND | {"argv": argv, "prompt": prompt, "next_argv": []}, {"agent.py": AGENT}
        )
        assert scratch_folders(temporary) == [], "whoever is root"

    assert (row["status"], row["raw_output"]) == ("success", "Made"), row


def test_a_prompt_is_written_where_no_link_of_the_agents_leads(bench, tmp_path):
    """Its second prompt would be written through what it has left in place of the file."""
    target = tmp_path / "target"
    target.write_text("ours")
    lay = (
        f"ln -sf {target} /tmp/prompt-2.txt; ln -sf {target} /run/prompts/2.txt; "
        f"rm -f /run/prompts/1.txt; cat {{prompt_file}}"
    )
    argv = ["sh", "-c", lay]
    row = ask(bench, {"argv": argv, "next_argv": argv, "prompt": "file"}, (), "one", "two")

    assert target.read_text() == "ours"
    assert (row["status"], row["raw_output"]) == ("success", "two")


def test_an_answer_may_be_a_file_or_a_value(bench):
    row = ask(bench, {"argv": ["sh", "-c", "echo said > answer.txt"],
                      "answer": {"source": "file", "path": "answer.txt"}})  # fmt: skip
    assert row["raw_output"] == "said\n"

    bench.agent({"argv": ["sh", "-c", """echo '{{"a": 1}}'; echo '{{"r": [{{"t": "told"}}]}}'"""],
                 "prompt": "stdin", "answer": {"source": "json", "path": "r.-1.t"}})  # fmt: skip
    bench.run(run_id="r2")
    assert bench.rows("r2")["one", 1]["raw_output"] == "told"


@pytest.mark.parametrize(
    ("code", "meaning", "failure_type"),
    [
        (0, None, None),
        (3, "done", None),
        (4, "limit", "limit_exceeded"),
        (5, "agent_error", "agent_error"),
        (6, "infrastructure", "cli_error"),
        (7, None, "cli_error"),
    ],
)
def test_an_exit_code_means_what_the_configuration_says(bench, code, meaning, failure_type):
    meanings = {} if meaning is None else {code: meaning}
    row = ask(bench, {"argv": ["sh", "-c", f"echo said; echo why >&2; exit {code}"],
                      "exit_codes": meanings})  # fmt: skip

    assert row["failure_type"] == failure_type, row
    if failure_type is not None:
        assert row["error_message"] == f"own ended with exit code {code}: why"


@pytest.mark.parametrize(
    ("counts", "cached", "tokens"),
    [("delta", "inside", (30, 3)), ("delta", "beside", (42, 3)), ("cumulative", "inside", (20, 2)),
     ("cumulative", "beside", (28, 2))],
)  # fmt: skip
def test_tokens_that_an_agent_tells_of_itself(bench, counts, cached, tokens):
    """Its first turn tells 10 and 1, its second 20 and 2; 4 and 8 of them cached."""
    line = (
        """n={turn}; echo "{{\\"u\\": {{\\"in\\": ${{n}}0, \\"out\\": $n, \\"c\\": $((n*4))}}}}" """
    )
    usage = {"input_tokens": "u.in", "output_tokens": "u.out", "cached_input_tokens": "u.c",
             "counts": counts, "cached": cached}  # fmt: skip
    argv = ["sh", "-c", line]
    row = ask(bench, {"argv": argv, "next_argv": argv, "usage": usage}, (), "one", "two")

    assert (row["input_tokens"], row["output_tokens"]) == tokens, row
    assert row["attempt_count"] == 0


def test_a_home_begins_with_the_files_of_the_configuration(bench):
    row = ask(bench, {"argv": ["sh", "-c", "cat $HOME/.own/config.toml"],
                      "files": {".own/config.toml": 'model = "{model}" # {{}}'}})  # fmt: skip

    assert row["raw_output"] == 'model = "asked-m" # {}'


def test_a_log_becomes_steps(bench):
    row = ask(bench, {"argv": ["sh", "-c", "mkdir -p $HOME/logs/a; echo hi > $HOME/logs/a/x.log"],
                      "logs": {"format": "plain", "paths": ["{home}/logs/**/*.log"]}})  # fmt: skip

    assert row["failure_type"] == "empty_response"
    kept = bench.left("one") / "agent" / "log-1-x.log"
    assert kept.read_text() == "hi\n"
    with open_history(bench.root / "runs") as history:
        found = history.sql("SELECT kind, role, source FROM steps").rows()
    assert found == [("message", "assistant", "/home/agent/logs/a/x.log#1")]


def test_calls_of_an_agent_that_asks_elsewhere_are_those_of_its_log(bench):
    call = {"tool_call_id": "c", "function_name": "Bash", "arguments": {"command": "ls"}}
    steps = [
        {"source": "agent", "message": "", "tool_calls": [call], "is_copied_context": is_copied}
        for is_copied in (True, False, False)
    ]
    log = json.dumps({"schema_version": "ATIF-v1.6", "steps": steps})
    log = log.replace("{", "{{").replace("}", "}}")
    bench.agent({"argv": ["sh", "-c", "cat $HOME/own.json > $HOME/log.json; echo done"],
                 "prompt": "stdin", "files": {"own.json": log},
                 "logs": {"format": "atif", "paths": ["{home}/log.json"]}})  # fmt: skip
    bench.case("one", "#one", checks=[{"kind": "tool_call_count", "count": 2}])
    bench.run()
    row = bench.rows()["one", 1]

    assert (row["passed"], row["raw_output"]) == (True, "done"), row
    assert row["tool_calls"] == ["bash"]


def test_a_command_that_is_not_there_is_said_before_anything_is_asked(bench):
    bench.agent({"argv": ["no-such-agent"], "prompt": "stdin"})
    bench.case("one", "#one [say: x]")

    result = bench.run()

    assert result.exit_code == 2
    assert "`no-such-agent` of agent `own` is not there here; needed by case `one`" in result.output
    assert bench.model.bodies == []


def test_a_run_goes_on_with_the_same_program_or_not_at_all(bench):
    bench.profile(repetitions=2)
    bench.agent(COMMAND, {"agent.py": AGENT})
    bench.case("one", "#one [say: Made]")
    bench.run("--max-trials", "1")
    bench.agent(COMMAND, {"agent.py": AGENT + "\n# another\n"})
    result = bench.run("--resume")

    assert result.exit_code == 2
    assert "agent `own` changed since it was planned" in result.output


def test_the_network_of_the_host_is_there_where_the_profile_says_so(bench):
    bench.profile(network="host")
    bench.write("configs/agents/own/workspace/knock.sh",
                KNOCKS.replace("PORT", str(bench.endpoint.port)))  # fmt: skip
    row = ask(bench, COMMAND, {"agent.py": AGENT}, "#one [exec: sh knock.sh > reached.txt 2>&1]")

    assert row["status"] == "success", row
    assert (bench.left("one") / "workspace" / "reached.txt").read_text().split()[0] == "open"
    assert row["input_tokens"] == bench.model.tokens("one")[0]


def test_five_lines_of_shell_are_an_agent(bench):
    """As docs/agents.md has it."""
    script = "\n".join([
        "question=$(cat)",
        'echo "$question" > question.txt',
        'answer=$(wc -w < question.txt)',
        'echo "$answer" > answer.txt',
        'echo "The question has $answer words."',
    ])  # fmt: skip
    bench.profile(programs=[])
    row = ask(
        bench, {"argv": ["sh", "{program}/agent.sh"]}, {"agent.sh": script}, "How many words?"
    )

    assert row["raw_output"] == "The question has 3 words."
