/* SPDX-License-Identifier: MIT */
/*
 * several_text.c - the combined report for people: processes, sites, leaks.
 *
 * A site's row says who holds how much of it; what all of them allocated there stands below, with
 * the stack. Whose losses could have changed a figure is said in that process's line.
 */
#include "src/several/several_write.h"

#include <errno.h>

#include "src/report/human.h"
#include "src/report/text_put.h"
#include "src/several/several_put.h"

static void put_amounts(FILE *out, const struct snapshot_site *s)
{
	fprintf(out, "      live in %s %s%s", human_count((double)s->live_count).text,
		text_kind(s->kind), text_plural(s->live_count));
	if (s->live_bytes_low != s->live_bytes_high)
		fprintf(out, " (95 %%: %s to %s)", human_bytes((double)s->live_bytes_low).text,
			human_bytes((double)s->live_bytes_high).text);
	fprintf(out, "; allocated %s in %s, freed %s\n", human_bytes((double)s->alloc_bytes).text,
		human_count((double)s->alloc_count).text, human_count((double)s->free_count).text);
}

static void put_site(const struct several_columns *columns, const struct report_input *input,
		     size_t at, uint64_t *by_process)
{
	const struct several_site *site = &columns->several->site[at];
	char label[24];

	for (size_t i = 0; i < columns->several->watched; i++)
		by_process[i] = 0;
	for (uint32_t i = 0; i < site->part_count; i++)
		by_process[site->part[i].process] = site->part[i].live_bytes;
	(void)snprintf(label, sizeof(label), "#%zu", at + 1);
	fputc('\n', columns->out);
	several_put_row(columns, label, input->snapshot->site[at].live_bytes, by_process);
	put_amounts(columns->out, &input->snapshot->site[at]);
	text_put_stack(columns->out, input, &input->snapshot->site[at]);
}

static int put_sites(FILE *out, const struct several *several, const struct report_input *input)
{
	const struct several_columns columns = several_columns(out, several, &input->options);
	_cleanup_free_ uint64_t *by_process = calloc(several->watched + 1, sizeof(*by_process));
	size_t count = several->snapshot->site_count, top = text_shown(&input->options, count);

	if (!by_process)
		return -ENOMEM;
	if (count == 0)
		return 0;
	fprintf(out, "\n%sTop %zu of %zu sites by live bytes%s\n", columns.style->bold, top, count,
		columns.style->plain);
	several_put_heads(&columns, "");
	for (size_t i = 0; i < top; i++)
		put_site(&columns, input, i, by_process);
	return 0;
}

int several_write_text(FILE *out, const struct several *several,
		       const struct report_options *options, bool leaks_alone)
{
	const struct report_input input = {
		.snapshot = several->snapshot, .stacks = several->stacks, .names = several->names,
		.options = *options,
	};
	int err;

	errno = 0;
	err = several_put_processes(out, several, options);
	if (err == 0 && !leaks_alone)
		err = put_sites(out, several, &input);
	if (err == 0 && several->judged)
		err = several_put_leaks(out, several, &input);
	if (err < 0)
		return err;
	if (fflush(out) != 0)
		return errno ? -errno : -EIO;
	return ferror(out) ? -EIO : 0;
}
