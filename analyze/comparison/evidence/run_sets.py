"""The two sides of a comparison: what people call runs, and which plans that means.

A text such as `previous` means a run by itself, or beside the other side. What several past runs
are called as a baseline stands here too. No verdict of any run is read.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING

from analyze.comparison.evidence.outcomes import ModelKey
from analyze.comparison.evidence.plans import History, Plan, is_called
from analyze.query.run_ref import LABEL, MAX_NAMED, read_names, require_model, resolve_run
from schemas.errors import (
    EXIT_CANNOT_JUDGE,
    ConfigError,
    Problem,
    RunNotFound,
    nearest,
    runs_place,
)
from schemas.run.layout import is_run_folder

if TYPE_CHECKING:
    from analyze.query.session import Session

LAST = "last:"

SIDE_WORDS = ("latest", "previous", f"{LAST}N", f"{LABEL}NAME")
"""What a side can be called beside ids and paths."""

RELATIVE = {"latest": (1, 0), "previous": (1, 1)}
"""How many of the newest runs a word means, and how many newer ones it leaves out."""

Only = Mapping[str, frozenset[str]]
"""model_id to the runs that count for it."""

HISTORY = "history"
HISTORY_RUNS = 7

BASE_WORDS = (*SIDE_WORDS, HISTORY)
"""What a base can be called beside ids and paths."""

LAST_RUNS = re.compile(rf"{LAST}[0-9]+")


class NoEarlierRun(ConfigError):
    """A word such as `previous` means a run before another one, and there is none.

    No mistake: a suite has a first night.

    Attributes:
        part: that word.
        what: what it means, and that there is none.
    """

    exit_code = EXIT_CANNOT_JUDGE

    def __init__(self, part: str, plan: Plan, models: Sequence[str], runs_dir: Path) -> None:
        self.part, self._of = part, (plan, models, runs_dir)
        named = " and ".join(f"`{name}`" for name in models)
        self.what = (
            f"`{part}` means a run of suite `{plan.suite_id}` before `{plan.run_ids[0]}`"
            f"{f' that asked {named}' if named else ''}, and there is none in "
            f"{runs_place(runs_dir)}: nothing to compare it with yet"
        )
        then = "the next run of this suite is compared with this one"
        super().__init__([Problem(None, f"{self.what}; {then}")])

    def with_word(self, part: str) -> NoEarlierRun:
        """Return the same of the word that was said, where another one stood for it."""
        return NoEarlierRun(part, *self._of)


class Texts:
    """What texts mean in one lake."""

    def __init__(
        self, session: Session, texts: Collection[str] = (), words: Sequence[str] = SIDE_WORDS
    ) -> None:
        """Read the plans of a lake.

        Args:
            session: the open lake.
            texts: all that are to be asked about; where each is a run's id, no other run is read.
            words: what a side can be called, for messages.
        """
        self._session = session
        self._words = words
        self.history = History(session, texts)

    def plans_of(self, text: str, models: Sequence[str]) -> list[Plan]:
        """Return the plans that a text means by itself, oldest first.

        Words such as `latest` mean runs that asked the models.

        Raises:
            RunNotFound: there is no such run.
            ConfigError: there is no run before it, or a number is none.
        """
        found: list[Plan] = []
        for part in self._parts(text):
            how_many = _how_many(part, self.history)
            if how_many is None:
                found.append(self._named(part))
            else:
                found += self._newest(part, models, *how_many)
        return in_order(found)

    def base_plans(
        self, text: str, candidate: Sequence[Plan], model: str | None, other: str | None
    ) -> tuple[list[Plan], Only | None]:
        """Return the plans that a text means as the base of a candidate, oldest first.

        Args:
            text: what was said of the base.
            candidate: the candidate's plans.
            model: the base's, when one was named.
            other: the candidate's, when it is another one.

        Returns:
            the plans, and which of their runs count for which model; None: all for all.
        """
        always: list[Plan] = []
        last: dict[str, frozenset[Plan]] = {}
        for part in self._parts(text):
            how_many = _how_many(part, self.history)
            if how_many is None:
                always.append(self._named(part))
            elif part == "latest":
                suite_id = self._suite_of(part, candidate)
                always += self._newest(part, _model_list(model), 1, 0, suite_id=suite_id)
            else:
                for model_id, plans in self._previous_plans(part, candidate, model, other).items():
                    last[model_id] = last.get(model_id, frozenset()) | frozenset(plans)
        if not last:
            return in_order(always), None
        only = {name: frozenset(runs_of([*always, *plans])) for name, plans in last.items()}
        return in_order([*always, *(plan for plans in last.values() for plan in plans)]), only

    def _parts(self, text: str) -> list[str]:
        """Return the runs that a text names; the name of a run may have a comma in it."""
        whole = self.history.of(text) is not None or is_run_folder(Path(text))
        parts = [text] if whole else [part.strip() for part in text.split(",")]
        return [part for part in parts if part] or [text]

    def _named(self, text: str) -> Plan:
        """Return the plan of a run id, a path or a label."""
        run_id = text if self.history.of(text) else resolve_run(self._session, text, self._words)
        plan = self.history.of(run_id)
        if plan is None:  # it came after the history was read
            raise RunNotFound(text, self._session.runs_dir, self.history.run_ids)
        return plan

    def _newest(
        self, part: str, models: Sequence[str], count: int, skip: int, suite_id: str | None = None
    ) -> list[Plan]:
        """Return the newest plans of one suite that asked models, without the first `skip`."""
        found: list[Plan] = []
        plans = self.history.newest_first(suite_id)
        for plan in self._that_asked(plans, models):
            if not found or plan.suite_id == found[0].suite_id:
                found.append(plan)
            if len(found) == skip + count:
                break
        if not found:
            if not self.history.plans:
                raise RunNotFound(part, self._session.runs_dir, ())
            for name in models:
                require_model(self._session, name)
            what = f"no run asked {' and '.join(f'`{name}`' for name in models)}"
            raise refused(what)
        if len(found) <= skip:
            raise NoEarlierRun(part, found[-1], models, self._session.runs_dir)
        return found[skip:]

    def _that_asked(self, plans: Sequence[Plan], models: Sequence[str]) -> Iterator[Plan]:
        if not models:
            yield from plans
            return
        for planned in self.history.with_models(plans):
            if all(planned.has(name) for name in models):
                yield planned.plan

    def _previous_plans(
        self, part: str, candidate: Sequence[Plan], model: str | None, other: str | None
    ) -> dict[str, tuple[Plan, ...]]:
        """Return the plans before a candidate for each of its models, by the base's model_id."""
        count, _ = _how_many(part, self.history) or (1, 0)
        suite_id = self._suite_of(part, candidate)
        oldest = min(candidate)
        wanted: list[ModelKey | str] = []
        if other is not None and model is not None:
            wanted.append(model)
        else:
            asked = self.history.with_models(candidate)
            keys = {key for planned in asked for key in planned.models}
            wanted += sorted(
                (key for key in keys if model is None or is_called(key, model)), key=repr
            )
        found = self.history.previous_plans(suite_id, oldest.place, count, wanted)
        if not found:
            raise NoEarlierRun(part, oldest, _model_list(model), self._session.runs_dir)
        return found

    def _suite_of(self, part: str, candidate: Sequence[Plan]) -> str:
        suites = sorted({plan.suite_id for plan in candidate})
        if len(suites) > 1:
            listed = ", ".join(f"`{suite}`" for suite in suites)
            what = f"`{part}` is of the candidate's suite, and the candidate has {listed}"
            raise refused(what)
        return suites[0]


def runs_of(plans: Iterable[Plan]) -> tuple[str, ...]:
    """Return the runs of plans, in their order."""
    return tuple(run_id for plan in plans for run_id in plan.run_ids)


def in_order(plans: Iterable[Plan]) -> list[Plan]:
    """Return plans oldest first, each once."""
    return sorted(set(plans))


def refused(what: str) -> ConfigError:
    """Return the error of a side that means nothing."""
    return ConfigError([Problem(None, what)])


def _model_list(model: str | None) -> list[str]:
    return [] if model is None else [model]


def _how_many(part: str, history: History) -> tuple[int, int] | None:
    """Return how many of the newest a text means, and how many of them it leaves out first.

    Raises:
        ConfigError: the number of `last:N` is none.
    """
    if part in RELATIVE:
        return RELATIVE[part]
    if history.of(part) is not None or not part.startswith(LAST):
        return None
    number = part.removeprefix(LAST)
    if not (number.isascii() and number.isdigit() and int(number) > 0):
        what = f"`{part}`: the number of runs is a whole number from 1, as in `last:7`"
        raise refused(what)
    return int(number), 0


@dataclass(frozen=True)
class ChosenSide:
    """The runs of one side."""

    asked: str
    run_ids: tuple[str, ...]
    """Oldest first; all shards of a plan."""
    model: str | None = None
    """Only this model_id or model string; None: every model."""
    only: Mapping[str, frozenset[str]] | None = None
    """model_id to the runs that count for it; a model that is not named: every run."""


def resolve_sides(
    session: Session,
    base: str,
    candidate: str | None = None,
    *,
    model: str | None = None,
    against: str | None = None,
    words: Sequence[str] = SIDE_WORDS,
) -> tuple[ChosenSide, ChosenSide]:
    """Return the base and the candidate; the base may be `history` as well, which is `last:7`.

    A side is a run id, a path, `latest`, `previous`, `label:NAME`, `last:N`, or several of these
    with commas between. Of the base, `latest`, `previous` and `last:N` mean runs of the candidate's
    suite, the last two before it and for each of its models apart.

    Args:
        session: the open lake.
        base: what was said of the base.
        candidate: what was said of the candidate; None: `latest`, or with `against` the base's
            runs.
        model: only this one, by its model_id or model string; with `against` the base's.
        against: the candidate's model, where two models are compared.
        words: what the caller takes for a side beside ids and paths, for messages.

    Raises:
        RunNotFound: there is no such run; names what is near.
        ConfigError: a side means nothing, or both mean the same.
    """
    if against is not None and model is None:
        what = (
            "--against names the second of two models, and --model the first: "
            "`--model A --against B`"
        )
        raise refused(what)
    is_of_same_runs = candidate is None and against is not None
    plain = plain_text(base)
    texts = Texts(session, {plain, plain if is_of_same_runs else candidate or "latest"}, words)
    try:
        if candidate is None and model is not None and against is not None:
            runs = runs_of(texts.plans_of(plain, [model, against]))
            first, second = ChosenSide(plain, runs, model), ChosenSide(plain, runs, against)
        else:
            text, name = candidate or "latest", against or model
            plans = texts.plans_of(text, _model_list(name))
            second = ChosenSide(text, runs_of(plans), name)
            before, only = texts.base_plans(plain, plans, model, against)
            first = ChosenSide(plain, runs_of(before), model, only)
    except NoEarlierRun as exc:
        raise (exc.with_word(base) if exc.part == plain else exc) from None
    _require_two(first, second)
    for side in (first, second):
        _require_model(session, texts.history, side, is_one=against is not None)
    return replace(first, asked=base), second


def _require_two(base: ChosenSide, candidate: ChosenSide) -> None:
    """Check that no run is compared with itself."""
    both = [run_id for run_id in candidate.run_ids if run_id in base.run_ids]
    if both and base.model == candidate.model:
        what = (
            f"run `{both[0]}` is on both sides (`{base.asked}` and `{candidate.asked}`); "
            "two models of a run are compared by `analyze compare RUN --model ID --against ID`"
        )
        raise refused(what)


def _require_model(session: Session, history: History, side: ChosenSide, *, is_one: bool) -> None:
    """Check that the runs of a side asked its model, and where two are compared no other one.

    Raises:
        ConfigError: they did not; names the models that there are.
    """
    if side.model is None:
        return
    plans = {plan for run_id in side.run_ids if (plan := history.of(run_id)) is not None}
    keys = {key for planned in history.with_models(sorted(plans)) for key in planned.models}
    found = sorted({key.model_id for key in keys if is_called(key, side.model)})
    if not found:
        require_model(session, side.model)
        there, names = sorted({key.model_id for key in keys}), read_names(session)
        problem = Problem(
            None,
            f"`{side.asked}` has no model `{side.model}`",
            allowed=", ".join(map(names.listed, there[:MAX_NAMED])) or "nothing was planned there",
            nearest=nearest(side.model, there),
        )
        raise ConfigError([problem])
    if is_one and len(found) > 1:
        listed = ", ".join(f"`{name}`" for name in found)
        what = f"`{side.model}` is several models here: {listed}; name one by its model_id"
        raise refused(what)


def plain_text(baseline: str) -> str:
    """Return a baseline with `history` as the `last:N` that it is."""
    return f"{LAST}{HISTORY_RUNS}" if baseline == HISTORY else baseline


def asks_levels(baseline: str) -> bool:
    """Return whether a baseline is of runs since a level shift, for which all history is read."""
    return LAST_RUNS.fullmatch(plain_text(baseline)) is not None
