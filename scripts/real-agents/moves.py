"""What a scripted model does, and what it is told: the words that plots, wire formats and the server share."""

import json
import re
from dataclasses import dataclass, field


@dataclass
class Call:
    """The model calls one of Tenure's tools."""

    tool: str
    arguments: dict


@dataclass
class Say:
    """The model's last word; it ends the turn."""

    text: str


@dataclass
class Request:
    """One request to the model: the tools it was offered and what its calls came back with, oldest first."""

    tools: dict
    results: list = field(default_factory=list)
    streams: bool = True


class Told:
    """A tool's result as the model was shown it. Hosts show the structured content or the text; both have all of it."""

    def __init__(self, text):
        self.text = text
        self.structured = structured(text)

    def __repr__(self):
        return repr(self.text)

    @property
    def run_id(self):
        return self._field("runId", r"runId ([0-9a-f]{24})")

    @property
    def status(self):
        return self._field("status", r"^\[(completed|failed|running|approval-pending)")

    @property
    def exit_code(self):
        code = self._field("exitCode", r"exit code (-?\d+)")
        return None if code is None else int(code)

    @property
    def output(self):
        return self.structured.get("output") or "" if self.structured else self.text

    def _field(self, name, pattern):
        if self.structured:
            return self.structured.get(name)
        found = re.search(pattern, self.text, re.MULTILINE)
        return found and found.group(1)


def structured(text):
    """The JSON object that a text is, below words of the host's own if it has some; nothing, if it is none."""
    beginning = re.search(r"^\{", text, re.MULTILINE)
    if beginning is None:
        return None
    try:
        return json.loads(text[beginning.start() :])
    except ValueError:
        return None
