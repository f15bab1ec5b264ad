/* SPDX-License-Identifier: MIT */
/*
 * access_text.c - see access_text.h. "Not accessed" is said together with how long each block was
 * watched: it is no proof, and that is what it is worth.
 */
#include "src/report/access_text.h"

#include "src/report/human.h"
#include "src/report/text_put.h"

#define HIT_MICROSECONDS 10.0

static void put_threads(FILE *out, const struct leak_access_run *run)
{
	if (run->threads < run->threads_there)
		fprintf(out, " in %u of %u threads at a time", run->threads, run->threads_there);
	else
		fprintf(out, " in %u thread%s", run->threads, text_plural(run->threads));
}

void access_text_put_run(FILE *out, const struct report_input *input)
{
	const struct leak_access_run *run = &input->leaks->access;
	const struct style *style = style_for(&input->options);

	if (!run->wanted)
		return;
	text_put_label(out, "access");
	if (run->blocks) {
		fprintf(out, "%u block%s watched for %s", run->blocks, text_plural(run->blocks),
			human_seconds(run->seconds).text);
		put_threads(out, run);
		fprintf(out, "; %s accesses seen, which cost the process some %s\n",
			human_count((double)run->hits).text,
			human_seconds((double)run->hits * HIT_MICROSECONDS / 1e6).text);
	} else if (!run->problem[0]) {
		fprintf(out, "there was nothing to watch%s\n",
			run->ended ? ": the process has ended" : "");
	}
	if (run->problem[0]) {
		fprintf(out, "%s%swatching failed%s: ", run->blocks ? "            " : "",
			style->warn, style->plain);
		text_put_printable(out, run->problem);
		fputc('\n', out);
	}
	if (run->slots_taken)
		fputs("            debug registers were taken by somebody else: fewer words were "
		      "watched\n", out);
	if (run->kernel_unseen)
		fputs("            what system calls access on its behalf was not seen\n", out);
}

/* "f at file:line", or "memcpy from f at file:line": the innermost, and the first with a line. */
static void put_place(FILE *out, const struct report_input *input, const struct leak_place *place)
{
	const struct symbol_frame *symbol = NULL;
	size_t count = 0;

	for (uint32_t i = 0; i < place->frame_count && i < LEAK_PLACE_FRAMES; i++) {
		_cleanup_free_ char *title = NULL;

		symbol = input->names.frame(input->names.context, &place->frame[i], &count);
		title = text_frame_title(symbol, &place->frame[i]);
		fprintf(out, "%s%s", i ? " from " : "", title ? title : "?");
	}
	if (symbol) {
		fputs(" at ", out);
		text_put_location(out, symbol);
	}
}

static void put_places(FILE *out, const struct report_input *input,
		       const struct leak_access *access)
{
	static const char *const verb[] = {
		[LEAK_ACCESS_EITHER] = "accessed",
		[LEAK_ACCESS_READ] = "read",
		[LEAK_ACCESS_WRITE] = "written",
	};

	for (uint32_t i = 0; i < access->place_count && i < LEAK_MAX_PLACES; i++) {
		const struct leak_place *place = &access->place[i];

		fprintf(out, "    %s by ", place->frees ? "freed" :
			(size_t)place->kind < ARRAY_SIZE(verb) ? verb[place->kind] : verb[0]);
		put_place(out, input, place);
		if (!place->frees)
			fprintf(out, ", %s%s time%s in %s", access->at_least ? "at least " : "",
				human_count((double)place->hits).text, text_plural(place->hits),
				human_seconds(access->armed_seconds).text);
		fputc('\n', out);
	}
}

static void put_quiet(FILE *out, const struct leak_access *access)
{
	uint32_t used = access->accessed + access->freed + access->changed, quiet;

	if (access->changed)
		fprintf(out, "    changed meanwhile, by what code was not seen (%u block%s)\n",
			access->changed, text_plural(access->changed));
	if (used >= access->watched)
		return;
	quiet = access->watched - used;
	fprintf(out, "    not accessed in %s (%u block%s watched",
		human_seconds(access->seconds).text, quiet, text_plural(quiet));
	if (quiet == access->watched)
		fprintf(out, ", %s%s", human_seconds(access->armed_seconds / quiet).text,
			quiet > 1 ? " each" : "");
	fputs(")\n", out);
}

/* A few watched blocks say little of the others in their group. */
static void put_unwatched(FILE *out, const struct leak_group *group)
{
	uint64_t others = leak_group_unwatched(group);

	if (!others)
		return;
	if (group->access->watched)
		fprintf(out, "    %s of %s blocks watched, the other%s not\n",
			human_count((double)group->access->watched).text,
			human_count((double)group->count).text, others == 1 ? " was" : "s were");
	else
		fprintf(out, "    %s not watched\n", others == 1 ? "the block was" :
			"these blocks were");
}

void access_text_put(FILE *out, const struct report_input *input, const struct leak_group *group)
{
	const struct leak_access *access = group->access;
	const struct style *style = style_for(&input->options);

	if (!access)
		return;
	if (access->disproved)
		fprintf(out, "    %sstill used%s: not lost, its pointer is hidden\n", style->bold,
			style->plain);
	if (access->doubtful)
		fputs("    others like these are still used: the pointers to these may be hidden, "
		      "too\n", out);
	put_places(out, input, access);
	put_quiet(out, access);
	put_unwatched(out, group);
}
