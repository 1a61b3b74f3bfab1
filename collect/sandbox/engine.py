"""Commands locked in by podman or docker: each is one container of a pinned image.

The image is looked up once and run by its id: a tag that is moved during a run changes nothing, and
nothing is pulled. A client is not the parent of its container, so what ends the client leaves that:
`ending` names the command that ends it. The three folders of a trial are mounted, all else is
read-only. Inside, a command is the user who owns these folders here: this user, or root, can read
and remove whatever it leaves.

Docker has no switch for two things of podman's: variables of the image stay, and a volume that the
image declares can be written to and goes with the container.
"""

from __future__ import annotations

import contextlib
import os
import resource
import shutil
import subprocess
import time
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

from collect.config.endpoints import without_secrets
from collect.sandbox.base import (
    ENVIRONMENT,
    Command,
    Completed,
    Folders,
    SandboxError,
)
from collect.sandbox.engine_trouble import NO_LIMITS, NO_SUCH_IMAGE, advice, last_line, runtime_of
from collect.sandbox.scratch import is_abandoned
from collect.workspace import HOME, TMP, WORKSPACE
from schemas.config.sandbox import MB, SandboxLimits

INSTALL = {
    "podman": "apt-get install podman runc",
    "docker": "https://docs.docker.com/engine/install",
}

HOSTNAME = "sandbox"
OPEN_FILES = 1024
USER_PROCESSES = 32_768
"""Of all containers of a user together, as podman has it; each has its own, smaller limit."""

LABEL = "benchlake.sandbox"
"""Of a container: who started it, as `_owner` says it."""

QUERY_TIMEOUT_S = 20.0
"""Of a question to the engine, and of a removal."""

LATE_S = 10
"""How long after its time-out podman ends a container by itself, should nobody else have."""

DIGEST = "{{if .RepoDigests}}{{index .RepoDigests 0}}{{else}}{{.Id}}{{end}}"
"""What a registry knows an image by; an image that was made here has only its id."""

FACTS = {
    "podman": "{{.Version.Version}} {{.Host.CgroupControllers}}",
    "docker": "{{.ServerVersion}} {{if .MemoryLimit}}memory{{end}} {{if .PidsLimit}}pids{{end}}",
}
"""The version of an engine, and what it can limit."""

FIRST_PROCESS = ("-c", '"$@"; exit $?', "sh")
"""Arguments of /bin/sh: as the first process a command would not be ended by most signals."""

FAILED = frozenset({125, 126, 127})
COMPLAINT = {"podman": "Error: ", "docker": "docker: "}
"""How a client ends, and how its error begins, where it could not start a container."""

MARGIN_S = 60.0
"""How much longer ago than its command took a container may have begun."""

LATE_EVENTS_S = 0.5

LABEL_FIELD = {"podman": f'{{{{index .Labels "{LABEL}"}}}}', "docker": f'{{{{.Label "{LABEL}"}}}}'}

FLAGS = {
    "podman": (
        *("--read-only-tmpfs=false", "--image-volume=ignore", "--systemd=false"),
        *("--unsetenv-all", "--http-proxy=false"),
    ),
    "docker": tuple(
        f"--env={name}="
        for word in ("http_proxy", "https_proxy", "ftp_proxy", "all_proxy", "no_proxy")
        for name in (word, word.upper())
    ),
}
"""What keeps a client from adding folders and variables; those of proxies may hold passwords."""

LOCK = (
    *("--rm", "--pull=never", "--interactive", "--log-driver=none", "--no-healthcheck"),
    *("--cap-drop=ALL", "--security-opt=no-new-privileges", "--read-only"),
    *(f"--hostname={HOSTNAME}", f"--workdir={WORKSPACE}"),
    *(f"--env={name}={value}" for name, value in ENVIRONMENT.items()),
)


class NoSuchImage(SandboxError):
    """An engine does not have the image, and a run pulls none."""


@dataclass(frozen=True, slots=True)
class Found:
    """An engine that answers and has the image."""

    number: str
    """Its version."""
    image_id: str
    digest: str
    lock: tuple[str, ...]
    """The beginning of every command line."""


class Engine:
    """Locks commands in by containers; the engine is asked when the first command comes.

    Args:
        client: `podman` or `docker`, looked up on PATH.
        image: which runs; it must be here.
        limits: of one command.
        network: what a command with the network is given; None: the engine's own choice.
    """

    is_engine = True

    def __init__(
        self, client: str, image: str, limits: SandboxLimits, network: str | None = None
    ) -> None:
        self.name = client
        self._network = () if network is None else (f"--network={network}",)
        self.image = image
        self.limits = limits
        self._client = (shutil.which(client) or client, "--log-level=error")

    @cached_property
    def number(self) -> str:
        """The version of the engine.

        Raises:
            SandboxError: the client is not there, no engine answers it, or this cannot limit a
                container.
        """
        if not os.path.isabs(self._client[0]):  # noqa: PTH117
            message = f"{self.name} is not installed"
            raise SandboxError(message, INSTALL[self.name])
        number, *able = self._ask("info", "--format", FACTS[self.name]).split()
        if missing := {"memory", "pids"} - {word.strip("[]") for word in able}:
            message = (
                f"{self.name} cannot limit {' and '.join(sorted(missing))} of a container here"
            )
            raise SandboxError(message, NO_LIMITS)
        return number

    @cached_property
    def found(self) -> Found:
        """The engine and the image.

        Raises:
            SandboxError: as of `number`, or the engine has no such image.
        """
        number = self.number
        said = self._ask("image", "inspect", "--format", "{{.Id}} " + DIGEST, self.image)
        image_id, digest = said.split()
        lock = (
            *(*self._client, *runtime_of(self.name), "run", *LOCK, *FLAGS[self.name]),
            *_identity(self.name),
            *_resource_limits(self.limits),
        )
        return Found(number, image_id, digest, lock)

    @cached_property
    def environment(self) -> Mapping[str, str]:
        """The client's: it finds its engine and its settings by what is set here; no keys."""
        return without_secrets()

    def argv(self, command: Command, folders: Folders, name: str) -> list[str]:
        """Return the command line of the client; `name` is the container's.

        Raises:
            SandboxError: no container can be started here, or not with what the command needs.
        """
        if command.needs_bwrap:
            message = (
                f"{self.name} makes no workspace read-only, hands out no socket, and is the first "
                "process itself"
            )
            raise SandboxError(message, "lock the command in by bwrap")
        places = ((folders.workspace, WORKSPACE), (folders.home, HOME), (folders.tmp, TMP))
        owner = folders.workspace.stat()
        return [
            *(*self.found.lock, f"--name={name}"),
            f"--label={LABEL}={_owner(folders.workspace.parent.parent)}",
            f"--user={owner.st_uid}:{owner.st_gid}",
            *(self._network if command.network else ("--network=none",)),
            *(f"--volume={here}:{inside}:rw,z" for here, inside in places),
            *(f"--volume={here}:{inside}:ro,z" for here, inside in command.binds),
            *self._own_end(command.timeout_s),
            *("--entrypoint=/bin/sh", self.found.image_id, *FIRST_PROCESS),
            *command.argv,
        ]

    def _own_end(self, timeout_s: float | None) -> tuple[str, ...]:
        """Return the argument that ends a container though nobody is there to do it."""
        seconds = self.limits.command_seconds if timeout_s is None else int(timeout_s)
        return (f"--timeout={seconds + LATE_S}",) if self.name == "podman" else ()

    def ending(self, name: str) -> list[str] | None:
        """Return the command that kills a container and removes what is left of it."""
        return self._removal(name)

    def _removal(self, *names: str) -> list[str]:
        at_once = ("--time=0", "--ignore") if self.name == "podman" else ()
        return [*self._client, "rm", "--force", "--volumes", *at_once, *names]

    def image_digest(self) -> str | None:
        """Return the digest of the image; None where engine or image are not there."""
        try:
            return self.found.digest
        except SandboxError:
            return None

    def version(self) -> str:
        """Return the versions of engine and image, the latter as a digest; empty without either."""
        try:
            found = self.found
        except SandboxError:
            return ""
        return f"{self.name} {found.number}, {found.digest}"

    def prepare(self) -> None:
        """Find engine and image, and remove the containers of helpers that are gone.

        Raises:
            SandboxError: no container can be started here.
        """
        _ = self.found
        listed = self._ask(
            *("ps", "--all", "--no-trunc", "--filter", f"label={LABEL}"),
            *("--format", "{{.ID}} " + LABEL_FIELD[self.name]),
        )
        found = (line.partition(" ") for line in listed.splitlines())
        if dead := [number for number, _, owner in found if _is_gone(owner)]:
            with contextlib.suppress(SandboxError):  # another start may have been faster
                self._ask(*self._removal(*dead)[len(self._client) :])

    def refusal(self, name: str, completed: Completed) -> str:
        """Return what the client said of a container that never ran; empty where it did.

        A command can say and return the same as the client: the events of the engine decide.
        """
        said = completed.stderr.data.decode("utf-8", "replace").splitlines()
        error = next((line for line in said if line.startswith(COMPLAINT[self.name])), None)
        if completed.exit_code not in FAILED or error is None:
            return ""
        within_s = round(completed.wall_ms / 1000 + MARGIN_S)
        until = {"podman": "--stream=false", "docker": f"--until={time.time() + LATE_EVENTS_S:.3f}"}
        asked = ("events", f"--since={within_s}s", until[self.name])
        started = self._ask(*asked, f"--filter=container={name}", "--filter=event=start")
        return "" if started else error

    def _ask(self, *words: str) -> str:
        """Return what the client prints.

        Raises:
            SandboxError: it fails, or does not answer in time.
        """
        try:
            done = subprocess.run(
                (*self._client, *words),
                stdin=subprocess.DEVNULL,
                capture_output=True,
                encoding="utf-8",
                errors="replace",
                env=dict(self.environment),
                timeout=QUERY_TIMEOUT_S,
                check=False,
            )
        except subprocess.TimeoutExpired as exc:
            message = f"{self.name} does not answer within {QUERY_TIMEOUT_S:g} s"
            raise SandboxError(message, advice(self.name, "")) from exc
        if done.returncode == 0:
            return done.stdout.strip()
        if any(words in done.stderr.lower() for words in NO_SUCH_IMAGE):
            message = f"{self.name} has no image {self.image}"
            raise NoSuchImage(message, f"{self.name} pull {self.image}")
        message = f"{self.name}: {last_line(done.stderr)}"
        raise SandboxError(message, advice(self.name, done.stderr))


def _identity(client: str) -> Iterator[str]:
    if client == "podman" and os.geteuid() != 0:
        yield "--userns=keep-id"


def _resource_limits(limits: SandboxLimits) -> Iterator[str]:
    """Yield the limits.

    Podman asks for more open files and processes than a machine may allow, unless it is told.
    """
    memory = limits.memory_mb * MB
    yield from (f"--memory={memory}", f"--memory-swap={memory}")
    yield f"--pids-limit={limits.processes + 1}"
    if limits.cores is not None:
        yield f"--cpus={limits.cores}"
    yield f"--ulimit=cpu={limits.cpu_seconds}:{limits.cpu_seconds + 1}"
    yield f"--ulimit=fsize={limits.file_mb * MB}"
    yield "--ulimit=core=0"
    for name, number, most in (
        ("nofile", resource.RLIMIT_NOFILE, OPEN_FILES),
        ("nproc", resource.RLIMIT_NPROC, USER_PROCESSES),
    ):
        _, hard = resource.getrlimit(number)
        value = most if hard == resource.RLIM_INFINITY else min(most, hard)
        yield f"--ulimit={name}={value}:{value}"


def _owner(scratch: Path) -> str:
    """Return who starts a container: the scratch folder, and where its path means that folder."""
    view = ""
    with contextlib.suppress(OSError):
        view = os.readlink("/proc/self/ns/mnt")  # noqa: PTH115 - no path
    return f"{view}{scratch}"


def _is_gone(owner: str) -> bool:
    """Return whether who started a container is known to be gone: not by a look from elsewhere."""
    scratch = Path(owner[owner.find("/") :])
    return owner == _owner(scratch) and is_abandoned(scratch)
