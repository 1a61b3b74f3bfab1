"""Sessions and trajectories of agents, written by hand, and what imports make of them."""

import json

from analyze.api import open_history
from analyze.importers import IMPORTERS, ImportRequest

DAY = "2026-03-01T10:"


def at(second):
    """Return a moment as the tools write it."""
    return f"{DAY}{second // 60:02}:{second % 60:02}.000Z"


def at_ms(second):
    """Return the same moment in ms since 1970."""
    return 1_772_359_200_000 + second * 1000


def lines(*objects):
    """Return objects as a file of JSON lines."""
    return "".join(json.dumps(one) + "\n" for one in objects)


def put(path, *objects, text=None):
    """Write a file of JSON lines."""
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(lines(*objects) if text is None else text)
    return path


class Claude:
    """Writes lines of a session of Claude Code, one after the other in time."""

    def __init__(self, session, prefix="u"):
        self.session, self.prefix, self.n = session, prefix, 0

    def line(self, kind, **fields):
        self.n += 1
        return {
            "type": kind, "uuid": f"{self.prefix}{self.n}", "parentUuid": None,
            "sessionId": self.session, "timestamp": at(self.n), "isSidechain": False,
            "version": "2.1.197", "cwd": "/home/me/proj",
        } | fields  # fmt: skip

    def user(self, content, **fields):
        return self.line("user", message={"role": "user", "content": content}, **fields)

    def result(self, call, content, *, is_error=False, **fields):
        block = {"type": "tool_result", "tool_use_id": call, "content": content}
        return self.user([block | {"is_error": is_error}], **fields)

    def answer(self, name, *blocks, model="opus", stop="end_turn", out=10, **fields):
        usage = {"input_tokens": 3, "cache_read_input_tokens": 40,
                 "cache_creation_input_tokens": 7, "output_tokens": out}  # fmt: skip
        message = {"id": name, "role": "assistant", "model": model, "content": list(blocks),
                   "stop_reason": stop, "usage": usage}  # fmt: skip
        return self.line("assistant", message=message, **fields)


def text(said):
    return {"type": "text", "text": said}


def use(call, name, **given):
    return {"type": "tool_use", "id": call, "name": name, "input": given}


def codex(kind, second, **payload):
    """Return a line of a session of Codex."""
    return {"timestamp": at(second), "type": kind, "payload": payload}


def item(second, kind, **fields):
    return codex("response_item", second, type=kind, **fields)


def said_by(second, role, said):
    kind = "output_text" if role == "assistant" else "input_text"
    return item(second, "message", role=role, content=[{"type": kind, "text": said}])


def counted(second, total, last):
    """Return a `token_count` of input and output."""
    names = ("input_tokens", "cached_input_tokens", "output_tokens")
    info = {"total_token_usage": dict(zip(names, total, strict=True)),
            "last_token_usage": dict(zip(names, last, strict=True))}  # fmt: skip
    return codex("event_msg", second, type="token_count", info=info)


def imported(form, path, runs_dir, **options):
    """Import a path and return what was written."""
    return IMPORTERS[form].run(ImportRequest(path, runs_dir, **options))


def rows_of(written):
    """Return the lines of a run by case."""
    found = map(json.loads, (written.run_dir / "results.jsonl").read_text().splitlines())
    return {one["case_id"]: one for one in found}


def steps_of(runs_dir, columns="kind, tool, role", where="true"):
    """Return steps of all runs, in order."""
    with open_history(runs_dir) as history:
        query = f"SELECT {columns} FROM steps WHERE {where} ORDER BY case_id, step_no"
        return history.sql(query).rows()


def texts_of(runs_dir, where="true"):
    """Return the kinds and texts of steps."""
    query = (
        "SELECT steps.kind, texts.text FROM steps LEFT JOIN stg_step_texts AS texts "
        "USING (run_id, record_no, step_no) "
        f"WHERE {where} ORDER BY steps.case_id, steps.step_no"
    )
    with open_history(runs_dir) as history:
        return history.sql(query).rows()
