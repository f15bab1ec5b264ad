/* SPDX-License-Identifier: MIT */
/*
 * allocator_version.c - the version of an allocator, from the target's memory.
 *
 * glibc, tcmalloc and mimalloc have a function that returns it as a constant: its
 * first instructions are decoded, nothing is called. jemalloc keeps "5.3.0-0-g<40
 * hex digits>" among its read-only data, which is searched (capped). Strings are
 * taken only if they are short and printable. Sonames were rejected as a source:
 * they say "2" for jemalloc 4 and 5, and for every mimalloc 2.
 */
#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "src/plan/allocators.h"
#include "src/plan/entry_decode.h"

#define VERSION_BYTES		32u
#define FUNCTION_BYTES		128u
#define SEARCH_BYTES		(4u << 20)
#define COMMIT_DIGITS		40u

/* The constant that the function called name leaves in rax first. */
static bool read_constant(const struct allocator_module *module, const char *name,
			  bool *ret_is_address, uint64_t *ret_value)
{
	const struct elf_reader *reader = &module->image.reader;
	uint8_t bytes[FUNCTION_BYTES];
	struct entry_code code;
	struct elf_symbol symbol;
	size_t count;

	if (allocators_lookup(module, name, &symbol) < 0)
		return false;
	count = symbol.size && symbol.size < sizeof(bytes) ? symbol.size : sizeof(bytes);
	if (reader->read(reader->context, symbol.address, bytes, count) < 0)
		return false;
	code = (struct entry_code){ symbol.address, symbol.address + count, bytes };
	return entry_constant(&code, code.low, ret_is_address, ret_value);
}

static bool is_version_text(const char *text)
{
	if (!isdigit((unsigned char)text[0]))
		return false;
	for (; *text; text++) {
		if (!isalnum((unsigned char)*text) && !strchr(".-+~", *text))
			return false;
	}
	return true;
}

/* "2.36", or what follows the last space of "gperftools 2.10". */
static void version_by_string(const struct allocator_module *module, const char *function,
			      char ret[VERSION_BYTES])
{
	const struct elf_reader *reader = &module->image.reader;
	char text[VERSION_BYTES] = "";
	const char *last;
	uint64_t value;
	bool is_address;

	if (!read_constant(module, function, &is_address, &value) || !is_address ||
	    reader->read(reader->context, value, text, sizeof(text)) < 0 ||
	    !memchr(text, '\0', sizeof(text)))
		return;
	last = strrchr(text, ' ');
	last = last ? last + 1 : text;
	if (is_version_text(last))
		strcpy(ret, last);
}

/* 209 is 2.0.9; from version 3 on 30102 is 3.1.2. */
static void version_by_number(const struct allocator_module *module, const char *function,
			      char ret[VERSION_BYTES])
{
	unsigned int unit, number;
	uint64_t value;
	bool is_address;

	if (!read_constant(module, function, &is_address, &value) || is_address ||
	    value < 100 || value > 999999)
		return;
	number = (unsigned int)value;
	unit = number < 1000 ? 10 : 100;
	snprintf(ret, VERSION_BYTES, "%u.%u.%u", number / unit / unit, number / unit % unit,
		 number % unit);
}

/* Length of "5.3.0" in "5.3.0-0-g54ea...", 0 if text is no such thing. */
static size_t banner_length(const char *text, size_t count)
{
	size_t version = 0, at, digits = 0;

	while (version < count && version < 16 &&
	       (isdigit((unsigned char)text[version]) || text[version] == '.'))
		version++;
	at = version;
	if (version < 5 || at + 1 >= count || text[at] != '-')
		return 0;
	for (at++; at < count && isdigit((unsigned char)text[at]); at++)
		;
	if (at + 2 + COMMIT_DIGITS >= count || text[at] != '-' || text[at + 1] != 'g')
		return 0;
	for (at += 2; digits < COMMIT_DIGITS && isxdigit((unsigned char)text[at + digits]);)
		digits++;
	return digits == COMMIT_DIGITS ? version : 0;
}

static bool search_banner(const char *data, size_t count, char ret[VERSION_BYTES])
{
	for (size_t i = 1; i < count; i++) {
		size_t length;

		/* The start of a string that starts with a digit. */
		if (data[i - 1] != '\0' || !isdigit((unsigned char)data[i]))
			continue;
		length = banner_length(data + i, count - i);
		if (length > 0) {
			memcpy(ret, data + i, length);
			ret[length] = '\0';
			return true;
		}
	}
	return false;
}

static void version_by_search(const struct allocator_module *module, char ret[VERSION_BYTES])
{
	const struct elf_image *image = &module->image;

	for (unsigned int i = 0; i < image->phdr_count; i++) {
		const Elf64_Phdr *p = &image->phdr[i];
		size_t count = p->p_filesz < SEARCH_BYTES ? p->p_filesz : SEARCH_BYTES;
		_cleanup_free_ char *data = NULL;

		if (p->p_type != PT_LOAD || (p->p_flags & PF_W) || count == 0)
			continue;
		data = malloc(count);
		if (data && image->reader.read(image->reader.context, image->bias + p->p_vaddr,
					       data, count) == 0 &&
		    search_banner(data, count, ret))
			return;
	}
}

void allocator_version(const struct allocator_module *module, const char *family, char ret[32])
{
	ret[0] = '\0';
	if (strcmp(family, "glibc") == 0)
		version_by_string(module, "gnu_get_libc_version", ret);
	else if (strcmp(family, "tcmalloc") == 0)
		version_by_string(module, "tc_version", ret);
	else if (strcmp(family, "mimalloc") == 0)
		version_by_number(module, "mi_version", ret);
	else if (strcmp(family, "jemalloc") == 0)
		version_by_search(module, ret);
}
