"""Real podman and docker with a small image of busybox, made here: nothing is pulled.

Podman works with what this user has. Docker's daemon is started for the tests, with a socket and
folders of its own; it makes no bridge and leaves the rules of the firewall alone.
"""

import contextlib
import io
import os
import re
import shutil
import signal
import subprocess
import tarfile
import tempfile
import time
from pathlib import Path

import pytest

from collect.sandbox.engine_trouble import runtime_of

BUSYBOX = Path("/bin/busybox")
PYTHON = "/usr/bin/python3"
SHELL, HEAD = "/bin/sh", "/usr/bin/head"
"""Ours: a shell of busybox runs its own `head`, whatever is on PATH."""
SECONDS = 30
IMAGE_VARIABLE = "IMAGE_VARIABLE=of-the-image"
OWN_LABEL = f"benchlake.test={os.getpid()}"
"""Of an image, which its containers have as well."""


def needs(*commands):
    """Fail in CI, and skip elsewhere, unless all commands are there."""
    missing = [command for command in commands if shutil.which(command) is None]
    if missing:
        why = f"needs {', '.join(missing)}: apt-get install podman runc docker.io busybox-static"
        (pytest.fail if os.environ.get("CI") == "true" else pytest.skip)(why)


def make_image(client, file="etc/passwd", *, has_python=False):
    """Make an image of this process, anew at every call, and return its name."""
    name = f"localhost/benchlake-test-{os.getpid()}:{2 if has_python else 1}"
    changes = (f"ENV {IMAGE_VARIABLE}", f"LABEL {OWN_LABEL}", 'ENTRYPOINT ["/bin/false"]')
    subprocess.run(
        [client, "import", *(f"--change={one}" for one in changes), "-", name],
        input=root_file_system(file, python_files() if has_python else ()),
        capture_output=True,
        check=True,
        timeout=SECONDS,
    )
    return name


def root_file_system(file, paths):
    """Return a tar of busybox under all its names, a file, a folder for all, and files of ours."""
    needs(str(BUSYBOX))
    names = subprocess.run([BUSYBOX, "--list"], capture_output=True, text=True, check=True).stdout
    made = io.BytesIO()
    with tarfile.open(fileobj=made, mode="w", dereference=True) as tar:
        tar.add(BUSYBOX, "bin/busybox")
        tar.addfile(tarfile.TarInfo(file))
        everybodys = tarfile.TarInfo("everybodys")
        everybodys.type, everybodys.mode = tarfile.DIRTYPE, 0o1777
        tar.addfile(everybodys)
        for name in names.split():
            if name != "busybox" and f"/bin/{name}" not in paths:
                link = tarfile.TarInfo(f"bin/{name}")
                link.type, link.linkname = tarfile.SYMTYPE, "busybox"
                tar.addfile(link)
        for path in paths:
            tar.add(path, path.lstrip("/"), recursive=False)
    return made.getvalue()


def python_files():
    """Return the paths of the system's Python, shell and `head`, and of what they load."""
    code = "import ctypes, socket, sysconfig; print(sysconfig.get_path('stdlib'))"
    library = subprocess.run([PYTHON, "-c", code], capture_output=True, text=True, check=True)
    files = [path for path in Path(library.stdout.strip()).rglob("*") if path.is_file()]
    kept = [str(path) for path in files if not {"test", "__pycache__"} & {*path.parts}]
    loaded = [PYTHON, SHELL, HEAD, *(path for path in kept if path.endswith(".so"))]
    said = subprocess.run(["ldd", *loaded], capture_output=True, text=True, check=False).stdout
    return [PYTHON, SHELL, HEAD, *kept, *sorted(set(re.findall(r"(/\S+\.so\S*) \(", said)))]


def remove_images(client):
    """Remove the images of this process, those that lost their name too."""
    for number in set(lines(client, "images", "--quiet", "--filter", f"label={OWN_LABEL}")):
        lines(client, "rmi", "--force", number)


def ours(client):
    """Return the containers of images of this process, whatever their state."""
    return lines(client, "ps", "--all", "--quiet", "--filter", f"label={OWN_LABEL}")


def sleeping(client, image, *, label):
    """Start a container that sleeps for a minute, and return its id."""
    options = ("--network=none", "--ulimit=nofile=99", "--ulimit=nproc=99", f"--label={label}")
    command = (*options, "--entrypoint=/bin/sleep", image, "60")
    return lines(client, *runtime_of(client), "run", "--detach", *command)[0]


def lines(client, *words):
    """Return the lines that a client prints."""
    done = subprocess.run(
        [client, *words], capture_output=True, text=True, check=False, timeout=SECONDS
    )
    assert done.returncode == 0, done.stderr
    return done.stdout.splitlines()


@contextlib.contextmanager
def docker_daemon():
    """Run a daemon and yield the value of DOCKER_HOST."""
    needs("docker", "dockerd", "runc")
    if os.geteuid() != 0:
        pytest.skip("a daemon of Docker needs root")
    folder = Path(tempfile.mkdtemp(prefix="bl-dockerd-"))  # a socket's path must be short
    host = f"unix://{folder}/socket"
    options = (
        *(f"--host={host}", f"--pidfile={folder}/pid", f"--config-file={folder}/daemon.json"),
        *(f"--data-root={folder}/data", f"--exec-root={folder}/exec"),
        *("--iptables=false", "--ip6tables=false", "--bridge=none"),
    )
    (folder / "daemon.json").write_text("{}")
    with (folder / "log").open("wb") as log:
        daemon = subprocess.Popen(["dockerd", *options], stdout=log, stderr=log)
    try:
        deadline = time.monotonic() + SECONDS
        while not (folder / "socket").exists():
            assert daemon.poll() is None, (folder / "log").read_text()
            assert time.monotonic() < deadline, (folder / "log").read_text()
            time.sleep(0.05)
        yield host
    finally:
        daemon.send_signal(signal.SIGTERM)
        daemon.wait(SECONDS)
        shutil.rmtree(folder, ignore_errors=True)
