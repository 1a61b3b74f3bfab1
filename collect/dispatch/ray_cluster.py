"""Shards as actors of a Ray cluster: Ray finds their machines, and says when one is gone.

Every node gets the project's configs and the package by Ray's runtime environment; folders go there
and come back through Ray's object store. Keys go to the actor that needs them, and nowhere else.
"""

from __future__ import annotations

import asyncio
import contextlib
import importlib.util
import logging
import os
import socket
from collections import deque
from collections.abc import Sequence
from importlib.resources import files
from pathlib import Path
from typing import TYPE_CHECKING, Any

from collect.dispatch.executors import StartError, Workplace
from collect.dispatch.messages import Begin, Message, line_of, message_of
from collect.dispatch.node import LEASE_S, NodeShard, Place
from collect.dispatch.project_copy import ProjectCopy
from collect.dispatch.replica import Copy, Original
from collect.execute.spec import RunSpec
from collect.run_folder.log import RunLog
from schemas.errors import BenchError, ConfigError, Problem, printable
from schemas.run.dispatch import ExecutorName

if TYPE_CHECKING:
    from types import ModuleType

WAIT_S = 0.2
"""How long an actor waits for something new before it answers."""

LOST_S = 15.0
"""Without an answer for so long, an actor counts as lost."""

PATIENCE_S = 10.0
"""How long a shard waits for a node before people hear of it."""

CONNECT_S = 5.0
"""How long a head may take to answer."""

ADVICE = "`ray status` on its head shows one; without --address Ray starts its own"

PACKAGES = ("collect", "analyze", "schemas")


class RayCluster:
    """Starts an actor for each shard."""

    name: ExecutorName = "ray"
    lease_s = LEASE_S

    def __init__(self, workplace: Workplace) -> None:
        """Join the cluster.

        Raises:
            ConfigError: Ray is not installed, or no cluster is at the address.
        """
        self._ray = ray = _ray()
        _require_listener(workplace.address)
        self._note = workplace.note
        self._copy = ProjectCopy(workplace)
        self._keys = {key: os.environ[key] for key in workplace.keys if key in os.environ}
        self._silence = contextlib.ExitStack()
        nowhere = self._silence.enter_context(Path(os.devnull).open("w"))  # noqa: SIM115
        # Ray prints there what nodes log; it is where the run's own output goes in the end.
        self._silence.enter_context(contextlib.redirect_stdout(nowhere))
        modules = [str(files(name)) for name in PACKAGES]
        starts_own = workplace.address is None and not os.environ.get("RAY_ADDRESS")
        try:
            ray.init(
                address=workplace.address,
                runtime_env={"working_dir": str(self._copy.folder), "py_modules": modules},
                logging_level=logging.ERROR,
                log_to_driver=False,
                **({"include_dashboard": False} if starts_own else {}),
            )
        except (ConnectionError, RuntimeError, ValueError) as exc:
            self._leave()
            what = "no Ray cluster can be joined"
            said = str(exc).splitlines()[0] if str(exc) else type(exc).__name__
            raise ConfigError([Problem(None, what, found=said, advice=ADVICE)]) from exc
        alive = (node["Resources"] for node in ray.nodes() if node["Alive"])
        self.n_places = max(sum(found.get("CPU", 0) >= 1 for found in alive), 1)

    def prepare(self, specs: Sequence[RunSpec]) -> None:
        """Nothing: a node is sent the folder."""

    async def start(self, run_dir: Path, begin: Begin) -> RayShard:
        """Start an actor where there is a core for it, and send it the folder.

        Raises:
            StartError: the folder cannot be gone on with, or the actor is gone already.
        """
        try:
            log = await asyncio.to_thread(RunLog.reopen, run_dir)
        except BenchError as exc:
            raise StartError(str(exc)) from exc
        place = Place(self._copy.working_dir, self._copy.place_of(run_dir))
        actor = self._actor(place)
        shard = RayShard(self._ray, actor, log)
        try:
            await self._sent(shard, run_dir, line_of(begin))
        except BaseException as exc:
            await shard.end()
            if isinstance(exc, self._ray.exceptions.RayError | OSError):
                raise StartError(words_of(exc)) from exc
            raise
        return shard

    async def close(self) -> None:
        """Leave the cluster; what Ray started for us ends."""
        await asyncio.to_thread(self._ray.shutdown)
        self._leave()

    def _leave(self) -> None:
        self._silence.close()
        self._copy.close()

    def _actor(self, place: Place) -> Any:
        options = {"num_cpus": 1, "max_restarts": 0, "scheduling_strategy": "SPREAD"}
        return self._ray.remote(**options)(NodeShard).remote(place)

    async def _sent(self, shard: RayShard, run_dir: Path, begin: bytes) -> None:
        """Send the folder, piece by piece, and let it begin."""
        original, is_first = Original(run_dir), True
        while True:
            changes = await asyncio.to_thread(original.changes)
            answer = asyncio.ensure_future(_answer(shard.actor.receive.remote(changes)))
            if is_first and not (await asyncio.wait([answer], timeout=PATIENCE_S))[0]:
                self._note(f"{run_dir.name} waits for a node with a free core")
            await answer
            is_first = False
            if changes.is_all:
                break
        await _answer(shard.actor.begin.remote(begin, self._keys))


class RayShard:
    """An actor, and the folder that it sends home."""

    def __init__(self, ray: ModuleType, actor: Any, log: RunLog) -> None:
        self.actor = actor
        self._ray = ray
        self._log = log
        """Holds the folder's lock."""
        self._copy = Copy(log.run_dir)
        self._outbox: list[bytes] = []
        self._heard: deque[bytes] = deque()
        self._is_over = False
        self._how: str | None = None
        self._is_ended = False

    def send(self, message: Message) -> None:
        """Put a line where the next question takes it along."""
        self._outbox.append(line_of(message))

    async def receive(self) -> Message | None:
        """Ask what is new, write it down here, and return the next line."""
        while not self._heard and not self._is_over:
            lines, self._outbox = self._outbox, []
            try:
                async with asyncio.timeout(LOST_S):
                    news = await _answer(self.actor.exchange.remote(lines, WAIT_S))
            except TimeoutError:
                self._how, self._is_over = f"no answer within {LOST_S:g} s", True
            except self._ray.exceptions.RayError as exc:
                self._how, self._is_over = words_of(exc), True
            else:
                await asyncio.to_thread(self._copy.apply, news.changes)
                self._heard += news.lines
                if news.code is not None and not news.lines:
                    self._how, self._is_over = f"code {news.code}", True
        return message_of(self._heard.popleft()) if self._heard else None

    async def end(self) -> str:
        """End the actor and let go of the folder; again does nothing."""
        if self._is_ended:
            return self._how or "it was ended"
        self._is_ended = True
        if self._how is None or self._how.startswith("code"):
            with contextlib.suppress(self._ray.exceptions.RayError, TimeoutError):
                async with asyncio.timeout(LOST_S):
                    await _answer(self.actor.end.remote())
        with contextlib.suppress(self._ray.exceptions.RayError):
            self._ray.kill(self.actor)
        await asyncio.to_thread(self._copy.sync)
        self._log.close()
        return self._how or "it was ended"


async def _answer(reference: Any) -> Any:
    """Await what an actor returns."""
    return await reference


def _require_listener(address: str | None) -> None:
    """Refuse an address at which nobody listens; Ray itself would try for minutes.

    Raises:
        ConfigError: says how to find the right one.
    """
    host, _, port = (address or "").rpartition(":")
    if not host or not port.isdigit():
        return
    try:
        socket.create_connection((host, int(port)), CONNECT_S).close()
    except OSError as exc:
        what = f"no Ray cluster can be joined at {printable(address or '')}"
        found = exc.strerror or type(exc).__name__
        raise ConfigError([Problem(None, what, found=found, advice=ADVICE)]) from exc


def words_of(exc: BaseException) -> str:
    """Return an error of Ray in one sentence."""
    lines = [line.strip() for line in str(exc).splitlines() if line.strip()]
    return f"{type(exc).__name__}: {lines[0] if lines else 'no more is known'}"


def _ray() -> ModuleType:
    """Return Ray; it tells nobody that it is used, and starts no page of its own."""
    if importlib.util.find_spec("ray") is None:
        what = "--executor ray needs more packages: pip install 'benchlake[ray]'"
        raise ConfigError([Problem(None, what)])
    os.environ.setdefault("RAY_USAGE_STATS_ENABLED", "0")
    import ray  # noqa: PLC0415 - an extra, and half a second

    module: ModuleType = ray  # to a type checker anything, where it is not installed
    return module
