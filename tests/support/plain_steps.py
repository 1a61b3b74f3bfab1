"""Steps of a trace, and what their answers cost, by plain loops: what rows and views agree with.

Standard library only. Of the package nothing but the guess of what a call does: the list of words
behind it is no rule that could be written down a second time.
"""

import hashlib
import json
import math
import re
from decimal import ROUND_HALF_UP, Decimal

from schemas.lake.rows.tool_effects import act_of
from tests.support.plain_normal import normal_form

NAMES = """
    run_id model_id case_id repetition record_no step_no attempt trajectory turn_no kind role
    requested_model served_model tool call_id effect target_hash args_hash result_hash
    result_norm_hash norm_version text_hash produced_bytes stored_bytes shown_bytes truncated
    is_error error_class exit_code input_tokens cached_input_tokens cache_write_tokens output_tokens
    reasoning_tokens usage_cached usage_counts cost_usd cost_source started_at_ms ended_at_ms
    duration_ms wait_ms is_copied_context source
"""
COLUMNS = tuple(NAMES.split())

TOKENS = (
    "input_tokens",
    "cached_input_tokens",
    "cache_write_tokens",
    "output_tokens",
    "reasoning_tokens",
)
MOST = 2**40
MOST_TIME = 2**53
MOST_TEXT = 65_536
MOST_DEPTH = 254
PATHS = ("path", "file_path", "filename", "file", "target_file", "notebook_path", "absolute_path")


def plain_steps(events, key=None, source="artifacts/m.jsonl.zst#0", models=(None, None)):
    """Return the rows of a trace, and its texts as `(step_no, text, was cut)`.

    Args:
        events: as they were read.
        key: columns of the trial and its record.
        source: where the trace lies.
        models: that was asked for, and that served the trial.
    """
    story = _Story()
    events = [event for event in events if isinstance(event, dict)]
    story.counts_replies = any(
        (event.get("event_type"), event.get("name")) == ("runner", "provider_reply")
        for event in events
    )
    for event in events:
        _tell(story, event)
    _close(story)
    rows, texts = [], []
    for number, (row, text) in enumerate(story.steps, 1):
        if row.get("role") == "assistant" and row["turn_no"] and row.get("served_model") is None:
            row["served_model"] = models[1]
        known = {"step_no": number, "requested_model": models[0], **(key or {})}
        row["source"] = row["source"] or source
        rows.append({**dict.fromkeys(COLUMNS), **row, **known})
        if text:
            texts.append((number, *_shortened(text)))
    return rows, texts


class _Story:
    """What has to be remembered between the events of a trace."""

    def __init__(self):
        self.steps = []
        self.counts_replies = False
        self.turn = {}
        self.part = {}
        """By trajectory: the part of an answer that was told last."""
        self.open_reply = {}
        """By trajectory: event and facts of an answer that had no message yet."""
        self.tool_of = {}
        self.final = None
        self.has_answer = False
        """The agent that was asked has answered, if only with calls."""
        self.has_text = False

    def add(self, kind, event, path, text, /, **facts):
        at, ended = whole(event.get("at_ms"), MOST_TIME), whole(event.get("ended_at_ms"), MOST_TIME)
        row = {
            "trajectory": path,
            "turn_no": self.turn.get(path, 0),
            "kind": kind,
            "text_hash": hashed(text) if text else None,
            "produced_bytes": len(text.encode()),
            "stored_bytes": len(text.encode()),
            "is_error": False,
            "started_at_ms": at,
            "ended_at_ms": ended if ended is not None else at,
            "is_copied_context": event.get("is_copied_context") is True,
            "source": name(event.get("source"), 1_024),
        }
        self.steps.append(({**row, **facts}, text))

    def settle(self, path):
        """Write down an answer to which no text came."""
        if path in self.open_reply:
            event, facts = self.open_reply.pop(path)
            self.has_answer |= path == "main"
            self.add("message", event, path, "", role="assistant", **facts)

    def begin(self, path, part):
        """Count a turn by what follows on what, where the runner notes no answers."""
        last = self.part.get(path)
        follows = last == "reasoning" or (part == "tool_call" and last is not None)
        if not follows and not self.counts_replies:
            self.turn[path] = self.turn.get(path, 0) + 1
        self.part[path] = part


def _tell(story, event):
    kind, path = event.get("event_type"), name(event.get("trajectory")) or "main"
    if kind == "message":
        _message(story, event, path)
    elif kind == "tool_call":
        story.settle(path)
        story.begin(path, "tool_call")
        _call(story, event, path)
    elif kind == "tool_result":
        story.settle(path)
        story.part[path] = None
        _result(story, event, path)
    elif kind == "final_output":
        story.final = event
    elif kind == "runner":
        _runner(story, event, path)


def _close(story):
    final = story.final
    if final is not None:
        is_news = bool(text_of(final.get("content"))) and not story.has_text
        if is_news or not (story.has_answer or "main" in story.open_reply):
            _message(story, {**final, "role": "assistant"}, "main")
    for path in list(story.open_reply):
        story.settle(path)


def _message(story, event, path):
    text, role = text_of(event.get("content")), name(event.get("role"))
    if role != "assistant":
        known = role if role in ("system", "user", "tool") else None
        story.add("message", event, path, text, role=known)
        story.part[path] = None
        return
    kind = "reasoning" if event.get("name") == "reasoning" else "message"
    story.begin(path, kind)
    facts = {}
    if kind == "message":
        if path == "main" and story.turn.get(path):
            story.has_answer, story.has_text = True, story.has_text or bool(text)
        _, facts = story.open_reply.pop(path, (None, {}))
    story.add(kind, event, path, text, **{"role": role, **facts})


def _call(story, event, path):
    raw, tool = text_of(event.get("raw_arguments")), name(event.get("tool_name"))
    call_id, given = name(event.get("call_id")), event.get("parsed_arguments")
    if tool and call_id:
        story.tool_of[call_id] = tool
    if given is None:
        given = read_json(raw)
    act = act_of(tool or "", given)
    target = None
    if act.path is not None:
        path_of_file = next(given[one] for one in PATHS if isinstance(given.get(one), str))
        parts = path_of_file.removeprefix("/workspace/").split("/")
        target = hashed("/".join(part for part in parts if part != "."))
    story.add(
        "tool_call", event, path, raw,
        tool=tool, call_id=call_id, target_hash=target, args_hash=hashed(raw),
        text_hash=None, effect="wait" if event.get("is_polling") is True else act.effect,
    )  # fmt: skip


def _result(story, event, path):
    output = event.get("output")
    kept = output if isinstance(output, str) else written(output)
    shown = event["shown"] if isinstance(event.get("shown"), str) else kept
    call_id, ended_by = name(event.get("call_id")), name(event.get("ended_by"))
    code = whole(event.get("exit_code"), 2**31, -(2**31))
    took, ended = whole(event.get("duration_ms")), whole(event.get("at_ms"), MOST_TIME)
    if ended_by not in (None, "exit"):
        failed_of = ended_by
    elif code not in (None, 0) or event.get("status") == "error":
        failed_of = _said_error(kept[:1_000], is_command=code not in (None, 0))
    else:
        failed_of = None
    sizes = {
        f"{stage}_bytes": whole(event.get(f"{stage}_bytes"))
        for stage in ("produced", "stored", "shown")
    }
    for key in ("produced_bytes", "stored_bytes"):
        if sizes[key] is None:
            sizes[key] = len(kept.encode())
    truncated = event.get("truncated")
    story.add(
        "tool_result", event, path, shown,
        tool=story.tool_of.get(call_id), call_id=call_id, result_hash=hashed(kept),
        result_norm_hash=hashed(normal_form(kept)), norm_version=1, text_hash=None, **sizes,
        truncated=truncated if isinstance(truncated, bool) else None,
        is_error=failed_of is not None, error_class=failed_of, exit_code=code, duration_ms=took,
        started_at_ms=None if ended is None else max(0, ended - (took or 0)), ended_at_ms=ended,
    )  # fmt: skip


def _said_error(text, *, is_command):
    """Return what an error is by the words of a tool, or those of HTTP in what a command wrote."""
    for code, words, at_once, name_of_it in (
        (429, "too many requests|rate.?limit", "too many requests", "rate_limited"),
        (
            503,
            "service unavailable|overloaded",
            "service (temporarily )?unavailable",
            "unavailable",
        ),
    ):
        said = rf"{code}[^\n]{{0,9}}{at_once}|returned error: {code}" if is_command else words
        if re.search(said, text, re.IGNORECASE) or (not is_command and _is_status(code, text)):
            return name_of_it
    return "exit_code" if is_command else "tool_error"


def _is_status(code, text):
    """Return whether a number stands in a text alone: `429`, not `1.429` nor `file.py:429`."""
    for found in re.finditer(str(code), text):
        before, after = text[: found.start()], text[found.end() :]
        is_place = before[-1:] == ":" and re.match(r"\w", before[-2:-1])
        if not (re.match(r"[.\w]", before[-1:]) or is_place or re.match(r"\w", after)):
            return True
    return False


def _runner(story, event, path):
    what = name(event.get("name"))
    detail = event.get("detail") if isinstance(event.get("detail"), dict) else {}
    known = ("provider_reply", "provider_error", "retry_scheduled", "final_answer_forced")
    if what not in (*known, "compaction", "limit", "error"):
        return
    story.settle(path)
    if what == "provider_reply":
        story.turn[path] = story.turn.get(path, 0) + 1
        story.open_reply[path] = event, _spent(event, detail)
    elif what in ("provider_error", "retry_scheduled"):
        story.add(
            "error", event, path, text_of(detail.get("error_message")),
            **_spent(event, detail), is_error=True, error_class=name(detail.get("failure_type")),
            wait_ms=whole(detail.get("wait_ms")),
        )  # fmt: skip
    elif what == "final_answer_forced":
        story.add("limit", event, path, "", error_class="max_turns")
    else:
        said = name(detail.get("limit") or detail.get("failure_type"))
        story.add(
            what, event, path, written(detail), is_error=what == "error", error_class=said
        )  # fmt: skip


def _spent(event, detail):
    """Return tokens, cost and time of one answer."""
    usage = detail.get("usage") if isinstance(detail.get("usage"), dict) else {}
    tokens = {one: whole(usage.get(one)) for one in TOKENS}
    has_tokens = set(tokens.values()) != {None}
    cached, counts = usage.get("usage_cached"), usage.get("usage_counts")
    cost, paid_by = detail.get("cost_usd"), detail.get("cost_source")
    has_cost = (number(cost) or isinstance(cost, float)) and 0 <= cost <= 1e6
    took, ended = whole(detail.get("e2e_ms")), whole(event.get("at_ms"), MOST_TIME)
    return {
        **tokens,
        "served_model": name(detail.get("served_model")),
        "usage_cached": cached if cached in ("inside", "beside") and has_tokens else None,
        "usage_counts": (
            counts if counts in ("delta", "cumulative") and (has_tokens or has_cost) else None
        ),
        "cost_usd": float(cost) if has_cost else None,
        "cost_source": paid_by if paid_by in ("provider", "computed") and has_cost else None,
        "started_at_ms": None if ended is None else max(0, ended - (took or 0)),
        "ended_at_ms": ended,
        "duration_ms": took,
        "is_copied_context": event.get("is_copied_context") is True,
    }


def plain_usage(rows):
    """Return by record and step what the view `steps` says that each answer used.

    Args:
        rows: of one run.
    """
    last, begun, found = {}, {}, {}
    for row in sorted(rows, key=lambda row: (row["record_no"], row["step_no"])):
        own = {name: row[name] for name in TOKENS} | {"cost_usd": _nano(row["cost_usd"])}
        if row["usage_counts"] == "cumulative":
            place = row["record_no"], row["trajectory"]
            said = {what: count for what, count in own.items() if count is not None}
            if any(count < last.get(place, {}).get(what, 0) for what, count in said.items()):
                begun[place] = {}
            for what, count in said.items():
                own[what] = count - begun.get(place, {}).get(what, 0)
            last[place] = last.get(place, {}) | said
            begun[place] = begun.get(place, {}) | said
        if row["is_copied_context"]:
            own = dict.fromkeys(own)
        if row["usage_cached"] == "beside" and own["input_tokens"] is not None:
            own["input_tokens"] += own["cached_input_tokens"] or 0
            own["input_tokens"] += own["cache_write_tokens"] or 0
        if own["cost_usd"] is not None:
            own["cost_usd"] /= 1e9
        found[row["record_no"], row["step_no"]] = own
    return found


def _nano(cost):
    """Return a cost in nano-dollars, half of one up."""
    if cost is None:
        return None
    return int(Decimal(cost * 1e9).quantize(Decimal(1), rounding=ROUND_HALF_UP))


def number(value):
    return isinstance(value, int) and not isinstance(value, bool)


def whole(value, most=MOST, least=0):
    """Return a whole number inside its range; None for anything else."""
    return value if number(value) and least <= value <= most else None


def name(value, most=256):
    return value[:most] if isinstance(value, str) and value else None


def text_of(value):
    return value if isinstance(value, str) else ""


def hashed(value):
    raw = value.encode() if isinstance(value, str) else value
    return hashlib.sha256(raw).hexdigest()[:16]


def _shortened(text):
    """Return the first 65,536 bytes of a text, up to a whole character, and whether it was cut."""
    if len(text.encode()) <= MOST_TEXT:
        return text, False
    end = min(len(text), MOST_TEXT)
    while (excess := len(text[:end].encode()) - MOST_TEXT) > 0:
        end -= max(1, excess // 4)
    return text[:end], True


def read_json(text):
    """Return what a text in JSON says; None for what is none, NaN and half characters included."""
    try:
        value = json.loads(text, parse_constant=_refused)
        json.dumps(value, ensure_ascii=False).encode()
    except (ValueError, RecursionError):
        return None
    return value


def _refused(text):
    raise ValueError(text)


def written(value):
    """Return a value as JSON without blanks; nothing of one that is nested too deeply."""
    try:
        return _written(value, MOST_DEPTH)
    except RecursionError:
        return ""


def _written(value, depth):
    if isinstance(value, float):
        if not math.isfinite(value):
            return "null"
        if 1e-5 <= abs(value) < 1e-4:
            return f"{Decimal(repr(value)):f}"
        return re.sub(r"e([+-])0*", r"e\1", repr(value))
    if not isinstance(value, list | dict):
        return json.dumps(value, ensure_ascii=False)
    if not depth:
        raise RecursionError
    if isinstance(value, list):
        return "[" + ",".join(_written(one, depth - 1) for one in value) + "]"
    pairs = (
        f"{json.dumps(key, ensure_ascii=False)}:{_written(one, depth - 1)}"
        for key, one in value.items()
    )
    return "{" + ",".join(pairs) + "}"
