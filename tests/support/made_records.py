"""Records of every kind, made from their annotations: each field of text holds what a test wants.

A new field of a record is in them at once, so that no test of text has to know it.
"""

import hashlib
import random
import types
import typing
import zlib
from functools import cache

from pydantic import BaseModel, StringConstraints
from pydantic.fields import FieldInfo

MIDDLE = {"low": 0.4, "high": 0.6}
"""Numbers that lie around others, by the end of their names."""

LONG_AGO_MS = 1_763_762_400_000


@cache
def hints_of(kind):
    """Return the type of each field of a record, with its marks."""
    return typing.get_type_hints(kind, include_extras=True)


class Maker:
    """Makes records whose texts are strings of a list, in turn.

    A text of a list's n-th entry is the same for all fields of one name, so that what belongs
    together by a name (a model and its numbers) belongs together here as well.
    """

    def __init__(self, texts, n_inner=2):
        """Take the texts; lists inside of lists, but for their first, have `n_inner` entries."""
        self.texts = texts
        self.n_inner = n_inner

    def record(self, kind, n=0, depth=0):
        """Return a record; what its fields would refuse is in it nevertheless.

        Args:
            kind: class of the record.
            n: which entry of a list it is.
            depth: lists that it is in.
        """
        hints = hints_of(kind)
        values = {
            name: self.value(hints[name], name, n, depth)
            for name in kind.model_fields
            if name in hints
        }
        return kind.model_construct(**values)

    def value(self, kind, name, n, depth):
        """Return a value of a type for a field of a name."""
        origin, arguments = typing.get_origin(kind), typing.get_args(kind)
        if origin is typing.Annotated:
            return self._annotated(arguments, name, n, depth)
        if origin is typing.Literal:
            return arguments[n % len(arguments)]
        if origin in {typing.Union, types.UnionType}:
            others = [one for one in arguments if one is not type(None)]
            return self.value(others[0], name, n, depth)
        if origin is tuple:
            return self._entries(arguments, name, n, depth)
        if origin is dict:
            return {
                self.text(name, n + k): self.value(arguments[1], f"{name}:", n + k, depth + 1)
                for k in range(self._many(n, depth))
            }
        if isinstance(kind, type) and issubclass(kind, BaseModel):
            return self.record(kind, n, depth)
        return self._plain(kind, name, n)

    def text(self, name, n):
        """Return the text of the n-th entry of lists, of fields of a name."""
        return self.texts[(n + zlib.crc32(name.encode())) % len(self.texts)]

    def _many(self, n, depth):
        whole = depth == 0 or (depth == 1 and n == 0)
        return len(self.texts) if whole else self.n_inner

    def _entries(self, arguments, name, n, depth):
        if len(arguments) == 2 and arguments[1] is ...:
            many = self._many(n, depth)
            return tuple(self.value(arguments[0], name, k, depth + 1) for k in range(many))
        return tuple(
            self.value(one, f"{name}.{place}", n, depth) for place, one in enumerate(arguments)
        )

    def _annotated(self, arguments, name, n, depth):
        kind, *marks = arguments
        if any(
            isinstance(one, StringConstraints) and "0-9a-f" in (one.pattern or "") for one in marks
        ):
            return hashlib.sha256(f"{name} {n}".encode()).hexdigest()
        if kind is int and any("since 1970" in repr(one) for one in marks):
            return LONG_AGO_MS + 1000 * n
        if kind is float and any(_most(one) == 1 for one in marks):
            return MIDDLE.get(name.rsplit("_", 1)[-1], 0.5 + n % 10 / 100)
        return self.value(kind, name, n, depth)

    def _plain(self, kind, name, n):
        if kind is type(None):
            return None
        if kind is bool:
            return n % 2 == 0
        if kind is int:
            return 1 + n % 7
        if kind is float:
            around = MIDDLE.get(name.rsplit("_", 1)[-1], 0.5)
            return around + random.Random(n).random() / 20
        return self.text(name, n)


def _most(mark):
    """Return the upper bound that a mark of an annotation sets, if any."""
    bounds = mark.metadata if isinstance(mark, FieldInfo) else [mark]
    return next((one.le for one in bounds if hasattr(one, "le")), None)
