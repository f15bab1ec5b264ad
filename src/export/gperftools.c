/* SPDX-License-Identifier: MIT */
/*
 * gperftools.c - the heap profile of gperftools: figures and addresses, then where modules were
 * mapped. It has no names: its readers find them in the files, so these must be at hand.
 *
 * "heapprofile" says that figures are scaled already: readers leave them as they are.
 */
#include "src/export/export.h"
#include "src/export/export_places.h"
#include "src/export/export_text.h"

/* live blocks: bytes [allocated blocks: bytes] @ */
static void put_figures(FILE *out, const char *what, uint64_t live_count, uint64_t live_bytes,
			uint64_t alloc_count, uint64_t alloc_bytes)
{
	fprintf(out, "%s%6llu: %8llu [%6llu: %8llu] @", what, (unsigned long long)live_count,
		(unsigned long long)live_bytes, (unsigned long long)alloc_count,
		(unsigned long long)alloc_bytes);
}

/* Readers take one off, as from a return address: one more still lies in the call. */
static void put_addresses(FILE *out, const struct view_site *site,
			  const struct export_places *places)
{
	for (uint32_t i = 0; i < site->frame_count;
	     i += export_machine_frame(&site->frame[i], site->frame_count - i))
		fprintf(out, " 0x%08llx", (unsigned long long)export_places_address(
				places, site->frame[i]) + 1);
	fputc('\n', out);
}

/* As in /proc/PID/maps. */
static int put_mapping(FILE *out, const struct export_place *place)
{
	int err;

	fprintf(out, "%08llx-%08llx r-xp %08llx 00:00 0          ",
		(unsigned long long)place->start, (unsigned long long)place->limit,
		(unsigned long long)place->file_offset);
	err = export_put_line(out, place->path);
	fputc('\n', out);
	return err;
}

int export_gperftools(FILE *out, const struct export_input *input)
{
	_cleanup_(export_places_done) struct export_places places;
	const uint64_t *sum = input->sites->sum;
	int err = export_places_init(&places, input);

	if (err < 0)
		return err;
	put_figures(out, "heap profile: ", sum[VIEW_LIVE_COUNT], sum[VIEW_LIVE_BYTES],
		    sum[VIEW_ALLOC_COUNT], sum[VIEW_ALLOC_BYTES]);
	fputs(" heapprofile\n", out);
	for (size_t i = 0; i < input->sites->count; i++) {
		const struct snapshot_site *s = input->sites->site[i].figures;

		put_figures(out, "", s->live_count, s->live_bytes, s->alloc_count, s->alloc_bytes);
		put_addresses(out, &input->sites->site[i], &places);
	}
	fputs("\nMAPPED_LIBRARIES:\n", out);
	for (size_t i = 0; err == 0 && i < places.count; i++)
		err = put_mapping(out, &places.place[i]);
	return err;
}
