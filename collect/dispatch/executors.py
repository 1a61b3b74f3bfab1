"""Where the processes of shards run: what a coordinator asks of an engine, and the engines."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

from collect.dispatch.messages import Begin, Message
from collect.execute.spec import RunSpec
from schemas.errors import CollectError
from schemas.registry import load_object
from schemas.run.dispatch import ExecutorName


class ShardProcess(Protocol):
    """One attempt at a shard, wherever it runs."""

    def send(self, message: Message) -> None:
        """Say something to it; without effect once it is gone."""

    async def receive(self) -> Message | None:
        """Return what it says next; None once it is gone and nothing more will come."""

    async def end(self) -> str:
        """End it if it still runs; return how it ended, in words."""


class Executor(Protocol):
    """An engine that starts processes of shards."""

    name: ExecutorName
    n_places: int
    """How many shards it can make at once, as far as it knows."""
    lease_s: float
    """How long a process that is no longer heard of may still use its share."""

    def prepare(self, specs: Sequence[RunSpec]) -> None:
        """Get ready for the shards of a new run, whose folders are there."""

    async def start(self, run_dir: Path, begin: Begin) -> ShardProcess:
        """Start one attempt at a shard, once there is room for it.

        Raises:
            StartError: it cannot be started.
        """

    async def close(self) -> None:
        """End whatever is left."""


class StartError(CollectError):
    """The process of a shard cannot be started."""


@dataclass(frozen=True)
class Workplace:
    """What a shard needs beside its folder."""

    runs_dir: Path
    files: Iterable[Path]
    """Of the project, folders among them."""
    keys: Iterable[str]
    """Names of the environment variables that hold keys."""
    address: str | None
    """Of the cluster."""
    note: Callable[[str], None]
    """Says what people should know."""


EXECUTORS: dict[ExecutorName, str] = {
    "processes": "collect.dispatch.processes:Processes",
    "ray": "collect.dispatch.ray_cluster:RayCluster",
}
"""By the name of `--executor`, the class."""


def open_executor(name: ExecutorName, workplace: Workplace) -> Executor:
    """Return an engine that is ready to start shards.

    Raises:
        ConfigError: its library is not there, or its cluster cannot be reached.
    """
    opened: Executor = load_object(EXECUTORS[name])(workplace)
    return opened
