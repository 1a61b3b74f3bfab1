"""Runs one hook inside the sandbox: loads it, calls it, and writes down what it returned.

`python -I -S -B child.pyc`, with the request on its standard input, as `marshal` writes it

It starts for every look of a hook, so that little is loaded: neither `json` nor `inspect`, whose
start takes longer than all the rest. The answer is one JSON object, on what was the standard output
before the hook was loaded; whatever the hook prints is no answer. No other process can write there,
or read the memory of this one: a program that the hook runs cannot answer in its place.
"""

from __future__ import annotations

import marshal
import os
import sys

TYPE_CHECKING = False  # `typing` takes as long to load as Python itself
if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from types import ModuleType
    from typing import Any, NoReturn

NOT_FOUND, IMPORT_FAILED, EXITED = "hook_not_found", "hook_import_failed", "hook_exited"
RAISED, WRONG_TYPE, NOT_FINITE = "hook_raised", "hook_wrong_type", "hook_not_finite"
TOO_LARGE, TOO_MUCH_MEMORY = "hook_answer_too_large", "hook_exceeded_memory"
"""Reasons of `collect.hooks.answers` that are known here."""

MAX_ANSWER_BYTES = 32_768
"""Of the object, as JSON."""

MAX_MESSAGE_CHARS = 8_000
"""Of an error of the hook's; the collector redacts it before it is cut any shorter."""

MODULE = "benchlake_hook"
"""Name of the module that a file becomes; that of the file could be one of another module."""

ENUMERATED = frozenset({"status", "event_type", "role", "runner_type", "artifact_type"})
"""Fields whose text has a `.value`, as a member of an enumeration has."""

ESCAPES = {ord('"'): '\\"', ord("\\"): "\\\\", **{code: f"\\u{code:04x}" for code in range(32)}}

MAX_DEPTH = 100
PR_SET_DUMPABLE, SIGINT = 4, 2

VARIABLE, COROUTINE, ASYNC_GENERATOR = 0x04, 0x80, 0x200
"""Flags of the code of a function: it has `*args`, it is `async`."""

KEYS = ("passed", "message", "metadata", "outputs")


class Refusal(Exception):
    """Why a hook has no verdict: one of the reasons of `collect.hooks.answers`, and a sentence."""

    def __init__(self, reason: str, message: str) -> None:
        super().__init__(message)
        self.reason = reason


class Text(str):
    """A text that is also asked for its `.value`, as a member of an enumeration is."""

    __slots__ = ()

    @property
    def value(self) -> str:
        """The text itself."""
        return str(self)


class Fields(dict[str, "Any"]):
    """A JSON object whose keys are attributes as well: `a["status"]` is `a.status`."""

    __slots__ = ()

    def __getattr__(self, name: str) -> Any:
        """Return the value of a key."""
        try:
            return self[name]
        except KeyError:
            message = f"there is no field {name!r}; there are: {', '.join(self)}"
            raise AttributeError(message) from None

    def model_dump(self, **_: Any) -> dict[str, Any]:
        """Return it as plain objects, whatever is asked for."""
        return {key: plain(value) for key, value in self.items()}

    def model_dump_json(self, **_: Any) -> str:
        """Return it as JSON."""
        import json  # noqa: PLC0415 - takes as long to load as Python itself

        return json.dumps(self.model_dump(), ensure_ascii=False)


def plain(value: Any) -> Any:
    """Return a value without attributes."""
    if isinstance(value, Fields):
        return value.model_dump()
    if isinstance(value, list):
        return [plain(item) for item in value]
    return str(value) if isinstance(value, Text) else value


def with_attributes(value: Any) -> Any:
    """Return a JSON value whose objects have attributes."""
    if isinstance(value, dict):
        return Fields(
            (key, Text(item) if key in ENUMERATED and type(item) is str else with_attributes(item))
            for key, item in value.items()
        )
    return [with_attributes(item) for item in value] if isinstance(value, list) else value


def main() -> NoReturn:
    """Answer one request, and end at once, whatever the hook has left running."""
    request = marshal.load(sys.stdin.buffer)  # noqa: S302 - the collector's own
    hold(request["limits"])
    channel = private_channel()
    try:
        data = answer(request)
        if len(data) > MAX_ANSWER_BYTES:
            message = (
                f"its answer has {len(data):,} bytes as JSON, allowed are {MAX_ANSWER_BYTES:,}"
            )
            raise Refusal(TOO_LARGE, message)
    except Refusal as exc:
        refusal = {"error": exc.reason, "message": str(exc)[:MAX_MESSAGE_CHARS]}
        data = written(refusal).encode("utf-8", "replace")
    for stream in (sys.stdout, sys.stderr):
        try:  # noqa: SIM105 - `contextlib` takes long to load
            stream.flush()
        except Exception:  # noqa: BLE001, S110 - the hook may have closed or replaced it
            pass
    while data:
        data = data[os.write(channel, data) :]
    os._exit(0)


def hold(limits: list[tuple[int, int, int]]) -> None:
    """Hold this process and all that it begins to limits: a resource, its soft and hard limit."""
    import resource  # noqa: PLC0415 - takes less time than a start of `prlimit` would

    for number, soft, hard in limits:
        resource.setrlimit(number, (soft, hard))


def private_channel() -> int:
    """Return the handle for the answer, and close what the hook could mistake for it.

    A process that is not dumpable is hidden from others of its user: nobody opens its handles, or
    reads what it was asked. The first process gets no signal from inside but those it handles, and
    Python would handle one.
    """
    import _ctypes  # noqa: PLC0415 - `ctypes`, around it, takes half as long as Python's start

    library = _ctypes.dlopen(None, 0)  # type: ignore[arg-type] # None is this program
    _ctypes.call_function(_ctypes.dlsym(library, "prctl"), (PR_SET_DUMPABLE, 0, 0, 0, 0))
    _ctypes.call_function(_ctypes.dlsym(library, "signal"), (SIGINT, None))
    channel = os.dup(1)
    nothing = os.open(os.devnull, os.O_RDONLY)
    os.dup2(nothing, 0)
    os.dup2(2, 1)
    os.close(nothing)
    return channel


def answer(request: dict[str, Any]) -> bytes:
    """Return what a hook says of an artifact, as JSON.

    Raises:
        Refusal: it says nothing that counts.
    """
    sys.path += [folder for folder in request["folders"] if folder not in sys.path]
    reason = IMPORT_FAILED
    try:
        call = loaded(request["hook"], request["case"])
        reason = RAISED
        n_taken = n_arguments(call, request["hook"]["callable_name"])
        subject = (with_attributes(request["artifact"]), with_attributes(request["context"]))
        verdict = verdict_of(call(*subject[:n_taken]))
        return written(verdict).encode("utf-8", "replace")
    except Refusal:
        raise
    except MemoryError as exc:
        raise Refusal(TOO_MUCH_MEMORY, failure(exc)) from exc
    except SystemExit as exc:
        raise Refusal(EXITED, failure(exc)) from exc
    except BaseException as exc:
        raise Refusal(reason, failure(exc)) from exc


def failure(exc: BaseException) -> str:
    """Return what a hook raised, and the last line of its own file on the way there."""
    try:
        text = str(exc)[:MAX_MESSAGE_CHARS]
    except BaseException:  # noqa: BLE001 - an exception of the hook's
        text = "?"
    said = f"{type(exc).__name__}: {text}" if text else type(exc).__name__
    file, line, frame = None, 0, exc.__traceback__
    while frame is not None:
        name = frame.tb_frame.f_code.co_filename
        if file is None and name != main.__code__.co_filename:
            file = name
        if name == file:
            line = frame.tb_lineno
        frame = frame.tb_next
    return said if file is None else f"{said} ({os.path.basename(file)}:{line})"  # noqa: PTH119


def loaded(hook: dict[str, Any], root: str) -> Callable[..., Any]:
    """Return the callable of a hook, from its file or from the module of its name."""
    if hook["path"] is not None:
        names, place = module_of_file(os.path.join(root, hook["path"])), hook["path"]  # noqa: PTH118
    else:
        place = hook["import_path"]
        try:
            __import__(place)
        except ModuleNotFoundError as exc:
            if exc.name is not None and f"{place}.".startswith(f"{exc.name}."):
                raise Refusal(NOT_FOUND, f"there is no module `{exc.name}`") from exc
            raise
        names = vars(sys.modules[place])
    name = hook["callable_name"]
    if name not in names:
        there = [key for key, value in names.items() if callable(value) and key[0] != "_"]
        known = f"; it has {', '.join(there[:10])}" if there else ""
        raise Refusal(NOT_FOUND, f"{place} has no `{name}`{known}")
    call = names[name]
    if not callable(call):
        what = type(call).__name__
        raise Refusal(WRONG_TYPE, f"`{name}` of {place} is of the type {what}, no callable")
    return call  # type: ignore[no-any-return]


def module_of_file(path: str) -> dict[str, Any]:
    """Return the names of a file that is run as a module; what lies beside it can be imported."""
    # The parts of `importlib.machinery`, which loads `warnings` as well.
    from _frozen_importlib import ModuleSpec  # noqa: PLC0415 - for files alone
    from _frozen_importlib_external import SourceFileLoader  # noqa: PLC0415

    try:
        with open(path, "rb") as file:  # noqa: PTH123 - `pathlib` takes long to load
            source = file.read()
    except OSError as exc:
        raise Refusal(NOT_FOUND, f"{path}: {exc.strerror}") from exc
    sys.path.insert(0, os.path.dirname(path))  # noqa: PTH120
    loader = SourceFileLoader(MODULE, path)
    module: ModuleType = type(sys)(MODULE)
    module.__file__, module.__loader__ = path, loader
    module.__spec__ = ModuleSpec(MODULE, loader, origin=path)
    sys.modules[MODULE] = module
    exec(compile(source, path, "exec", dont_inherit=True), vars(module))  # noqa: S102 - the hook
    return vars(module)


def n_arguments(call: Callable[..., Any], name: str) -> int:
    """Return how many of artifact and context a callable takes by their places, at most 2.

    One with a default counts, and so does `*args`.
    """
    if isinstance(call, type(main)) and not hasattr(call, "__wrapped__"):
        code, named = call.__code__, call.__kwdefaults__ or {}
        n_all = 2 if code.co_flags & VARIABLE else code.co_argcount
        n_needed = code.co_argcount - len(call.__defaults__ or ())
        is_async = bool(code.co_flags & (COROUTINE | ASYNC_GENERATOR))
        rest = code.co_varnames[code.co_argcount :][: code.co_kwonlyargcount]
        open_names = [one for one in rest if one not in named]
    else:
        n_all, n_needed, open_names, is_async = by_signature(call, name)
    if is_async:
        raise Refusal(WRONG_TYPE, f"`{name}` is async: a hook is a plain function")
    if n_needed > 2 or open_names:
        what = f"the arguments {', '.join(open_names)}" if open_names else f"{n_needed} arguments"
        message = f"`{name}` wants {what}; a hook is called with artifact and context alone"
        raise Refusal(WRONG_TYPE, message)
    return min(n_all, 2)


def by_signature(call: Callable[..., Any], name: str) -> tuple[int, int, list[str], bool]:
    """Return the same facts of what is no plain function: a method, a partial, an object."""
    import inspect  # noqa: PLC0415 - takes as long as the start of Python

    try:
        taken = inspect.signature(call).parameters.values()
    except (TypeError, ValueError) as exc:
        message = f"the parameters of `{name}` are not known: call it from a function of your own"
        raise Refusal(WRONG_TYPE, message) from exc
    by_place = [one for one in taken if one.kind <= one.POSITIONAL_OR_KEYWORD]
    is_variable = any(one.kind == one.VAR_POSITIONAL for one in taken)
    needed = [one for one in by_place if one.default is one.empty]
    named = [one.name for one in taken if one.kind == one.KEYWORD_ONLY and one.default is one.empty]
    of_type = getattr(type(call), "__call__", None)  # noqa: B004 - of an object, to look into it
    inner = (call, of_type, inspect.unwrap(call))
    is_async = any(
        inspect.iscoroutinefunction(one) or inspect.isasyncgenfunction(one) for one in inner
    )
    return 2 if is_variable else len(by_place), len(needed), named, is_async


def verdict_of(found: Any) -> dict[str, Any]:
    """Return what a hook returned as the object of its answer; a number is no verdict."""
    if hasattr(found, "__await__"):
        message = "it returned something to wait for: a hook is a plain function"
        raise Refusal(WRONG_TYPE, message)
    if is_boolean(found):
        return {"passed": bool(found)}
    if is_mapping(found):
        content = dict(found)
        if unknown := [key for key in content if key not in KEYS]:
            names = ", ".join(repr(key)[:100] for key in unknown[:5])
            message = f"its answer has the keys {names}; allowed are {', '.join(KEYS)}"
            raise Refusal(WRONG_TYPE, message)
    else:
        content = {key: getattr(found, key) for key in KEYS if hasattr(found, key)}
    if "passed" not in content:
        message = (
            f"it returned a {type(found).__name__} without `passed`; "
            "a hook returns a bool, a mapping with `passed`, or an object with it"
        )
        raise Refusal(WRONG_TYPE, message)
    if not is_boolean(content["passed"]):
        message = f"`passed` is of the type {type(content['passed']).__name__}, not bool"
        raise Refusal(WRONG_TYPE, message)
    text = content.get("message")
    if text is not None and not isinstance(text, str):
        message = f"`message` is of the type {type(text).__name__}, not str"
        raise Refusal(WRONG_TYPE, message)
    verdict = {"passed": bool(content["passed"]), "message": text}
    for name in ("metadata", "outputs"):
        value = content.get(name)
        if value is not None and not is_mapping(value):
            message = f"`{name}` is of the type {type(value).__name__}, not a mapping"
            raise Refusal(WRONG_TYPE, message)
        verdict[name] = value
    return verdict


def is_boolean(value: Any) -> bool:
    """Return whether a value is true or false; numpy's are, since comparisons of arrays give it."""
    kind = type(value)
    return kind is bool or (kind.__module__ == "numpy" and kind.__name__ in {"bool", "bool_"})


def is_mapping(value: Any) -> bool:
    """Return whether a value has keys."""
    return isinstance(value, dict) or (
        hasattr(value, "keys") and hasattr(value, "__getitem__") and not isinstance(value, type)
    )


def written(value: Any, place: str = "", depth: int = 0) -> str:
    """Return a value as JSON; raises Refusal where JSON has no word for a part of it.

    Args:
        value: what a hook returned, or a part of it.
        place: of the part, as `outputs.files[2]`.
        depth: of the part.
    """
    if value is None:
        return "null"
    if is_boolean(value):
        return "true" if value else "false"
    if isinstance(value, str):
        return f'"{str.translate(value, ESCAPES)}"'
    if isinstance(value, int):
        try:
            return int.__repr__(value)
        except ValueError as exc:
            raise Refusal(WRONG_TYPE, f"`{place}` is too long a number") from exc
    if isinstance(value, float):
        if value - value != 0:
            raise Refusal(NOT_FINITE, f"`{place}` is {float.__repr__(value)}")
        return float.__repr__(value)
    if depth > MAX_DEPTH:
        raise Refusal(WRONG_TYPE, f"`{place[:200]}…` lies too deep, or in itself")
    if isinstance(value, list | tuple):
        return f"[{','.join(items_of(value, place, depth))}]"
    if is_mapping(value):
        return f"{{{','.join(pairs_of(value, place, depth))}}}"
    message = f"`{place}` is of the type {type(value).__name__}, for which JSON has no word"
    raise Refusal(WRONG_TYPE, message)


def items_of(values: list[Any] | tuple[Any, ...], place: str, depth: int) -> Iterator[str]:
    """Yield the items of a list as JSON."""
    for number, value in enumerate(values):
        yield written(value, f"{place}[{number}]", depth + 1)


def pairs_of(values: Any, place: str, depth: int) -> Iterator[str]:
    """Yield the keys of a mapping and their values as JSON."""
    for key in values:
        if not isinstance(key, str):
            message = f"`{place}` has the key {repr(key)[:100]}; a key is a str"
            raise Refusal(WRONG_TYPE, message)
        inner = written(values[key], f"{place}.{key[:100]}" if place else key, depth + 1)
        yield f"{written(key, place, depth)}:{inner}"


if __name__ == "__main__":
    main()
