"""Virtual environments for what benchlake is compared with and must never depend on.

Made with plain `pip install NAME` in the user's cache folder, kept for the next time.
"""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

from platformdirs import user_cache_dir


class CannotInstall(Exception):
    """A package could not be installed here; says why in one line."""


def default_folder() -> Path:
    """Return where environments are kept when nobody says otherwise."""
    return Path(user_cache_dir("benchlake")) / "benchmark-environments"


def environment_with(folder: Path, name: str, packages: list[str]) -> Path:
    """Return the Python of an environment that has these packages, installing what is missing.

    Args:
        folder: where environments are kept.
        name: of this one.
        packages: as pip understands them.

    Raises:
        CannotInstall: pip said no.
    """
    place = folder / name
    python = place / "bin" / "python"
    stamp = place / ".installed"
    wanted = "\n".join(packages)
    if stamp.exists() and stamp.read_text() == wanted:
        return python
    sys.stderr.write(f"installing {' '.join(packages)} into {place} ...\n")
    _run([sys.executable, "-m", "venv", "--clear", str(place)])
    _run([str(python), "-m", "pip", "install", "--quiet", "--disable-pip-version-check", *packages])
    stamp.write_text(wanted)
    return python


def version_of(python: Path, package: str) -> str:
    """Return the installed version of a package."""
    code = "import sys, importlib.metadata as m; print(m.version(sys.argv[1]))"
    return _run([str(python), "-c", code, package]).strip()


def _run(command: list[str]) -> str:
    try:
        done = subprocess.run(command, capture_output=True, text=True, check=True)
    except subprocess.CalledProcessError as exc:
        said = [line for line in exc.stderr.strip().splitlines() if line.strip()]
        raise CannotInstall(said[-1] if said else f"exit code {exc.returncode}") from exc
    except OSError as exc:
        raise CannotInstall(str(exc)) from exc
    return done.stdout
