/* SPDX-License-Identifier: MIT */
/*
 * csv.c - a row a site, its figures as in the JSON document, then where it is: the innermost frame,
 * and the whole stack in one field.
 *
 * What a session can't know is an empty field, not 0.
 */
#include <errno.h>
#include <math.h>

#include "src/export/export.h"
#include "src/export/export_text.h"

static const char header[] =
	"id,kind,verdict,live_count,live_bytes,live_bytes_low,live_bytes_high,alloc_count,"
	"alloc_bytes,free_count,peak_live_bytes,temporary_count,samples,threads,lifetime_p50,"
	"lifetime_p90,lifetime_max,growth_bytes_per_second,function,file,line,module,stack,"
	"alloc_count_low,alloc_count_high,alloc_bytes_low,alloc_bytes_high,free_count_low,"
	"free_count_high,live_count_low,live_count_high,peak_live_bytes_low,"
	"peak_live_bytes_high,temporary_count_low,temporary_count_high\r\n";

static void put_count(FILE *out, uint64_t value)
{
	fprintf(out, "%llu,", (unsigned long long)value);
}

/* A recording's numbers may be none. */
static void put_real(FILE *out, double value)
{
	if (isfinite(value))
		fprintf(out, "%.9g", value);
	fputc(',', out);
}

static void put_figures(FILE *out, const struct snapshot_site *s, bool every_alloc)
{
	static const char *const kind[] = { "malloc", "mmap", "custom" };

	fprintf(out, "%u,%s,%s,", s->id, kind[s->kind],
		snapshot_verdict_name(s->verdict) ?: "");
	put_count(out, s->live_count);
	put_count(out, s->live_bytes);
	put_count(out, s->live_bytes_low);
	put_count(out, s->live_bytes_high);
	put_count(out, s->alloc_count);
	put_count(out, s->alloc_bytes);
	put_count(out, s->free_count);
	put_count(out, s->peak_live_bytes);
	if (every_alloc)
		fprintf(out, "%llu", (unsigned long long)s->temporary_count);
	fputc(',', out);
	put_count(out, s->samples);
	put_count(out, s->threads);
	put_real(out, s->lifetime_p50);
	put_real(out, s->lifetime_p90);
	put_real(out, s->lifetime_max);
	put_real(out, s->growth);
}

/* Behind all else: columns of earlier releases stay where they were. */
static void put_intervals(FILE *out, const struct snapshot_intervals *in, bool known,
			  bool every_alloc)
{
	const struct snapshot_bounds *const each[] = { &in->alloc_count, &in->alloc_bytes,
						       &in->free_count, &in->live_count,
						       &in->peak_live_bytes,
						       &in->temporary_count };

	for (size_t i = 0; i < ARRAY_SIZE(each); i++) {
		if (known && (each[i] != &in->temporary_count || every_alloc))
			fprintf(out, ",%llu,%llu", (unsigned long long)each[i]->low,
				(unsigned long long)each[i]->high);
		else
			fputs(",,", out);
	}
}

static int put_place(FILE *out, const struct view_site *site)
{
	const struct view_frame *frame = view_site_caller(site);
	int err = export_put_csv(out, frame->title);

	fputc(',', out);
	if (err == 0)
		err = export_put_csv(out, frame->file ? frame->file : "");
	fputc(',', out);
	if (frame->line)
		fprintf(out, "%u", frame->line);
	fputc(',', out);
	if (err == 0)
		err = export_put_csv(out, frame->module);
	return err;
}

/* Quoted as a whole: names may hold quotes and commas. */
static int put_stack(FILE *out, const struct view_site *site)
{
	_cleanup_free_ char *text = NULL;
	size_t bytes;
	FILE *stack = open_memstream(&text, &bytes);
	int err = stack ? export_put_stack(stack, site) : -ENOMEM;

	if (stack && fclose(stack) != 0)
		err = -ENOMEM;
	return err < 0 ? err : export_put_csv(out, text);
}

int export_csv(FILE *out, const struct export_input *input)
{
	int err = 0;

	fputs(header, out);
	for (size_t i = 0; err == 0 && i < input->sites->count; i++) {
		const struct view_site *site = &input->sites->site[i];

		put_figures(out, site->figures, input->content->snapshot->every_alloc);
		err = put_place(out, site);
		fputc(',', out);
		if (err == 0)
			err = put_stack(out, site);
		put_intervals(out, &site->figures->in, input->content->snapshot->site_intervals,
			      input->content->snapshot->every_alloc);
		fputs("\r\n", out);
	}
	return err;
}
