"""Every way in which a hook gives no verdict is an error with its reason, never a failure."""

import asyncio
import hashlib
import json
import os
import sys

import pytest

from collect.hooks import REASONS, Hooks, HookSubject
from collect.hooks.answers import FROM_INSIDE, error_of, result_of
from collect.sandbox.base import Completed, Output
from collect.sandbox.bwrap import resource_limits
from schemas.config.checks import DeterministicCheck
from schemas.config.evaluation_profile import SecurityPolicy
from schemas.config.sandbox import SandboxLimits, SandboxProfile
from tests.support.cage import LIMITS, PROFILE, cage_of
from tests.support.judged import FACTS, court_of, public_folder, usable_python

pytestmark = pytest.mark.agents

LINUX = pytest.mark.skipif(sys.platform != "linux", reason="bubblewrap is for Linux")
KEY = "sk-" + "a1b2c3d4" * 4

CHECK = DeterministicCheck(
    check_id="own", python_hook={"path": "judge.py", "callable_name": "judge"}
)


@pytest.fixture(scope="module")
def court():
    limits = LIMITS.model_copy(update={"command_seconds": 2})
    with court_of("root", SandboxProfile(limits=limits)) as court:
        yield court


@pytest.fixture
def folder():
    with public_folder() as folder:
        yield folder


@LINUX
@pytest.mark.parametrize(
    ("source", "reason", "message"),
    [
        ("def other(): return True", "hook_not_found", "judge.py has no `judge`; it has other"),
        ("def judge(:\n", "hook_import_failed", "SyntaxError"),
        ("import nothing_of_this_name", "hook_import_failed", "nothing_of_this_name"),
        ("\n1 / 0", "hook_import_failed", "ZeroDivisionError: division by zero (judge.py:2)"),
        ("raise SystemExit(0)", "hook_exited", "SystemExit: 0"),
        ("def judge():\n    return {}['k']", "hook_raised", "KeyError: 'k' (judge.py:2)"),
        ("def judge(): assert False", "hook_raised", "AssertionError (judge.py:1)"),
        ("def judge(): return judge()", "hook_raised", "RecursionError"),
        ("class E(BaseException):\n    def __str__(s): 1 / 0\ndef judge(): raise E", "hook_raised",
         "E: ?"),
        ("import sys\ndef judge(): sys.exit('why')", "hook_exited", "SystemExit: why (judge.py:2)"),
        ("judge = 3", "hook_wrong_type", "`judge` of judge.py is of the type int, no callable"),
        ("async def judge(): return True", "hook_wrong_type", "async"),
        ("async def judge(): yield True", "hook_wrong_type", "async"),
        ("class J:\n    async def __call__(self): return True\njudge = J()", "hook_wrong_type",
         "async"),
        ("async def f(): return True\ndef judge(): return f()", "hook_wrong_type", "to wait for"),
        ("def judge(a, b, c): return True", "hook_wrong_type", "3 arguments"),
        ("def judge(a, *, limit): return True", "hook_wrong_type", "the arguments limit"),
        ("def judge(): pass", "hook_wrong_type", "a NoneType without `passed`"),
        ("def judge(): return 1", "hook_wrong_type", "a int without `passed`"),
        ("def judge(): return 'passed'", "hook_wrong_type", "a str without `passed`"),
        ("def judge(): return [True]", "hook_wrong_type", "a list without `passed`"),
        ("def judge(): yield True", "hook_wrong_type", "a generator without `passed`"),
        ("def judge(): return {}", "hook_wrong_type", "a dict without `passed`"),
        ("def judge(): return {'passed': 1}", "hook_wrong_type", "`passed` is of the type int"),
        ("def judge(): return {'passed': True, 'score': 1}", "hook_wrong_type", "'score'"),
        ("def judge(): return {'passed': True, 'message': 1}", "hook_wrong_type", "`message`"),
        ("def judge(): return {'passed': True, 'outputs': []}", "hook_wrong_type", "`outputs`"),
        ("def judge(): return {'passed': True, 'outputs': {'a': {1}}}", "hook_wrong_type",
         "`outputs.a` is of the type set"),
        ("def judge(): return {'passed': True, 'outputs': {'a': [b'']}}", "hook_wrong_type",
         "`outputs.a[0]` is of the type bytes"),
        ("def judge(): return {'passed': True, 'outputs': {1: 2}}", "hook_wrong_type", "the key 1"),
        ("import numpy\ndef judge(): return {'passed': True, 'outputs': {'a': numpy.int64(1)}}",
         "hook_wrong_type", "int64"),
        ("def judge(): return {'passed': True, 'outputs': {'a': 10 ** 5000}}", "hook_wrong_type",
         "too long a number"),
        ("d = {}\nd['d'] = d\ndef judge(): return {'passed': True, 'outputs': d}",
         "hook_wrong_type", "too deep"),
        ("def judge(): return {'passed': True, 'outputs': {'a': float('nan')}}",
         "hook_not_finite", "`outputs.a` is nan"),
        ("def judge(): return {'passed': True, 'metadata': {'a': [float('-inf')]}}",
         "hook_not_finite", "`metadata.a[0]` is -inf"),
        ("def judge(): return {'passed': True, 'message': 'x' * 40_000}", "hook_answer_too_large",
         "allowed are 32,768"),
        ("import os\ndef judge(): os._exit(0)", "hook_exited", "code 0"),
        ("import os\ndef judge(): os._exit(7)", "hook_exited", "code 7"),
        ("import os\ndef judge(): os.abort()", "hook_exited", "signal"),
        ("import os\ndef judge(): os.closerange(0, 1000); return True", "hook_exited", "code"),
        ("import os\ndef judge():\n    for n in range(3, 100):\n        try: os.write(n, b'{')\n"
         "        except OSError: pass\n    return True", "hook_no_answer", "no JSON"),
        ("import time\ndef judge(): time.sleep(60)", "hook_timed_out", "command_seconds is 2"),
        ("def judge():\n    while True: pass", "hook_timed_out", "is"),
        ("def judge(): return bytearray(10 ** 9)", "hook_exceeded_memory", "MemoryError"),
        ("import os, time\ndef judge():\n    for _ in range(8):\n        if os.fork() == 0:\n"
         "            held = bytearray(os.urandom(4096) * (60 * 256)); time.sleep(60)\n"
         "    time.sleep(60)", "hook_exceeded_memory", "memory_mb is 200"),
        ("import os\ndef judge():\n    while True:\n        try: os.fork()\n"
         "        except OSError: pass", "hook_exceeded_processes", "processes is 30"),
        ("def judge():\n    while True: print('x' * 10_000)", "hook_exceeded_output",
         "output_mb is 4"),
        ("import time\ndef judge():\n    for n in range(20):\n"
         "        with open(f'/tmp/{n}', 'wb') as f: f.write(bytes(15_000_000))\n"
         "    time.sleep(60)", "hook_exceeded_workspace", "workspace_mb is 60"),
    ],
)  # fmt: skip
def test_each_misbehaviour_has_its_reason(court, folder, source, reason, message):
    result = court.judge(folder, source)

    assert (result.outcome, result.reason) == ("error", reason), result
    assert message in result.message
    assert result.detail is None


@LINUX
def test_a_hook_is_held_to_the_limits_of_a_command_and_cannot_raise_them(court, folder):
    source = (
        "import resource as r, subprocess as s\n"
        "NAMES = ('CPU', 'FSIZE', 'DATA', 'NPROC', 'NOFILE', 'CORE')\n"
        "def raised(one):\n"
        "    try: r.setrlimit(one, (r.RLIM_INFINITY,) * 2)\n"
        "    except (OSError, ValueError): return False\n"
        "    return True\n"
        "def judge():\n"
        "    ones = [getattr(r, f'RLIMIT_{name}') for name in NAMES]\n"
        "    held = [list(r.getrlimit(one)) for one in ones]\n"
        "    sh = s.run(['sh', '-c', 'ulimit -Hn; ulimit -Hc'], capture_output=True, text=True)\n"
        "    return {'passed': not any(map(raised, ones)),\n"
        "            'metadata': {'held': held, 'sh': sh.stdout.split()}}\n"
    )
    expected = resource_limits(LIMITS)

    result = court.judge(folder, source)

    assert result.outcome == "passed", result
    detail = json.loads(result.detail)
    assert detail["metadata"]["held"] == [list(one) for one in expected.values()]
    assert detail["metadata"]["sh"] == ["1024", "0"]


@LINUX
@pytest.mark.parametrize(
    ("module", "source", "reason", "message"),
    [
        ("no_such_module_here", None, "hook_not_found", "no module `no_such_module_here`"),
        ("json.no_such_part", None, "hook_not_found", "no module `json.no_such_part`"),
        ("json", None, "hook_not_found", "json has no `judge`"),
        ("needy", "import no_other_module", "hook_import_failed", "no_other_module"),
        ("broken", "1 / 0", "hook_import_failed", "ZeroDivisionError"),
    ],
)
def test_a_module_that_is_not_there(court, folder, monkeypatch, module, source, reason, message):
    monkeypatch.syspath_prepend(folder)

    result = court.judge(folder, source, import_path=module)

    assert (result.outcome, result.reason) == ("error", reason), result
    assert message in result.message


@LINUX
def test_a_file_that_is_gone_or_another_one(court, folder):
    gone = court.run(CHECK, case_folder=folder, hook_hashes={"own": "0" * 64})
    no_folder = court.run(CHECK, hook_hashes={"own": "0" * 64})
    changed = court.judge(folder, "def judge(): return True", hook_hashes={"own": "0" * 64})
    unnoted = court.judge(folder, "def judge(): return True", hook_hashes={})

    assert [gone.reason, no_folder.reason] == ["hook_not_found"] * 2
    assert [changed.reason, unnoted.reason] == ["hook_changed"] * 2


@LINUX
def test_a_hook_that_changes_while_a_run_goes_on_is_the_one_that_was_copied(court, folder):
    source = "def judge(): return True"
    first = court.judge(folder, source)
    (case,) = folder.iterdir()
    hook_hash = {"own": hashlib.sha256(source.encode()).hexdigest()}
    (case / "judge.py").write_text("def judge(): return False")

    again = court.run(CHECK, case_folder=case, hook_hashes=hook_hash)

    assert [first.outcome, again.outcome] == ["passed", "passed"]


@LINUX
def test_a_case_that_is_too_large_is_not_copied(court, folder):
    files = {f"data/{n}.txt": "" for n in range(2_001)}

    result = court.judge(folder, "def judge(): return True", files=files)

    assert (result.outcome, result.reason) == ("error", "case_too_large")
    assert "2,000" in result.message


@LINUX
def test_no_secret_is_told(court, folder, monkeypatch):
    from schemas import redact

    monkeypatch.setenv("JUDGE_API_KEY", "hunter2-hunter2")
    redact._secret_values.cache_clear()
    redact._secret_marks.cache_clear()
    source = f"""
        def judge(artifact):
            assert "{KEY[:3]}" + "{KEY[3:]}" not in artifact.trace[0].content
            print("{KEY} hunter2-hunter2")
            {{}}
    """
    trace = [{"event_type": "final_output", "content": f"the key is {KEY}"}]
    answer = f"return {{'passed': True, 'message': '{KEY}', 'outputs': {{'k': '{KEY}'}}}}"
    verdict = court.judge(folder, source.format(answer), trace=trace)
    raised = court.judge(folder, source.format(f"raise ValueError('x' * 3990 + '{KEY}')"))
    redact._secret_values.cache_clear()
    redact._secret_marks.cache_clear()

    assert (verdict.outcome, verdict.message) == ("passed", "[redacted]"), verdict
    assert raised.reason == "hook_raised"
    assert raised.message.endswith("it printed: [redacted] [redacted]")
    for text in (verdict.message, verdict.detail, raised.message):
        assert KEY[:12] not in text
        assert "hunter2" not in text


@LINUX
def test_the_end_of_what_a_hook_printed_is_told(court, folder):
    result = court.judge(
        folder, "def judge():\n    print('x' * 50_000, 'the end')\n    raise ValueError('no')"
    )

    assert result.message.startswith("ValueError: no (judge.py:3)\nit printed: xxx")
    assert result.message.endswith("x the end")
    assert len(result.message) < 2_100


def test_nothing_runs_without_leave_or_sandbox():
    async def reasons():
        for policy in (SecurityPolicy(), SecurityPolicy(allow_local_python_hooks=True)):
            hooks = await Hooks.open(None, policy)
            subject = HookSubject(**FACTS)
            yield (await hooks.run(CHECK, subject)).reason, (await hooks.problem()).what
            await hooks.aclose()

    async def both():
        return [one async for one in reasons()]

    (denied, why), (missing, what) = asyncio.run(both())
    assert (denied, missing) == ("hooks_disabled", "sandbox_missing")
    assert (why, what) == (REASONS["hooks_disabled"], "there is no sandbox to run hooks in")


@LINUX
def test_a_sandbox_that_dies_is_no_verdict(folder):
    with court_of("root") as court:
        assert court.judge(folder, "def judge(): return True").outcome == "passed"
        os.kill(court.cage.sandbox.pid, 9)
        result = court.judge(folder, "def judge(): return True")

    assert (result.outcome, result.reason) == ("error", "sandbox_missing")


@LINUX
def test_a_probe_finds_that_hooks_can_run():
    policy = SecurityPolicy(allow_local_python_hooks=True)
    with cage_of("root", PROFILE) as cage:
        hooks = cage.call(Hooks.open(cage.sandbox, policy, usable_python()))
        assert cage.call(hooks.problem()) is None
        cage.call(hooks.aclose())


def done(data, **facts):
    output = Output(data, len(data))
    made = {"exit_code": 0, "signal": None, "ended_by": "exit", "stderr": Output(b"", 0)}
    return Completed(stdout=output, wall_ms=1, **{**made, **facts})


@pytest.mark.parametrize(
    "data",
    [
        b"true", b"[]", b"{}", b'{"passed": 1}', b'{"passed": true', b'{"passed": true} x',
        b'{"passed": NaN}', b'{"passed": true, "outputs": {"a": Infinity}}', b"\xff", b"[" * 30_000,
        b'{"passed": true, "passed": false}', b'{"passed": true, "more": 1}',
        b'{"passed": true, "message": 3}', b'{"passed": true, "outputs": []}',
        b'{"error": "hooks_disabled", "message": "x"}', b'{"error": "own", "message": "x"}',
        b'{"error": "hook_raised"}', b'{"error": [], "message": "x"}',
        b'{"error": "hook_raised", "message": "x", "passed": true}', b'{"passed": ' + b" " * 40_000,
    ],
)  # fmt: skip
def test_what_is_no_answer_is_none(data):
    result = result_of(CHECK, done(data), SandboxLimits())

    assert (result.outcome, result.reason) == ("error", "hook_no_answer")


def test_a_limit_counts_more_than_an_answer():
    for ended_by in ("time", "memory", "processes", "output", "workspace"):
        facts = {"exit_code": None, "signal": 9, "ended_by": ended_by}
        result = result_of(CHECK, done(b'{"passed": true}', **facts), SandboxLimits())
        assert (result.outcome, result.reason in REASONS) == ("error", True)


def test_reasons_are_closed():
    assert not FROM_INSIDE - set(REASONS)
    assert error_of(CHECK, "hook_raised", "x").reason == "hook_raised"
