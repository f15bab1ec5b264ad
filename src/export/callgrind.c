/* SPDX-License-Identifier: MIT */
/*
 * callgrind.c - callgrind's format: what each line costs by itself, and what each call costs with
 * all below it. Live and allocated bytes and blocks are its "events".
 *
 * The format knows who calls whom, not stacks: a call is written once with the sum over all stacks
 * that go through it. A call that a stack makes twice, by recursion, counts once in it, so that
 * no call costs more than the program; what readers make of cycles is theirs.
 */
#include <errno.h>
#include <string.h>

#define HASH_NONFATAL_OOM 1
#include <uthash.h>

#include "src/base/version.h"
#include "src/export/export.h"
#include "src/export/export_functions.h"
#include "src/export/export_text.h"

static const enum view_metric event[] = {
	VIEW_LIVE_BYTES, VIEW_LIVE_COUNT, VIEW_ALLOC_BYTES, VIEW_ALLOC_COUNT,
};
#define EVENTS		ARRAY_SIZE(event)
#define NO_CALLEE	UINT32_MAX

/* What a line of a function costs: by itself, or by calling callee. */
struct cost {
	struct { uint32_t function, line, callee; } key;
	uint64_t value[EVENTS];
	size_t last_site;	/* the last that was added + 1 */
	UT_hash_handle hh;
};
struct callgrind {
	FILE *out;
	struct export_functions functions;
	struct cost *costs;		/* a uthash */
	bool *named;			/* functions: names were written, numbers are enough */
};

static void callgrind_done(struct callgrind *c)
{
	struct cost *cost, *next;

	HASH_ITER(hh, c->costs, cost, next) {
		HASH_DEL(c->costs, cost);
		free(cost);
	}
	export_functions_done(&c->functions);
	free(c->named);
}

static struct cost *find_cost(struct callgrind *c, const struct view_frame *frame, uint32_t callee)
{
	struct cost find = { .key = { c->functions.of_frame[frame->index], frame->line, callee } };
	struct cost *cost;

	HASH_FIND(hh, c->costs, &find.key, sizeof(find.key), cost);
	if (cost)
		return cost;
	cost = malloc(sizeof(*cost));
	if (!cost)
		return NULL;
	*cost = find;
	HASH_ADD(hh, c->costs, key, sizeof(cost->key), cost);
	if (cost->hh.tbl)
		return cost;
	free(cost);
	return NULL;
}

static int add_site(struct callgrind *c, const struct view_site *site, size_t number)
{
	uint32_t callee = NO_CALLEE;

	for (uint32_t i = 0; i < site->frame_count; i++) {
		struct cost *cost = find_cost(c, site->frame[i], callee);

		if (!cost)
			return -ENOMEM;
		for (size_t e = 0; e < EVENTS && cost->last_site != number; e++)
			cost->value[e] = view_sum(cost->value[e],
						  view_metric_value(site->figures, event[e]));
		cost->last_site = number;
		callee = c->functions.of_frame[site->frame[i]->index];
	}
	return 0;
}

/* By function, what it costs itself before its calls, then by line. */
static int compare_costs(const void *a, const void *b)
{
	const struct cost *x = *(struct cost *const *)a, *y = *(struct cost *const *)b;
	bool call_x = x->key.callee != NO_CALLEE, call_y = y->key.callee != NO_CALLEE;

	return (x->key.function > y->key.function) - (x->key.function < y->key.function) ?:
	       call_x - call_y ?: (x->key.line > y->key.line) - (x->key.line < y->key.line) ?:
	       (x->key.callee > y->key.callee) - (x->key.callee < y->key.callee);
}

/*
 * "fn=(7) name", later "fn=(7)". Never a bare name: it may begin with a bracket, too. Modules and
 * files go by the number of their function; that several numbers mean one name does no harm.
 */
static int put_name(struct callgrind *c, const char *what, uint32_t function, const char *name)
{
	int err = 0;

	fprintf(c->out, "%s=(%u)", what, function + 1u);
	if (!c->named[function]) {
		fputc(' ', c->out);
		err = export_put_line(c->out, name && name[0] ? name : "???");
	}
	fputc('\n', c->out);
	return err;
}

static int put_function(struct callgrind *c, uint32_t function, const char *const what[3])
{
	const struct view_frame *frame = c->functions.function[function];
	int err = put_name(c, what[0], function, frame->module);

	if (err == 0)
		err = put_name(c, what[1], function, frame->file);
	if (err == 0)
		err = put_name(c, what[2], function, frame->title);
	c->named[function] = true;
	return err;
}

static void put_values(FILE *out, const uint64_t value[EVENTS])
{
	for (size_t e = 0; e < EVENTS; e++)
		fprintf(out, " %llu", (unsigned long long)value[e]);
	fputc('\n', out);
}

static int put_cost(struct callgrind *c, const struct cost *cost)
{
	static const char *const what[] = { "cob", "cfi", "cfn" };
	int err;

	if (cost->key.callee != NO_CALLEE) {
		err = put_function(c, cost->key.callee, what);
		if (err < 0)
			return err;
		/* How often it was called is not known; its allocations are. */
		fprintf(c->out, "calls=%llu 0\n", (unsigned long long)cost->value[EVENTS - 1]);
	}
	fprintf(c->out, "%u", cost->key.line);
	put_values(c->out, cost->value);
	return 0;
}

static int put_costs(struct callgrind *c)
{
	static const char *const what[] = { "ob", "fl", "fn" };
	size_t count = HASH_COUNT(c->costs), at = 0;
	_cleanup_free_ struct cost **order = calloc(count + 1, sizeof(struct cost *));
	uint32_t function = NO_CALLEE;
	int err = 0;

	if (!order)
		return -ENOMEM;
	for (struct cost *cost = c->costs; cost; cost = cost->hh.next)
		order[at++] = cost;
	qsort(order, count, sizeof(struct cost *), compare_costs);
	for (size_t i = 0; err == 0 && i < count; i++) {
		if (order[i]->key.function != function) {
			function = order[i]->key.function;
			fputc('\n', c->out);
			err = put_function(c, function, what);
		}
		if (err == 0)
			err = put_cost(c, order[i]);
	}
	return err;
}

static int put_header(struct callgrind *c, const struct export_input *input)
{
	const struct snapshot_target *target = &input->content->snapshot->target;
	uint64_t sum[EVENTS];
	int err;

	fprintf(c->out, "# callgrind format\nversion: 1\ncreator: memattach %s\npid: %d\ncmd: ",
		VERSION_TEXT, target->pid);
	err = export_put_line(c->out, target->cmdline);
	fputs("\npositions: line\nevent: LiveBytes : live bytes\nevent: LiveBlocks : live blocks\n"
	      "event: AllocBytes : allocated bytes\nevent: AllocBlocks : allocated blocks\n"
	      "events: LiveBytes LiveBlocks AllocBytes AllocBlocks\n", c->out);
	for (size_t e = 0; e < EVENTS; e++)
		sum[e] = input->sites->sum[event[e]];
	fputs("summary:", c->out);
	put_values(c->out, sum);
	return err;
}

int export_callgrind(FILE *out, const struct export_input *input)
{
	_cleanup_(callgrind_done) struct callgrind c = { .out = out };
	int err = export_functions_init(&c.functions, input->sites);

	if (err < 0)
		return err;
	c.named = calloc((size_t)c.functions.count + 1, sizeof(*c.named));
	if (!c.named)
		return -ENOMEM;
	for (size_t i = 0; err == 0 && i < input->sites->count; i++)
		err = add_site(&c, &input->sites->site[i], i + 1);
	if (err == 0)
		err = put_header(&c, input);
	return err < 0 ? err : put_costs(&c);
}
