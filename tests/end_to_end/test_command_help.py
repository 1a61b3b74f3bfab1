"""What people see of both commands before they run one: help, version, completion."""

import os
import re
import shlex
import subprocess
import sys
from importlib.metadata import version
from pathlib import Path

import pytest
import typer
from typer.testing import CliRunner

import analyze.cli
import collect.cli

GROUPS = {
    "collect": typer.main.get_command(collect.cli.app),
    "analyze": typer.main.get_command(analyze.cli.app_for([])),
}
COMMANDS = [(program, name) for program, group in GROUPS.items() for name in group.commands]


def help_of(program, *words):
    result = CliRunner().invoke(
        collect.cli.app if program == "collect" else analyze.cli.app_for(words),
        [*words, "--help"],
        prog_name=program,
        env={"COLUMNS": "80"},
    )
    assert result.exit_code == 0, result.output
    return result.output


def example_in(text):
    """Return the words of the command that a help page gives as its example."""
    (example,) = re.findall(r"^  Example: (.+(?:\n  \S.*)*)", text, re.MULTILINE)
    return shlex.split(example, comments=False)


@pytest.mark.parametrize("program", GROUPS)
def test_the_help_page_lists_every_command_in_a_section_with_its_whole_first_sentence(program):
    page = help_of(program)

    assert all(len(line) <= 80 for line in page.splitlines())
    listed = dict(
        re.findall(r"^  ([a-z][a-z-]*)  +(\S.*)$", page.partition("\n\nOptions:")[2], re.MULTILINE)
    )
    assert listed.keys() == GROUPS[program].commands.keys()
    for name, sentence in listed.items():
        said = " ".join((GROUPS[program].commands[name].help or "").split())
        assert said.startswith(sentence), name
        assert sentence[-1] in ".?", f"{name}: cut short"
    assert "\nCommands:" not in page, "each command has a section"


@pytest.mark.parametrize(("program", "name"), COMMANDS)
def test_the_example_of_a_command_is_one_that_it_takes(program, name):
    words = example_in(help_of(program, name))

    assert words[:2] == [program, name]
    arguments = words[2 : words.index(">") if ">" in words else None]
    with GROUPS[program].commands[name].make_context(name, arguments):
        pass  # an unknown option, a lacking argument or a value out of bounds raises


@pytest.mark.parametrize("program", GROUPS)
def test_the_version_is_the_one_of_the_package(program):
    done = subprocess.run(
        [Path(sys.executable).parent / program, "--version"],
        capture_output=True,
        check=False,
        text=True,
    )

    assert (done.returncode, done.stdout) == (0, f"{program} {version('benchlake')}\n")


COMPLETES = """
eval "$(_{upper}_COMPLETE=source_bash {program})"
COMP_WORDS=({program} {word}); COMP_CWORD=1
_{program}_completion {program}
printf '%s\\n' "${{COMPREPLY[@]}}"
"""


@pytest.mark.parametrize(
    ("program", "word", "expected"),
    [("collect", "va", ["validate"]), ("analyze", "re", ["report", "regressions"])],
)
def test_a_shell_completes_the_commands(program, word, expected):
    script = COMPLETES.format(program=program, upper=program.upper(), word=word)
    path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"

    done = subprocess.run(
        ["bash", "-c", script],
        capture_output=True,
        check=False,
        text=True,
        env=os.environ | {"PATH": path},
    )

    assert (done.returncode, done.stdout.split()) == (0, expected), done.stderr
