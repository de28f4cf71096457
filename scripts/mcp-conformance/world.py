"""A daemon of its own for the scenarios, and a proxy in front of it that shows the token."""

import json
import os
import shutil
import socket
import subprocess
import tempfile
import time
from pathlib import Path

DEADLINE = 30


class World:
    def __init__(self, tenure, kit):
        self.tenure, self.kit = tenure, Path(kit)
        self.node = self.kit / "node_modules/node/bin/node"
        self.state = tempfile.mkdtemp(prefix="tenure-mcp-")
        with socket.socket() as free:
            free.bind(("127.0.0.1", 0))
            self.port = free.getsockname()[1]
        kept = {name: value for name, value in os.environ.items() if not name.startswith("TENURE_")}
        self.env = {
            **kept,
            "TENURE_STATE": self.state,
            "TENURE_API_LISTEN": f"127.0.0.1:{self.port}",
            # The tools' clients look for their own settings there.
            "HOME": self.state,
        }
        self.proxy = None

    def __enter__(self):
        try:
            self.run("daemon", "start")
            token = f"{self.state}/api-token"
            self.proxy = subprocess.Popen(
                [self.node, Path(__file__).with_name("proxy.mjs"), str(self.port), token],
                stdout=subprocess.PIPE, text=True)
            self.url = f"http://127.0.0.1:{self.proxy.stdout.readline().strip()}/mcp"
            self.token = Path(token).read_text().strip()
            self.direct = f"http://127.0.0.1:{self.port}/mcp"
            return self
        except BaseException:
            self.__exit__()
            raise

    def __exit__(self, *_):
        if self.proxy:
            self.proxy.kill()
            self.proxy.wait()
        subprocess.run([self.tenure, "daemon", "stop", "--cancel-runs"], env=self.env, capture_output=True)
        shutil.rmtree(self.state, ignore_errors=True)

    def run(self, *words):
        done = subprocess.run([self.tenure, *words], env=self.env, capture_output=True, text=True, timeout=DEADLINE)
        assert done.returncode == 0, f"tenure {' '.join(words)}: {done.stderr}"
        return done.stdout

    def runs(self):
        """Every run, by the command line that was asked for."""
        listed = json.loads(self.run("ps", "--all", "--json"))
        return {run["command"][-1]: run for run in listed}

    def until_ended(self, command):
        deadline = time.monotonic() + DEADLINE
        while True:
            run = self.runs().get(command)
            if run and run["state"] == "exited":
                return run["termination"]
            assert time.monotonic() < deadline, f"{command!r} has not ended: {run}"
            time.sleep(0.05)
