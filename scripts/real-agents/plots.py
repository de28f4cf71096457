"""The parts that the scripted model plays. Each is a generator: it yields a move, is sent what the call came back with,
and checks that as a scenario of the report."""

import json
import os
from concurrent.futures import ThreadPoolExecutor

from machine import Process, expect_gone, wait_for
from moves import Call, Say
from report import expect

HOUR = ("sleep 3600", "sleep 3601")
# The second leaves its session, its group and its parent at once.
LONG = "setsid -f sleep 3601; sleep 3600"
PATIENT = 120_000


def whole(stage):
    """All that an agent does on a good day; at the end it goes and leaves something running."""
    saw = []
    # The first request comes when the plot begins.
    with stage.scenario("both tools are listed, with their schemas"):
        expect_listed(stage.model.tools)
    with stage.scenario("exec in the foreground"):
        told = yield Call("exec", {"command": 'echo "hello from $((40 + 2))"'})
        expect("the output", told.output.startswith("hello from 42\n"), told)
        expect("completed with 0", (told.status, told.exit_code) == ("completed", 0), told)
        record = stage.tenure.json("show", told.run_id)
        whose = (record["backendId"], record["sessionId"].partition(":")[0], record["state"])
        expect("the run id is a run of this client's", whose == ("exec", "mcp", "exited"), record)
        saw.append("hello from 42")
    with stage.scenario("a non-zero exit code is no failure"):
        told = yield Call("exec", {"command": "echo three >&2; exit 3"})
        expect("standard error", "three\n" in told.output, told)
        expect("completed with 3", (told.status, told.exit_code) == ("completed", 3), told)
        saw.append("exit code 3")
    with stage.scenario("exec in the background, polled, written to, polled to its end"):
        output, ended = yield from conversation()
        expect("each line once, in order", output == "line 1\nline 2\nline 3\nheard forty-two\n", output)
        expect("completed with 7", (ended.status, ended.exit_code) == ("completed", 7), ended)
        saw.append("heard forty-two")
    with stage.scenario("what would run for an hour goes on while the host is there"):
        told = yield Call("exec", {"command": LONG, "background": True})
        expect("running", told.status == "running" and told.run_id, told)
        stage.run = told.run_id
        processes = stage.tenure.tree(stage.run, *HOUR)
        expect("two sessions", len({process["sid"] for process in processes}) >= 2, processes)
        stage.processes = [Process(process["pid"]) for process in processes]
        told = yield Call("process", {"action": "list"})
        expect("the list has it", stage.run in told.text, told)
        saw.append(stage.run)
    stage.goodbye = f"Goodbye. I saw: {'; '.join(saw)}."
    yield Say(stage.goodbye)


def conversation():
    """A command that says three lines and waits for an answer. Returns its output, poll by poll, and
    the poll that told its end."""
    command = 'for n in 1 2 3; do echo "line $n"; done; read answer; echo "heard $answer"; exit 7'
    told = yield Call("exec", {"command": command, "background": True})
    expect("running, with a run id", told.status == "running" and told.run_id, told)
    run, output = told.run_id, ""
    for _ in range(40):
        told = yield Call("process", {"action": "poll", "runId": run, "timeoutMs": 500})
        expect("still running", told.status == "running", told)
        output += told.output
        if "line 3\n" in output and "It waits for input" in told.text:
            break
    expect("it waits for input", "It waits for input" in told.text, told)
    told = yield Call("process", {"action": "write", "runId": run, "data": "forty-two\n"})
    expect("how much was written", "10 bytes" in told.text and run in told.text, told)
    for _ in range(20):
        told = yield Call("process", {"action": "poll", "runId": run, "timeoutMs": 5000})
        output += told.output
        if told.status != "running":
            break
    return output, told


def cut_off(stage):
    """A command in the foreground that never comes back: the host is killed under it."""
    yield Call("exec", {"command": LONG, "yieldMs": PATIENT})


def bereft(stage):
    """The daemon is killed twice: between two calls, and under one."""
    with stage.scenario("a command that fails, and arguments that make no sense, are told as errors"):
        told = yield Call("exec", {"command": "no-such-command-here"})
        expect("failed with 127", (told.status, told.exit_code) == ("failed", 127), told)
        expect("what failed", "shell-command-not-found" in told.text, told)
        told = yield Call("exec", {"comand": "true"})
        expect("what was not understood", "unknown field `comand`" in told.text, told)
    with stage.scenario("the daemon killed between two calls: the run goes on, and so does the host"):
        told = yield Call("exec", {"command": "echo before; read answer; echo after $answer", "background": True})
        expect("running", told.status == "running", told)
        run = told.run_id
        died = kill_daemon(stage)
        told = yield Call("process", {"action": "write", "runId": run, "data": "all\n"})
        expect("it took the input", "4 bytes" in told.text and run in told.text, told)
        told = yield Call("process", {"action": "poll", "runId": run, "timeoutMs": 20_000})
        while told.status == "running":
            told = yield Call("process", {"action": "poll", "runId": run, "timeoutMs": 20_000})
        expect("its end", (told.status, told.exit_code) == ("completed", 0), told)
        told = yield Call("process", {"action": "log", "runId": run})
        expect("both lines", "before\nafter all\n" in told.output, told)
        told = yield Call("exec", {"command": "echo and again"})
        expect("a new command", "and again\n" in told.output and told.exit_code == 0, told)
        expect("another daemon", stage.tenure.daemon().pid != died.pid, died.pid)
    with stage.scenario("the daemon killed under a call: the model is told, and finds the run again"):
        with ThreadPoolExecutor() as beside:
            killed = beside.submit(kill_daemon_under, stage, "sleep 3602")
            told = yield Call("exec", {"command": "echo here; sleep 3602", "yieldMs": PATIENT})
            killed.result()
        expect("what to do next", "call process with action list" in told.text, told)
        listed = yield Call("process", {"action": "list"})
        runs = [run for run in stage.tenure.json("ps") if "sleep 3602" in run["command"][-1]]
        expect("the run lives", len(runs) == 1, runs)
        run = runs[0]["runId"]
        expect("the list has it", run in listed.text, listed)
        processes = [Process(process["pid"]) for process in stage.tenure.tree(run, "sleep 3602")]
        told = yield Call("process", {"action": "kill", "runId": run})
        expect("it was killed", "cancelled" in told.text, told)
        expect_gone(processes)
        stage.tenure.expect_ended(run, "manual-cancel")
    stage.goodbye = "Goodbye. Three daemons, one conversation."
    yield Say(stage.goodbye)


def kill_daemon(stage):
    daemon = stage.tenure.daemon()
    daemon.kill()
    expect_gone([daemon])
    return daemon


def kill_daemon_under(stage, command):
    """Once this command runs."""
    wait_for(f"{command} runs", 20, lambda: running(stage.tenure, command))
    kill_daemon(stage)


def running(tenure, *commands):
    """The run that has these processes."""
    for tree in tenure.json("tree"):
        if {process["command"] for process in tree["processes"]} >= set(commands):
            return tree
    return None


def expect_listed(tools):
    """What the model was offered is what the server lists: names, types, choices and what is required."""
    with open(os.path.join(os.path.dirname(__file__), "../../crates/mcp/tests/tools.json"), encoding="utf-8") as file:
        ours = {tool["name"]: tool["inputSchema"] for tool in json.load(file)}
    expect("exec, process, sessions and tasks", set(tools) == set(ours), set(tools))
    for name, schema in ours.items():
        expect(f"the gist of {name}'s schema", gist(tools[name]) == gist(schema), tools[name])


def gist(schema):
    fields = {name: (field.get("type"), field.get("enum")) for name, field in schema["properties"].items()}
    return fields, schema.get("required")
