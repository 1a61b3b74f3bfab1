"""The real Claude Code CLI against a scripted endpoint: what it sends and what we make of it."""

import asyncio
import dataclasses
import json
import os
import socket
import tempfile
import time
from contextlib import suppress
from pathlib import Path

import psutil
import pytest
import uvloop

from collect.providers.base import Request
from collect.providers.claude_code.parse import ClaudeAnswer
from collect.providers.claude_code.process import Exit
from collect.providers.claude_code.provider import ClaudeCode
from tests.golden.record_claude import replay
from tests.support.claude_rows import ROWS, TOKEN, stuck
from tests.support.claude_scenarios import GOLDEN, SCENARIOS, normal_request
from tests.support.endpoint import Endpoint
from tests.support.messages_wire import Messages, stream_of, streams
from tests.support.real_claude import real_claude
from tests.support.wire_model import model

pytestmark = pytest.mark.agents

KEY = "sk-test-0123456789abcdef"
HELLO = {"role": "user", "content": "Hello prompt"}
FINE = streams(stream_of("Hi ", "there"))
AT_ONCE = 4
"""Real commands at the same time; a start keeps a core busy for half a second."""


@pytest.fixture(scope="module")
def claude():
    return real_claude()


def ask(command, endpoint_url, *messages, api_key=KEY, timeout_s=30.0, max_tokens=None, **fields):
    """Return the coroutine of one question."""
    facts = {"provider": "claude_code_cli", "executable": str(command)} | fields
    request = Request(messages or (HELLO,), timeout_s, stream=True, max_tokens=max_tokens)

    async def asked():
        provider = ClaudeCode(model(endpoint_url, **facts), api_key)
        try:
            return await provider.ask(provider.prepare(request))
        finally:
            await provider.aclose()

    return asked()


def run(coroutine):
    """Run a coroutine on uvloop, as the collector does; the rows run on asyncio's own loop."""
    with asyncio.Runner(loop_factory=uvloop.new_event_loop) as runner:
        return runner.run(coroutine)


def url_of(endpoint):
    return endpoint.base_url.removesuffix("/v1")


@dataclasses.dataclass
class Played:
    """A row that was played."""

    reply: object
    posts: list


def wrapped(claude, row, folder):
    """Return the command of a row: the real one, perhaps with a shell before it."""
    if not row.wrapper and not row.flags:
        return claude
    script = folder / f"wrapper-{len(list(folder.iterdir()))}"
    script.write_text(f'#!/bin/sh\n{row.wrapper}\nexec "{claude}" {row.flags} "$@"\n')
    script.chmod(0o700)
    return script


def play_all(claude, rows, folder):
    """Play rows to the real command, some at a time."""

    async def play(name, row, places):
        async with places:
            endpoint = Endpoint()
            endpoint.script = messages = Messages(row.answer or FINE)
            try:
                url = url_of(endpoint) if name != "nobody listens" else closed_port()
                reply = await ask(
                    wrapped(claude, row, folder),
                    url,
                    timeout_s=row.timeout_s,
                    api_key=row.api_key,
                    max_tokens=16,
                    **row.model,
                )
            finally:
                endpoint.close()
            return name, Played(reply, messages.posts)

    async def go():
        places = asyncio.Semaphore(AT_ONCE)
        return dict(await asyncio.gather(*(play(*item, places) for item in rows.items())))

    return asyncio.run(go())


def closed_port():
    with socket.socket() as sock:
        sock.bind(("127.0.0.1", 0))
        return f"http://127.0.0.1:{sock.getsockname()[1]}"


@pytest.fixture(scope="module")
def played(claude, tmp_path_factory):
    return play_all(claude, ROWS, tmp_path_factory.mktemp("wrappers"))


@pytest.mark.parametrize("name", ROWS)
def test_each_row_of_the_error_table_is_told_apart(played, name):
    row, one = ROWS[name], played[name]
    reply = one.reply
    assert (reply.failure_type, reply.text) == (row.failure_type, row.text), reply
    assert (reply.failure.availability_status if reply.failure else "ok") == row.status
    assert row.says in (reply.error_message or "")
    assert {key: getattr(reply, key) for key in row.reply} == row.reply
    assert reply.accepted is row.accepted
    assert len(one.posts) == row.requests


def test_a_good_answer_has_its_times_its_model_and_its_tokens(played):
    reply = played["ok"].reply
    assert 0 <= reply.ttft_ms <= reply.e2e_ms < 10_000
    assert reply.served_model == "served-m"
    assert (reply.usage.input_tokens, reply.usage.output_tokens) == (11, 3)
    assert reply.usage.source == "model_usage"
    assert reply.cost_usd is None


def test_an_answer_that_is_cut_has_tokens_and_times_too(played):
    reply = played["cut at max_tokens"].reply
    assert (reply.usage.input_tokens, reply.usage.output_tokens) == (11, 3)
    assert reply.usage.source in {"usage", "model_usage"}, "the CLI may still sum up what was cut"
    assert reply.e2e_ms is not None


def test_an_answer_that_never_ended_has_no_tokens_and_no_end(played):
    reply = played["cut in the text"].reply
    assert (reply.usage.source, reply.e2e_ms, reply.ttft_ms) == (None, None, None)


def test_a_limit_with_a_known_end_is_not_asked_again_before_it(played):
    assert played["subscription used up"].reply.retry_after_s > 1_000_000


def test_a_tool_that_was_asked_for_is_kept(played):
    (call,) = played["a tool that is not there"].reply.tool_calls
    assert (call.name, json.loads(call.arguments)) == ("Bash", {"command": "ls"})


SECRET_FILE = "what no prompt may read"

ASKED = {
    "plain": ((HELLO,), None, {}),
    "slash": (({"role": "user", "content": "/clear my mind, please"},), None, {}),
    "mention": (({"role": "user", "content": "See @{file}, ultrathink"},), None, {}),
    "mention by subscription": (
        ({"role": "user", "content": "See @{file}, please"},),
        None,
        TOKEN,
    ),
    "old name": ((HELLO,), None, {"model": "claude-opus-4-0"}),
    "cached": ((HELLO,), None, {}),
} | {f"recorded {name}": one for name, one in SCENARIOS.items()}
"""By name: messages, max_tokens, fields of the model."""


@pytest.fixture(scope="module")
def asked(claude, tmp_path_factory):
    """What the real command sent for some prompts, and the replies."""
    file = tmp_path_factory.mktemp("mentioned") / "file.txt"
    file.write_text(SECRET_FILE)

    async def one(name, places):
        messages, max_tokens, fields = ASKED[name]
        texts = [m | {"content": m["content"].replace("{file}", str(file))} for m in messages]
        endpoint = Endpoint()
        cached = {"cache_read_input_tokens": 100, "cache_creation_input_tokens": 7}
        answer = streams(stream_of("Hi", **(cached if name == "cached" else {})))
        endpoint.script = posts = Messages(answer)
        facts = {"model": "smollm2-135m", "max_tokens": max_tokens, "timeout_s": 60.0} | fields
        async with places:
            reply = await ask(claude, url_of(endpoint), *texts, **facts)
        endpoint.close()
        return name, Played(reply, posts.posts)

    async def go():
        places = asyncio.Semaphore(AT_ONCE)
        return dict(await asyncio.gather(*(one(name, places) for name in ASKED)))

    return run(go())


def prompt_of(one):
    """Return the text after the CLI's own reminder of the date."""
    (message,) = one.posts[0].body["messages"]
    _, prompt = message["content"]
    return prompt["text"]


def test_without_a_system_message_nothing_tells_the_directory(asked):
    system = [part["text"] for part in asked["plain"].posts[0].body["system"]]
    assert system == ["You are a Claude agent, built on Anthropic's Claude Agent SDK."]
    assert "benchlake" not in json.dumps(asked["plain"].posts[0].body)


def test_tools_are_off(asked):
    assert asked["plain"].posts[0].body["tools"] == []


def test_a_prompt_that_looks_like_a_command_reaches_the_model_and_is_noted(asked):
    one = asked["slash"]
    assert prompt_of(one) == "\n/clear my mind, please"
    assert one.reply.text == "Hi"
    assert len(one.reply.notes) == 1


@pytest.mark.parametrize("name", ["mention", "mention by subscription"])
def test_a_file_that_a_prompt_mentions_is_not_read(asked, name):
    body = json.dumps(asked[name].posts[0].body)
    assert SECRET_FILE not in body
    assert prompt_of(asked[name]).startswith("See @/")


def test_a_token_of_a_subscription_is_sent_as_one(asked):
    headers = asked["mention by subscription"].posts[0].headers
    assert headers["authorization"] == f"Bearer {KEY}"
    assert "x-api-key" not in headers


def test_an_old_name_is_sent_as_it_is(asked):
    assert asked["old name"].posts[0].body["model"] == "claude-opus-4-0"


def test_cached_tokens_are_counted_in(asked):
    usage = asked["cached"].reply.usage
    counts = (usage.input_tokens, usage.cached_input_tokens, usage.cache_write_tokens)
    assert counts == (118, 100, 7)


@pytest.fixture
def homes(tmp_path, monkeypatch):
    """Where temporary directories are made during a test."""
    folder = tmp_path / "homes"
    folder.mkdir()
    monkeypatch.setattr(tempfile, "tempdir", str(folder))
    return folder


def processes_with(word):
    found = []
    for process in psutil.process_iter():
        with suppress(psutil.Error):
            if word in " ".join(process.cmdline()):
                found.append(process)
    return found


def test_neither_key_nor_texts_lie_open_while_it_runs(claude, endpoint, homes):
    seen = {}

    def look(wire, request):
        lines = [raw.decode(errors="replace") for raw in map(cmdline, Path("/proc").glob("[0-9]*"))]
        seen["arguments"] = "\n".join(lines)
        files = {path: path.read_bytes() for path in homes.rglob("*") if path.is_file()}
        seen["files"] = files
        seen["modes"] = {path: path.stat().st_mode & 0o077 for path in (*files, *homes.iterdir())}
        FINE(wire, request)

    endpoint.script = Messages(look)
    secrets = ({"role": "system", "content": "a private rule"}, HELLO)
    reply = run(ask(claude, url_of(endpoint), *secrets, model="seen-m"))
    assert reply.text == "Hi there"
    assert "--model=seen-m" in seen["arguments"]
    for secret in (KEY, "a private rule", HELLO["content"]):
        assert secret not in seen["arguments"]
    (system,) = [path for path in seen["files"] if path.name == "system.txt"]
    assert seen["modes"][system] == 0
    for path, content in seen["files"].items():
        assert KEY.encode() not in content, path
    assert {mode for path, mode in seen["modes"].items() if path.parent == homes} == {0}
    assert list(homes.iterdir()) == []


def cmdline(folder):
    with suppress(OSError):
        return (folder / "cmdline").read_bytes()
    return b""


@pytest.mark.parametrize("loop", [asyncio, uvloop], ids=["asyncio", "uvloop"])
@pytest.mark.parametrize("how", ["time-out", "cancelled"])
def test_nothing_is_left_of_a_command_that_was_ended(claude, endpoint, homes, how, loop):
    name = f"left-behind-{os.getpid()}-{how}"
    limit = 0.5 if how == "time-out" else 30.0

    async def go():
        arrived, here = asyncio.Event(), asyncio.get_running_loop()

        def hold(wire, request):
            here.call_soon_threadsafe(arrived.set)
            stuck()(wire, request)

        endpoint.script = Messages(hold)
        task = asyncio.create_task(ask(claude, url_of(endpoint), model=name, timeout_s=limit))
        await arrived.wait()
        if how == "cancelled":
            assert processes_with(name)
            task.cancel()
            with pytest.raises(asyncio.CancelledError):
                await task
        else:
            assert (await task).failure_type == "timeout"

    with asyncio.Runner(loop_factory=loop.new_event_loop) as runner:
        runner.run(go())
    assert processes_with(name) == []
    assert list(homes.iterdir()) == []


@pytest.mark.parametrize("name", SCENARIOS)
def test_the_request_is_the_one_that_was_recorded(asked, name):
    recorded = json.loads((GOLDEN / f"{name}.request.json").read_text())
    posts = asked[f"recorded {name}"].posts
    assert [normal_request(request, KEY) for request in posts] == recorded


@pytest.mark.parametrize("name", SCENARIOS)
def test_recorded_lines_come_to_the_recorded_reply(name):
    lines = (GOLDEN / f"{name}.stdout.jsonl").read_text().splitlines()
    recorded = json.loads((GOLDEN / f"{name}.reply.json").read_text())
    assert json.loads(json.dumps(replay(lines))) == recorded


def fake(tmp_path, *lines):
    """Return a command that is a few lines of shell."""
    path = tmp_path / "fake-claude"
    path.write_text("\n".join(["#!/bin/sh", "cat > /dev/null", *lines]) + "\n")
    path.chmod(0o700)
    return path


NOWHERE = "http://127.0.0.1:9"
ANSI = "\\033[31mred words\\033[0m"


@pytest.mark.parametrize(
    ("lines", "says"),
    [
        (["kill -9 $$"], "killed by signal 9"),
        (["echo what is this", "echo '{\"type\": 7}'", "echo '[]'"], "code 0 and no result"),
        ([f"printf '{ANSI} Bearer {KEY}' >&2", "exit 3"], "code 3 and no result: red words Bearer"),
        (['echo \'{"type":"result","result":"Unknown command"}\''], "by itself"),
        (['echo \'{"type":"result","is_error":true,"result":"what"}\''], "what"),
        (['echo \'{"type":"result","is_error":true,"result":7}\''], "an error without words"),
    ],
)
def test_a_command_that_breaks_is_an_error_in_its_own_words(tmp_path, homes, lines, says):
    reply = run(ask(fake(tmp_path, *lines), NOWHERE))
    assert reply.failure_type == "cli_error"
    assert says in reply.error_message
    assert KEY not in reply.error_message
    assert "\x1b" not in reply.error_message
    assert list(homes.iterdir()) == []


@pytest.mark.parametrize(
    ("words", "failure_type"),
    [
        ("You've hit your weekly limit · resets 3pm", "http_429"),
        ("Claude usage limit reached", "http_429"),
        ("your quota is used up", "http_429"),
        ("cannot generate an accurate corporate rate", "cli_error"),
        ("API Error: Unable to connect to API (ENOTFOUND)", "connection_error"),
        ("API Error: Unable to connect to API (FailedToOpenSocket)", "connection_error"),
    ],
)
def test_words_without_a_status_are_read_as_whole_phrases(words, failure_type):
    line = {"type": "result", "subtype": "success", "is_error": True, "result": words}
    answer = ClaudeAnswer(30.0)
    answer.add(json.dumps(line).encode())
    assert answer.reply(Exit(1), is_own_host=True).failure_type == failure_type


def test_a_missing_command_is_missing(tmp_path):
    for name in ("no-such-command-here", tmp_path / "none"):
        reply = run(ask(name, NOWHERE))
        assert reply.failure_type == "cli_missing"
        assert reply.failure.availability_status == "skipped_unavailable"


@pytest.mark.parametrize(("content", "mode"), [("text", 0o600), ("\x7fELF and no more", 0o700)])
def test_a_file_that_is_no_program_is_an_error(tmp_path, homes, content, mode):
    path = tmp_path / "claude"
    path.write_text(content)
    path.chmod(mode)
    reply = run(ask(path, NOWHERE))
    assert reply.failure_type == "cli_error"
    assert str(path) in reply.error_message
    assert list(homes.iterdir()) == []


def test_a_command_that_never_stops_writing_is_ended(tmp_path, monkeypatch):
    monkeypatch.setattr("collect.providers.claude_code.process.MAX_OUTPUT_BYTES", 1_000_000)
    reply = run(ask(fake(tmp_path, "exec yes"), NOWHERE))
    assert (reply.failure_type, reply.accepted) == ("cli_error", False)
    assert "more than an answer can be" in reply.error_message


def test_a_command_that_never_asks_is_ended_and_not_the_models_time_out(tmp_path, monkeypatch):
    monkeypatch.setattr("collect.providers.claude_code.provider.START_S", 0.3)
    reply = run(ask(fake(tmp_path, "exec sleep 60"), NOWHERE))
    assert (reply.failure_type, reply.failure.cause) == ("timeout", "provider")


def test_children_of_a_command_end_with_it(tmp_path):
    pid = tmp_path / "pid"
    command = fake(tmp_path, f"sleep 61 & echo $! > {pid}", "exit 0")
    assert run(ask(command, NOWHERE)).failure_type == "cli_error"
    with suppress(psutil.NoSuchProcess):
        child = psutil.Process(int(pid.read_text()))
        ended = (child.status() == psutil.STATUS_ZOMBIE for _ in range(100) if not time.sleep(0.05))
        assert any(ended), "it sleeps on, five seconds later"


def test_a_command_that_reads_nothing_harms_nobody(tmp_path):
    path = tmp_path / "deaf"
    path.write_text("#!/bin/sh\nexit 4\n")
    path.chmod(0o700)
    long = {"role": "user", "content": "x" * 2_000_000}
    reply = run(ask(path, NOWHERE, long))
    assert "code 4" in reply.error_message


def test_a_prompt_without_text_is_not_sent(tmp_path):
    only_rules = ({"role": "system", "content": "Rules."}, {"role": "user", "content": " \n"})
    reply = run(ask(tmp_path / "never run", NOWHERE, *only_rules))
    assert reply.failure_type == "invalid_messages"


@pytest.mark.parametrize("loopback", [True, False])
def test_only_named_variables_reach_the_command(tmp_path, monkeypatch, loopback):
    for name in ("FOO_API_KEY", "ANTHROPIC_AUTH_TOKEN", "AWS_SECRET_ACCESS_KEY", "IS_SANDBOX"):
        monkeypatch.setenv(name, "not yours")
    monkeypatch.setenv("HTTPS_PROXY", "http://proxy.invalid:3128")
    monkeypatch.setenv("LC_ALL", "C")
    out = tmp_path / "environment"
    run(ask(fake(tmp_path, f"env > {out}"), NOWHERE, is_loopback=loopback))
    given = dict(line.partition("=")[::2] for line in out.read_text().splitlines())
    assert "not yours" not in given.values()
    assert given["LC_ALL"] == "C"
    assert "HTTPS_PROXY" not in given, "what it asks is a door of this machine"
    assert KEY not in given.values()
    assert given["HOME"] != os.environ["HOME"]
    names = {name for name in given if name not in os.environ}
    prefixes = (
        "ANTHROPIC_",
        "API_",
        "BUN_",
        "CLAUDE_",
        "DISABLE_",
        "TMPDIR",
        "OLDPWD",
        "PWD",
        "SHLVL",
    )
    assert {name for name in names if not name.startswith((*prefixes, "_"))} == set()


def test_a_server_of_this_machine_without_a_key_gets_none(claude, endpoint):
    endpoint.script = messages = Messages(FINE)
    assert run(ask(claude, url_of(endpoint), api_key=None)).text == "Hi there"
    (sent,) = messages.posts
    assert not {"x-api-key", "authorization"} & sent.headers.keys()


def test_what_is_kept_of_a_request_holds_no_key():
    provider = ClaudeCode(model(NOWHERE, provider="claude_code_cli"), KEY)
    prepared = provider.prepare(Request((HELLO,), 30.0, stream=False, max_tokens=1))
    assert KEY not in prepared.raw.decode()
    assert prepared.body["command"][0] == "claude"
    assert prepared.body["environment"]["CLAUDE_CODE_MAX_OUTPUT_TOKENS"] == "1"


def test_cost_is_the_vendors_only():
    lines = (GOLDEN / "plain.stdout.jsonl").read_text().splitlines()
    answer = ClaudeAnswer(60.0)
    for line in lines:
        answer.add(line.encode())
    assert answer.reply(Exit(0), is_own_host=True).cost_usd > 0
    assert answer.reply(Exit(0), is_own_host=False).cost_usd is None


def test_tokens_of_helper_models_are_counted_in():
    counts = {"inputTokens": 1, "outputTokens": 2, "cacheReadInputTokens": 3}
    answer = ClaudeAnswer(60.0)
    result = {"type": "result", "modelUsage": {"main": counts, "helper": counts, "odd": None}}
    answer.add(json.dumps(result).encode())
    usage = answer.reply(Exit(0), is_own_host=False).usage
    counts = (usage.input_tokens, usage.output_tokens, usage.cached_input_tokens)
    assert (counts, usage.source) == ((8, 4, 6), "model_usage")
