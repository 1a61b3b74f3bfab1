"""What a run is called after labels were given or taken away."""

from __future__ import annotations

from collections.abc import Sequence

from schemas.errors import ConfigError, Problem, nearest, printable


def changed_labels(
    run_id: str, labels: Sequence[str], names: Sequence[str], *, remove: bool
) -> tuple[str, ...]:
    """Return a run's labels after a change, in the order in which they were given.

    Args:
        run_id: the run, for messages.
        labels: that it has.
        names: to give, or to take.
        remove: take them.

    Raises:
        ConfigError: one to take is not there; names the nearest.
    """
    if remove:
        missing = [name for name in names if name not in labels]
        if missing:
            raise ConfigError([_not_there(run_id, name, labels) for name in missing])
        return tuple(label for label in labels if label not in names)
    return tuple(dict.fromkeys([*labels, *names]))


def _not_there(run_id: str, name: str, labels: Sequence[str]) -> Problem:
    has = printable(", ".join(f"`{label}`" for label in labels)) or "none"
    return Problem(
        None,
        f"run `{run_id}` has no label {name!r}",
        found=f"its labels: {has}",
        nearest=nearest(name, labels),
    )
