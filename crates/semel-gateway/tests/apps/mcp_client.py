"""An agent that calls tools with the official SDK, and calls again. Prints what it saw as JSON."""

import asyncio
import json
import sys

from mcp.client.session import ClientSession
from mcp.client.streamable_http import streamable_http_client


def key(name: str) -> dict[str, str]:
    return {"idempotency-key": name}


async def attempt(session: ClientSession, *args: object, **kwargs: object) -> str:
    try:
        result = await session.call_tool(*args, **kwargs)
        return ("failed: " if result.is_error else "") + result.content[0].text
    except Exception as error:
        return f"{type(error).__name__}: {error}"


async def main(url: str) -> None:
    progress: list[float] = []

    async def told(done: float, total: float | None, message: str | None) -> None:
        progress.append(done)

    seen: dict[str, object] = {}
    async with streamable_http_client(url) as streams:
        async with ClientSession(streams[0], streams[1]) as session:
            await session.initialize()
            seen["tools"] = sorted(tool.name for tool in (await session.list_tools()).tools)
            seen["first"] = await attempt(session, "pay", {"amount": 5}, progress_callback=told, meta=key("k"))
            seen["retry"] = await attempt(session, "pay", {"amount": 5}, progress_callback=told, meta=key("k"))
            seen["reused"] = await attempt(session, "pay", {"amount": 6}, meta=key("k"))
            seen["other"] = await attempt(session, "pay", {"amount": 6}, meta=key("k2"))
            seen["failed"] = [await attempt(session, "refuse", {}, meta=key("k")) for _ in range(2)]
            seen["still"] = await attempt(session, "ledger", {})
    # Another session, as after a crash of the agent.
    async with streamable_http_client(url) as streams:
        async with ClientSession(streams[0], streams[1]) as session:
            await session.initialize()
            seen["later"] = await attempt(session, "pay", {"amount": 5}, meta=key("k"))
            seen["ledger"] = await attempt(session, "ledger", {})
    seen["progress"] = progress
    print(json.dumps(seen))


asyncio.run(main(sys.argv[1]))
