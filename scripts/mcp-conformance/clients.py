"""The official Python client drives both transports through a whole story."""

import asyncio

import httpx2
from mcp import Client, ClientSession, StdioServerParameters
from mcp.client.stdio import stdio_client
from mcp.client.streamable_http import streamable_http_client

DEADLINE = 30


def transport(world, kind):
    if kind == "stdio":
        return stdio_client(StdioServerParameters(command=world.tenure, args=["mcp"], env=world.env))
    http = httpx2.AsyncClient(headers={"Authorization": f"Bearer {world.token}"}, timeout=DEADLINE)
    return streamable_http_client(world.direct, http_client=http)


def text(result):
    return "".join(part.text for part in result.content)


async def story(world, kind):
    """initialize, list, exec, progress, errors, background and poll, notices, cancel, and what leaving ends."""
    notices = asyncio.Queue()

    async def notice(params):
        notices.put_nowait(params.data)

    left = f"sleep 301 # {kind}"
    async with transport(world, kind) as (read, write, *_), ClientSession(
            read, write, read_timeout_seconds=DEADLINE, logging_callback=notice) as session:
        begun = await session.initialize()
        assert begun.server_info.name == "tenure" and begun.instructions
        tools = (await session.list_tools()).tools
        assert [tool.name for tool in tools] == ["exec", "process", "sessions", "tasks"], tools

        done = await session.call_tool("exec", {"command": "echo hello; exit 3"})
        assert not done.is_error and done.structured_content["exitCode"] == 3, done
        assert text(done).startswith("hello\n") and "exit code 3" in text(done), done

        lines = []

        async def progress(amount, total, message):
            lines.append((amount, message))

        ticking = "for i in 1 2 3; do echo tick $i; sleep 1.1; done"
        await session.call_tool("exec", {"command": ticking}, progress_callback=progress)
        amounts = [amount for amount, _ in lines]
        assert amounts and amounts == sorted(set(amounts)), lines
        assert lines[0][1].startswith("tick "), lines

        wrong = await session.call_tool("exec", {"command": "true", "cmd": "x"})
        assert wrong.is_error and "`cmd`" in text(wrong) and "`workdir`" in text(wrong), wrong
        wrong = await session.call_tool("process", {"action": "poll", "runId": "ffff"})
        assert wrong.is_error and "no-such-run" in text(wrong), wrong

        went = await session.call_tool("exec", {"command": "read x; echo got $x", "background": True})
        run = went.structured_content["runId"]
        assert went.structured_content["status"] == "running" and run in text(went), went
        await session.call_tool("process", {"action": "write", "runId": run, "data": "word\n"})
        heard = await session.call_tool("process", {"action": "poll", "runId": run, "timeoutMs": 10000})
        while heard.structured_content["status"] == "running":
            heard = await session.call_tool("process", {"action": "poll", "runId": run, "timeoutMs": 10000})
        log = await session.call_tool("process", {"action": "log", "runId": run})
        assert "got word" in text(log), log

        await session.call_tool("exec", {"command": "sleep 0.3; echo told", "background": True})
        while "echo told" not in await asyncio.wait_for(notices.get(), DEADLINE):
            pass

        await cancel(world, session, kind)
        await session.call_tool("exec", {"command": left, "background": True})
        assert world.runs()[left]["state"] == "running"
    ended = await asyncio.to_thread(world.until_ended, left)
    assert ended["reason"] == "manual-cancel", ended


async def cancel(world, session, kind):
    """A call that the client cancels ends its command."""
    long = f"sleep 302 # {kind}"
    calling = asyncio.create_task(session.call_tool("exec", {"command": long, "yieldMs": 60000}))
    for _ in range(600):
        if long in await asyncio.to_thread(world.runs):
            break
        await asyncio.sleep(0.05)
    # Cancelling the scope of the call sends notifications/cancelled.
    calling.cancel()
    await asyncio.gather(calling, return_exceptions=True)
    ended = await asyncio.to_thread(world.until_ended, long)
    assert ended["reason"] == "manual-cancel", ended


async def newest(world, kind):
    """The client as it is used: it finds out by itself which version both speak."""
    at = StdioServerParameters(command=world.tenure, args=["mcp"], env=world.env)
    async with Client(at if kind == "stdio" else world.url) as client:
        done = await client.call_tool("exec", {"command": "echo hello"})
        assert done.structured_content["output"] == "hello\n", done
        return client.protocol_version
