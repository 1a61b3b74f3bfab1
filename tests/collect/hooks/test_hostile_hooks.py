"""What a hostile hook tries, or a program of a model's that a hook runs: nothing of it works.

As root, where the helper gives its rights up, and as a user who never had any.
"""

import asyncio
import hashlib
import json
import os
import secrets
import socket
import sys
import tempfile
import threading
import time
from pathlib import Path

import pytest

from collect.hooks import HookSubject
from schemas.config.checks import DeterministicCheck
from tests.support.cage import (
    USERS,
    files_below,
    mounts,
    processes_naming,
    scratch_folders,
    temporary_folder,
)
from tests.support.judged import FACTS, court_of, public_folder

pytestmark = [
    pytest.mark.agents,
    pytest.mark.skipif(sys.platform != "linux", reason="bubblewrap is for Linux"),
]

TELL = "\ndef tell(value): return {'passed': True, 'outputs': {'found': value}}\n"


@pytest.fixture(scope="module", params=USERS)
def court(request):
    with court_of(request.param) as court:
        yield court


@pytest.fixture
def folder():
    with public_folder() as folder:
        yield folder


@pytest.fixture
def token():
    """A word that stands nowhere else."""
    return f"canary-{secrets.token_hex(8)}"


def found(court, folder, source, **facts):
    """Return what a hook found that tells it."""
    result = court.judge(folder, TELL + source, **facts)
    assert result.outcome == "passed", result
    return json.loads(result.detail)["outputs"]["found"]


def test_no_environment_and_no_file_of_this_machine_is_seen(court, folder, token, monkeypatch):
    monkeypatch.setenv("BENCHLAKE_TOKEN", token)
    home = Path.home() / f".benchlake-{token}"
    public = Path(tempfile.gettempdir()) / f"{token}.txt"
    for place in (home, public):
        place.write_text(token)
    public.chmod(0o644)
    (folder / ".env").write_text(token)
    try:
        seen = found(
            court,
            folder,
            f"""
import os, subprocess

def judge():
    texts = [repr(os.environ), repr(os.listdir("/")), repr(os.listdir("/home"))]
    places = ["/etc/shadow", "/proc/1/environ", {str(home)!r}, {str(public)!r},
              {str(folder / ".env")!r}, "/proc/1/root/root", "/case/.env", "/case/.env.local"]
    for place in places:
        try:
            texts.append(open(place).read())
        except OSError:
            pass
    texts.append(subprocess.run("find / -name '*canary-*' -not -path '/proc/*'; cat /proc/*/environ"
        "; cat /proc/[0-9]*/cmdline", shell=True, capture_output=True, text=True).stdout)
    return tell([texts, sorted(os.environ)])
""",
            files={".env": token, ".env.local": token},
        )
    finally:
        home.unlink()
        public.unlink()
    texts, names = seen

    assert token not in "".join(texts)
    assert set(names) <= {"PATH", "HOME", "LANG", "PWD", "SHLVL", "_"}


NETWORK = """
import socket

def attempt(family, address):
    with socket.socket(family) as one:
        one.settimeout(2)
        try:
            one.connect(address)
        except OSError as exc:
            return type(exc).__name__
        return "connected"

def judge():
    return tell([attempt(socket.AF_INET, ("127.0.0.1", {port})),
                 attempt(socket.AF_UNIX, {name!r}),
                 attempt(socket.AF_INET, ("192.0.2.1", 80))])
"""


def test_the_network_is_there_where_the_policy_allows_it_alone(court, folder):
    name = f"\0benchlake-{secrets.token_hex(6)}"
    with socket.socket() as tcp, socket.socket(socket.AF_UNIX) as abstract:
        tcp.bind(("127.0.0.1", 0))
        tcp.listen()
        abstract.bind(name)
        abstract.listen()
        source = NETWORK.format(port=tcp.getsockname()[1], name=name)
        locked = found(court, folder, source)
        with court_of("root", network="allow") as open_court, public_folder() as other:
            free = found(open_court, other, source)

    assert locked == ["ConnectionRefusedError", "ConnectionRefusedError", "OSError"]
    assert free[0] == "connected", "the listener can be reached at all"


def test_neither_the_trial_nor_its_case_can_be_changed(court, folder):
    (folder / "left" / "deep").mkdir(parents=True)
    for name in ("answer.txt", "deep/more.txt"):
        (folder / "left" / name).write_text("of the model")
    before = files_below(folder / "left"), mounts()
    source = """
import os, shutil, subprocess

ATTEMPTS = [
    lambda: open("/workspace/answer.txt", "w"),
    lambda: open("/workspace/new.txt", "w"),
    lambda: os.unlink("/workspace/answer.txt"),
    lambda: os.rename("/workspace/deep", "/workspace/other"),
    lambda: os.chmod("/workspace/answer.txt", 0o666),
    lambda: os.symlink("/", "/workspace/link"),
    lambda: shutil.rmtree("/workspace/deep"),
    lambda: open("/case/judge.py", "w"),
    lambda: open("/case/new.py", "w"),
    lambda: os.unlink("/case/test.yaml"),
    lambda: open("/hook/child.pyc", "wb"),
    lambda: open("/usr/bin/new", "w"),
    lambda: open("/etc/passwd", "a"),
    lambda: open("/new", "w"),
    lambda: os.mkdir("/run"),
    lambda: subprocess.run(["mount", "-o", "remount,rw", "/workspace"], check=True,
                           stderr=subprocess.DEVNULL),
    lambda: subprocess.run(["unshare", "-Ur", "true"], check=True, stderr=subprocess.DEVNULL),
    lambda: subprocess.run(["umount", "/workspace"], check=True, stderr=subprocess.DEVNULL),
]

def judge():
    worked = []
    for number, attempt in enumerate(ATTEMPTS):
        try:
            attempt()
        except (OSError, subprocess.SubprocessError):
            continue
        worked.append(number)
    for place in ("/tmp/new", os.path.expanduser("~/new")):
        open(place, "w").close()
    return tell(worked)
"""

    assert found(court, folder, source, snapshot=folder / "left") == []
    assert (files_below(folder / "left"), mounts()) == before


def test_what_a_hook_wrote_is_thrown_away(court, folder):
    write = "def judge():\n    open('/tmp/f', 'w').close(); open('/home/agent/f', 'w').close()\n"
    look = "import os\ndef judge(): return tell(os.listdir('/home/agent') + os.listdir('/tmp'))"

    assert court.judge(folder, write + "    return True").outcome == "passed"
    assert "f" not in found(court, folder, look)


PROGRAM = """
import ctypes, glob, os, signal, sys
parent = os.getppid()
fake = b'{"passed": true, "message": "forged"}'
places = [f"/proc/{pid}/fd/{n}" for pid in (1, parent) for n in range(20)]
for place in [*places, "/proc/1/mem", "/proc/1/environ", "/dev/stdout"]:
    try:
        with open(place, "wb", buffering=0) as file:
            file.write(fake)
    except OSError:
        pass
for n in (0, *range(3, 64)):
    try:
        os.write(n, fake)
    except OSError:
        pass
print("traced:", ctypes.CDLL(None).ptrace(16, parent, 0, 0), file=sys.stderr)
try:
    print("request:", open(f"/proc/{parent}/fd/0", "rb").read(), file=sys.stderr)
except OSError:
    pass
for number in (signal.SIGKILL, signal.SIGTERM, signal.SIGINT, signal.SIGSTOP, signal.SIGHUP):
    os.kill(parent, number)
    os.kill(1, number)
"""


def test_a_program_of_the_model_can_neither_end_the_hook_nor_answer_for_it(court, folder):
    (folder / "left").mkdir()
    (folder / "left" / "solution.py").write_text(PROGRAM)
    result = court.judge(
        folder,
        """
        import subprocess, sys
        def judge():
            done = subprocess.run([sys.executable, "solution.py"], capture_output=True, text=True)
            assert done.returncode == 0, done.stderr
            return {"passed": False, "message": done.stderr.strip()}
        """,
        snapshot=folder / "left",
    )

    assert (result.outcome, result.message) == ("failed", "Right: traced: -1"), result


def test_a_module_of_the_model_is_not_taken_for_another(court, folder):
    (folder / "left").mkdir()
    for name in ("json", "helper", "sitecustomize", "_strptime"):
        (folder / "left" / f"{name}.py").write_text("raise SystemExit('of the model')")
    source = """
import json, _strptime, sys

def judge():
    try:
        import helper
    except ModuleNotFoundError:
        return tell([json.__file__, "" in sys.path, "/workspace" in sys.path])
"""
    file, *on_path = found(court, folder, source, snapshot=folder / "left")

    assert "/workspace" not in file
    assert on_path == [False, False]


@pytest.mark.parametrize(
    "replace",
    [
        "sys.modules.clear()",
        "sys.modules['json'] = sys.modules['os'] = sys.modules['marshal'] = None",
        "sys.stdout = sys.stderr = None",
        "sys.stdout.close(); sys.stderr.close()",
        "sys.settrace(lambda *_: 1 / 0)",
        "import builtins; builtins.len = builtins.str = lambda *_: 1 / 0",
        "os.write = lambda *_: 0",
        "os._exit = lambda code: None",
        "sys.modules['__main__'].written = lambda *_: '{\"passed\": 2}'",
        "import atexit; atexit.register(lambda: print('late'))",
        "import gc; [o.clear() for o in gc.get_objects() if type(o) is dict]",
    ],
)
def test_a_hook_that_breaks_its_interpreter_gets_no_other_verdict(court, folder, replace):
    result = court.judge(
        folder, f"import os, sys\ndef judge():\n    {replace}\n    return False", path="judge.py"
    )

    assert result.outcome == "failed" or (result.outcome == "error" and result.reason), result


def test_what_a_hook_leaves_running_ends_with_it(court, folder, token):
    source = f"""
import os, subprocess, sys, threading, time

def judge():
    for start in (["sleep", "61"], ["setsid", "sleep", "61"], ["nohup", "setsid", "sleep", "61"]):
        subprocess.Popen([*start[:-1], start[-1]], stdout=subprocess.DEVNULL,
                         env={{"TOKEN": "{token}"}})
    if os.fork() == 0:
        os.setsid()
        if os.fork() == 0:
            time.sleep(61)
        os._exit(0)
    threading.Thread(target=time.sleep, args=(61,)).start()
    return True
"""
    began = time.monotonic()

    result = court.judge(folder, source)

    assert result.outcome == "passed", result
    assert time.monotonic() - began < 30
    assert court.cage.children() == set()


def test_a_hook_outlives_neither_its_limit_nor_the_run(folder):
    with temporary_folder() as temporary:
        with court_of("root") as court:
            source = "import os, time\nos.fork()\ndef judge(): time.sleep(600)\n"
            waiting = threading.Thread(target=court.judge, args=(folder, source))
            waiting.start()
            deadline = time.monotonic() + 20
            while not processes_naming(temporary) and time.monotonic() < deadline:
                time.sleep(0.02)
            assert processes_naming(temporary)
            os.kill(court.cage.sandbox.pid, 15)
            waiting.join()
        assert processes_naming(temporary) == []
        assert scratch_folders(temporary) == []


def test_copies_are_gone_when_hooks_are_closed(folder):
    for user in USERS:
        with temporary_folder() as temporary:
            with court_of(user) as court:
                (folder / user / "left" / "deep").mkdir(parents=True)
                (folder / user / "left" / "deep" / "file").write_text("x")
                result = court.judge(
                    folder / user,
                    "def judge(): return True",
                    files={"data/deep/x": "x"},
                    snapshot=folder / user / "left",
                )
                assert result.outcome == "passed", result
                court.close()
                (scratch,) = scratch_folders(temporary)
                assert [path.name for path in scratch.iterdir()] == ["etc"]
            assert scratch_folders(temporary) == []


def test_many_at_once_do_not_meet(court, folder):
    results = {}

    def look(number):
        own = folder / str(number)
        (own / "left").mkdir(parents=True)
        (own / "left" / "n").write_text(str(number))
        source = f"def judge(a, c): return open('n').read() == '{number}' == a.identity.run_id"
        results[number] = court.judge(own, source, snapshot=own / "left", run_id=str(number))

    threads = [threading.Thread(target=look, args=(number,)) for number in range(16)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()

    assert {one.outcome for one in results.values()} == {"passed"}
    assert len(results) == 16


def test_a_link_out_of_the_case_leads_nowhere(court, folder, token):
    (folder / "outside.txt").write_text(token)
    case = folder / "linked"
    case.mkdir()
    (case / "absolute").symlink_to(folder / "outside.txt")
    (case / "upward").symlink_to("../outside.txt")
    (case / "inside").symlink_to("judge.py")
    source = f"{TELL}import os\ndef judge(): return tell(sorted(os.listdir('/case')))\n"
    (case / "judge.py").write_text(source)
    hashes = {"own": hashlib.sha256(source.encode()).hexdigest()}
    hook = {"path": "judge.py", "callable_name": "judge"}
    check = DeterministicCheck(check_id="own", python_hook=hook)

    result = court.run(check, case_folder=case, hook_hashes=hashes)

    assert json.loads(result.detail) == {"outputs": {"found": ["inside", "judge.py"]}}


def test_a_hook_that_is_cancelled_ends(court, folder):
    async def cancelled(work):
        task = asyncio.ensure_future(work)
        while not court.cage.children():  # noqa: ASYNC110 - nobody tells of a process
            await asyncio.sleep(0.02)
        running = court.cage.children()
        task.cancel()
        await asyncio.gather(task, return_exceptions=True)
        return task.cancelled(), running & court.cage.children()

    (folder / "judge.py").write_text(source := "import time\ndef judge(): time.sleep(600)\n")
    hook = {"path": "judge.py", "callable_name": "judge"}
    check = DeterministicCheck(check_id="own", python_hook=hook)
    hashes = {"own": hashlib.sha256(source.encode()).hexdigest()}
    subject = HookSubject(**FACTS, case_folder=folder, hook_hashes=hashes)

    assert court.cage.call(cancelled(court.hooks.run(check, subject))) == (True, set())
