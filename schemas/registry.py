"""The parts of a kind by name: benchlake's own, and those that installed packages add.

A name stands for `module:attribute` and is loaded where somebody wants it, so that listing names
costs nothing. A package adds a part by an entry point of the group `benchlake.<kind>`:

    [project.entry-points."benchlake.importers"]
    ours = "ours.benchlake:IMPORTER"

A name of benchlake's own is never replaced.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator, Mapping
from functools import cache, cached_property
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any, Generic, TypeVar

from schemas.errors import ConfigError, Problem, nearest

if TYPE_CHECKING:
    from importlib.metadata import EntryPoint

Spec = TypeVar("Spec")

GROUPS = "benchlake."
"""Begins the name of each group of entry points that is ours."""


class Registry(Generic[Spec]):
    """The parts of one kind.

    Args:
        kind: in the plural, as in the group `benchlake.<kind>`.
        spec: what each of them is.
        own: benchlake's own by name, in the order in which they are shown: each as it is, or as
            `module:attribute` where it is heavy.
    """

    has_packages = True
    """Whether parts of packages count; what is generated for everyone is of benchlake's own."""

    def __init__(self, kind: str, spec: type[Spec], own: Mapping[str, str | Spec]) -> None:
        self._group = f"{GROUPS}{kind}"
        self._spec = spec
        self.own = own

    @cached_property
    def names(self) -> tuple[str, ...]:
        """Names of all parts: benchlake's own in their order, then the others', sorted."""
        return (*self.own, *sorted(self._added.keys() - self.own.keys()))

    def __contains__(self, name: object) -> bool:
        """Return whether there is a part of this name."""
        return name in self.own or name in self._added

    def __iter__(self) -> Iterator[str]:
        """Go through the names of all parts."""
        return iter(self.names)

    def __str__(self) -> str:
        """Return the names in words: `a, b or c`."""
        *first, last = self.names
        return f"{', '.join(first)} or {last}" if first else last

    def __getitem__(self, name: str) -> Spec:
        """Return a part.

        Raises:
            ConfigError: nobody has one of this name, two packages have, or it cannot be loaded.
        """
        if (target := self.own.get(name)) is not None:
            part: Spec = load_object(target)
            return part
        if not (entries := self._added.get(name)):
            near = nearest(name, self.names)
            allowed = ", ".join(self.names)
            raise self._error(name, "is not there", allowed=allowed, nearest=near)
        if len(entries) > 1:
            packages = ", ".join(sorted(map(_package, entries)))
            raise self._error(name, "more than one package adds it", found=packages)
        return self._loaded(entries[0])

    def _loaded(self, entry: EntryPoint) -> Spec:
        try:
            part = entry.load()
        except Exception as exc:  # code of others: whatever it raises is their package's
            what = f"cannot be loaded from {_package(entry)}: {type(exc).__name__}: {exc}"
            raise self._error(entry.name, what) from exc
        if not isinstance(part, self._spec):
            what = f"{entry.value} of {_package(entry)} is no {self._spec.__name__}"
            raise self._error(entry.name, what, found=type(part).__name__)
        return part

    def _error(
        self,
        name: str,
        what: str,
        *,
        found: str | None = None,
        allowed: str | None = None,
        nearest: str | None = None,
    ) -> ConfigError:
        key = f"{self._group}.{name}"
        return ConfigError(
            [Problem(None, what, key, found=found, allowed=allowed, nearest=nearest)]
        )

    @cached_property
    def _added(self) -> dict[str, list[EntryPoint]]:
        """Entry points of installed packages by name."""
        if not Registry.has_packages or self._group not in _added_groups():
            return {}
        from importlib.metadata import entry_points  # noqa: PLC0415 - 40 ms, and few have any

        found: dict[str, list[EntryPoint]] = {}
        for entry in entry_points(group=self._group):
            found.setdefault(entry.name, []).append(entry)
        return found


def load_object(target: Any) -> Any:
    """Return what a text `module:attribute` names; what is no text is itself."""
    if not isinstance(target, str):
        return target
    name, _, attribute = target.partition(":")
    module = sys.modules.get(name)
    if module is None or getattr(module.__spec__, "_initializing", False):
        module = import_module(name)  # waits for another thread that loads it just now
    return getattr(module, attribute)


def _package(entry: EntryPoint) -> str:
    return "?" if entry.dist is None else f"{entry.dist.name} {entry.dist.version}"


@cache
def _added_groups() -> frozenset[str]:
    """Return our groups that some installed package adds to, without importlib.metadata's 40 ms.

    A hundred packages take a millisecond.
    """
    found: set[str] = set()
    for folder in dict.fromkeys(sys.path):
        try:
            infos = [one.path for one in os.scandir(folder or ".") if one.name.endswith("-info")]
        except OSError:
            continue
        for info in infos:
            found.update(_groups_of(Path(info, "entry_points.txt")))
    return frozenset(found)


def _groups_of(file: Path) -> list[str]:
    try:
        content = file.read_bytes()
    except OSError:
        return []
    if GROUPS.encode() not in content:
        return []
    lines = content.decode(errors="replace").splitlines()
    return [line.strip()[1:-1] for line in lines if line.startswith(f"[{GROUPS}")]
