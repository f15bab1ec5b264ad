/* SPDX-License-Identifier: MIT */
/*
 * heaptrack_trace.c - see heaptrack_trace.h. All numbers are hexadecimal.
 *
 *	s LENGTH TEXT			a string; they count from 1
 *	i IP MODULE FUNCTION FILE LINE ...	innermost first; what it was inlined into follows
 *	t IP PARENT			a trace; parent 0: the outermost function
 *	a SIZE TRACE			a kind of allocations; these count from 0
 */
#include "src/export/heaptrack_trace.h"

#include <errno.h>
#include <string.h>

#define HASH_NONFATAL_OOM 1
#include <uthash.h>

#include "src/report/printable.h"

struct heaptrack_kind {
	struct { uint64_t size, stack; } key;
	uint32_t number;
	UT_hash_handle hh;
};

int heaptrack_trace_init(struct heaptrack_trace *trace, FILE *out, const struct export_input *input)
{
	*trace = (struct heaptrack_trace){ .out = out };
	trace->ip = calloc((size_t)input->sites->frame_count + 1, sizeof(*trace->ip));
	return trace->ip ? export_places_init(&trace->places, input) : -ENOMEM;
}

void heaptrack_trace_done(struct heaptrack_trace *trace)
{
	struct heaptrack_kind *kind, *next;

	for (int freed = 0; freed < 2; freed++) {
		HASH_ITER(hh, trace->kinds[freed], kind, next) {
			HASH_DEL(trace->kinds[freed], kind);
			free(kind);
		}
	}
	export_places_done(&trace->places);
	hashmap_done(&trace->strings);
	hashmap_done(&trace->nodes);
	free(trace->ip);
}

/* 0 stands for no text. */
static int put_string(struct heaptrack_trace *trace, const char *text, uint32_t *ret)
{
	_cleanup_free_ char *copy = NULL;
	uint64_t number = 0;

	if (text && text[0] && !hashmap_get(&trace->strings, (uintptr_t)text, &number)) {
		copy = printable_copy(text, PRINTABLE_TEXT);
		number = ++trace->string_count;
		if (!copy || hashmap_put(&trace->strings, (uintptr_t)text, number) < 0)
			return -ENOMEM;
		fprintf(trace->out, "s %zx %s\n", strlen(copy), copy);
	}
	*ret = (uint32_t)number;
	return 0;
}

/* Of one frame of an instruction pointer. */
struct names {
	uint32_t function, file;
};

static int put_names(struct heaptrack_trace *trace, const struct view_frame *frame,
		     struct names *ret)
{
	int err = put_string(trace, frame->title, &ret->function);

	return err < 0 ? err : put_string(trace, frame->file, &ret->file);
}

/* Strings come before the line that has their numbers. */
static int put_ip(struct heaptrack_trace *trace, const struct view_frame *const *frame,
		  uint32_t count)
{
	struct names names[SYMBOLIZER_MAX_FRAMES];
	uint32_t module;
	int err = put_string(trace, frame[0]->module, &module);

	for (uint32_t i = 0; err == 0 && i < count; i++)
		err = put_names(trace, frame[i], &names[i]);
	if (err < 0)
		return err;
	trace->ip[frame[0]->index] = ++trace->ip_count;
	fprintf(trace->out, "i %llx %x",
		(unsigned long long)export_places_address(&trace->places, frame[0]), module);
	for (uint32_t i = 0; i < count; i++)
		fprintf(trace->out, " %x %x %x", names[i].function, names[i].file, frame[i]->line);
	fputc('\n', trace->out);
	return 0;
}

static int put_node(struct heaptrack_trace *trace, uint32_t ip, uint32_t parent, uint32_t *ret)
{
	uint64_t key = (uint64_t)ip << 32 | parent, number;

	if (!hashmap_get(&trace->nodes, key, &number)) {
		number = ++trace->node_count;
		if (hashmap_put(&trace->nodes, key, number) < 0)
			return -ENOMEM;
		fprintf(trace->out, "t %x %x\n", ip, parent);
	}
	*ret = (uint32_t)number;
	return 0;
}

/* Machine frames are found from the inside, traces made from the outside. */
int heaptrack_trace_stack(struct heaptrack_trace *trace, const struct view_site *site,
			  uint32_t *ret)
{
	_cleanup_free_ uint32_t *first = calloc(site->frame_count, sizeof(*first));
	uint32_t count = 0, node = 0;
	int err = first ? 0 : -ENOMEM;

	for (uint32_t i = 0, part; err == 0 && i < site->frame_count; i += part) {
		part = export_machine_frame(&site->frame[i], site->frame_count - i);
		first[count++] = i;
		if (!trace->ip[site->frame[i]->index])
			err = put_ip(trace, &site->frame[i], part);
	}
	for (uint32_t i = count; err == 0 && i > 0; i--)
		err = put_node(trace, trace->ip[site->frame[first[i - 1]]->index], node, &node);
	*ret = node;
	return err;
}

int heaptrack_trace_kind(struct heaptrack_trace *trace, uint64_t size, uint32_t stack, bool freed,
			 uint32_t *ret)
{
	struct heaptrack_kind find = { .key = { size, stack } }, *kind;

	HASH_FIND(hh, trace->kinds[freed], &find.key, sizeof(find.key), kind);
	if (!kind) {
		kind = malloc(sizeof(*kind));
		if (!kind)
			return -ENOMEM;
		*kind = find;
		kind->number = trace->kind_count[freed];
		HASH_ADD(hh, trace->kinds[freed], key, sizeof(kind->key), kind);
		if (!kind->hh.tbl) {
			free(kind);
			return -ENOMEM;
		}
		trace->kind_count[freed]++;
	}
	*ret = kind->number + (freed ? trace->kind_count[0] : 0);
	return 0;
}

void heaptrack_trace_put_kinds(const struct heaptrack_trace *trace)
{
	for (int freed = 0; freed < 2; freed++)
		for (const struct heaptrack_kind *kind = trace->kinds[freed]; kind;
		     kind = kind->hh.next)
			fprintf(trace->out, "a %llx %llx\n", (unsigned long long)kind->key.size,
				(unsigned long long)kind->key.stack);
}
