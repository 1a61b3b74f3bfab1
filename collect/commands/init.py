"""The starter project that ships with the package: what `init` copies and `demo` runs."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from importlib.resources import as_file, files
from pathlib import Path

from schemas.errors import CollectError, ConfigError, Problem, nearest

GITIGNORE = "/runs/\n"
BEFORE_SERVERS = "  # A model of your own Ollama."
"""In the starter suite: models of servers that were found stand above it."""

SCHEMA_SUFFIX = ".schema.json"


@contextmanager
def starter_configs() -> Iterator[Path]:
    """Yield the folder that holds the packaged `configs`."""
    with as_file(files("collect") / "starter_project") as folder:
        yield folder


def write_starter(directory: Path) -> list[str]:
    """Write a starter project and return what to say about it.

    Raises:
        ConfigError: the folder holds something already; nothing is ever overwritten.
    """
    if directory.exists() and (not directory.is_dir() or any(directory.iterdir())):
        advice = "choose a new folder, or copy single files from the one made there"
        raise ConfigError([Problem(directory, "is not empty", advice=advice)])
    try:
        with starter_configs() as source:
            shutil.copytree(source / "configs", directory / "configs")
        nearby = _name_servers(directory / "configs" / "suites" / "starter.yaml")
        (directory / ".gitignore").write_text(GITIGNORE, encoding="utf-8")
    except OSError as exc:
        message = f"{directory} cannot be written: {exc.strerror or exc}"
        raise CollectError(message) from exc
    made = directory / "configs"
    cases = len(list((made / "cases").glob("*/*/test.yaml")))
    suites, profiles = (len(list((made / kind).iterdir())) for kind in ("suites", "run_profiles"))
    return [
        f"wrote {directory}: {cases} cases, {suites} suites, {profiles} run profiles; start with "
        "configs/README.md",
        *(f"found {one}: ready to be uncommented in {made}/suites/starter.yaml" for one in nearby),
        "next:",
        f"  cd {directory}",
        "  collect plan --suite starter --run-profile demo",
        "  collect run --suite starter --run-profile demo",
    ]


def _name_servers(suite: Path) -> list[str]:
    """Write what answers on this machine into a suite, as comments; return a line on each."""
    from collect.doctor.endpoints import commented_models, servers_nearby  # noqa: PLC0415 - see cli

    servers = servers_nearby()
    text = suite.read_text(encoding="utf-8")
    text = text.replace(BEFORE_SERVERS, commented_models(servers) + BEFORE_SERVERS, 1)
    suite.write_text(text, encoding="utf-8")
    return [server.summary for server in servers]


def published_names() -> list[str]:
    """Return the kinds that have a JSON Schema."""
    folder = files("schemas") / "json"
    return sorted(path.name.removesuffix(SCHEMA_SUFFIX) for path in folder.iterdir())


def published(kind: str) -> str:
    """Return the JSON Schema of a kind of file.

    Raises:
        ConfigError: there is none of that name.
    """
    names = published_names()
    name = kind.replace("-", "_")
    if name not in names:
        near = nearest(name, names)
        allowed = None if near else ", ".join(names)
        problem = Problem(None, "no schema", found=f"`{kind}`", allowed=allowed, nearest=near)
        raise ConfigError([problem])
    return (files("schemas") / "json" / f"{name}{SCHEMA_SUFFIX}").read_text(encoding="utf-8")
