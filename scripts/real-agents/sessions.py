"""The agents as Tenure's sessions: Tenure starts them, and the scripted model answers each message by its words."""

import json
import os
import shutil
import tempfile

from machine import Process, Tenure, expect_gone, wait_for
from model import ASIDE, Server
from moves import Call, Hold, Say, Shell, Silence, Told
from report import expect, say

BACKGROUND = "nohup sleep 3610 >/dev/null 2>&1 & setsid -f sleep 3611 >/dev/null 2>&1; echo begun"
# Long enough for an agent to start on a busy machine.
SILENCE = "8s"


class Counsel(Server):
    """Knows what to do by what the user said last; nothing is kept between two requests."""

    def __init__(self, record):
        self.script = {}
        self.requests = []
        super().__init__(record)

    def answer(self, request):
        """Agents ask for titles and the like as well, without their tools."""
        said = enumerate(request.said)
        heard = [(at, key) for at, (who, text) in said if who == "user" for key in self.script if key in text]
        if not request.own or not heard:
            return ASIDE
        at, key = heard[-1]
        self.requests.append((key, request))
        moves = self.script[key]
        results = [text for who, text in request.said[at:] if who == "result"]
        move = moves[min(len(results), len(moves) - 1)]
        return move(Told(results[-1])) if callable(move) else move

    def asked(self, key):
        """The requests that this message led to."""
        return [request for asked, request in self.requests if asked == key]


class Play:
    """A Tenure, its daemon and a model, for the sessions of one agent."""

    def __init__(self, report, host, binary, kept):
        self.report, self.host, self.kept = report, host, kept
        self.work = tempfile.mkdtemp(prefix="real-agents-")
        self.counsel = Counsel(os.path.join(self.work, "requests"))
        self.config = os.path.join(self.work, "config.toml")
        self.table, key = self.described()
        env = {**host.plain(self.counsel.url, self.work), **key, "TENURE_CONFIG": self.config}
        project = os.path.join(self.work, "project")
        os.mkdir(project)
        self.tenure = Tenure(binary, os.path.join(self.work, "state"), env, project)
        self.failed_before = report.failed

    def described(self):
        """What the agent's table says, and what the daemon's environment has beside."""
        return self.host.described(self.counsel.url, self.work)

    @property
    def heading(self):
        """What the agent's table is called."""
        return f"agents.{self.host.name}"

    def scenario(self, name):
        return self.report.scenario(self.host.name, name)

    def start(self, **more):
        """A daemon that knows the agent by this description."""
        table = {**self.table, **more}
        env = table.pop("env")
        lines = [f"[{self.heading}]", *(f"{key} = {json.dumps(value)}" for key, value in table.items())]
        lines += [f"[{self.heading}.env]", *(f"{key} = {json.dumps(value)}" for key, value in env.items())]
        with open(self.config, "w", encoding="utf-8") as file:
            file.write("\n".join(lines) + "\n")
        self.tenure("daemon", "start")

    def spawn(self, message, *moves):
        """A session whose first message this is; its key."""
        self.counsel.script[message] = moves
        return self.tenure("sessions", "spawn", "--agent", self.host.name, "--task", message).strip()

    def send(self, key, message, *moves):
        self.counsel.script[message] = moves
        self.tenure("sessions", "send", key, message)

    def wait(self, key, code=0):
        """The turn, once it has ended with this exit code."""
        return json.loads(self.tenure.exits(code, "sessions", "wait", key, "--timeout", "90s", "--json"))["turn"]

    def status(self, key):
        return self.tenure.json("sessions", "status", key)["session"]

    def held(self, key, hold):
        """The turn stands still in the middle of the model's answer."""

        def look():
            return hold.reached.is_set() or self.status(key)["state"] != "busy"

        wait_for("the model answers", 60, look)
        expect("it is held", hold.reached.is_set(), self.tenure("sessions", "history", key))

    def processes(self, key):
        """The processes of the run that carries out a session's turn."""
        run = wait_for("the turn has a run", 20, lambda: self.status(key)["liveRuns"])[0]
        return run, [Process(process["pid"]) for process in self.tenure.tree(run)]

    def __enter__(self):
        self.start()
        return self

    def __exit__(self, *_):
        self.tenure.stop()
        self.counsel.close()
        if self.report.failed > self.failed_before:
            shutil.rmtree(self.kept, ignore_errors=True)
            shutil.copytree(self.work, self.kept, ignore=lambda _, names: {"config", "daemon.sock"} & set(names))
            say(f"    what the sessions of {self.host.name} left is in {os.path.relpath(self.kept)}")
        shutil.rmtree(self.work, ignore_errors=True)


def conversation(play):
    """Two turns of one session."""
    key = None
    with play.scenario("as a session: a fresh turn is answered, and the agent's own session is known"):
        key = play.spawn("What is the first word?", Say("The first word is heron."))
        turn = play.wait(key)
        expect("the answer", answered(turn) == ("done", "The first word is heron.", None), turn)
        session = play.status(key)
        expect("idle, with the agent's session", session["state"] == "idle" and session["agentSessionId"], session)
        run = play.tenure.json("show", turn["runId"])
        expect("a run of the session's", (run["sessionId"], run["backendId"]) == (key, "cli"), run)
        expect("no scope", run.get("scope") is None, run)
    with play.scenario("as a session: a resumed turn goes on with the same conversation"):
        own = play.status(key)["agentSessionId"]
        play.send(key, "And what is the second word?", Say("The second word is plover."))
        turn = play.wait(key)
        expect("the answer", answered(turn) == ("done", "The second word is plover.", None), turn)
        said = play.counsel.asked("And what is the second word?")[0].said
        for who, text in (("user", "What is the first word?"), ("agent", "The first word is heron.")):
            expect(f"{text!r} is remembered", any(who == by and text in what for by, what in said), ends(said))
        run = play.tenure.json("show", turn["runId"])
        expect("the agent's session is resumed", own in run["command"], run["command"])
        expect("its scope", run.get("scope") == f"cli:{play.host.name}:{own}", run)
        history = play.tenure.json("sessions", "history", key)["turns"]
        told = ["The first word is heron.", "The second word is plover."]
        expect("the history has both", [turn["text"] for turn in history] == told, history)
    with play.scenario("as a session: closed, it takes no more messages"):
        play.tenure("sessions", "close", key)
        expect("closed", play.status(key)["state"] == "closed", play.status(key))
        play.tenure.exits(1, "sessions", "send", key, "Are you there?")


def leaves_behind(play):
    with play.scenario("as a session: what the agent's shell left in the background is ended with the turn"):
        hold = Hold()
        key = play.spawn("Start something.", Shell(BACKGROUND), Say("It is started, and goes on.", hold))
        play.held(key, hold)
        run, _ = play.processes(key)
        # Some agents end the first by themselves.
        tree = play.tenure.tree(run, "sleep 3611")
        started = [Process(process["pid"]) for process in tree]
        outlived = [process["pid"] for process in tree if process["command"].startswith("sleep 36")]
        hold.let_go.set()
        turn = play.wait(key)
        expect("the answer", answered(turn)[:2] == ("done", "It is started, and goes on."), turn)
        expect_gone(started)
        ending = play.tenure.json("show", run)["termination"]
        expect("nobody is left", ending["confirmed"] and not ending["survivors"], ending)
        escaped = [one["pid"] for one in ending["escapees"]]
        expect("the ending accounts for it", set(outlived) <= set(escaped) or ending["leftovers"], ending)
        expect("the turn names it", all(f"sleep ({pid})" in turn["error"] for pid in escaped), turn)


def daemon_dies(play):
    with play.scenario("as a session: the daemon killed under a turn: the next one ends the same turn"):
        hold = Hold()
        text = "A long answer, of which the second half comes late."
        key = play.spawn("Tell me at length.", Say(text, hold))
        play.held(key, hold)
        run, processes = play.processes(key)
        number = play.status(key)["activeTurn"]["turnId"]
        daemon = play.tenure.daemon()
        daemon.kill()
        expect_gone([daemon])
        play.start()
        expect("the agent lives", not any(one.wait(0) for one in processes), processes)
        hold.let_go.set()
        turn = play.wait(key)
        expect("the same turn and run", (turn["turnId"], turn["runId"]) == (number, run), turn)
        expect("the whole answer", answered(turn) == ("done", text, None), turn)
        asked = play.counsel.asked("Tell me at length.")
        expect("the model was asked once", len(asked) == 1, len(asked))


def cancelled(play):
    with play.scenario("as a session: a turn cancelled in the middle, and another after it"):
        hold = Hold()
        text = "The sea is wide and deep."
        key = play.spawn("Tell me of the sea.", Say(text, hold))
        play.held(key, hold)
        run, processes = play.processes(key)
        play.tenure("sessions", "cancel", key)
        turn = play.wait(key, 123)
        expect("cancelled", turn["state"] == "cancelled", turn)
        expect_gone(processes)
        play.tenure.expect_ended(run, "manual-cancel")
        expect("what came before is kept", turn["text"] == (text[: len(text) // 2] if play.host.streams else None), turn)
        hold.let_go.set()
        play.send(key, "Then of the land.", Say("The land is dry."))
        turn = play.wait(key)
        expect("the next turn", answered(turn) == ("done", "The land is dry.", None), turn)
        said = play.counsel.asked("Then of the land.")[0].said
        expect("it goes on with the cancelled one", ("user", "Tell me of the sea.") in said, ends(said))


def silent(play):
    with play.scenario("as a session: the model never answers, and the turn is ended for silence"):
        play.tenure("daemon", "stop")
        play.start(**{"no-output-timeout": SILENCE})
        key = play.spawn("Are you awake?", Silence())
        turn = play.wait(key, 124)
        expect("the model was asked", play.counsel.asked("Are you awake?"), turn)
        expect("timed out", turn["state"] == "timed-out", turn)
        for part in (f"{play.host.name} gave no output for", "check that", "no-output-timeout"):
            expect(f"{part!r} is said", part in turn["error"], turn)
        play.tenure.expect_ended(turn["runId"], "no-output-timeout")


def nested(play):
    """The agent hands work on, by Tenure's tools."""
    tools = play.host.served(play.tenure, play.work)
    if not tools:
        return
    with play.scenario("as a session: the agent hands work on to another session over MCP, and hears the answer"):
        play.tenure("daemon", "stop")
        play.start(extra=[*play.table["extra"], *tools])
        below = []

        def wait(told):
            below.append(told.structured["session"]["key"])
            return Call("sessions", {"action": "wait", "sessionKey": below[0], "timeoutMs": 30_000})

        spawn = Call("sessions", {"action": "spawn", "backend": "exec", "task": "echo from below"})
        key = play.spawn("Hand it on.", spawn, wait, lambda told: Say(f"I was told: {told.structured['turn']['text']}"))
        turn = play.wait(key)
        expect("the answer", answered(turn) == ("done", "I was told: from below\n", None), turn)
        child = play.status(below[0])
        expect("it was spawned by the agent's own MCP client", child["spawnedBy"].startswith("mcp:"), child)
        expect("it is below the agent's session", child["lineage"] == [child["spawnedBy"], key], child)


def ends(said):
    """What was said, as short as a person wants to read it."""
    return [(who, text[-80:]) for who, text in said]


def answered(turn):
    return turn["state"], turn["text"], turn["error"]


ACTS = [conversation, leaves_behind, daemon_dies, cancelled, nested, silent]
