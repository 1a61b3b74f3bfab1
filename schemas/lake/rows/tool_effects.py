"""What a call of a tool does to the workspace, by the name of the tool and what it is called with.

Names are those of our tools and of the agents that people run. A shell is judged by the words its
commands begin with; one that is not known may do anything, which is `run`.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import NamedTuple

from schemas.run.step import Effect


class Act(NamedTuple):
    """What one call does."""

    effect: Effect | None
    path: str | None
    """Of the file that it reads or writes, as a name below the workspace."""


def _words(text: str) -> frozenset[str]:
    return frozenset(text.split())


NAMES: Mapping[Effect, str] = {
    "read": "read_file read view view_file open_file cat_file get_file list_directory list_files "
    "list_dir ls glob grep search_files find_files notebookread read_many_files",
    "write": "write_file write edit edit_file multiedit notebookedit create_file create "
    "str_replace insert replace apply_patch apply_diff delete_file move_file append_file",
    "search": "web_search websearch web_fetch webfetch fetch browser google_web_search",
    "wait": "wait sleep poll wait_for bashoutput taskoutput agentoutput get_command_status "
    "command_status check_task task_status",
}

EFFECTS: Mapping[str, Effect] = {
    name: effect for effect, names in NAMES.items() for name in names.split()
}
"""By the name in lower case."""

SHELLS = _words(
    "exec_shell bash shell sh terminal exec execute_command run_command run_shell_command "
    "run_terminal_cmd local_shell powershell execute_bash process"
)

EDITORS = frozenset({"str_replace_editor", "str_replace_based_edit_tool", "edit_anthropic"})
"""Do what their argument `command` says."""

PATHS = ("path", "file_path", "filename", "file", "target_file", "notebook_path", "absolute_path")
"""Arguments that name a file."""

COMMANDS = ("command", "cmd", "script", "code", "input")
"""Arguments that hold what a shell is to do; a list is joined."""

MAX_COMMAND = 4_096
"""Characters of a command that are looked at."""

SEPARATOR = re.compile(r"[;&|\n(`]+|(?<![$\w]){+|\b(?:then|do|else)\b")
"""Between two commands of a line."""

WORDS_OF_SHELL = _words("for in done fi esac case select } )")
"""Begin or end what is no command."""

PREFIXES = _words("sudo time env nohup command exec ! if while until")

ASSIGNMENT = re.compile(r"[A-Za-z_]\w*=")
"""Stands before a command, as prefixes do."""

NO_FILE = re.compile(r"(?<![0-9])&?[0-9]*+>{1,2}\s*+(?:&[0-9-]|/dev/\w+)")
"""Output that is sent elsewhere than to a file."""

REDIRECTED = re.compile(r"(?<![<>=-])>{1,2}\s*[\w./~$\"'{-]")

READERS = _words(
    "cat ls head tail grep egrep rg find wc stat file diff less more awk pwd echo printf tree sort "
    "uniq cut which type env printenv date whoami id uname df du ps cd true test jq column nl od "
    "hexdump basename dirname realpath readlink set export"
)

WAITERS = _words("sleep wait")

POLLS = frozenset({"poll", "log", "wait"})
"""What the argument `action` of a tool for processes says when it looks at one that goes on."""

WRITERS = _words(
    "tee mv cp rm rmdir touch mkdir patch ln chmod chown dd truncate install unzip rsync"
)

CHECKERS = _words(
    "pytest py.test tox nox jest vitest mocha ruff mypy pyright flake8 pylint eslint tsc rspec "
    "ctest phpunit shellcheck"
)

CHECKS = frozenset({"test", "check", "lint", "verify", "unittest", "pytest", "vet", "clippy"})
"""What follows a program that can do many things, where it looks at what was done."""

PROGRAMS = _words(
    "make npm yarn pnpm cargo go mvn gradle ./gradlew gradlew dotnet bazel just python python3 "
    "poetry uv bundle rake mix deno bun npx"
)

GIT_READS = _words("log status diff show blame grep ls-files rev-parse")

GIT_LISTS = frozenset({"branch", "remote"})
"""Of which the flags that follow list only, and a name makes or changes something."""

LISTING = _words("-a -r -v -vv -av --all --list --show-current --verbose show get-url")

INTO_FILE: Mapping[str, re.Pattern[str]] = {
    "curl": re.compile(r"-[a-zA-Z]*[oO]|--output|--remote-name"),
    "sort": re.compile(r"-o|--output"),
    "sed": re.compile(r"--in-place|-[nErsuz]*i"),
    "eslint": re.compile(r"--fix"),
    "ruff": re.compile(r"--fix|format"),
}
"""Begins an argument by which a program writes a file."""

INSTALLING = _words("install add sync")
"""What follows a program that fetches others: what it may do besides is not known."""

FORMATTING = _words("format fmt fix")

STARTING = _words("-exec -execdir -ok -okdir")
"""Arguments by which `find` starts a program."""

RANK: Mapping[Effect, int] = {
    "read": 0, "search": 1, "wait": 2, "run": 3, "check": 4, "write": 5,
}  # fmt: skip
"""Of several commands in one call the highest counts."""


def act_of(tool: str, arguments: object) -> Act:
    """Return what a call does.

    Args:
        tool: its name, as the model wrote it.
        arguments: as they were read; anything but an object of JSON says nothing.
    """
    name = tool.rpartition("__")[2].lower()
    given: Mapping[str, object] = arguments if isinstance(arguments, dict) else {}
    if name == "process" and str(given.get("action")) in POLLS:
        return Act("wait", None)
    if name in SHELLS:
        return Act(_of_shell(given), None)
    effect = EFFECTS.get(name)
    if name in EDITORS:
        effect = "read" if given.get("command") == "view" else "write"
    is_file = effect in {"read", "write"}
    return Act(effect, _path(given) if is_file else None)


def _path(given: Mapping[str, object]) -> str | None:
    path = next((path for one in PATHS if isinstance(path := given.get(one), str)), None)
    if path is None:
        return None
    return "/".join(part for part in path.removeprefix("/workspace/").split("/") if part != ".")


def _of_shell(given: Mapping[str, object]) -> Effect | None:
    text = next((found for one in COMMANDS if (found := _text(given.get(one)))), None)
    if text is None:
        return None
    text = NO_FILE.sub(" ", text)
    if REDIRECTED.search(text):
        return "write"
    return max(_effects(text), key=lambda effect: RANK[effect], default=None)


def _text(value: object) -> str:
    if isinstance(value, list):
        value = " ".join(part for part in value if isinstance(part, str))
    return value[:MAX_COMMAND] if isinstance(value, str) else ""


def _effects(text: str) -> Iterator[Effect]:
    for part in SEPARATOR.split(text):
        words = part.split()
        at = 0
        while at < len(words) and (words[at] in PREFIXES or ASSIGNMENT.match(words[at])):
            at += 1
        word = words[at].strip("\"'`$)").rpartition("/")[2] if at < len(words) else ""
        if not word or word in WORDS_OF_SHELL:
            continue
        rest = words[at + 1 :]
        more = rest[:3]
        if word in WRITERS or (word in INTO_FILE and _writes(word, rest)):
            yield "write"
        elif word in PROGRAMS and not INSTALLING.isdisjoint(more):
            yield "run"
        elif word in PROGRAMS and not FORMATTING.isdisjoint(more):
            yield "write"
        elif word == "find" and not STARTING.isdisjoint(rest):
            yield "run"
        elif word == "find" and "-delete" in rest:
            yield "write"
        elif word in CHECKERS or (word in PROGRAMS and not CHECKS.isdisjoint(more)):
            yield "check"
        elif word == "git":
            yield "read" if _git_reads(more) else "write"
        elif word in WAITERS:
            yield "wait"
        elif word in READERS or word == "sed":
            yield "read"
        elif word == "wget":
            is_shown = "-" in rest or any(one.endswith("O-") for one in rest)
            yield "search" if is_shown else "write"
        elif word == "curl":
            yield "search"
        else:
            yield "run"


def _writes(program: str, words: list[str]) -> bool:
    """Return whether a program writes a file, by its arguments."""
    return any(map(INTO_FILE[program].match, words))


def _git_reads(words: list[str]) -> bool:
    """Return whether a command of git, by its first words, changes nothing."""
    if words and words[0] in GIT_LISTS:
        return words[1:2] == [] or words[1] in LISTING
    return bool(words) and words[0] in GIT_READS
