/* SPDX-License-Identifier: MIT */
/*
 * text_put.c - the parts that reports for people have in common: names, stacks, how many.
 *
 * A frame without a name is module+0xoffset, which addr2line understands. Names come from
 * the target: printed only through printable_copy. They are not cut at the end, which is what
 * tells two long C++ names apart: of those, lists of arguments are left out.
 */
#include "src/report/text_put.h"

#include <string.h>

#include "src/report/human.h"
#include "src/report/printable.h"
#include "src/symbolize/frame_name.h"

#define NAME_MOST	100u	/* bytes of a name */
#define NAME_COLUMNS	44u	/* functions are padded to this, so that locations line up */

void text_put_label(FILE *out, const char *label)
{
	fprintf(out, "  %-10s", label);
}

void text_put_printable(FILE *out, const char *text)
{
	_cleanup_free_ char *safe = NULL;

	if (!printable_is_plain(text))
		text = safe = printable_copy(text, PRINTABLE_TERMINAL);
	fputs(text ? text : "?", out);
}

void text_fit_name(char *name)
{
	frame_name_fit(name, NAME_MOST);
}

void text_put_name(FILE *out, const char *name)
{
	_cleanup_free_ char *safe = printable_copy(name, PRINTABLE_TERMINAL);

	if (safe)
		text_fit_name(safe);
	fputs(safe ? safe : "?", out);
}

void text_put_quoted(FILE *out, const char *words, const char *text)
{
	if (!text)
		return;
	fprintf(out, "%s `", words);
	text_put_printable(out, text);
	fputc('`', out);
}

const char *text_before(const struct snapshot *snapshot)
{
	return snapshot->session.started ? "before the program began" : "before the attach";
}

const char *text_plural(uint64_t count)
{
	return count == 1 ? "" : "s";
}

const char *text_kind(enum site_kind kind)
{
	return kind == SITE_MMAP ? "mapping" : kind == SITE_CUSTOM ? "custom block" : "block";
}

void text_put_blocks(FILE *out, uint64_t bytes, uint64_t count)
{
	fprintf(out, "%s in %s block%s", human_bytes((double)bytes).text,
		human_count((double)count).text, text_plural(count));
}

size_t text_shown(const struct report_options *options, size_t count)
{
	size_t top = options->top ? options->top : TEXT_DEFAULT_TOP;

	return top < count ? top : count;
}

const char *text_base_name(const char *path)
{
	const char *slash = strrchr(path, '/');

	return slash && slash[1] ? slash + 1 : path;
}

char *text_frame_title(const struct symbol_frame *symbol, const struct frame *frame)
{
	_cleanup_free_ char *text = NULL;
	int err;

	if (symbol->function)
		err = asprintf(&text, "%s", symbol->function);
	else if (symbol->module[0])
		err = asprintf(&text, "%s+0x%llx", text_base_name(symbol->module),
			       (unsigned long long)symbol->offset);
	else if (frame->module)
		err = asprintf(&text, "module %u+0x%llx", frame->module,
			       (unsigned long long)frame->offset);
	else
		err = asprintf(&text, "0x%llx", (unsigned long long)frame->offset);
	if (err < 0)
		text = NULL;
	return text ? printable_copy(text, PRINTABLE_TERMINAL) : NULL;
}

void text_put_location(FILE *out, const struct symbol_frame *symbol)
{
	text_put_printable(out, symbol->file ? symbol->file : text_base_name(symbol->module));
	/* Of a symbol: neither folders nor a line. */
	if (symbol->file && !symbol->line && !strchr(symbol->file, '/') && symbol->module[0]) {
		fputs(" in ", out);
		text_put_printable(out, text_base_name(symbol->module));
	}
	if (symbol->file && symbol->line)
		fprintf(out, ":%u", symbol->line);
	if (symbol->file && symbol->line && symbol->column)
		fprintf(out, ":%u", symbol->column);
	if (symbol->inlined)
		fputs(" (inlined)", out);
}

void text_put_frame(FILE *out, const struct style *style, const struct symbol_frame *symbol,
		    const struct frame *frame)
{
	_cleanup_free_ char *title = text_frame_title(symbol, frame);
	size_t columns;

	if (title)
		text_fit_name(title);
	columns = title ? printable_columns(title) : 0;
	fprintf(out, "      %s%s%s", style->name, title ? title : "?", style->plain);
	if (symbol->function || symbol->file) {
		fprintf(out, "%*s  %s", columns < NAME_COLUMNS ? (int)(NAME_COLUMNS - columns) : 0,
			"", style->dim);
		text_put_location(out, symbol);
		fputs(style->plain, out);
	}
	fputc('\n', out);
}

void text_put_stack(FILE *out, const struct report_input *input, const struct snapshot_site *site)
{
	const struct style *style = style_for(&input->options);
	struct stack stack = stacks_get(input->stacks, site->stack);

	for (uint32_t i = site->skip_frames; i < stack.frame_count; i++) {
		size_t count = 0;
		const struct symbol_frame *symbol =
			input->names.frame(input->names.context, &stack.frame[i], &count);

		for (size_t inner = 0; inner < count; inner++)
			text_put_frame(out, style, &symbol[inner], &stack.frame[i]);
	}
	if (stack.flags & STACK_OTHER)
		fprintf(out, "      %sother%s  %s(sites put together for --max-memory)%s\n",
			style->name, style->plain, style->dim, style->plain);
	else if (stack.frame_count <= site->skip_frames)
		fprintf(out, "      %sunknown%s\n", style->name, style->plain);
	else if (stack.flags & STACK_CALLER_ONLY)
		fprintf(out, "      %s(only the caller is known)%s\n", style->dim, style->plain);
	else if (stack.flags & STACK_TRUNCATED)
		fprintf(out, "      %s(cut: could not be followed to the thread's start)%s\n",
			style->dim, style->plain);
}

const struct snapshot_site *text_site_by_id(const struct snapshot *snapshot, uint32_t id)
{
	for (size_t i = 0; i < snapshot->site_count; i++) {
		if (snapshot->site[i].id == id)
			return &snapshot->site[i];
	}
	return NULL;
}
