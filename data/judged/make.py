"""Makes the judged sample: a run of the embedded model, judged by the embedded model.

    python data/judged/make.py         some twenty minutes; replaces data/judged/runs

What names the machine is taken out afterwards (data/samples/scrub.py). labels.csv is what a person
says of these very answers: new answers need new labels.
"""

from __future__ import annotations

import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent / "samples"))

from scrub import leaks, scrub  # noqa: E402 - a file beside it, and no package

RUNS = HERE / "runs"

WORDS = ("--suite", "facts", "--run-profile", "twice", "--evaluation-profile", "tiny_judge")


def main() -> None:
    """Make the run, clean it, and put it in place.

    Raises:
        SystemExit: something of the machine is still in it.
    """
    with tempfile.TemporaryDirectory() as folder:
        project = Path(folder) / "project"
        shutil.copytree(HERE / "project", project)
        command = [sys.executable, "-P", "-m", "collect", "run", *WORDS, "--run-id", "judged"]
        subprocess.run(command, cwd=project, check=False)
        runs = project / "runs"
        scrub(runs, {str(project): "project", str(Path.home()): "~", folder: "project"})
        if found := leaks(runs, (str(HERE), folder)):
            raise SystemExit("still there:\n" + "\n".join(found))
        if RUNS.exists():
            shutil.rmtree(RUNS)
        shutil.copytree(runs, RUNS)


if __name__ == "__main__":
    main()
