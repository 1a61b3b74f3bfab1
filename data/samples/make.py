"""Makes the sample history: real runs of the embedded model over twelve "nights".

    python data/samples/make.py         some ten minutes; replaces data/samples/runs

Each night is a `collect run` of its own process, in a copy of `project/`; between nights something
is changed, as docs/samples.md tells. Latencies and answers are what this machine gave. What names
the machine is taken out afterwards (scrub.py).
"""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterable
from pathlib import Path

from door import Door, Fate, always_pass
from scrub import leaks, scrub

from collect.config.embedded import PACKAGED_MODEL
from collect.local.model import LocalModel
from collect.local.server import KEY_VARIABLE
from collect.local.weights import fetch_weights
from schemas.run.result import Result

HERE = Path(__file__).resolve().parent
RUNS = HERE / "runs"
SMALL_CONTEXT = 256
"""Tokens: too few for the attached note, enough for every other case."""

N_DOCUMENT_FIELDS = 23
"""The first fields of a line: those of the older tool."""

PROMPT = "cases/basics/capital_of_france/test.yaml"
QUESTION = """
    - role: user
      content: What is the capital of France? Answer with one word."""
EXAMPLE = """
    - role: user
      content: What is the capital of Italy? Answer with one word.
    - role: assistant
      content: Rome"""
WARMER = ("suites/nightly.yaml", "temperature: 1.2", "temperature: 0.3")
BACKUP = """
  - model_id: backup
    label: A server that is switched off
    provider: openai_chat
    requested_model: smollm2-135m
    base_url: http://127.0.0.1:9/v1
"""


class Nights:
    """Makes runs in a copy of the project."""

    def __init__(self, folder: Path, model_file: Path) -> None:
        self.project = folder / "project"
        self.home = folder / "home"
        self.home.mkdir()
        shutil.copytree(HERE / "project", self.project)
        self._model_file = model_file

    def edit(self, name: str, old: str, new: str) -> None:
        """Change a text in a file of the project."""
        path = self.project / "configs" / name
        text = path.read_text()
        if old not in text:
            message = f"{path} does not hold {old!r}"
            raise ValueError(message)
        path.write_text(text.replace(old, new))

    def run(
        self,
        run_id: str,
        *flags: str,
        profile: str = "standard",
        fate: Fate = always_pass,
        resume: bool = False,
        alias: str = PACKAGED_MODEL,
        slots: int = 4,
        context_tokens: int = 4096,
    ) -> None:
        """Make one run, and with `resume` complete it once the server is well again."""
        server = LocalModel(
            model_file=self._model_file, alias=alias, slots=slots, context_tokens=context_tokens
        )
        with server as local, Door(local.base_url) as door:
            door.begin(fate)
            suite = ("--suite", "nightly", "--run-profile", profile)
            self._collect(door, local, *suite, "--run-id", run_id, *flags)
            if resume:
                door.begin(always_pass)
                self._collect(door, local, "--resume", run_id)

    def _collect(self, door: Door, local: LocalModel, *arguments: str) -> None:
        """Run the real command, with an environment that holds nothing of its own."""
        environment = {
            "PATH": os.pathsep.join((str(Path(sys.executable).parent), "/usr/bin", "/bin")),
            "HOME": str(self.home),
            "LC_ALL": "C.UTF-8",
            "OLLAMA_OPENAI_BASE": door.base_url,
            KEY_VARIABLE: local.api_key,
        }
        command = [sys.executable, "-P", "-m", "collect", "run", *arguments, "--json"]
        done = subprocess.run(
            command, cwd=self.project, env=environment, stdout=subprocess.PIPE, check=False
        )
        report = json.loads(done.stdout)
        shown = ("run_id", "planned", "present", "success", "passed", "cost_usd", "exit_code")
        _say(str({name: report[name] for name in shown}))


def bad_night(number: int) -> str:
    """Fail a stretch of the requests."""
    return "500" if 20 <= number < 50 else "pass"


def cut_short(number: int) -> str:
    """Let the server go after a while."""
    return "pass" if number < 32 else "gone"


def make(nights: Nights) -> None:
    """Make every night in order; what each shows is in docs/samples.md."""
    nights.run("night_01", "--label", "baseline")
    nights.run("night_02")
    nights.edit(PROMPT, QUESTION, EXAMPLE + QUESTION)
    nights.run("night_03_prompt")
    small = f"{PACKAGED_MODEL}-ctx{SMALL_CONTEXT}"
    nights.run("night_04_context", alias=small, slots=1, context_tokens=SMALL_CONTEXT)
    nights.run("night_05_crowded", profile="crowded")
    nights.run("night_06_long", profile="long_answers")
    nights.edit("suites/nightly.yaml", "models:\n", f"models:{BACKUP}")
    nights.run("night_07_outage", fate=bad_night)
    nights.edit("suites/nightly.yaml", BACKUP, "\n")
    nights.run("night_08_resumed", fate=cut_short, resume=True)
    nights.run("night_09_reused", "--reuse", profile="five")
    nights.edit(*WARMER)
    nights.run("night_10_setting", "--label", "candidate")
    nights.run("night_11_tools", "--tag", "tools")


def older_shape(run_dir: Path, target: Path) -> None:
    """Write one model's rows of a run as the older tool did: with its fields alone."""
    names = list(Result.model_fields)[:N_DOCUMENT_FIELDS]
    target.mkdir()
    rows = _lines(run_dir / "results.jsonl")
    kept = [row for row in rows if row["record_type"] == "result" and row["model_id"] == "careful"]
    text = "".join(
        json.dumps({name: row[name] for name in names} | {"run_id": target.name}) + "\n"
        for row in kept
    )
    (target / "results.jsonl").write_text(text)


def _lines(path: Path) -> Iterable[dict[str, object]]:
    return (json.loads(line) for line in path.read_text().splitlines())


def _say(text: str) -> None:
    sys.stderr.write(f"{text}\n")


def main() -> None:
    """Make the samples, clean them, and put them in place."""
    model_file = fetch_weights(_say)
    with tempfile.TemporaryDirectory() as made_in:
        folder = Path(made_in).resolve()
        nights = Nights(folder, model_file)
        make(nights)
        runs = nights.project / "runs"
        older_shape(runs / "night_01", runs / "older_tool")
        names = {str(nights.project): "project", str(nights.home): "~", str(folder): "project"}
        scrub(runs, names)
        if found := leaks(runs, (str(HERE), str(folder))):
            sys.exit("still there:\n" + "\n".join(found))
        shutil.rmtree(RUNS, ignore_errors=True)
        shutil.move(runs, RUNS)
    files = [path for path in RUNS.rglob("*") if path.is_file()]
    size = sum(path.stat().st_size for path in files)
    _say(f"{len(files)} files, {size / 1e6:.2f} MB")


if __name__ == "__main__":
    main()
