"""What people call a model: the label that its suite gives it, or its model_id.

The one way for every place where a model is named for people. Programs get ids: a record is given
names directly before it is shown, and what is printed as JSON is the record as it was.
"""

from __future__ import annotations

import dataclasses
import functools
from collections import Counter
from collections.abc import Collection, Iterable, Mapping, Set
from typing import Any, Protocol, TypeVar

from schemas.errors import printable

Value = TypeVar("Value")

MAX_LABEL_CHARS = 80
"""Characters of a label that are shown; what is longer is cut, and told apart by its id."""

CUT = "…"


class ShownName(str):
    """A name for people that still knows the model_id, for commands and links."""

    __slots__ = ("model_id",)

    model_id: str


def id_of(name: str) -> str:
    """Return the model_id behind a name that is shown; a model_id is its own."""
    return name.model_id if isinstance(name, ShownName) else name


def hidden_id(name: str) -> str:
    """Return the model_id behind a name that does not say it; empty where it does."""
    model_id = id_of(name)
    return "" if name == model_id or name.endswith(f"({model_id})") else model_id


def with_id(name: str) -> str:
    """Return a name with its model_id, for where people look up by which id to ask."""
    return f"{name} ({hidden})" if (hidden := hidden_id(name)) else name


class Labelled(Protocol):
    """A model of a suite or of a run."""

    @property
    def model_id(self) -> str:
        """Its local name."""

    @property
    def label(self) -> str | None:
        """Its name for people."""


class ModelNames:
    """Names of models, no two the same and none the model_id of another model."""

    def __init__(
        self, labels: Mapping[str, str | None] | None = None, ids: Collection[str] = ()
    ) -> None:
        """Name models.

        Args:
            labels: of each model_id, as the suite has it; None and white space: it has none.
            ids: of further models, which no label may be taken for.
        """
        cleaned = {one: _cleaned(label or "") for one, label in (labels or {}).items()}
        self._labels = {one: label for one, label in cleaned.items() if label not in {"", one}}
        self._names = _apart(self._labels, {*ids, *cleaned})

    @classmethod
    def of_models(cls, models: Iterable[Labelled]) -> ModelNames:
        """Return the names of models that stand together: those of a suite, or of a run."""
        return cls({model.model_id: model.label for model in models})

    def __bool__(self) -> bool:
        """Return whether any model is called otherwise than by its id."""
        return bool(self._names)

    def of(self, model_id: str) -> str:
        """Return the name of a model; one that is known by its id alone, and a name, as it is."""
        return self._names.get(model_id, model_id)

    def listed(self, model_id: str) -> str:
        """Return a model_id, and its label after it: for a list of what can be asked for."""
        label = self._labels.get(model_id)
        return model_id if label is None else f"{model_id} ({label})"

    def ids_of(self, text: str) -> list[str]:
        """Return the model_ids of the models that have this label, or are shown by this name."""
        wanted = _cleaned(text)
        return sorted(
            one for one, label in self._labels.items() if wanted in {label, self._names[one]}
        )


def _cleaned(label: str) -> str:
    """Return a label on one line, without anything a terminal obeys, and not too long."""
    text = printable(" ".join(label.split()))
    return text if len(text) <= MAX_LABEL_CHARS else text[: MAX_LABEL_CHARS - 1] + CUT


def _apart(labels: Mapping[str, str], taken: Set[str]) -> dict[str, ShownName]:
    """Return the label of each model, with its id where the label alone could mean another one."""
    unclear: set[str] = set()
    while True:
        names = {
            one: f"{label} ({one})" if one in unclear else label for one, label in labels.items()
        }
        times = Counter(names.values())
        more = {one for one, name in names.items() if times[name] > 1 or name in taken} - unclear
        if not more:
            return {one: _shown(name, one) for one, name in names.items()}
        unclear |= more


def _shown(name: str, model_id: str) -> ShownName:
    shown = ShownName(name)
    shown.model_id = model_id
    return shown


NO_NAMES = ModelNames()
"""Every model is called by its id."""


PLAIN = frozenset({str, int, float, bool, type(None)})
"""Types of values that hold no record: most values of a report."""


def with_names(value: Value, names: ModelNames) -> Value:
    """Return a record as people read it: every model_id in it is the name of that model.

    A field holds ids when its name ends in `model_id` or `model_ids`, or when its record names it
    in `MODEL_FIELDS`; in `MODEL_WORDS` it names fields of sentences, such as `only in the base:
    fast (openrouter, vendor/fast)`.

    Args:
        value: a record, a dataclass, or a sequence or mapping of such; it is left as it is.
        names: without any, the value itself comes back.
    """
    return _named(value, names) if names else value


def _named(value: Any, names: ModelNames) -> Any:
    if type(value) in PLAIN:
        return value
    if hasattr(value, "model_copy"):  # a record; pydantic itself is not loaded for this
        changed = _changed(value, vars(value), names)
        return value.model_copy(update=changed) if changed else value
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        fields = {field.name: getattr(value, field.name) for field in dataclasses.fields(value)}
        changed = _changed(value, fields, names)
        return dataclasses.replace(value, **changed) if changed else value
    if type(value) in {tuple, list}:
        if not value or type(value[0]) in PLAIN:
            return value
        return _same_or(value, [_named(one, names) for one in value])
    if type(value) is dict:
        found = {key: _named(one, names) for key, one in value.items()}
        return found if any(found[key] is not value[key] for key in found) else value
    return value


def _changed(record: object, fields: Mapping[str, Any], names: ModelNames) -> dict[str, Any]:
    """Return the fields of a record that are others with names."""
    ids = _id_fields(tuple(fields), getattr(record, "MODEL_FIELDS", ()))
    words: Collection[str] = getattr(record, "MODEL_WORDS", ())
    found = {}
    for name, value in fields.items():
        if name in ids:
            new = _name(value, names)
        elif name in words:
            new = _same_or(value, [_in_words(text, names) for text in value])
        elif type(value) in PLAIN:
            continue
        else:
            new = _named(value, names)
        if new is not value:
            found[name] = new
    return found


@functools.cache
def _id_fields(fields: tuple[str, ...], named: tuple[str, ...]) -> frozenset[str]:
    """Return which fields of a record hold ids: by their names, and those that it names itself."""
    by_name = [name for name in fields if name.endswith(("model_id", "model_ids"))]
    return frozenset((*by_name, *named))


def _same_or(old: Any, new: list[Any]) -> Any:
    """Return the old sequence where nothing of it is another thing now, else a new one like it."""
    is_same = all(one is other for one, other in zip(old, new, strict=True))
    return old if is_same else type(old)(new)


def _name(value: Any, names: ModelNames) -> Any:
    """Return the name of an id, or those of several; None stays."""
    if isinstance(value, str):
        return names.of(value)
    return None if value is None else _same_or(value, [names.of(one) for one in value])


def _in_words(text: str, names: ModelNames) -> str:
    """Return a sentence such as `only in the base: ID (…)` with the name in it."""
    what, colon, rest = text.partition(": ")
    model_id, bracket, more = rest.partition(" (")
    return f"{what}{colon}{names.of(model_id)}{bracket}{more}"
