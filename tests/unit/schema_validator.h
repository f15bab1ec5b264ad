/* SPDX-License-Identifier: MIT */
/* schema_validator.h - what we print, judged by a validator of JSON schemas that is not ours. */
#ifndef MEMATTACH_TESTS_SCHEMA_VALIDATOR_H
#define MEMATTACH_TESTS_SCHEMA_VALIDATOR_H

#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>

/* docs/SCHEMA over text: the validator's status, 0 valid, 1 not, 77 it is not installed; -1. */
static inline int schema_validate(const char *schema, const char *text)
{
	const char *source = getenv("SRCDIR");
	char *command = NULL;
	FILE *pipe;

	if (asprintf(&command, "python3 -c 'import jsonschema' 2>/dev/null || exit 77; "
			       "python3 %s/tests/e2e/check_schema.py %s/docs/%s /dev/stdin "
			       "2>/dev/null", source ? source : ".", source ? source : ".",
		     schema) < 0)
		return -1;
	pipe = popen(command, "w");
	free(command);
	if (!pipe)
		return -1;
	fputs(text, pipe);
	return WEXITSTATUS(pclose(pipe));
}

#endif
