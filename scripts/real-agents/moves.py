"""What a scripted model does, and what it is told: the words that plots, wire formats and the server share."""

import json
import re
import threading
from dataclasses import dataclass, field

PATIENCE = 120


@dataclass
class Call:
    """The model calls one of Tenure's tools."""

    tool: str
    arguments: dict


@dataclass
class Shell:
    """The model has the agent run a command line with the agent's own tool. One that asks says that it needs more than
    the agent's sandbox gives, where an agent has one."""

    command: str
    asks: bool = False


@dataclass
class Write:
    """The model has the agent write a file with the agent's own tool."""

    path: str
    text: str


class Hold:
    """Where a text stops until it is let go."""

    def __init__(self):
        self.reached = threading.Event()
        self.let_go = threading.Event()


@dataclass
class Say:
    """The model's last word; it ends the turn. One that is held comes in two halves."""

    text: str
    hold: Hold | None = None

    def pieces(self):
        if self.hold is None:
            yield self.text
            return
        middle = len(self.text) // 2
        yield self.text[:middle]
        self.hold.reached.set()
        self.hold.let_go.wait(PATIENCE)
        yield self.text[middle:]


class Silence:
    """The model never answers."""


class Fail:
    """The model answers with an error of its own."""


@dataclass
class Request:
    """One request to the model: Tenure's tools that it was offered, the agent's own tools, what its calls came back
    with and all that was said so far, as pairs of who (user, agent or result) and what; oldest first."""

    tools: dict
    results: list = field(default_factory=list)
    own: list = field(default_factory=list)
    said: list = field(default_factory=list)


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
