#!/usr/bin/env python3
"""A gateway in 60 lines: starts a command through Tenure's API, prints its output, exits with its exit code.

Usage: gateway.py SESSION COMMAND [ARGUMENT...]
Ctrl-C or SIGTERM cancels the run with its whole process tree. If the daemon restarts, the run goes on, and so does this.
"""
import http.client
import json
import os
import signal
import socket
import sys
import time

STATE = os.environ.get("TENURE_STATE") or os.path.expanduser("~/.local/state/tenure")


class Daemon(http.client.HTTPConnection):
    def connect(self):
        self.sock = socket.socket(socket.AF_UNIX)
        self.sock.connect(os.path.join(STATE, "daemon.sock"))


def send(method, path, body=None):
    """Sends a request; returns the response, or exits with Tenure's problem."""
    daemon = Daemon("tenure")
    daemon.request(method, path, json.dumps(body) if body is not None else None)
    response = daemon.getresponse()
    if response.status >= 400:
        problem = json.load(response)
        text = f"{problem['code']}: {problem['detail']}"
        raise ConnectionError(text) if response.status == 503 else SystemExit(text)
    return response


def follow(run):
    """Copies the run's output until the run has ended; returns how it ended."""
    offset = 0
    while True:
        try:
            response = send("GET", f"/v1/runs/{run}/output?follow=true&offset={offset}")
            offset = int(response.headers["Tenure-Offset"])  # later than asked for if output was dropped
            while chunk := response.read1(65536):
                offset += len(chunk)
                sys.stdout.buffer.write(chunk)
                sys.stdout.buffer.flush()
            record = json.load(send("POST", f"/v1/runs/{run}/wait", {"timeoutMs": 30000}))
            if record["state"] == "exited":
                return record["termination"]
        except (OSError, http.client.HTTPException):
            time.sleep(0.2)  # the daemon restarts


request = {"session": sys.argv[1], "command": sys.argv[2:], "cwd": os.getcwd()}
run = json.load(send("POST", "/v1/runs", request))["runId"]
for number in (signal.SIGINT, signal.SIGTERM):
    signal.signal(number, lambda *_: send("POST", f"/v1/runs/{run}/cancel", {}))
ending = follow(run)
print(f"{run}: {ending['reason']}, confirmed: {ending['confirmed']}", file=sys.stderr)
sys.exit(ending["exitCode"] if ending["reason"] == "exit" else 1)
