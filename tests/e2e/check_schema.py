#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""check_schema.py SCHEMA DOCUMENT: is the document (one a line is allowed) valid?

Exit status 0: each is; 1; 77: there is no python3-jsonschema to ask.
"""
import json
import sys

try:
    import jsonschema
except ImportError:
    sys.exit(77)


def documents(path):
    text = open(path, encoding="utf-8").read()
    decoder = json.JSONDecoder()
    at = 0
    while text[at:].strip():
        at += len(text[at:]) - len(text[at:].lstrip())
        document, at = decoder.raw_decode(text, at)
        yield document


def main():
    schema = json.load(open(sys.argv[1], encoding="utf-8"))
    validator = jsonschema.validators.validator_for(schema)
    validator.check_schema(schema)
    count = 0
    for document in documents(sys.argv[2]):
        count += 1
        for error in validator(schema).iter_errors(document):
            path = "/".join(str(part) for part in error.absolute_path)
            sys.exit(f"{path}: {error.message[:300]}")
    if count == 0:
        sys.exit("no document")


main()
