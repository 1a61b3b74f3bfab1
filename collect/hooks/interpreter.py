"""The Python that hooks run in: this one, as far as the sandbox must see it, and no more.

Its programs and libraries are bound read-only where they are, the packages that are installed for
it, and the package that a hook is imported from. The project is never bound, nor a folder with a
`.env`, nor a home.
"""

from __future__ import annotations

import contextlib
import importlib.util
import os
import stat
import sys
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from collect.sandbox.namespace import closed_above
from schemas.config.checks import PythonHook
from schemas.config.project import NAME as PROJECT_FILE

SYSTEM = "/usr"
"""Is in every sandbox."""

PARTS = ("bin", "lib", "lib64", "pyvenv.cfg")
"""What Python is of the folder that it is installed in, or of a virtual environment."""

PACKAGES = ("site-packages", "dist-packages")
PRIVATE = frozenset({".env", PROJECT_FILE})
"""Names that a folder has which no hook may see."""

MAX_LINKS = 40
"""On the way from a name to a program, as many as the kernel follows."""


class NotImportable(Exception):
    """A hook's module cannot be handed into the sandbox: the reason, and a sentence.

    Attributes:
        reason: one of `collect.hooks.answers`.
    """

    def __init__(self, message: str, reason: str) -> None:
        super().__init__(message)
        self.reason = reason


@dataclass(frozen=True, slots=True)
class Python:
    """An interpreter, and what it needs to be bound."""

    executable: str
    places: tuple[str, ...]
    """Files and folders outside of /usr, bound where they are."""
    folders: tuple[str, ...]
    """Where modules are looked for behind those of Python itself."""

    @classmethod
    def running(cls) -> Python:
        """Return the one that runs this."""
        executable = str(Path(sys.executable).absolute())
        prefixes = {Path(one) for one in (sys.prefix, sys.base_prefix, sys.exec_prefix)}
        prefixes |= {one.resolve() for one in prefixes}
        parts = {one / part for one in prefixes for part in PARTS if (one / part).exists()}
        folders = tuple(
            path for path in sys.path if Path(path).name in PACKAGES and Path(path).is_dir()
        )
        wanted = [*sorted(parts), *map(Path, folders), *_links(Path(executable))]
        return cls(executable, _outermost(wanted), folders)

    @property
    def binds(self) -> tuple[tuple[str, str], ...]:
        """Pairs of the same path, here and inside."""
        return tuple((place, place) for place in self.places)

    def with_module(self, import_path: str) -> Python:
        """Return it with the package that a module is part of; nothing of that is imported.

        Raises:
            NotImportable: there is no such package, or it lies where no hook may look.
        """
        top = import_path.partition(".")[0]
        if top in sys.stdlib_module_names:
            return self
        try:
            spec = importlib.util.find_spec(top)
        except (ImportError, ValueError, AttributeError) as exc:
            message = f"`{top}` cannot be looked up: {exc}"
            raise NotImportable(message, "hook_import_failed") from exc
        if spec is None:
            message = f"there is no module `{top}` in the Python that runs the collector"
            raise NotImportable(message, "hook_not_found")
        found = list(spec.submodule_search_locations or ())
        if not found and spec.has_location and spec.origin is not None:
            found = [spec.origin]
        new = [Path(place).absolute() for place in found if not _is_in(Path(place), self.places)]
        for path in new:
            if (private := _private_file(path)) is not None:
                message = f"{private} lies in the package, which a hook would see: move it away"
                raise NotImportable(message, "hook_import_failed")
        parents = tuple(dict.fromkeys(str(path.parent) for path in new))
        places = _outermost([*map(Path, self.places), *new])
        return replace(self, places=places, folders=(*self.folders, *parents))

    def closed_folder(self, shown: Sequence[str] = ()) -> Path | None:
        """Return what the user `nobody`, as whom a sandbox of root's runs, cannot look into.

        Args:
            shown: what the sandbox lets that user find all the same.
        """
        if os.geteuid() != 0:
            return None
        real = tuple(os.path.realpath(one) for one in shown)
        wanted = (Path(one).resolve() for one in (self.executable, *self.places))
        open_to_all = (one for one in wanted if not _is_in(one, real))
        return next((closed for one in open_to_all if (closed := _closed(one))), None)

    @property
    def hidden(self) -> tuple[str, ...]:
        """Places of it that lie in a folder which is closed to the user `nobody`."""
        if os.geteuid() != 0:
            return ()
        return tuple(one for one in self.places if closed_above(Path(one)) is not None)


def hidden_for(hooks: Iterable[PythonHook]) -> tuple[str, ...]:
    """Return what some hooks need and the user `nobody` cannot reach, each place once."""
    pythons = [Python.running()]
    for name in dict.fromkeys(hook.import_path for hook in hooks):
        if name is not None:
            with contextlib.suppress(NotImportable):  # whoever runs the hook says so
                pythons.append(pythons[0].with_module(name))
    return tuple(dict.fromkeys(place for python in pythons for place in python.hidden))


def _links(path: Path) -> Iterator[Path]:
    """Yield the names by which a program is reached, itself last."""
    for _ in range(MAX_LINKS):
        yield path
        if not path.is_symlink():
            return
        path = Path(os.path.normpath(path.parent / path.readlink()))


def _is_in(path: Path, places: tuple[str, ...]) -> bool:
    return any(path.absolute().is_relative_to(place) for place in (SYSTEM, *places))


def _outermost(paths: list[Path]) -> tuple[str, ...]:
    """Return the paths that lie in no other one, nor in /usr; the outer folder comes first."""
    found: list[str] = []
    for path in sorted(set(paths), key=lambda one: (len(one.parts), one)):
        if not _is_in(path, tuple(found)):
            found.append(str(path))
    return tuple(found)


def _private_file(package: Path) -> Path | None:
    """Return a file below a package that no hook may see."""
    for folder, _, names in os.walk(package):
        if private := PRIVATE.intersection(names):
            return Path(folder, min(private))
    return None


def _closed(path: Path) -> Path | None:
    """Return the folder on the way to a path, or the path itself, that is closed to others."""
    real = path.resolve()
    for one in (*reversed(real.parents), real):
        mode = one.stat().st_mode
        needed = stat.S_IXOTH if stat.S_ISDIR(mode) else stat.S_IROTH
        if not mode & needed:
            return one
    return None
