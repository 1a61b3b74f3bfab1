"""What Every Eval Ever says of documents: its schemas and its validator, from an unpacked wheel."""

import json
import os
import sys

import pytest
from jsonschema.validators import validator_for

from tests.support.paths import TOOLS

FOLDER = TOOLS / "every-eval-ever"


class RealFormat:
    """The format's own judgement of a tree of files."""

    def __init__(self, core):
        self._core = core
        schemas = FOLDER / "every_eval_ever" / "schemas"
        self._schemas = {
            ".json": _validator(schemas / "eval.schema.json"),
            ".jsonl": _validator(schemas / "instance_level_eval.schema.json"),
        }

    def problems(self, root):
        """Everything that is said of the files below a folder, warnings included, by path."""
        paths = {path.relative_to(root).as_posix(): path for path in root.rglob("*.json*")}
        found = {name: [*self._by_schema(path)] for name, path in paths.items()}
        for name, path in paths.items():
            report = self._core.validate_file(
                path, repo_path=name, available_files=frozenset(paths), run_semantic_checks=True,
                read_repo_file=lambda other: paths[other].read_text("utf-8"),
            )  # fmt: skip
            found[name] += [*report.errors, *report.warnings]
            assert report.valid or report.errors
        return {name: said for name, said in found.items() if said}

    def _by_schema(self, path):
        text = path.read_text("utf-8")
        documents = text.splitlines() if path.suffix == ".jsonl" else [text]
        for one in documents:
            for error in self._schemas[path.suffix].iter_errors(json.loads(one)):
                yield error.json_path, error.message


def _validator(path):
    schema = json.loads(path.read_text("utf-8"))
    return validator_for(schema)(schema)


def real_every_eval_ever():
    """Return the format; in CI its absence is a failure, else it is skipped."""
    if not (FOLDER / "every_eval_ever").is_dir():
        why = "needs the schemas of Every Eval Ever: `make every-eval-ever`"
        (pytest.fail if os.environ.get("CI") == "true" else pytest.skip)(why)
    sys.path.append(str(FOLDER))
    try:
        from every_eval_ever.validator import validation_core
    finally:
        sys.path.remove(str(FOLDER))
    return RealFormat(validation_core)
