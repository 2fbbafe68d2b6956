"""A shop that uses Stripe's own client as anybody would; only the address differs.

    client.py charge API_BASE RETRIES CALLS THREADS   < lines with an operation and, if it matters, an amount
    client.py list API_BASE

`charge` makes one charge per operation, with the operation's name as the key, and calls for it CALLS
times as soon as a thread is free. Each call answers with one JSON line, in no order: the charge and
whether the answer was marked as a replay, or the error that the client raised in the end. `list`
prints every charge that there is.
"""

import json
import sys
from concurrent.futures import ThreadPoolExecutor
from threading import Lock

import stripe

stdout = Lock()


def say(**fields):
    with stdout:
        print(json.dumps(fields), flush=True)


def charge(operation, amount="1999"):
    try:
        made = stripe.Charge.create(
            amount=amount,
            currency="eur",
            source="pm_card_visa",
            metadata={"operation": operation},
            idempotency_key=operation,
        )
    except Exception as error:
        status = getattr(error, "http_status", None)
        return {"operation": operation, "error": type(error).__name__, "status": status}
    replayed = made.last_response.headers.get("Idempotent-Replayed") == "true"
    return {"operation": operation, "charge": made.id, "replayed": replayed}


def charge_all(calls, threads):
    with ThreadPoolExecutor(threads) as pool:
        for line in sys.stdin:
            for _ in range(calls):
                done = pool.submit(charge, *line.split())
                done.add_done_callback(lambda done: say(**done.result()))


def list_all():
    for made in stripe.Charge.list(limit=100).auto_paging_iter():
        say(operation=made.metadata["operation"], charge=made.id)


stripe.api_key = "sk_test_semel"
match sys.argv[1:]:
    case ["charge", api_base, retries, calls, threads]:
        stripe.api_base = api_base
        stripe.max_network_retries = int(retries)
        charge_all(int(calls), int(threads))
    case ["list", api_base]:
        stripe.api_base = api_base
        list_all()
    case _:
        sys.exit(__doc__)
