"""The Anthropic Messages API, as much of it as the Claude Code CLI and others need."""

import itertools
import json

from moves import Call, Request, Shell, Told, Write

PATH = "/v1/messages"
PREFIX = "mcp__tenure__"
# What agents call their shell, with what beside the command, and what they call a file's path where they write one.
SHELLS = {
    "Bash": {"description": "As the script says"},
    "bash": {"description": "As the script says"},
    "run_shell_command": {"is_background": False},
}
PATHS = {"Write": "file_path", "write": "filePath", "write_file": "file_path"}

_numbers = itertools.count(1)


def answers(path):
    return path == PATH


def streams(_path, body):
    return bool(body.get("stream"))


def read(body):
    tools = {
        tool["name"].removeprefix(PREFIX): tool.get("input_schema")
        for tool in body.get("tools") or []
        if tool.get("name", "").startswith(PREFIX)
    }
    own = [tool.get("name", "") for tool in body.get("tools") or [] if not tool.get("name", "").startswith(PREFIX)]
    said = [pair for message in body.get("messages", []) for pair in said_by(message)]
    results = [Told(text) for who, text in said if who == "result"]
    return Request(tools, results, own, said)


def said_by(message):
    content = message.get("content")
    blocks = content if isinstance(content, list) else [{"type": "text", "text": content or ""}]
    who = "agent" if message.get("role") == "assistant" else "user"
    for block in blocks:
        if block.get("type") == "text":
            yield who, block["text"]
        elif block.get("type") == "tool_result":
            yield "result", text_of(block.get("content"))


def text_of(content):
    if isinstance(content, str):
        return content
    return "\n".join(part.get("text", "") for part in content or [])


def called_by(move, body):
    """The tool that a move calls, and with what."""
    offered = [tool.get("name") for tool in body.get("tools") or []]
    if isinstance(move, Call):
        return PREFIX + move.tool, move.arguments
    if isinstance(move, Shell):
        name = next((name for name in SHELLS if name in offered), "Bash")
        return name, {"command": move.command, **SHELLS[name]}
    if isinstance(move, Write):
        name = next((name for name in PATHS if name in offered), "Write")
        return name, {PATHS[name]: move.path, "content": move.text}
    return None


def message(move, body):
    number = next(_numbers)
    called = called_by(move, body)
    if called:
        name, given = called
        block = {"type": "tool_use", "id": f"toolu_{number:024}", "name": name, "input": given}
    else:
        block = {"type": "text", "text": move.text}
    return {
        "id": f"msg_{number:024}",
        "type": "message",
        "role": "assistant",
        "model": "scripted",
        "content": [block],
        "stop_reason": "tool_use" if called else "end_turn",
        "stop_sequence": None,
        "usage": {"input_tokens": 10, "output_tokens": 10},
    }


def plain(move, body):
    return message(move, body)


def events(move, body):
    """The same message in pieces."""
    whole = message(move, body)
    block = whole["content"][0]
    if block["type"] == "tool_use":
        empty = {**block, "input": {}}
        deltas = [{"type": "input_json_delta", "partial_json": json.dumps(block["input"])}]
    else:
        empty = {"type": "text", "text": ""}
        deltas = ({"type": "text_delta", "text": piece} for piece in move.pieces())
    yield "message_start", {"message": {**whole, "content": [], "stop_reason": None}}
    yield "content_block_start", {"index": 0, "content_block": empty}
    for delta in deltas:
        yield "content_block_delta", {"index": 0, "delta": delta}
    yield "content_block_stop", {"index": 0}
    ending = {"stop_reason": whole["stop_reason"], "stop_sequence": None}
    yield "message_delta", {"delta": ending, "usage": {"output_tokens": 10}}
    yield "message_stop", {}
