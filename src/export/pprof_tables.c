/* SPDX-License-Identifier: MIT */
/* pprof_tables.c - see pprof_tables.h. */
#include "src/export/pprof_tables.h"

#include <errno.h>
/* Written by protoc-c at build time. */
#include <src/export/profile.pb-c.h>

#include "src/report/printable.h"

int pprof_tables_init(struct pprof_tables *tables, FILE *out)
{
	int err = 0;

	*tables = (struct pprof_tables){ .out = out };
	(void)pprof_string(tables, "", &err);
	return err;
}

void pprof_tables_done(struct pprof_tables *tables)
{
	hashmap_done(&tables->by_address);
	free(tables->text);
	*tables = (struct pprof_tables){ 0 };
}

int64_t pprof_string(struct pprof_tables *tables, const char *text, int *error)
{
	const char **grown = tables->text;
	uint64_t index;

	if (tables->count && !text[0])
		return 0;
	if (hashmap_get(&tables->by_address, (uintptr_t)text, &index))
		return (int64_t)index;
	if ((tables->count & (tables->count - 1)) == 0)
		grown = reallocarray(tables->text, tables->count ? tables->count * 2 : 1,
				     sizeof(*grown));
	if (grown)
		tables->text = grown;
	if (!grown || hashmap_put(&tables->by_address, (uintptr_t)text, tables->count) < 0) {
		*error = -ENOMEM;
		return 0;
	}
	tables->text[tables->count] = text;
	return (int64_t)tables->count++;
}

int pprof_put(struct pprof_tables *tables, const ProtobufCMessage *part)
{
	size_t bytes = protobuf_c_message_get_packed_size(part);
	_cleanup_free_ uint8_t *packed = malloc(bytes + 1);

	if (!packed)
		return -ENOMEM;
	protobuf_c_message_pack(part, packed);
	fwrite(packed, 1, bytes, tables->out);
	return 0;
}

int pprof_put_strings(struct pprof_tables *tables)
{
	int err = 0;

	for (size_t i = 0; err == 0 && i < tables->count; i++) {
		_cleanup_free_ char *copy = printable_copy(tables->text[i], PRINTABLE_TEXT);
		Memattach__Pprof__Profile part = MEMATTACH__PPROF__PROFILE__INIT;

		part.n_string_table = 1;
		part.string_table = &copy;
		err = copy ? pprof_put(tables, &part.base) : -ENOMEM;
	}
	return err;
}
