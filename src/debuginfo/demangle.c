/* SPDX-License-Identifier: MIT */
/*
 * demangle.c - C++, Rust and D names as people write them.
 *
 * libiberty does it; the caller caches. Names come from hostile files: one that
 * is too long is left alone, what libiberty prints is cut at a limit (a short
 * name can stand for gigabytes by repeating itself), and its limit on recursion
 * stays on. The callback interfaces are used because the others would build
 * the whole of such a name in memory first.
 */
#ifdef HAVE_CONFIG_H
#include "config.h"
#endif
#include "src/debuginfo/demangle.h"

#include <stdbool.h>
#include <string.h>

#ifdef HAVE_LIBIBERTY
#include <libiberty/demangle.h>

#define MAX_MANGLED	2048u
#define MAX_NAME	16384u

struct text {
	char *text;
	size_t length;
	bool failed;
};

static void append(const char *part, size_t length, void *context)
{
	struct text *text = context;
	char *grown;

	if (text->failed || text->length == MAX_NAME)
		return;
	if (length > MAX_NAME - text->length)
		length = MAX_NAME - text->length;
	grown = realloc(text->text, text->length + length + 1);
	if (!grown) {
		text->failed = true;
		return;
	}
	memcpy(grown + text->length, part, length);
	text->text = grown;
	text->length += length;
	grown[text->length] = '\0';
}

static char *finish(struct text *text, int done)
{
	if (done && !text->failed && text->length > 0)
		return text->text;
	free(text->text);
	return NULL;
}

static char *demangle_rust(const char *name)
{
	struct text text = { 0 };

	return finish(&text, rust_demangle_callback(name, DMGL_PARAMS | DMGL_ANSI, append, &text));
}

static char *demangle_cpp(const char *name)
{
	struct text text = { 0 };

	return finish(&text, cplus_demangle_v3_callback(name, DMGL_PARAMS | DMGL_ANSI, append,
							&text));
}

char *demangle(const char *name)
{
	char *ret = NULL;

	if (name[0] != '_' || strnlen(name, MAX_MANGLED) == MAX_MANGLED)
		return NULL;
	/* Rust's older mangling looks like C++, so it is asked first. */
	if (name[1] == 'R' || name[1] == 'Z')
		ret = demangle_rust(name);
	if (!ret && name[1] == 'Z')
		ret = demangle_cpp(name);
	if (!ret && name[1] == 'D')
		ret = dlang_demangle(name, 0);
	return ret;
}
#else
char *demangle(const char *name)
{
	(void)name;
	return NULL;
}
#endif
