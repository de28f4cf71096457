"""The Gemini API's generateContent, as much of it as the Gemini CLI needs."""

from moves import Request, Shell, Told, Write


def answers(path):
    return path.startswith("/v1beta/models/") and path.endswith((":generateContent", ":streamGenerateContent"))


def streams(path, _body):
    return path.endswith(":streamGenerateContent")


def read(body):
    own = [function["name"] for tool in body.get("tools") or [] for function in tool.get("functionDeclarations") or []]
    said = [pair for content in body.get("contents") or [] for pair in said_by(content)]
    results = [Told(text) for who, text in said if who == "result"]
    return Request({}, results, own, said)


def said_by(content):
    who = "agent" if content.get("role") == "model" else "user"
    for part in content.get("parts") or []:
        if "text" in part:
            yield who, part["text"]
        elif "functionResponse" in part:
            yield "result", str(part["functionResponse"].get("response"))


def chunk(part, last):
    candidate = {"content": {"role": "model", "parts": [part]}, "index": 0}
    if last:
        candidate["finishReason"] = "STOP"
    usage = {"promptTokenCount": 10, "candidatesTokenCount": 10, "totalTokenCount": 20}
    return {"candidates": [candidate], "usageMetadata": usage, "modelVersion": "scripted"}


def call(move):
    if isinstance(move, Write):
        return {"functionCall": {"name": "write_file", "args": {"file_path": move.path, "content": move.text}}}
    given = {"command": move.command, "description": "As the script says"}
    return {"functionCall": {"name": "run_shell_command", "args": given}}


def plain(move, _body):
    return chunk(call(move) if isinstance(move, (Shell, Write)) else {"text": move.text}, True)


def events(move, body):
    if isinstance(move, (Shell, Write)):
        yield None, plain(move, body)
        return
    for piece in move.pieces():
        yield None, chunk({"text": piece}, False)
    yield None, chunk({"text": ""}, True)
