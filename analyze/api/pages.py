"""What notebooks and scripts ask of one run: its summary, its pages as text, its report.

The same as the commands of those names; records where there are some.
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from analyze.query.run_ref import resolve_run, run_folder
from analyze.query.session import Session
from schemas.output.summary import RunSummary

if TYPE_CHECKING:
    from schemas.config.known_issues import KnownFile
    from schemas.output.comparison import ThresholdsUsed
    from schemas.output.report import RunReport

PAGE_WIDTH = 100
"""Columns of a page outside a terminal."""


class Pages:
    """The part of a history that tells of one run; `History` is one."""

    _session: Session

    def summary(self, run: str = "latest") -> RunSummary:
        """Return what a run came to: what summary.json holds.

        Args:
            run: a run id, a path to its folder, `latest`, `previous` or `label:NAME`.

        Raises:
            RunNotFound: there is none; names the nearest.
        """
        from analyze.summary.summarize import summary_of  # noqa: PLC0415 - loads numpy

        run_id = resolve_run(self._session, run)
        return summary_of(self._session, run_id, run_folder(self._session, run_id))

    def show(
        self,
        run: str,
        case: str | None = None,
        model: str | None = None,
        repetition: int | None = None,
    ) -> str:
        """Return a page as text: a run, every trial of a case, or what was said in trials.

        Args:
            run: a run id, a path to its folder, `latest`, `previous` or `label:NAME`.
            case: a case_id.
            model: a model_id, model string or label.
            repetition: from 1; without it every one.

        Raises:
            RunNotFound: there is no such run.
            ConfigError: no such case, model or repetition in it; names the nearest.
        """
        from analyze.show.show import show  # noqa: PLC0415

        page = show(self._session, run, case, model, repetition, width=PAGE_WIDTH)
        return "\n".join(page.lines)

    def report(
        self,
        run: str = "latest",
        *,
        baseline: str | None = None,
        transcript_bytes: int | None = None,
        known: Path | KnownFile | None = None,
        limits: ThresholdsUsed | None = None,
    ) -> RunReport:
        """Return everything that a report of a run shows, as typed parts.

        Args:
            run: a run id, a path to its folder, `latest`, `previous` or `label:NAME`.
            baseline: what `compare` takes as its base, or `none`; by default the run of the suite
                before.
            transcript_bytes: of text of transcripts, as UTF-8; by default 100 KB.
            known: shifts that are acknowledged.
            limits: thresholds, and where they are from.

        Raises:
            RunNotFound: there is no such run; names the nearest.
            ConfigError: the baseline means nothing, or the run itself.
        """
        from analyze.api.verdicts import known_of  # noqa: PLC0415 - as above
        from analyze.query.thresholds import limits_in_force  # noqa: PLC0415 - loads pydantic
        from analyze.report.build import TRANSCRIPT_BYTES, build_report  # noqa: PLC0415 - loads all

        return build_report(
            self._session,
            resolve_run(self._session, run),
            baseline=baseline,
            limits=limits or limits_in_force(Path.cwd()),
            transcript_bytes=TRANSCRIPT_BYTES if transcript_bytes is None else transcript_bytes,
            known=known_of(known),
        )
