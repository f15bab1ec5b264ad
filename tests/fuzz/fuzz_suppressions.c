/* SPDX-License-Identifier: MIT */
/*
 * fuzz_suppressions.c - any text as a suppression file; what it accepts must be whole lines of
 * it, match itself where it has no special characters, and be found by a stack that it matches.
 */
#include <string.h>

#include "src/leak/analysis/suppressions.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static int check_rule(void *context, const struct suppression *rule)
{
	const struct suppressions *suppressions = context;
	struct symbol_frame frame = { .function = rule->pattern, .module = "" };
	size_t length = strlen(rule->pattern);

	if (length == 0 || rule->line == 0 || rule->count != 0 || strchr(rule->pattern, '\n'))
		abort();
	if (strcspn(rule->pattern, "*^$") < length)
		return 0;
	if (!suppressions_matches(rule->pattern, rule->pattern))
		abort();
	if (suppressions_match(suppressions, &frame, 1) == 0)
		abort();
	return 0;
}

/* The first line as a pattern for the rest as a name. */
static void check_match(const uint8_t *data, size_t size)
{
	const uint8_t *end = size ? memchr(data, '\n', size) : NULL;
	_cleanup_free_ char *pattern = NULL, *text = NULL;

	if (!end)
		return;
	pattern = strndup((const char *)data, (size_t)(end - data));
	text = strndup((const char *)end + 1, size - (size_t)(end - data) - 1);
	if (pattern && text && suppressions_matches(pattern, text) && !*text)
		abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct suppressions_error error = { 0 };
	struct suppressions *suppressions;

	if (suppressions_new(&suppressions))
		return 0;
	if (suppressions_parse(suppressions, (const char *)data, size, &error) == 0)
		suppressions_each(suppressions, check_rule, suppressions);
	else if (error.text[0] == '\0' || memchr(error.text, '\0', sizeof(error.text)) == NULL)
		abort();
	suppressions_free(suppressions);
	check_match(data, size);
	return 0;
}
