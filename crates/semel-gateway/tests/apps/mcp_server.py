"""An MCP server as its users write it: a tool that acts, and one that only looks. Prints its port first."""

import asyncio
import socket

import uvicorn
from mcp.server.mcpserver import Context, MCPServer

server = MCPServer("shop")
payments: list[int] = []


@server.tool()
async def pay(amount: int, ctx: Context) -> str:
    """Take a payment."""
    await ctx.report_progress(1, 2)
    payments.append(amount)
    await ctx.report_progress(2, 2)
    return f"payment {len(payments)} of {amount}"


@server.tool()
def refuse() -> str:
    """Fail, as tools do."""
    payments.append(0)
    raise ValueError("declined")


@server.tool()
def ledger() -> str:
    """Look at the payments."""
    return str(len(payments))


async def main() -> None:
    listener = socket.create_server(("127.0.0.1", 0))
    print(listener.getsockname()[1], flush=True)
    config = uvicorn.Config(server.streamable_http_app(), log_level="warning")
    await uvicorn.Server(config).serve([listener])


asyncio.run(main())
