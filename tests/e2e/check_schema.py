#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""check_schema.py SCHEMA DOCUMENT: is the document (one a line is allowed) valid?

check_schema.py --serve: for each line "SCHEMA BYTES" on standard input the bytes behind it; a line
with the status for each.

Exit status 0: each is; 1; 77: there is no python3-jsonschema to ask.
"""
import functools
import json
import sys

try:
    import jsonschema
except ImportError:
    sys.exit(77)


def documents(text):
    decoder = json.JSONDecoder()
    at = 0
    while text[at:].strip():
        at += len(text[at:]) - len(text[at:].lstrip())
        document, at = decoder.raw_decode(text, at)
        yield document


@functools.lru_cache(maxsize=None)
def validator_of(path):
    schema = json.load(open(path, encoding="utf-8"))
    validator = jsonschema.validators.validator_for(schema)
    validator.check_schema(schema)
    return validator(schema)


def problem(schema, text):
    """What is wrong with one of the documents in the text; None: nothing."""
    count = 0
    for document in documents(text):
        count += 1
        for error in validator_of(schema).iter_errors(document):
            path = "/".join(str(part) for part in error.absolute_path)
            return f"{path}: {error.message[:300]}"
    return None if count else "no document"


def serve():
    for line in sys.stdin.buffer:
        schema, size = line.decode().rsplit(" ", 1)
        text = sys.stdin.buffer.read(int(size)).decode("utf-8")
        try:
            found = problem(schema, text)
        except ValueError as error:
            found = str(error)
        print(1 if found else 0, flush=True)


if sys.argv[1] == "--serve":
    serve()
else:
    sys.exit(problem(sys.argv[1], open(sys.argv[2], encoding="utf-8").read()))
