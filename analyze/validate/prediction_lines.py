"""What is wrong with the lines of a predictions file for SWE-bench."""

from __future__ import annotations

from collections.abc import Iterator

from analyze.validate.file_lines import FileLine
from schemas.base import Finding, error
from schemas.formats.swebench_problems import PredictionCheck
from schemas.io.json_text import read_json_text


class PredictionLines:
    """Looks at the lines of one file in turn; the last of them needs no newline."""

    def __init__(self) -> None:
        self._check = PredictionCheck()

    def problems(self, line: FileLine) -> Iterator[Finding]:
        """Yield what is wrong with the next line."""
        if not line.content.strip():
            yield error("not_json", "", "the line is empty: the harness stops there", line.number)
            return
        value, told = read_json_text(line.content)
        yield from (one.model_copy(update={"line": line.number}) for one in told)
        if not told:
            yield from self._check.look(value, line=line.number).findings
