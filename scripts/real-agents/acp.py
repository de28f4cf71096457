"""The agents as ACP sessions: one adapter of the agent carries out all turns of a session, and Tenure holds it."""

import http.client
import json
import os
import socket

import sessions
from machine import Process, parent, wait_for, words
from report import Failed, expect


class Local(http.client.HTTPConnection):
    """The daemon's own socket."""

    def __init__(self, path):
        super().__init__("localhost", timeout=100)
        self._path = path

    def connect(self):
        self.sock = socket.socket(socket.AF_UNIX)
        self.sock.settimeout(self.timeout)
        self.sock.connect(self._path)


class Play(sessions.Play):
    """A Tenure, its daemon and a model, for the ACP sessions of one agent."""

    def described(self):
        return self.host.adapted(self.counsel.url, self.work)

    @property
    def heading(self):
        return f"agents.{self.host.agent}.acp"

    def post(self, path, **said):
        """What the daemon answers."""
        local = Local(os.path.join(self.tenure.state, "daemon.sock"))
        try:
            local.request("POST", path, json.dumps(said), {"Content-Type": "application/json"})
            answer = local.getresponse()
            text = answer.read()
        finally:
            local.close()
        if answer.status >= 300:
            raise Failed(f"{path} {said}: {answer.status} {text.decode()}")
        return json.loads(text or "{}")

    def ask(self, action, key, **more):
        return self.post("/v1/sessions", action=action, sessionKey=key, **more)

    def spawn(self, message, *moves, permissions="approve-all", **more):
        self.counsel.script[message] = moves
        asked = {"agent": self.host.agent, "backend": "acp", "permissions": permissions, "task": message, **more}
        cwd = os.path.join(self.work, "project")
        return self.post("/v1/sessions", action="spawn", cwd=cwd, **asked)["session"]["key"]

    def ended(self, key):
        """The turn, once it has ended."""
        for _ in range(3):
            turn = self.ask("wait", key, timeoutMs=30_000)["turn"]
            if turn["state"] != "running":
                return turn
        raise Failed(f"the turn does not end: {turn}; {self.told(key)}")

    def entries(self, key, *kinds):
        """What happened in the session: the bodies of the entries of these kinds."""
        entries = self.ask("entries", key, limit=500)["entries"]
        return [entry["body"] for entry in entries if entry["kind"] in kinds]

    def told(self, key):
        """What happened in the session, as short as a person wants to read it."""
        entries = self.ask("entries", key, limit=500)["entries"]
        return [(entry["kind"], json.dumps(entry["body"])[:200]) for entry in entries]

    def adapter(self, key):
        """The session's adapter: its run, and its first process."""
        run = wait_for("the session has an adapter", 20, lambda: self.status(key).get("adapter"))["runId"]
        tree = self.tenure.tree(run)
        return run, Process(tree[0]["pid"])

    def keepers(self, key):
        """The keeper of a session's adapter, and the nursery that the keeper is from."""
        _, root = self.adapter(key)
        keeper = parent(root.pid)
        above = [Process(keeper), Process(parent(keeper))]
        for one in above:
            ours = words(one.pid)[:2] == ["tenure", "nursery"] and self.tenure.state in words(one.pid)
            expect("a keeper and a nursery are above it", ours, words(one.pid))
        return above

    def goes_on(self, key, run, message="Are you there still?"):
        """A further turn of the session, with the same adapter."""
        self.send(key, message, sessions.Say("I am there still."))
        expect_said(self, key, self.ended(key), "I am there still.")
        now = self.status(key)["adapter"]["runId"]
        expect("the same adapter", now == run, (run, now))


def expect_said(play, key, turn, text):
    said = (turn["state"], turn.get("stop"), turn["text"], turn["error"])
    expect(f"{text!r} is said", said == ("done", "end-turn", text, None), (said, play.told(key)))
