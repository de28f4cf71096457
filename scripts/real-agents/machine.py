"""The machine as the scenarios see it: processes by pidfd, and `tenure` with a state root of its own."""

import json
import os
import select
import signal
import subprocess
import time

from report import Failed, expect

LOOK = 0.02


def wait_for(what, seconds, look):
    """The first answer that is not nothing. Looks again until the deadline."""
    deadline = time.monotonic() + seconds
    while True:
        found = look()
        if found:
            return found
        if time.monotonic() > deadline:
            raise Failed(f"not within {seconds} s: {what}")
        time.sleep(LOOK)


class Process:
    """One process, whoever gets its number later."""

    def __init__(self, pid):
        self.pid = pid
        self._fd = os.pidfd_open(pid)

    def wait(self, seconds):
        """Whether it ends in time."""
        poll = select.poll()
        poll.register(self._fd, select.POLLIN)
        return bool(poll.poll(seconds * 1000))

    def kill(self):
        try:
            signal.pidfd_send_signal(self._fd, signal.SIGKILL)
        except ProcessLookupError:
            pass


def descendants(pid):
    """The pids below this one, parents first."""
    parents = {}
    for entry in os.listdir("/proc"):
        if entry.isdigit():
            try:
                with open(f"/proc/{entry}/stat", encoding="utf-8", errors="replace") as stat:
                    parents.setdefault(int(stat.read().rpartition(")")[2].split()[1]), []).append(int(entry))
            except OSError:
                continue
    found, ahead = [], [pid]
    while ahead:
        below = parents.get(ahead.pop(), [])
        found += below
        ahead += below
    return found


def parent(pid):
    with open(f"/proc/{pid}/stat", encoding="utf-8", errors="replace") as stat:
        return int(stat.read().rpartition(")")[2].split()[1])


def words(pid):
    """A process's command line; empty if it is gone."""
    try:
        with open(f"/proc/{pid}/cmdline", "rb") as line:
            return [word.decode(errors="replace") for word in line.read().split(b"\0")[:-1]]
    except OSError:
        return []


def others():
    """The living processes of this pid namespace, beside its first and us."""
    pids = [int(entry) for entry in os.listdir("/proc") if entry.isdigit()]
    return [(pid, words(pid)) for pid in pids if pid not in (1, os.getpid()) and words(pid)]


class Tenure:
    """`tenure` with this state root."""

    def __init__(self, binary, state, env=None, cwd=None):
        self.binary = binary
        self.state = state
        self.env = {**(os.environ if env is None else env), "TENURE_STATE": state, "TENURE_NO_AUTOSTART": "1"}
        self.cwd = cwd

    def __call__(self, *args):
        return self.exits(0, *args)

    def exits(self, code, *args):
        """What it prints, if that is its exit code."""
        command = [self.binary, *args]
        done = subprocess.run(command, env=self.env, cwd=self.cwd, capture_output=True, text=True, timeout=100)
        if done.returncode != code:
            raise Failed(f"tenure {' '.join(args)}: exit code {done.returncode}: {done.stdout} {done.stderr.strip()}")
        return done.stdout

    def json(self, *args):
        return json.loads(self(*args, "--json"))

    def daemon(self):
        return Process(self.json("daemon", "status")["pid"])

    def tree(self, run, *commands):
        """A run's processes, once all of these commands are among them."""

        def look():
            try:
                processes = self.json("tree", run)["processes"]
            except Failed:
                return None
            return processes if {process["command"] for process in processes} >= set(commands) else None

        return wait_for(f"the tree of {run} has {commands}", 20, look)

    def expect_ended(self, run, reason):
        """Waits for a run's record to say that it has ended, for this reason and with nobody left."""
        record = wait_for(f"{run} has ended", 20, lambda: self._if_ended(run))
        termination = record["termination"]
        good = termination["reason"] == reason and termination["confirmed"] and not termination["survivors"]
        expect(f"run {run} ended by {reason}, confirmed, without survivors", good, termination)
        return record

    def _if_ended(self, run):
        record = self.json("show", run)
        return record if record["state"] == "exited" else None

    def stop(self):
        try:
            self("daemon", "stop", "--cancel-runs")
        except Failed:
            # There is none.
            pass


def expect_gone(processes, seconds=20):
    """Waits for processes to end."""
    deadline = time.monotonic() + seconds
    alive = [one.pid for one in processes if not one.wait(max(0, deadline - time.monotonic()))]
    expect("every process is gone", not alive, [(pid, words(pid)) for pid in alive])
