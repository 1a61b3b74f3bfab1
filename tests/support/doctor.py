"""`collect doctor` in a project of its own: run in this process, read from its JSON."""

import json
from pathlib import Path

from collect.doctor import run_doctor
from schemas.output.doctor import DoctorReport


class Seen:
    """What one look found."""

    def __init__(self, code, text):
        self.code = code
        self.text = text
        self.report = DoctorReport.model_validate_json(text)
        self.checks = json.loads(text)["checks"]

    def all(self, area, subject=None):
        return [
            check
            for check in self.checks
            if check["area"] == area and subject in {None, check["subject"]}
        ]

    def one(self, area, subject=None):
        (check,) = self.all(area, subject)
        return check

    def states(self, area):
        return {check["subject"]: check["state"] for check in self.all(area)}


class Doctor:
    """Looks from a project's folder, with a PATH that holds only what a test puts there."""

    def __init__(self, project, bin_dir, capsys):
        self.project = project
        self.bin = bin_dir
        self._capsys = capsys

    def command(self, name, script):
        """Put a shell script on PATH."""
        path = self.bin / name
        path.write_text(f"#!/bin/sh\n{script}\n")
        path.chmod(0o755)
        return path

    def look(self, suite="s", profile=None, *, hosts=(), runs="runs"):
        code = run_doctor(suite, profile, Path(runs), hosts, as_json=True, again="collect doctor")
        return Seen(code, self._capsys.readouterr().out)

    def text(self, suite="s"):
        code = run_doctor(suite, None, Path("runs"), (), as_json=False, again="collect doctor")
        return code, self._capsys.readouterr().out
