"""Stripe's side of the test: localstripe, made fit to be killed, and a reconciler beside it.

    upstream.py API_PORT RECONCILER_PORT STATE_FILE

What localstripe answers is left alone. Added are, in this order below:

- a state file of its own, written in one piece per request. localstripe writes to a fixed path
  under /tmp, in place and while an object is half made, and rewrites it while loading it: a kill
  would lose charges, and a test must not count on luck;
- a gate: once the reconciler said that an operation did not happen under a fence, a request
  of that operation with the same or a lower fence is refused, wherever its bytes were until then.
  That makes the "no" final;
- the reconciler, which finds an operation's charge by its metadata;
- points to stop at: `before` (the whole request has arrived, nothing was done) and `after` (the
  charge is on disk, nothing was answered), so that the test kills when it wants to and not when
  it happens to.

The test talks to it in lines. Commands: `hold before`, `hold after` (the next request for a charge
stops there; answered with `will-hold`), `go KEY FENCE`. Events: `listening`,
`held before|after KEY FENCE`, `charged|refused KEY FENCE`, `asked KEY FENCE yes|no`. It ends when
its standard input does.
"""

import asyncio
import os
import pickle
import sys
from collections import deque

from aiohttp import web
from localstripe import resources, server

# The store's own objects have a colon in their names, in other places.
REFUSED = "refused "

# One request or question at a time: a charge is either not begun or done when the reconciler looks.
gate = asyncio.Lock()
# The points at which the next requests stop.
points = deque()
# What is stopped, by key and fence.
held = {}


def say(*words):
    print(*words, flush=True)


def keep_state_in(path):
    """Makes every request's changes appear in the file at once or not at all."""

    def dump(store):
        with open(path + ".new", "wb") as file:
            pickle.dump(dict(store), file)
        os.replace(path + ".new", path)

    def load(store):
        if os.path.exists(path):
            with open(path, "rb") as file:
                store.update(pickle.load(file))

    resources.Store.dump_to_disk = dump
    resources.Store.try_load_from_disk = load
    # The server itself dumps after every request; in between, objects are half made.
    del resources.Store.__setitem__
    del resources.Store.__delitem__


@web.middleware
async def stop_and_guard(request, handler):
    if (request.method, request.path) != ("POST", "/v1/charges"):
        return await handler(request)
    key = request.headers.get("Idempotency-Key", "none")
    fence = int(request.headers.get("Semel-Fence", "0"))
    await request.read()
    point = points.popleft() if points else None
    if point == "before":
        await stop("before", key, fence)
    response = await charge(request, handler, key, fence)
    if point == "after":
        await stop("after", key, fence)
    return response


async def charge(request, handler, key, fence):
    async with gate:
        # Requests that came straight to this server carry no fence and pass.
        if 0 < fence <= resources.store.get(REFUSED + key, 0):
            say("refused", key, fence)
            return web.json_response({"error": {"message": "too late"}}, status=412)
        response = await handler(request)
        say("charged", key, fence)
        return response


async def stop(point, key, fence):
    held[key, fence] = asyncio.Event()
    say("held", point, key, fence)
    await held[key, fence].wait()


async def reconcile(request):
    key, fence = request.query["key"], int(request.query["fence"])
    async with gate:
        for name, charge in resources.store.items():
            if name.startswith("charge:") and charge.metadata.get("operation") == key:
                say("asked", key, fence, "yes")
                return server.json_response(charge._export())
        refused = resources.store.get(REFUSED + key, 0)
        resources.store[REFUSED + key] = max(fence, refused)
        resources.store.dump_to_disk()
    say("asked", key, fence, "no")
    return web.Response(status=404)


async def obey():
    loop = asyncio.get_running_loop()
    lines = asyncio.StreamReader()
    await loop.connect_read_pipe(lambda: asyncio.StreamReaderProtocol(lines), sys.stdin)
    while line := (await lines.readline()).decode():
        match line.split():
            case ["hold", point]:
                points.append(point)
                say("will-hold")
            case ["go", key, fence]:
                held.pop((key, int(fence))).set()
            case _:
                raise ValueError(f"unknown command {line!r}")


async def listen(app, port):
    runner = web.AppRunner(app)
    await runner.setup()
    await web.TCPSite(runner, "127.0.0.1", port).start()


async def main(api_port, reconciler_port, state):
    keep_state_in(state)
    resources.store.try_load_from_disk()
    server.app.middlewares.insert(0, stop_and_guard)
    reconciler = web.Application()
    reconciler.router.add_get("/charges", reconcile)
    await listen(reconciler, int(reconciler_port))
    await listen(server.app, int(api_port))
    say("listening")
    await obey()


asyncio.run(main(*sys.argv[1:]))
