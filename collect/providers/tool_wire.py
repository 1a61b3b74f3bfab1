"""How tools, calls and their results are spelled in the three APIs, as a model is asked.

Chat completions have a message with its calls and a message for each result; the Responses API has
items of their own, and the reasoning before them; the Messages API has blocks in messages that take
turns. What a server wants back as it came is `echo`.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

import orjson
from pydantic import JsonValue

from collect.config.resolved import WireMessage, as_json
from collect.providers import http_reply
from collect.providers.base import Request


def chat_message(message: WireMessage) -> dict[str, JsonValue]:
    """Return a message in the words of the chat API."""
    calls: list[JsonValue] = [
        {
            "id": call["call_id"],
            "type": "function",
            "function": {"name": call["name"], "arguments": call["arguments"]},
        }
        for call in message.get("tool_calls", ())
    ]
    sent = as_json(message)
    if "echo" in message:
        sent = {name: value for name, value in sent.items() if name != "echo"} | message["echo"]
    return sent | {"content": sent["content"] or None, "tool_calls": calls} if calls else sent


def chat_tools(request: Request) -> dict[str, JsonValue]:
    """Return the tools of a request, and which of them must be called, if any."""
    part: dict[str, JsonValue] = {
        "tools": [
            {
                "type": "function",
                "function": {
                    "name": tool.name,
                    "description": tool.description,
                    "parameters": dict(tool.parameters),
                },
            }
            for tool in request.tools
        ]
    }
    choice = request.tool_choice
    if choice in ("none", "required"):
        part["tool_choice"] = choice
    elif choice != "auto":
        part["tool_choice"] = {"type": "function", "function": {"name": choice}}
    return part


def arguments_text(value: Any) -> str:
    """Return arguments of a call, or a piece of them, as text; some servers send the object itself.

    Raises:
        Malformed: no JSON text can hold them.
    """
    if value is None or isinstance(value, str):
        return value or ""
    try:
        return orjson.dumps(value).decode()
    except orjson.JSONEncodeError as exc:
        message = f"arguments of a tool that are nested too deeply: {exc}"
        raise http_reply.Malformed(message) from exc


def joined_details(pieces: list[JsonValue]) -> list[JsonValue]:
    """Return `reasoning_details` whose texts came in pieces as the blocks that they belong to."""
    blocks: list[JsonValue] = []
    for piece in pieces:
        last = blocks[-1] if blocks else None
        if isinstance(piece, dict) and isinstance(last, dict) and _continues(last, piece):
            for name in ("text", "summary"):
                if isinstance(text := piece.get(name), str):
                    last[name] = f"{last.get(name) or ''}{text}"
            last |= {name: one for name, one in piece.items() if last.get(name) is None}
        else:
            blocks.append(dict(piece) if isinstance(piece, dict) else piece)
    return blocks


def _continues(last: dict[str, JsonValue], piece: dict[str, JsonValue]) -> bool:
    """Return whether a piece belongs to the block before it; one that is signed is closed."""
    is_text = piece.get("type") in ("reasoning.text", "reasoning.summary")
    same = all(piece.get(name) == last.get(name) for name in ("type", "index"))
    return is_text and same and last.get("signature") is None


def response_items(message: WireMessage) -> Iterator[JsonValue]:
    """Yield the items of the Responses API that a message is: calls and results stand apart."""
    if (call_id := message.get("tool_call_id")) is not None:
        yield {
            "type": "function_call_output",
            "call_id": call_id,
            "output": message["content"],
        }
        return
    reasoning = message.get("echo", {}).get("reasoning")
    yield from reasoning if isinstance(reasoning, list) else ()
    calls = message.get("tool_calls", ())
    if message["content"] or not calls:
        yield {"type": "message", "role": message["role"], "content": message["content"]}
    for call in calls:
        yield {
            "type": "function_call",
            "call_id": call["call_id"],
            "name": call["name"],
            "arguments": call["arguments"],
        }


def response_tools(request: Request) -> dict[str, JsonValue]:
    """Return the tools of a request, and which of them must be called, if any.

    They are not `strict`: that would make every parameter a required one.
    """
    part: dict[str, JsonValue] = {
        "tools": [
            {
                "type": "function",
                "name": tool.name,
                "description": tool.description,
                "parameters": dict(tool.parameters),
                "strict": False,
            }
            for tool in request.tools
        ]
    }
    choice = request.tool_choice
    if choice in ("none", "required"):
        part["tool_choice"] = choice
    elif choice != "auto":
        part["tool_choice"] = {"type": "function", "name": choice}
    return part


def block_messages(messages: Iterable[WireMessage]) -> dict[str, JsonValue]:
    """Return a conversation in the words of the Messages API: `system`, where there is one, apart.

    Results of calls are blocks of one message of the user's.
    """
    system: list[str] = []
    turns: list[JsonValue] = []
    results: list[JsonValue] = []
    for message in messages:
        if (call_id := message.get("tool_call_id")) is not None:
            if not results:
                turns.append({"role": "user", "content": results})
            results.append(
                {"type": "tool_result", "tool_use_id": call_id, "content": message["content"]}
            )
            continue
        results = []
        if message["role"] == "system":
            system.append(message["content"])
        elif calls := message.get("tool_calls", ()):
            thoughts = message.get("echo", {}).get("thoughts")
            blocks: list[JsonValue] = list(thoughts) if isinstance(thoughts, list) else []
            if message["content"]:
                blocks.append({"type": "text", "text": message["content"]})
            blocks += [
                {
                    "type": "tool_use",
                    "id": call["call_id"],
                    "name": call["name"],
                    "input": _object(call["arguments"]),
                }
                for call in calls
            ]
            turns.append({"role": message["role"], "content": blocks})
        else:
            turns.append({"role": message["role"], "content": message["content"]})
    found: dict[str, JsonValue] = {"system": "\n\n".join(system)} if system else {}
    return found | {"messages": turns}


def _object(arguments: str) -> JsonValue:
    """Return arguments as an object, which the API wants whatever the model has written."""
    try:
        found = orjson.loads(arguments or "{}")
    except orjson.JSONDecodeError:
        found = None
    return found if isinstance(found, dict) else {"arguments": arguments}


def block_tools(request: Request) -> dict[str, JsonValue]:
    """Return the tools of a request, and which of them must be called, if any.

    A conversation with calls names its tools to the end, also where no further call is wanted.
    """
    choice = "none" if request.withholds_tools else request.tool_choice
    kinds = {"auto": "auto", "none": "none", "required": "any"}
    named: JsonValue = (
        {"type": kinds[choice]} if choice in kinds else {"type": "tool", "name": choice}
    )
    part: dict[str, JsonValue] = {
        "tools": [
            {
                "name": tool.name,
                "description": tool.description,
                "input_schema": dict(tool.parameters),
            }
            for tool in request.tools
        ]
    }
    return part if choice == "auto" else part | {"tool_choice": named}
