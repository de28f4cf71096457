"""The OpenAI Responses API, as much of it as `codex exec` needs."""

import itertools
import json

from moves import Call, Request, Shell, Told, Write

PATH = "/v1/responses"

_numbers = itertools.count(1)


def answers(path):
    return path == PATH


def streams(_path, body):
    return bool(body.get("stream"))


def offered(body):
    """Tenure's tools by their own name: how the model has to call each, and its schema."""
    found = {}
    for tool in body.get("tools") or []:
        inner = tool.get("tools") if tool.get("type") == "namespace" else None
        for function in inner if inner is not None else [tool]:
            name = function.get("name", "")
            namespace = tool["name"] if inner is not None else None
            whole = f"{namespace or ''}{name}"
            if "tenure" in whole and name.rpartition("__")[2] in ("exec", "process", "sessions", "tasks"):
                calls = {"name": name, "namespace": namespace} if namespace else {"name": name}
                found[name.rpartition("__")[2]] = (calls, function.get("parameters"))
    return found


def read(body):
    tools = {name: schema for name, (_, schema) in offered(body).items()}
    items = [item for item in body.get("input", []) if isinstance(item, dict)]
    said = [pair for item in items for pair in said_by(item)]
    results = [Told(text) for who, text in said if who == "result"]
    own = [tool.get("name", tool.get("type")) for tool in body.get("tools") or []]
    return Request(tools, results, own, said)


def said_by(item):
    if item.get("type") in ("function_call_output", "custom_tool_call_output"):
        yield "result", text_of(item.get("output"))
    elif item.get("type") == "message":
        yield "agent" if item.get("role") == "assistant" else "user", text_of(item.get("content"))


def text_of(output):
    if isinstance(output, str):
        return output
    return "\n".join(part.get("text", "") for part in output or [])


def called_by(move, body):
    """The tool that a move calls, and with what."""
    if isinstance(move, Call):
        calls, _ = offered(body).get(move.tool, ({"name": move.tool}, None))
        return calls, move.arguments
    if isinstance(move, Shell):
        more = {"sandbox_permissions": "require_escalated", "justification": "As the script says"} if move.asks else {}
        return {"name": "exec_command"}, {"cmd": move.command, **more}
    return None


def patch(move):
    """The text that has a file written."""
    lines = ["*** Begin Patch", f"*** Add File: {move.path}", *(f"+{line}" for line in move.text.splitlines())]
    return "\n".join([*lines, "*** End Patch"])


def response(move, body):
    number = next(_numbers)
    called = called_by(move, body)
    if called:
        calls, given = called
        item = {
            "type": "function_call",
            "id": f"fc_{number}",
            "call_id": f"call_{number}",
            "arguments": json.dumps(given),
            "status": "completed",
            **calls,
        }
    elif isinstance(move, Write):
        item = {
            "type": "custom_tool_call",
            "id": f"ctc_{number}",
            "call_id": f"call_{number}",
            "name": "apply_patch",
            "input": patch(move),
            "status": "completed",
        }
    else:
        item = {
            "type": "message",
            "id": f"msg_{number}",
            "role": "assistant",
            "status": "completed",
            "content": [{"type": "output_text", "text": move.text, "annotations": []}],
        }
    return {
        "id": f"resp_{number}",
        "object": "response",
        "status": "completed",
        "output": [item],
        "usage": {
            "input_tokens": 10,
            "input_tokens_details": {"cached_tokens": 0},
            "output_tokens": 10,
            "output_tokens_details": {"reasoning_tokens": 0},
            "total_tokens": 20,
        },
    }


def plain(move, body):
    return response(move, body)


def events(move, body):
    whole = response(move, body)
    item = whole["output"][0]
    yield "response.created", {"response": {**whole, "status": "in_progress", "output": []}}
    yield "response.output_item.added", {"output_index": 0, "item": {**item, "status": "in_progress"}}
    if item["type"] == "message":
        for piece in move.pieces():
            yield "response.output_text.delta", {"output_index": 0, "item_id": item["id"], "delta": piece}
    yield "response.output_item.done", {"output_index": 0, "item": item}
    yield "response.completed", {"response": whole}
