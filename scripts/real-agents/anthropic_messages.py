"""The Anthropic Messages API, as much of it as the Claude Code CLI needs."""

import itertools
import json

from moves import Call, Request, Told

PATH = "/v1/messages"
PREFIX = "mcp__tenure__"

_numbers = itertools.count(1)


def read(body):
    tools = {
        tool["name"].removeprefix(PREFIX): tool.get("input_schema")
        for tool in body.get("tools") or []
        if tool.get("name", "").startswith(PREFIX)
    }
    blocks = [
        block
        for message in body.get("messages", [])
        if isinstance(message.get("content"), list)
        for block in message["content"]
    ]
    results = [Told(text_of(block.get("content"))) for block in blocks if block.get("type") == "tool_result"]
    return Request(tools, results, bool(body.get("stream")))


def text_of(content):
    if isinstance(content, str):
        return content
    return "\n".join(part.get("text", "") for part in content or [])


def message(move):
    number = next(_numbers)
    if isinstance(move, Call):
        name = PREFIX + move.tool
        block = {"type": "tool_use", "id": f"toolu_{number:024}", "name": name, "input": move.arguments}
    else:
        block = {"type": "text", "text": move.text}
    return {
        "id": f"msg_{number:024}",
        "type": "message",
        "role": "assistant",
        "model": "scripted",
        "content": [block],
        "stop_reason": "tool_use" if isinstance(move, Call) else "end_turn",
        "stop_sequence": None,
        "usage": {"input_tokens": 10, "output_tokens": 10},
    }


def plain(move, _body):
    return message(move)


def events(move, _body):
    """The same message in pieces."""
    whole = message(move)
    block = whole["content"][0]
    if block["type"] == "tool_use":
        empty = {**block, "input": {}}
        delta = {"type": "input_json_delta", "partial_json": json.dumps(block["input"])}
    else:
        empty = {"type": "text", "text": ""}
        delta = {"type": "text_delta", "text": block["text"]}
    yield "message_start", {"message": {**whole, "content": [], "stop_reason": None}}
    yield "content_block_start", {"index": 0, "content_block": empty}
    yield "content_block_delta", {"index": 0, "delta": delta}
    yield "content_block_stop", {"index": 0}
    ending = {"stop_reason": whole["stop_reason"], "stop_sequence": None}
    yield "message_delta", {"delta": ending, "usage": {"output_tokens": 10}}
    yield "message_stop", {}
