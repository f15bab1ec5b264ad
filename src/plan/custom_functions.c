/* SPDX-License-Identifier: MIT */
/* custom_functions.c - see custom_functions.h. */
#include "src/plan/custom_functions.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

/* Reads a number of an argument at *at, and goes behind it. 0: there is none. */
static uint8_t read_number(const char **at)
{
	uint8_t number = **at >= '1' && **at <= '0' + (int)RING_ARGUMENTS ?
				 (uint8_t)(**at - '0') : 0;

	*at += number != 0;
	return number;
}

/* Goes behind character. */
static bool skip(const char **at, char character)
{
	bool there = **at == character;

	*at += there;
	return there;
}

/* SIZE[*COUNT] */
static bool read_size(const char **at, struct ring_arguments *ret)
{
	ret->size = read_number(at);
	if (ret->size && skip(at, '*')) {
		ret->count = read_number(at);
		return ret->count != 0;
	}
	return ret->size != 0;
}

static bool read_arguments(enum ring_shape shape, const char *at, struct ring_arguments *ret)
{
	*ret = (struct ring_arguments){ 0 };
	if (shape != RING_SHAPE_CUSTOM_ALLOC) {
		ret->block = read_number(&at);
		if (!ret->block || (shape == RING_SHAPE_CUSTOM_REALLOC && !skip(&at, ',')))
			return false;
	}
	return (shape == RING_SHAPE_CUSTOM_FREE || read_size(&at, ret)) && *at == '\0';
}

static struct ring_arguments usual_arguments(enum ring_shape shape)
{
	switch (shape) {
	case RING_SHAPE_CUSTOM_ALLOC:
		return (struct ring_arguments){ .size = 1 };
	case RING_SHAPE_CUSTOM_REALLOC:
		return (struct ring_arguments){ .block = 1, .size = 2 };
	default:
		return (struct ring_arguments){ .block = 1 };
	}
}

static bool read_address(const char *name, uint64_t *ret)
{
	char *end;

	errno = 0;
	*ret = strtoull(name, &end, 16);
	return *ret != 0 && *end == '\0' && errno == 0;
}

const char *custom_function_parse(enum ring_shape shape, const char *text,
				  struct custom_function *ret)
{
	const char *colon = strchr(text, ':');
	size_t length = colon ? (size_t)(colon - text) : strlen(text);

	*ret = (struct custom_function){ .shape = shape, .arguments = usual_arguments(shape) };
	if (length == 0)
		return "the function's name is missing";
	if (length >= sizeof(ret->name))
		return "the name is too long; the function's address (0x...) does as well";
	memcpy(ret->name, text, length);
	if (strncmp(ret->name, "0x", 2) == 0 && !read_address(ret->name, &ret->address))
		return "this is no address";
	if (!colon || read_arguments(shape, colon + 1, &ret->arguments))
		return NULL;
	switch (shape) {
	case RING_SHAPE_CUSTOM_ALLOC:
		return "NAME:SIZE or NAME:SIZE*COUNT is wanted, numbers of arguments from 1 to 6";
	case RING_SHAPE_CUSTOM_REALLOC:
		return "NAME:BLOCK,SIZE or NAME:BLOCK,SIZE*COUNT is wanted, "
		       "numbers of arguments from 1 to 6";
	default:
		return "NAME:BLOCK is wanted, the number of an argument from 1 to 6";
	}
}
