/* SPDX-License-Identifier: MIT */
/* schema_validator.h - what we print, judged by a validator of JSON schemas that is not ours. */
#ifndef MEMATTACH_TESTS_SCHEMA_VALIDATOR_H
#define MEMATTACH_TESTS_SCHEMA_VALIDATOR_H

/*
 * docs/SCHEMA over text (documents one after the other): 0 each is valid; 1; 77 python3 or its
 * jsonschema is missing; -1. The first call starts the validator, which ends with the program.
 */
int schema_validate(const char *schema, const char *text);

#endif
