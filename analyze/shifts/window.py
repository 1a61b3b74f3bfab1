"""Since when: what `--since` means, as milliseconds since 1970."""

from __future__ import annotations

import re
import time
from datetime import UTC, datetime
from typing import TYPE_CHECKING

from analyze.query.run_ref import resolve_run
from schemas.errors import ConfigError, Problem, RunNotFound

if TYPE_CHECKING:
    from analyze.query.session import Session

MS_OF = {"h": 3_600_000, "d": 86_400_000, "w": 7 * 86_400_000}

AGO = re.compile(r"([0-9]{1,5})([hdw])")
DAY = re.compile(r"[0-9]{4}-[0-9]{2}-[0-9]{2}")

FORMS = "a run id, `label:NAME`, a day such as 2026-11-30, or a duration such as 7d (h, d, w)"


def since_ms(session: Session, text: str, now_ms: int | None = None) -> int:
    """Return the moment from which on something counts; a run without a start: from the beginning.

    Args:
        session: the open lake.
        text: a run, a day in UTC, or a duration before now.
        now_ms: by default, now.

    Raises:
        ConfigError: it is none of them; names what is near.
    """
    if ago := AGO.fullmatch(text):
        now = time.time_ns() // 1_000_000 if now_ms is None else now_ms
        return now - int(ago[1]) * MS_OF[ago[2]]
    if DAY.fullmatch(text):
        try:
            return round(datetime.fromisoformat(text).replace(tzinfo=UTC).timestamp() * 1000)
        except ValueError as exc:
            raise ConfigError([Problem(None, f"--since {text}: there is no such day")]) from exc
    try:
        run_id = resolve_run(session, text)
    except RunNotFound as exc:
        what = f"--since {text}: {exc}"
        raise ConfigError([Problem(None, what, allowed=FORMS)]) from exc
    ((started_at_ms,),) = session.rows(
        "select started_at_ms from stg_runs where run_id = ?", [run_id]
    )
    return -1 if started_at_ms is None else int(started_at_ms)
