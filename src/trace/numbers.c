/* SPDX-License-Identifier: MIT */
/* numbers.c - see numbers.h. Flags that have no name here are in hex. */
#include "src/trace/numbers.h"

#include <errno.h>
#include <linux/mman.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

struct flag_name {
	uint32_t bits;
	const char *name;
};

_printf_(3, 4)
static int put(char *text, size_t room, const char *format, ...)
{
	va_list arguments;
	int length;

	va_start(arguments, format);
	length = vsnprintf(text, room, format, arguments);
	va_end(arguments);
	if (length < 0 || room == 0)
		return 0;
	return (size_t)length < room ? length : (int)room - 1;
}

static int put_flags(char *text, size_t room, uint32_t value, const struct flag_name *flag,
		     size_t count)
{
	int at = 0;

	for (size_t i = 0; i < count; i++) {
		if ((value & flag[i].bits) != flag[i].bits)
			continue;
		value &= ~flag[i].bits;
		at += put(text + at, room - (size_t)at, "%s%s", at ? "|" : "", flag[i].name);
	}
	if (value || !at)
		at += put(text + at, room - (size_t)at, value ? "%s0x%x" : "%s%u", at ? "|" : "",
			  value);
	return at;
}

static int put_prot(char *text, size_t room, uint32_t value)
{
	static const struct flag_name prot[] = {
		{ PROT_READ, "PROT_READ" }, { PROT_WRITE, "PROT_WRITE" },
		{ PROT_EXEC, "PROT_EXEC" },
	};

	return value ? put_flags(text, room, value, prot, ARRAY_SIZE(prot)) :
		       put(text, room, "PROT_NONE");
}

static int put_map_flags(char *text, size_t room, uint32_t value)
{
	static const struct flag_name map[] = {
		{ MAP_SHARED_VALIDATE, "MAP_SHARED_VALIDATE" }, { MAP_SHARED, "MAP_SHARED" },
		{ MAP_PRIVATE, "MAP_PRIVATE" }, { MAP_FIXED, "MAP_FIXED" },
		{ MAP_ANONYMOUS, "MAP_ANONYMOUS" }, { MAP_NORESERVE, "MAP_NORESERVE" },
		{ MAP_POPULATE, "MAP_POPULATE" }, { MAP_STACK, "MAP_STACK" },
		{ MAP_HUGETLB, "MAP_HUGETLB" }, { MAP_GROWSDOWN, "MAP_GROWSDOWN" },
		{ MAP_DENYWRITE, "MAP_DENYWRITE" }, { MAP_LOCKED, "MAP_LOCKED" },
	};

	return put_flags(text, room, value, map, ARRAY_SIZE(map));
}

static int put_remap_flags(char *text, size_t room, uint32_t value)
{
	static const struct flag_name remap[] = {
		{ MREMAP_MAYMOVE, "MREMAP_MAYMOVE" }, { MREMAP_FIXED, "MREMAP_FIXED" },
	};

	return put_flags(text, room, value, remap, ARRAY_SIZE(remap));
}

int trace_number(char *text, size_t room, enum trace_type type, uint64_t value)
{
	switch (type) {
	case TRACE_POINTER:
		return value ? put(text, room, "0x%llx", (unsigned long long)value) :
			       put(text, room, "NULL");
	case TRACE_SIGNED:
		return put(text, room, "%lld", (long long)value);
	case TRACE_INT:
		return put(text, room, "%d", (int)(uint32_t)value);
	case TRACE_PROT:
		return put_prot(text, room, (uint32_t)value);
	case TRACE_MAP_FLAGS:
		return put_map_flags(text, room, (uint32_t)value);
	case TRACE_REMAP_FLAGS:
		return put_remap_flags(text, room, (uint32_t)value);
	default:
		return put(text, room, "%llu", (unsigned long long)value);
	}
}

static const char *error_name(uint64_t error)
{
	return error == ENOMEM ? " ENOMEM" : error == EINVAL ? " EINVAL" : "";
}

int trace_result(char *text, size_t room, const struct trace_line *call)
{
	int at = put(text, room, " = ");

	if (trace_is_mapping(call) && trace_result_type(call) == TRACE_POINTER &&
	    trace_failed(call))
		return at + put(text + at, room - (size_t)at, "-1");
	at += trace_number(text + at, room - (size_t)at, trace_result_type(call), call->result);
	if (call->shape != RING_SHAPE_POSIX_MEMALIGN)
		return at;
	if (trace_failed(call))
		return at + put(text + at, room - (size_t)at, "%s",
				error_name((uint32_t)call->result));
	return at + put(text + at, room - (size_t)at, ", 0x%llx", (unsigned long long)call->block);
}
