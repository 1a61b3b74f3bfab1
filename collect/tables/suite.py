"""Writes what a table becomes: a suite, its prompt list, and what they need to be run."""

from __future__ import annotations

import json
import re
import shlex
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path
from textwrap import TextWrapper

from collect.commands.init import GITIGNORE, starter_configs
from collect.tables.columns import Roles, roles_of
from collect.tables.prompts import PromptList, prompt_list
from collect.tables.rows import Table, read_table
from schemas.base import bounded_slug, slugify
from schemas.errors import CollectError, ConfigError, Problem, counted, display_path, printable

MODELS = re.compile(r"^models:\n(?: .*\n|\n)+", re.MULTILINE)
"""The block of the starter suite: a model that runs here, and others to fill in."""

COPIED = (".jsonschema", "run_profiles")
"""Folders of the starter project that a suite of one's own needs too."""


def write_table_suite(
    directory: Path, path: Path, named: Mapping[str, str | None], validator: str | None = None
) -> list[str]:
    """Write a suite made of a table and return what to say about it.

    The folder is new, or has none of the files yet.

    Raises:
        ConfigError: the table cannot be used as it is, or a file is in the way.
        CollectError: the folder cannot be written.
    """
    table = read_table(path)
    roles = roles_of(table, named)
    prompts = prompt_list(table, roles, validator)
    suite_id = bounded_slug(slugify(path.stem), path.stem)
    suites = Path("configs", "suites")
    own = {
        suites / f"{suite_id}.jsonl": prompts.content,
        suites / f"{suite_id}.yaml": _suite(suite_id, table, roles, prompts).encode(),
    }
    _write(directory, own, _shared())
    made = display_path(directory / suites / suite_id)
    return [
        f"wrote {made}.yaml and {suite_id}.jsonl beside it: "
        f"{counted(prompts.n_prompts, 'case')} from {printable(display_path(path))}",
        *(f"  {line}" for line in _account(table, roles, prompts)),
        "next:",
        *([] if directory.samefile(Path()) else [f"  cd {shlex.quote(display_path(directory))}"]),
        f"  collect plan --suite {suite_id} --run-profile demo",
        f"  collect run --suite {suite_id} --run-profile demo",
    ]


def _account(table: Table, roles: Roles, prompts: PromptList) -> list[str]:
    """Return what became of the columns, and why the answers are judged as they are."""
    columns = {"input": roles.input, "expected answer": roles.expected, "system": roles.system}
    used = [f"{role}: `{name}`" for role, name in columns.items() if name is not None]
    ids = "id: row numbers" if roles.id is None else f"id: `{roles.id}`"
    lines = [f"columns: {'; '.join([*used, ids])}"]
    if unused := roles.unused(table):
        lines.append("not used: " + ", ".join(f"`{name}`" for name in unused))
    if roles.id is None:
        lines.append("give the table an id column before you put rows between others")
    return [printable(line) for line in (*lines, *prompts.reasons)]


def _suite(suite_id: str, table: Table, roles: Roles, prompts: PromptList) -> str:
    """Return the suite's YAML; JSON has no comments, so the account of the list is here."""
    name = printable(table.path.name)
    wrapped = TextWrapper(98, initial_indent="#   ", subsequent_indent="#     ").fill
    account = "".join(f"{wrapped(line)}\n" for line in _account(table, roles, prompts))
    with starter_configs() as folder:
        starter = (folder / "configs" / "suites" / "starter.yaml").read_text(encoding="utf-8")
    models = MODELS.search(starter)
    assert models is not None, "the starter suite has models"
    return (
        "# yaml-language-server: $schema=../.jsonschema/suite.schema.json\n"
        f"# Made of {name}: {counted(prompts.n_prompts, 'case')} in {suite_id}.jsonl, one a line.\n"
        f"{account}"
        "# Look at a few lines of it before you trust a score: the validators are a first choice.\n"
        "schema_version: 1\n"
        f"suite_id: {json.dumps(suite_id)}\n"
        f"title: {json.dumps(name, ensure_ascii=False)}\n\n"
        f"{models[0].rstrip()}\n\n"
        "# A suite that names prompt lists consists of them, and not of the project's cases.\n"
        f"prompt_lists: [{suite_id}.jsonl]\n"
    )


def _shared() -> dict[Path, bytes]:
    """Return the files of the starter project that any suite needs, by their place."""
    files = {Path(".gitignore"): GITIGNORE.encode()}
    with starter_configs() as source:
        for folder in COPIED:
            for file in sorted((source / "configs" / folder).iterdir()):
                files[Path("configs", folder, file.name)] = file.read_bytes()
    return files


def _write(directory: Path, own: dict[Path, bytes], shared: dict[Path, bytes]) -> None:
    """Write the suite's own files, and of the shared ones those that are not there.

    Raises:
        ConfigError: one of the suite's own files is there; nothing was written.
        CollectError: the folder cannot be written; nothing of it is left.
    """
    advice = "rename the table, after which the suite is called, or choose another folder"
    taken = [directory / place for place in own if (directory / place).exists()]
    if taken:
        raise ConfigError(Problem(path, "is there already", advice=advice) for path in taken)
    made: list[Path] = []
    try:
        for place, content in {**shared, **own}.items():
            target = directory / place
            target.parent.mkdir(parents=True, exist_ok=True)
            if place in shared and target.exists():
                continue
            with target.open("xb") as file:
                made.append(target)
                file.write(content)
    except OSError as exc:
        for path in made:
            with suppress(OSError):
                path.unlink()
        message = f"{display_path(directory)} cannot be written: {exc.strerror or exc}"
        raise CollectError(message) from exc
