"""Runs every scenario against one daemon: scenarios.py TENURE KIT. One line each; 1 if one failed."""

import asyncio
import json
import re
import subprocess
import sys
import time
import traceback

import clients
from world import World

GENERIC = ["server-initialize", "ping", "tools-list", "logging-set-level", "dns-rebinding-protection"]
NEXT = ["server-initialize", "ping", "tools-list", "dns-rebinding-protection", "server-session-lifecycle",
        "http-header-validation", "server-stateless", "server-sse-multiple-streams", "sep-2164-resource-not-found",
        "input-required-result-unsupported-methods"]
# Checks that call a diagnostic tool, which only servers made for the suite have.
NOT_TESTABLE = {"server-stateless": 4}


def tool(world, *words):
    done = subprocess.run([world.node, *map(str, words)], env=world.env, cwd=world.state, capture_output=True, text=True,
                          timeout=120)
    return done.returncode, done.stdout, done.stderr


def inspector(world, where, *words):
    cli = world.kit / "node_modules/.bin/mcp-inspector"
    code, out, err = tool(world, cli.resolve(), "--cli", *where, *words)
    assert code == 0, f"exit {code}: {err or out}"
    assert "Schema portability" not in err, err
    return json.loads(out)


def inspect(world, where):
    """The Inspector lists the tools and calls each; it holds replies against their schema."""
    tools = inspector(world, where, "--method", "tools/list")["tools"]
    assert [one["name"] for one in tools] == ["exec", "process", "sessions", "tasks"], tools
    call = ("--method", "tools/call", "--tool-name")
    done = inspector(world, where, *call, "exec", "--tool-arg", "command=echo inspected")
    assert done["structuredContent"]["output"] == "inspected\n", done
    done = inspector(world, where, *call, "process", "--tool-arg", "action=list")
    assert "runs" in done["structuredContent"], done
    done = inspector(world, where, *call, "sessions", "--tool-arg", "action=list")
    assert "sessions" in done["structuredContent"], done
    done = inspector(world, where, *call, "tasks", "--tool-arg", "action=list")
    assert "tasks" in done["structuredContent"], done


def conform(world, package, scenario):
    main = world.kit / f"node_modules/{package}/dist/index.js"
    code, out, err = tool(world, main, "server", "--url", world.url, "--scenario", scenario)
    said = f"exit {code}:\n{out[-2000:]}{err[-2000:]}"
    passed, of, failed = map(int, re.search(r"Passed: (\d+)/(\d+), (\d+) failed", out).groups())
    left_out = NOT_TESTABLE.get(scenario, 0)
    assert failed == left_out and out.count("Error: Not testable: server does not list the diagnostic tool") == left_out, said
    assert code == 0 or left_out, said
    return f"{passed} of {of}"


def scenarios(world):
    http = ["--transport", "http", "--server-url", world.direct, "--header", f"Authorization: Bearer {world.token}"]
    # It starts servers with a clean environment.
    stdio = ["-e", f"TENURE_STATE={world.state}", world.tenure, "mcp"]
    yield "inspector, stdio", lambda: inspect(world, stdio)
    yield "inspector, http", lambda: inspect(world, http)
    for kind in ["stdio", "http"]:
        yield f"python client, {kind}", lambda: asyncio.run(clients.story(world, kind))
        yield f"python client, {kind}, newest", lambda: asyncio.run(clients.newest(world, kind))
    for package, names in [("conformance", GENERIC), ("conformance-next", NEXT)]:
        for name in names:
            yield f"{package}: {name}", lambda: conform(world, package, name)


def main(tenure, kit):
    failed = 0
    with World(tenure, kit) as world:
        for name, scenario in scenarios(world):
            began = time.monotonic()
            try:
                more = scenario()
                print(f"ok      {name} ({time.monotonic() - began:.1f} s){f': {more}' if more else ''}", flush=True)
            except Exception:
                failed += 1
                print(f"FAILED  {name}\n{traceback.format_exc(chain=False)}", flush=True)
    print(f"{failed} failed" if failed else "all passed")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
