"""Aims valid calls of the fuzzer at what there is, which it could not guess, and writes down what they met.

tests/admin/fuzz.rs fills the store, says in known.json which records and messages are for which call, and reads met.jsonl.
"""

import json
from collections import Counter

import schemathesis

with open("known.json", encoding="utf-8") as file:
    KNOWN = json.load(file)
calls = Counter()


def name_of(case):
    return f"{case.method.upper()} {case.operation.path}"


@schemathesis.hook
def before_call(context, case, kwargs):
    name = name_of(case)
    known = KNOWN.get(name)
    if not known or case.meta is None or not case.meta.generation.mode.is_positive:
        return
    calls[name] += 1
    # Every second call meets what the fuzzer made up.
    if calls[name] % 2:
        return
    fields = case.query if case.method.upper() == "GET" else case.body
    if not isinstance(fields, dict):
        return
    for field, value in known[calls[name] // 2 % len(known)].items():
        if value is None:
            fields.pop(field, None)
        else:
            fields[field] = value


@schemathesis.hook
def after_call(context, case, response):
    changed = None
    if response.status_code == 200 and "json" in response.headers.get("content-type", [""])[0]:
        answer = response.json()
        changed = answer.get("changed") if isinstance(answer, dict) else None
    line = {"call": name_of(case), "status": response.status_code, "changed": changed}
    with open("met.jsonl", "a", encoding="utf-8") as file:
        file.write(json.dumps(line) + "\n")
