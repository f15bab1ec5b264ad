/* SPDX-License-Identifier: MIT */
/*
 * trace_to.c - see trace_to.h. The chains are texts already (leak/holders/holders.h), names in them
 * hostile.
 */
#include "src/report/trace_to.h"

#include <errno.h>

#include "src/report/emit.h"
#include "src/report/human.h"
#include "src/report/name_shape.h"
#include "src/report/text_put.h"

static const char *kind_name(enum block_kind kind)
{
	static const char *const names[] = {
		[BLOCK_REACHABLE] = "still reachable",
		[BLOCK_POSSIBLY_LOST] = "possibly lost",
		[BLOCK_INDIRECTLY_LOST] = "indirectly lost",
		[BLOCK_DEFINITELY_LOST] = "definitely lost",
	};

	return names[kind];
}

static void put_chain(FILE *out, const struct report_names *names, const char *chain)
{
	_cleanup_free_ char *shaped = report_names_text(names, chain);

	fputs("  ", out);
	text_put_printable(out, shaped ? shaped : chain);
	fputc('\n', out);
}

static int write_text(FILE *out, const struct report_input *input, uint64_t address)
{
	const struct leak_report *leaks = input->leaks;
	const struct block *block = &leaks->trace_block;

	if (!block->bytes)
		return fprintf(out, "0x%llx is in no live heap block\n",
			       (unsigned long long)address) < 0 ? -EIO : 0;
	fprintf(out, "0x%llx: block of %s, %s\n", (unsigned long long)block->address,
		human_bytes((double)block->bytes).text, kind_name(leaks->trace_kind));
	if (!leaks->trace_count)
		fputs("  nothing holds it\n", out);
	for (size_t i = 0; i < leaks->trace_count; i++)
		put_chain(out, &input->names, leaks->trace[i]);
	if (leaks->trace_cut)
		fputs("  there may be more\n", out);
	return ferror(out) ? -EIO : 0;
}

static void emit_chain(struct emit *emit, const struct report_names *names, const char *chain)
{
	_cleanup_free_ char *shaped = report_names_text(names, chain);

	emit_text(emit, NULL, shaped ? shaped : chain);
}

static int write_json(FILE *out, const struct report_input *input, uint64_t address)
{
	const struct leak_report *leaks = input->leaks;
	struct emit emit = { .out = out };
	char text[24];

	(void)snprintf(text, sizeof(text), "0x%llx",
		       (unsigned long long)(leaks->trace_block.bytes ? leaks->trace_block.address :
								       address));
	emit_begin(&emit, NULL, '{');
	emit_text(&emit, "schema", "memattach-trace-1");
	emit_text(&emit, "address", text);
	emit_uint_if(&emit, "bytes", leaks->trace_block.bytes, leaks->trace_block.bytes != 0);
	emit_text(&emit, "kind", leaks->trace_block.bytes ? kind_name(leaks->trace_kind) : NULL);
	emit_begin(&emit, "chains", '[');
	for (size_t i = 0; i < leaks->trace_count; i++)
		emit_chain(&emit, &input->names, leaks->trace[i]);
	emit_end(&emit, ']');
	emit_bool(&emit, "complete", !leaks->trace_cut);
	emit_end(&emit, '}');
	return emit_finish(&emit);
}

int trace_write(FILE *out, const struct report_input *input, uint64_t address, bool json)
{
	return json ? write_json(out, input, address) : write_text(out, input, address);
}
