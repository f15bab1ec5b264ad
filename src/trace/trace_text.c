/* SPDX-License-Identifier: MIT */
/*
 * trace_text.c - the log of calls for people: columns that line up as long as nothing is too long
 * for its own, what is longest last. Lines that are no calls begin with #.
 */
#include <signal.h>
#include <string.h>
#include <time.h>

#include "src/report/human.h"
#include "src/report/printable.h"
#include "src/report/style.h"
#include "src/report/text_put.h"
#include "src/trace/format.h"
#include "src/trace/numbers.h"

#define CALL_COLUMNS 46
#define SIZE_COLUMNS 10

static const struct style *style_of(const struct trace_scene *scene)
{
	const struct report_options options = { .color = scene->color };

	return style_for(&options);
}

/* function+0xoffset, what was inlined there, file:line. */
static void put_place(FILE *out, const struct symbol_frame *frame, size_t count)
{
	const struct symbol_frame *real = &frame[count - 1];
	const struct frame bare = { .offset = real->offset };
	_cleanup_free_ char *title = text_frame_title(real, &bare);

	fputs(title ? title : "?", out);
	if (real->function)
		fprintf(out, "+0x%llx", (unsigned long long)real->function_offset);
	if (count > 1 && frame[0].function) {
		fputs(" (inlined ", out);
		text_put_printable(out, frame[0].function);
		fputc(')', out);
	}
	if (frame[0].file) {
		fputs("  ", out);
		text_put_printable(out, frame[0].file);
		if (frame[0].line)
			fprintf(out, ":%u", frame[0].line);
	}
	if ((!frame[0].file || !frame[0].line) && real->function && real->module[0]) {
		fputs(frame[0].file ? " in " : "  ", out);
		text_put_printable(out, strrchr(real->module, '/') ? strrchr(real->module, '/') + 1
								   : real->module);
	}
}

static char *text_place(const struct symbol_frame *frame, size_t count)
{
	char *text = NULL;
	size_t bytes;
	FILE *out = open_memstream(&text, &bytes);

	if (!out)
		return NULL;
	put_place(out, frame, count);
	if (fclose(out) == 0)
		return text;
	free(text);
	return NULL;
}

static void text_begin(FILE *out, struct trace_scene *scene)
{
	time_t seconds = (time_t)scene->begin_time;
	char date[40] = "?";
	struct tm tm;

	if (localtime_r(&seconds, &tm))
		(void)strftime(date, sizeof(date), "%Y-%m-%d %H:%M:%S %z", &tm);
	fprintf(out, "# process %d `", scene->hello->pid);
	text_put_printable(out, scene->hello->cmdline);
	fprintf(out, "`, every call since %s\n", date);
	fprintf(out, "#%11s %8s  %-*s %*s %9s  %s\n", "time", "thread", CALL_COLUMNS,
		"call = result", SIZE_COLUMNS, "size", "inside", "caller");
}

static int put_arguments(char *text, size_t room, const struct trace_line *call)
{
	int at = 0;

	for (unsigned int i = 0; i < 6; i++) {
		enum trace_type type = trace_argument_type(call, i);

		if (type == TRACE_END)
			break;
		if (i > 0)
			at += snprintf(text + at, room - (size_t)at, ", ");
		at += trace_number(text + at, room - (size_t)at, type, call->argument[i]);
	}
	return at;
}

/* "malloc(100) = 0x55d0c0". Room for the longest that mmap can be. */
static void put_call(FILE *out, const struct trace_scene *scene, const struct trace_line *call)
{
	_cleanup_free_ char *name = printable_copy(trace_scene_call(scene, call),
						   PRINTABLE_TERMINAL);
	char rest[400];
	size_t columns = name ? printable_columns(name) : 1;
	int at = put_arguments(rest, sizeof(rest) - 100, call);

	at += snprintf(rest + at, sizeof(rest) - (size_t)at, ")");
	if (!call->end)
		at += snprintf(rest + at, sizeof(rest) - (size_t)at, " = ?");
	else if (trace_result_type(call) != TRACE_END)
		at += trace_result(rest + at, sizeof(rest) - (size_t)at, call);
	columns += (size_t)at + 1;
	fprintf(out, "%s(%s%*s", name ? name : "?", rest,
		columns < CALL_COLUMNS ? (int)(CALL_COLUMNS - columns) : 0, "");
}

static void put_remark(FILE *out, const struct trace_scene *scene, const struct trace_line *line)
{
	const struct style *style = style_of(scene);

	fputs(style->warn, out);
	if (line->kind == TRACE_GAP)
		fprintf(out, "# nothing was recorded for %s: memattach had no time",
			human_seconds(ticks_span(scene->ticks, line->count)).text);
	else
		fprintf(out, "# %s call%s lost here: %s", human_exact(line->count).text,
			text_plural(line->count), line->kind == TRACE_LATE ?
			"this log's reader, or the search for names, was too slow" :
			"the rings were full");
	fprintf(out, "%s\n", style->plain);
}

/* Behind the caller: "  double free". */
static void put_wrong(FILE *out, const struct style *style, const struct trace_line *line)
{
	if (line->wrong)
		fprintf(out, "  %s<-- %s%s", style->warn, line->wrong == TRACE_FREED_TWICE ?
			"double free" : "illegal free: no block begins there", style->plain);
}

static void text_line(FILE *out, struct trace_scene *scene, const struct trace_line *line,
		      const char *place)
{
	const struct style *style = style_of(scene);
	uint64_t bytes;
	char size[24] = "", thread[24];

	if (line->kind != TRACE_CALL) {
		put_remark(out, scene, line);
		return;
	}
	if (trace_size(line, &bytes))
		(void)snprintf(size, sizeof(size), "%llu", (unsigned long long)bytes);
	if (line->tid)
		(void)snprintf(thread, sizeof(thread), "%u", line->tid);
	else
		(void)snprintf(thread, sizeof(thread), "0x%llx", (unsigned long long)line->thread);
	fprintf(out, "%12.6f %8s  %s", trace_scene_time(scene, line->time), thread,
		trace_failed(line) || line->wrong ? style->warn : "");
	put_call(out, scene, line);
	fprintf(out, "%s %*s %9s  %s%s%s", style->plain, SIZE_COLUMNS, size,
		line->end ? human_seconds(ticks_span(scene->ticks, line->end - line->begin)).text :
			    "?", style->name, place, style->plain);
	put_wrong(out, style, line);
	fputc('\n', out);
}

static void put_sum(FILE *out, const char *name, uint64_t bytes, uint64_t count, const char *what)
{
	fprintf(out, "# %-16s %20s bytes in %s %s%s\n", name, human_exact(bytes).text,
		human_exact(count).text, what, text_plural(count));
}

static void put_counts(FILE *out, const struct trace_scene *scene, const struct trace_end *end)
{
	const struct snapshot_session *session = &end->snapshot->session;
	const struct trace_counts *counts = &end->counts;
	const struct style *style = style_of(scene);

	fprintf(out, "# watched %s: %s call%s", human_seconds(session->duration).text,
		human_exact(counts->shown).text, text_plural(counts->shown));
	if (counts->filtered)
		fprintf(out, ", %s left out by the filters", human_exact(counts->filtered).text);
	fputc('\n', out);
	if (counts->lost + counts->late)
		fprintf(out, "%s# %s calls were lost, where the log says so; the ends of %s stand "
			"there as ?%s\n", style->warn,
			human_exact(counts->lost + counts->late).text,
			human_exact(counts->unreturned).text, style->plain);
	if (session->lost.alloc + session->lost.free)
		fprintf(out, "%s# %s allocations and %s frees were lost: the totals lack them, and "
			"blocks may be listed that were freed%s\n", style->warn,
			human_exact(session->lost.alloc).text,
			human_exact(session->lost.free).text, style->plain);
}

/* Those that end a process by its own fault, or by a user's wish. */
static const char *signal_name(unsigned int number)
{
	static const struct { unsigned int number; const char *name; } table[] = {
		{ SIGABRT, "SIGABRT, " }, { SIGBUS, "SIGBUS, " }, { SIGFPE, "SIGFPE, " },
		{ SIGHUP, "SIGHUP, " }, { SIGILL, "SIGILL, " }, { SIGINT, "SIGINT, " },
		{ SIGKILL, "SIGKILL, " }, { SIGPIPE, "SIGPIPE, " }, { SIGQUIT, "SIGQUIT, " },
		{ SIGSEGV, "SIGSEGV, " }, { SIGSYS, "SIGSYS, " }, { SIGTERM, "SIGTERM, " },
		{ SIGTRAP, "SIGTRAP, " },
	};

	for (size_t i = 0; i < sizeof(table) / sizeof(table[0]); i++)
		if (table[i].number == number)
			return table[i].name;
	return "";
}

static void put_signal(FILE *out, const struct trace_scene *scene, unsigned int number)
{
	const struct style *style = style_of(scene);

	if (number)
		fprintf(out, "%s# the process was killed by signal %u (%s%s)%s\n", style->warn,
			number, signal_name(number), strsignal((int)number), style->plain);
}

static void text_end(FILE *out, struct trace_scene *scene, const struct trace_end *end)
{
	const struct snapshot_totals *totals = &end->snapshot->totals;
	const struct snapshot_map_totals *maps = &end->snapshot->map_totals;

	put_counts(out, scene, end);
	put_signal(out, scene, end->signal);
	put_sum(out, "allocated_total", totals->alloc_bytes, totals->alloc_count, "allocation");
	fprintf(out, "# %-16s %20.1f bytes\n", "allocated_avg", totals->alloc_count ?
		(double)totals->alloc_bytes / (double)totals->alloc_count : 0.0);
	put_sum(out, "freed_total", totals->free_bytes, totals->free_count, "free");
	if (totals->free_unknown_count)
		fprintf(out, "# %-16s %20s       %s free%s of blocks from before, of unknown "
			"size\n", "freed_older", "", human_exact(totals->free_unknown_count).text,
			text_plural(totals->free_unknown_count));
	if (maps->map_count)
		put_sum(out, "mapped_total", maps->map_bytes, maps->map_count, "mapping");
	if (maps->unmap_count)
		put_sum(out, "unmapped_total", maps->unmap_bytes, maps->unmap_count, "unmapping");
	put_sum(out, "unfreed", totals->live_bytes, totals->live_count, "block");
	if (totals->live_count)
		fprintf(out, "#%11s  %-18s %*s  %s\n", "time", "unfreed block", SIZE_COLUMNS,
			"size", "caller");
	if (end->blocks_left_out)
		fprintf(out, "# the oldest; %s more: --top=N lists more of them\n",
			human_exact(end->blocks_left_out).text);
}

static void text_block(FILE *out, struct trace_scene *scene, const struct trace_block *block,
		       const char *place)
{
	const struct style *style = style_of(scene);

	fprintf(out, "%12.6f  0x%-16llx %*llu  %s%s%s\n",
		ticks_seconds(scene->ticks, block->time), (unsigned long long)block->address,
		SIZE_COLUMNS, (unsigned long long)block->size, style->name, place, style->plain);
}

const struct trace_format trace_format_text = {
	.place = text_place, .no_place = "?", .begin = text_begin, .line = text_line,
	.end = text_end, .block = text_block,
};
