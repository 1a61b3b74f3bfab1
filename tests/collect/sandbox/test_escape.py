"""What a hostile command tries, in the real sandbox: it reaches nothing of this machine.

As root, where the helper gives its rights up, and as a user who never had any.
"""

import contextlib
import os
import secrets
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import pytest

from tests.support.cage import (
    LIMITS,
    USERS,
    cage_of,
    files_below,
    mounts,
    processes_naming,
    require_bwrap,
)
from tests.support.paths import ROOT

pytestmark = [
    pytest.mark.agents,
    pytest.mark.skipif(sys.platform != "linux", reason="bubblewrap is for Linux"),
]


@pytest.fixture(scope="module", params=USERS)
def cage(request):
    with cage_of(request.param) as cage:
        yield cage


@pytest.fixture
def token():
    """A word that stands nowhere else."""
    return f"canary-{secrets.token_hex(8)}"


@pytest.fixture
def canaries(token, tmp_path, monkeypatch):
    """Files with the word at home, in the working directory, and where every user may read."""
    monkeypatch.chdir(tmp_path)
    home = Path.home() / f".benchlake-{token}"
    public = Path(tempfile.gettempdir()) / f"{token}.txt"
    places = [tmp_path / "canary.txt", home, public]
    for place in places:
        place.write_text(token)
    public.chmod(0o644)
    yield places
    for place in places:
        assert place.read_text() == token
        place.unlink()


def text(output):
    return output.data.decode()


def test_nothing_but_its_own_folders_can_be_written(cage):
    done = cage.sh(
        "for d in / /usr /usr/bin /etc /dev /proc /proc/sys /home /var /run /root /opt /sys; do\n"
        "  ( : > $d/written ) 2>/dev/null && echo $d\n"
        "done\n"
        "for d in /workspace $HOME /tmp /dev/shm; do : > $d/written || exit 3; done"
    )

    assert (done.exit_code, text(done.stdout)) == (0, "")


def test_no_account_of_this_machine_can_be_read(cage):
    done = cage.sh(
        "cat /etc/shadow /etc/gshadow /etc/sudoers /etc/ssh/* /proc/1/root/etc/shadow; "
        "ls /etc/ssl/private /root; cut -d: -f1 /etc/passwd; id -un"
    )

    assert text(done.stdout).split() == ["agent", "agent"]


def test_no_file_of_this_user_is_found(cage, canaries, token):
    places = " ".join(f"'{place}'" for place in canaries)
    done = cage.sh(
        f"cat {places}; ls -d '{Path.cwd()}'; "
        f"for p in /proc/[0-9]*; do cat $p/cwd/canary.txt $p/root{canaries[1]}; done; "
        f"find / -name '*{token}*' -not -path '/proc/*' 2>/dev/null; "
        f"find / -xdev -type f -size -2k -exec grep -l '{token}' {{}} + 2>/dev/null"
    )

    assert done.ended_by == "exit"
    assert token not in text(done.stdout)


def test_no_environment_and_no_process_of_this_machine_is_seen(cage, token, monkeypatch):
    monkeypatch.setenv("BENCHLAKE_TOKEN", token)
    sleeper = subprocess.Popen(["sleep", "60"], env={"TOKEN": token})
    try:
        done = cage.sh(
            "env; cat /proc/*/environ /proc/*/task/*/environ | tr '\\0' '\\n'; "
            f"cat /proc/*/cmdline | tr '=\\0' '  '; kill -9 {sleeper.pid} {os.getpid()}; "
            f"kill -0 {os.getppid()}; ls /proc/{os.getpid()}"
        )
        assert sleeper.poll() is None
    finally:
        sleeper.kill()
        sleeper.wait()

    assert token not in text(done.stdout)
    assert "sleep 60" not in text(done.stdout)
    names = {line.partition("=")[0] for line in text(done.stdout).splitlines() if "=" in line}
    assert names <= {"PATH", "HOME", "LANG", "PWD", "OLDPWD", "SHLVL", "_", "HOSTNAME"}
    assert f"HOSTNAME={socket.gethostname()}" not in text(done.stdout)


READ = """
import ctypes, sys
libc, word = ctypes.CDLL(None), sys.argv[-1].encode()
data = ctypes.create_string_buffer(100)
keyctl = int(sys.argv[-2])
libc.syscall(keyctl, 11, libc.syscall(keyctl, 10, -3, b"user", word, 0), data, 100)
print(data.value, flush=True)
"""
"""Looks for a key by its name, and reads it."""

KEYS = (
    f"READ = {READ!r}"
    + """
import asyncio, ctypes, sys
from collect.sandbox import Bwrap, Command, Sandbox
from tests.support.cage import PROFILE

async def main():
    sandbox = await Sandbox.open(PROFILE, Bwrap(PROFILE.limits))
    argv = ("/usr/bin/python3", "-c", READ, sys.argv[2], sys.argv[3])
    done = await sandbox.run(await sandbox.folders(), Command(argv=argv))
    await sandbox.aclose()
    sys.stdout.buffer.write(done.stdout.data)

add_key, keyctl, word = int(sys.argv[1]), int(sys.argv[2]), sys.argv[3].encode()
libc = ctypes.CDLL(None)
everything = 0x3F3F3F3F
if libc.syscall(keyctl, 1, word + b"-ring") < 0:
    sys.exit("no keyring")
key = libc.syscall(add_key, b"user", word, word, len(word), -3)
libc.syscall(keyctl, 5, key, everything)
exec(READ)
sys.stdout.write("in the sandbox:")
sys.stdout.flush()
asyncio.run(main())
"""
)


def test_no_key_of_a_login_is_seen(token):
    require_bwrap()
    numbers = {"x86_64": ("248", "250"), "aarch64": ("217", "219")}.get(os.uname().machine)
    if numbers is None:
        pytest.skip("system calls have other numbers here")
    done = subprocess.run(
        [sys.executable, "-c", KEYS, *numbers, token],
        cwd=ROOT, capture_output=True, text=True, check=False,
    )  # fmt: skip
    if "no keyring" in done.stderr:
        pytest.skip("there are no keyrings here")

    outside, _, inside = done.stdout.partition("in the sandbox:")
    assert token in outside, done.stderr
    assert inside == "b''\n"


def test_links_lead_nowhere(cage, canaries, token, tmp_path):
    folders = cage.folders()
    done = cage.sh(
        f"ln -s {canaries[2]} soft; ln -s / root; ln -s ../../../../../../etc up; "
        f"ln {canaries[2]} hard; ln /usr/bin/env other; ln -s fine.txt in; echo fine > fine.txt; "
        "mkdir deep; ln -s ../fine.txt deep/back; ln -s ../../x deep/out; ln -s deep/.. round; "
        "cat soft up/shadow root/etc/shadow",
        folders,
    )
    kept = cage.call(cage.sandbox.keep(folders, tmp_path / "kept"))

    assert token not in text(done.stdout)
    out = {one.path for one in kept.entries if one.left_out == "leads_out"}
    assert out == {"soft", "root", "up", "deep/out", "round"}
    assert token not in (tmp_path / "kept/workspace.diff").read_text()
    assert files_below(tmp_path / "kept/workspace") == {
        "fine.txt": b"fine\n", "in": "-> fine.txt", "deep": None, "deep/back": "-> ../fine.txt",
    }  # fmt: skip


@pytest.mark.parametrize(
    "command",
    [
        "mount -t tmpfs none /tmp",
        "mount --bind / /tmp",
        "mount -o remount,rw /usr",
        "umount /usr",
        "unshare -U true",
        "unshare -Ur true",
        "unshare -n true",
        "chroot / true",
        "nsenter -t 1 -m true",
        "setpriv --reuid 0 true",
        "hostname other",
        "mknod /tmp/disk b 8 0",
        "echo 1 > /proc/sys/kernel/sysrq",
        "echo b > /proc/sysrq-trigger",
        "echo x > /proc/sys/kernel/core_pattern",
        "echo 100 > /proc/sys/user/max_user_namespaces",
        "echo -1000 > /proc/self/oom_score_adj",
        "ls /sys/kernel",
        "su -c true",
        "renice -n -5 $$",
        "ulimit -u 100000",
        "ulimit -d unlimited",
    ],
)
def test_what_needs_rights_fails(cage, command):
    before = mounts()

    done = cage.sh(f"{command}\necho $?")

    assert text(done.stdout).strip() not in {"", "0"}, done
    assert mounts() == before


def test_no_process_of_this_machine_is_traced(cage):
    sleeper = subprocess.Popen(["sleep", "60"])
    try:
        done = cage.python(
            "import ctypes\n"
            "libc = ctypes.CDLL(None, use_errno=True)\n"
            f"for pid in ({sleeper.pid}, {os.getpid()}, {os.getppid()}):\n"
            "    print(libc.ptrace(16, pid, 0, 0))\n"
        )
    finally:
        sleeper.kill()
        sleeper.wait()

    assert text(done.stdout).split() == ["-1", "-1", "-1"]


def test_this_machine_is_not_reached_over_the_network(cage):
    name = f"\0benchlake-{secrets.token_hex(6)}"
    with socket.socket() as tcp, socket.socket(socket.AF_UNIX) as abstract:
        tcp.bind(("127.0.0.1", 0))
        tcp.listen()
        abstract.bind(name)
        abstract.listen()
        port = tcp.getsockname()[1]
        script = (
            "import socket\n"
            "def attempt(family, address):\n"
            "    with socket.socket(family) as one:\n"
            "        one.settimeout(2)\n"
            "        try:\n"
            "            one.connect(address)\n"
            "        except OSError as exc:\n"
            "            return type(exc).__name__\n"
            "        return 'connected'\n"
            f"print(attempt(socket.AF_INET, ('127.0.0.1', {port})))\n"
            f"print(attempt(socket.AF_UNIX, {name!r}))\n"
            "print(attempt(socket.AF_INET, ('192.0.2.1', 80)))\n"
            "print([name for _, name in socket.if_nameindex()])\n"
        )
        locked = cage.python(script)
        free = cage.python(script, network=True)

    assert text(locked.stdout).splitlines() == [
        "ConnectionRefusedError", "ConnectionRefusedError", "OSError", "['lo']",
    ]  # fmt: skip
    assert text(free.stdout).splitlines()[0] == "connected", "the listener can be reached at all"


def test_a_server_inside_is_its_own(cage):
    done = cage.python(
        "import socket\n"
        "server = socket.create_server(('127.0.0.1', 0))\n"
        "client = socket.create_connection(server.getsockname())\n"
        "print(server.accept()[0] is not None)\n"
    )

    assert text(done.stdout).strip() == "True"


def test_no_socket_of_this_machine_is_there(cage):
    with tempfile.TemporaryDirectory(dir="/tmp") as folder, socket.socket(socket.AF_UNIX) as one:
        Path(folder).chmod(0o755)
        path = Path(folder, "socket")
        one.bind(str(path))
        path.chmod(0o777)
        done = cage.sh(f"ls {folder} /run /var/run; find / -type s 2>/dev/null")

    assert text(done.stdout) == ""


def test_a_fork_bomb_ends(cage):
    began = time.monotonic()

    done = cage.python(
        "import os\nwhile True:\n    try:\n        os.fork()\n    except OSError:\n        pass\n"
    )

    assert done.ended_by == "processes"
    assert time.monotonic() - began < LIMITS.command_seconds


def test_memory_of_many_processes_is_added_up(cage):
    done = cage.python(
        "import os, time\n"
        "for _ in range(8):\n"
        "    if os.fork() == 0:\n"
        "        data = bytearray(os.urandom(4096) * (60 * 256))\n"
        "        time.sleep(30)\n"
        "time.sleep(30)\n"
    )

    assert (done.ended_by, done.exit_code) == ("memory", None)
    assert done.peak_memory_bytes > LIMITS.memory_mb * 1_000_000


def test_memory_of_one_process_is_bounded(cage):
    done = cage.python("data = bytearray(1_000_000_000); print('there')")

    assert (done.ended_by, done.exit_code, text(done.stdout)) == ("exit", 1, "")
    assert "MemoryError" in text(done.stderr)


def test_files_in_memory_count_as_memory(cage):
    done = cage.python(
        "import os, time\n"
        "files = []\n"
        "for _ in range(20):\n"
        "    files.append(os.memfd_create('x'))\n"
        "    for _ in range(15):\n"
        "        os.write(files[-1], bytes(1_000_000))\n"
        "time.sleep(20)\n"
    )

    assert done.ended_by == "memory"


def test_shared_memory_is_bounded(cage):
    done = cage.sh(
        "for i in $(seq 8); do head -c 15M /dev/zero > /dev/shm/f$i; done; du -sk /dev/shm"
    )

    assert "No space left" in text(done.stderr)
    assert 50_000 < int(text(done.stdout).split()[0]) <= 64_000


def test_a_gigabyte_of_output_is_cut(cage):
    began = time.monotonic()

    done = cage.sh("head -c 1G /dev/zero; echo end >&2")

    assert done.ended_by == "output"
    assert len(done.stdout.data) <= 65_536
    assert LIMITS.output_mb * 1_000_000 < done.stdout.produced < 100_000_000
    assert time.monotonic() - began < LIMITS.command_seconds


@pytest.mark.parametrize(
    "script",
    [
        "for i in $(seq 10); do head -c 15M /dev/zero > f$i; done; sleep 20",
        "cd /tmp; for i in $(seq 10); do head -c 15M /dev/zero > f$i; done; sleep 20",
        "cd; for i in $(seq 700); do : > f$i; done; sleep 20",
        "for i in $(seq 9); do exec 9> f; rm f; head -c 15M /dev/zero >&9; sleep 20 & done; wait",
        "mkdir d; cd d; exec 5> 5 6> 6 7> 7 8> 8 9> 9; chmod 0 .; "
        "for i in 5 6 7 8 9; do head -c 19M /dev/zero >&$i; done; sleep 20",
        "i=0; while [ $i -lt 150 ]; do mkdir d && cd d; i=$((i+1)); done; sleep 20",
    ],
    ids=["workspace", "tmp", "files", "deleted", "closed", "deep"],
)
def test_a_full_disk_ends_a_command(cage, script):
    done = cage.sh(script)

    assert done.ended_by == "workspace", done


def test_a_file_is_bounded(cage):
    folders = cage.folders()

    done = cage.sh("head -c 50M /dev/zero > big; echo $?; truncate -s 1T sparse; echo $?", folders)

    assert text(done.stdout).split()[-1] != "0"
    sizes = [path.stat().st_size for path in folders.workspace.iterdir()]
    assert max(sizes) <= LIMITS.file_mb * 1_000_000


@pytest.mark.parametrize(
    "script",
    [
        "nohup sh -c '{}' > /dev/null 2>&1 &",
        "setsid sh -c '{}' &",
        "(setsid sh -c '({}) &' &) ; sleep 0.1",
        "trap '' HUP TERM INT; ({}) & kill -STOP $$",
        "sh -c '{}' & kill -9 -1",
        "exec >&- 2>&- <&-; {}",
    ],
    ids=["nohup", "setsid", "double fork", "stopped", "kill everybody", "closed output"],
)
def test_nothing_goes_on_when_a_command_is_answered_for(cage, script):
    work = "while :; do echo x >> /workspace/grows; sleep 0.01; done"
    folders = cage.folders()

    done = cage.sh(script.replace("{}", work), folders, timeout_s=1.0)
    grown = folders.workspace / "grows"
    size = grown.stat().st_size if grown.exists() else 0
    time.sleep(0.1)

    assert done.wall_ms < 5_000
    assert (grown.stat().st_size if grown.exists() else 0) == size
    assert not [pid for pid in cage.children() if b"/workspace/grows" in bytes_of(pid)]


def bytes_of(pid):
    with contextlib.suppress(OSError):
        return Path(f"/proc/{pid}/cmdline").read_bytes()
    return b""


def test_nothing_is_dying_still_when_a_command_is_answered_for(cage):
    folders = cage.folders()
    for _ in range(10):
        cage.sh("for i in $(seq 25); do sleep 60 & done", folders)
        assert processes_naming(folders.workspace) == []


def test_a_command_finds_signals_as_usual(cage):
    done = cage.sh("grep -E 'SigIgn|SigBlk' /proc/self/status")

    usual = 2**31 - 1  # above are those of the C library
    assert [int(mask, 16) & usual for mask in text(done.stdout).split()[1::2]] == [0, 0]


def test_what_was_printed_before_a_time_out_is_kept(cage):
    began = time.monotonic()

    done = cage.sh("echo out; echo err >&2; sleep 60", timeout_s=0.5)

    assert (done.ended_by, done.exit_code, done.signal) == ("time", None, signal.SIGKILL)
    assert (done.stdout.data, done.stderr.data) == (b"out\n", b"err\n")
    assert time.monotonic() - began < 30


def test_processor_time_is_bounded(cage):
    done = cage.run("/bin/sh", "-c", "while :; do :; done", timeout_s=9.5)

    assert done.ended_by == "time"
    assert done.cpu_ms > 1_000


def test_output_comes_back_byte_for_byte(cage):
    data = bytes(range(256)) * 20 + b"\xff\xfe\x00\xc3"

    done = cage.run("cat", stdin=data)

    assert (done.exit_code, done.stdout.data, done.stdout.produced) == (0, data, len(data))


def test_odd_names_are_kept(cage, tmp_path):
    folders = cage.folders()
    done = cage.python(
        "import os\n"
        "for name in (b'a\\nb', b'\\xff\\xfe', b'-rf', b'..x', b' ', b'*', '\\u202e'.encode()):\n"
        "    open(name, 'wb').write(name)\n"
        "    os.mkdir(b'd' + name); open(b'd' + name + b'/f', 'wb').write(name)\n",
        folders,
    )
    assert done.exit_code == 0, done

    assert cage.call(cage.sandbox.keep(folders, tmp_path / "kept")).is_complete

    names = {b"a\nb", b"\xff\xfe", b"-rf", b"..x", b" ", b"*", "\u202e".encode()}
    copy = tmp_path / "kept/workspace"
    kept = os.fsencode(copy)
    assert {os.fsencode(path.name) for path in copy.iterdir()} == names | {
        b"d" + name for name in names
    }
    for name in names:
        assert Path(os.fsdecode(kept + b"/d" + name + b"/f")).read_bytes() == name


def test_hostile_trees_are_removed(cage):
    folders = cage.folders()
    made = cage.python(
        "import os\n"
        "os.mkdir('closed'); os.mkdir('closed/in'); open('closed/in/f', 'w').close()\n"
        "os.chmod('closed/in', 0); os.chmod('closed', 0)\n"
        "open('a\\nb', 'w').close(); os.symlink('/usr', 'link'); os.mkfifo('pipe')\n"
        "os.chdir('/tmp')\n"
        "for _ in range(10_000):\n"
        "    os.mkdir('d'); os.chdir('d')\n"
        "os.chmod('/workspace', 0)\n",
        folders,
    )
    assert made.ended_by in {"exit", "workspace"}

    cage.call(cage.sandbox.remove(folders))

    assert not folders.workspace.parent.exists()
    assert Path("/usr/bin").is_dir()


def test_every_command_needs_bubblewrap_here():
    require_bwrap()
    assert shutil.which("bwrap")
