/* SPDX-License-Identifier: MIT */
/*
 * rule_table.c - see rule_table.h.
 *
 * Rows and rules are only ever added; a module keeps its place as long as it is mapped. Of the
 * two directories the one that does not hold is written; then the maps are read again: whoever
 * unmaps code after it has been listed there raises module_generation first, and whoever began
 * before has ended (unmaps_begun == unmaps_ended at some moment in between), so that the second
 * look would show it. When there is no more room, the rules stop to hold, and all places are
 * given anew.
 *
 * Nothing is read back from the shared memory but counters: a target that writes there misleads
 * its own shim only.
 */
#include "src/recognition/rule_table.h"

#include <errno.h>
#include <string.h>
#include <time.h>

#include "src/unwind/cfi_table.h"

enum { QUIET_TRIES = 200 };
#define QUIET_PAUSE_NS 5000

/* Where a module's rows lie in the arena. */
struct placed {
	bool tried;		/* compiled, or it can't be */
	uint32_t row_at, row_count, index_at;
	uint64_t low, high;	/* virtual addresses of its file */
};

struct rule_table {
	struct ring_control *control;
	struct rules_head *head;
	uint8_t *arena;
	uint64_t arena_bytes, used;
	struct rule_set set;
	uint32_t rules;			/* of set, that are in the shared memory */
	struct placed *placed;		/* [module id - 1] */
	uint32_t placed_count;
	uint64_t generation, modules;	/* the last that were published */
	uint64_t known;			/* modules_generation() of then */
	struct rules_module module[RULES_MAX_MODULES];
	struct rule_table_stats stats;
};

int rule_table_new(struct ring_control *control, size_t mapped_bytes, struct rule_table **ret)
{
	uint64_t at = control->rules_offset, bytes = control->rules_bytes;
	struct rule_table *table;
	int error;

	if (at == 0)
		return -ENOTSUP;
	if (at % RING_LINE || at < RING_CONTROL_BYTES || at > mapped_bytes ||
	    bytes > mapped_bytes - at || bytes <= RULES_ARENA_AT)
		return -EBADMSG;
	table = calloc(1, sizeof(*table));
	if (!table)
		return -ENOMEM;
	table->control = control;
	table->head = (void *)((uint8_t *)control + at);
	table->arena = (uint8_t *)table->head + RULES_ARENA_AT;
	table->arena_bytes = (bytes - RULES_ARENA_AT) & ~7ull;
	error = rule_set_init(&table->set);
	if (error) {
		rule_table_free(table);
		return error;
	}
	*ret = table;
	return 0;
}

void rule_table_free(struct rule_table *table)
{
	if (!table)
		return;
	rule_set_done(&table->set);
	free(table->placed);
	free(table);
}

static struct placed *placed_of(struct rule_table *table, uint32_t id)
{
	if (id > table->placed_count) {
		uint32_t count = id + 63;
		struct placed *placed = reallocarray(table->placed, count, sizeof(*placed));

		if (!placed)
			return NULL;
		memset(placed + table->placed_count, 0,
		       (count - table->placed_count) * sizeof(*placed));
		table->placed = placed;
		table->placed_count = count;
	}
	return &table->placed[id - 1];
}

/* Room in the arena, in units of 4 bytes, or -ENOSPC. */
static int take_room(struct rule_table *table, uint64_t bytes, uint64_t *ret_at)
{
	bytes = (bytes + 7) & ~7ull;
	if (bytes > table->arena_bytes - table->used)
		return -ENOSPC;
	*ret_at = table->used;
	table->used += bytes;
	return 0;
}

static int place_rows(struct rule_table *table, const struct cfi_table *cfi, struct placed *placed)
{
	uint64_t row_bytes = (uint64_t)cfi->row_count * sizeof(*cfi->row), row_at, index_at;
	uint64_t index_bytes = (uint64_t)cfi->index_count * sizeof(*cfi->index);
	int error = take_room(table, row_bytes, &row_at);

	if (!error)
		error = take_room(table, index_bytes, &index_at);
	if (error)
		return error;
	memcpy(table->arena + row_at, cfi->row, row_bytes);
	memcpy(table->arena + index_at, cfi->index, index_bytes);
	*placed = (struct placed){
		.tried = true, .low = cfi->low, .high = cfi->high, .row_count = cfi->row_count,
		.row_at = (uint32_t)(row_at / sizeof(*cfi->row)),
		.index_at = (uint32_t)(index_at / sizeof(*cfi->index)),
	};
	table->stats.rows += cfi->row_count;
	return 0;
}

/* 0 also if it has no rules; -ENOSPC, -ENOMEM. */
static int compile(struct rule_table *table, const struct module *module, struct placed *placed)
{
	struct cfi_table cfi = { .row = NULL };
	int error = cfi_table_build(module, &table->set, &cfi);

	placed->tried = true;
	(void)__atomic_add_fetch(&table->control->beat, 1, __ATOMIC_RELAXED);	/* we live */
	if (!error && cfi.row_count > 0)
		error = place_rows(table, &cfi, placed);
	cfi_table_done(&cfi);
	return error == -ENOMEM || error == -ENOSPC ? error : 0;
}

static bool has_code(const struct module *module)
{
	return module && !module->closed && module->kind != MODULE_JIT && module->file;
}

/* Compiles what is new; what has no room is left out, and counted. */
static int compile_all(struct rule_table *table, const struct modules *modules)
{
	for (uint32_t id = 1; id <= modules_count(modules); id++) {
		const struct module *module = modules_get(modules, id);
		struct placed *placed;
		int error = 0;

		if (!has_code(module))
			continue;
		placed = placed_of(table, id);
		if (!placed)
			return -ENOMEM;
		if (!placed->tried)
			error = compile(table, module, placed);
		if (error == -ENOSPC)
			table->stats.left_out++;
		else if (error)
			return error;
	}
	return 0;
}

/* What the modules that are mapped take of the arena. */
static uint64_t bytes_mapped(const struct rule_table *table, const struct modules *modules)
{
	uint64_t bytes = 0;

	for (uint32_t id = 1; id <= table->placed_count; id++) {
		const struct placed *placed = &table->placed[id - 1];

		if (has_code(modules_get(modules, id)))
			bytes += placed->row_count * sizeof(struct rules_row) +
				 ((placed->high - placed->low) >> RULES_PAGE_LOG2) *
					 sizeof(uint32_t);
	}
	return bytes;
}

/* Nothing holds from here on; every place is free again. */
static void start_over(struct rule_table *table)
{
	__atomic_store_n(&table->head->generation, 0, __ATOMIC_SEQ_CST);
	/* who sees a row of those that come sees that none holds when it asks again */
	__atomic_thread_fence(__ATOMIC_RELEASE);
	memset(table->placed, 0, table->placed_count * sizeof(*table->placed));
	table->used = 0;
	table->stats.rows = 0;
	table->stats.left_out = 0;
}

/* If room runs out, and a good part of it is that of modules which have gone: all anew. */
static int compile_with_room(struct rule_table *table, const struct modules *modules)
{
	uint32_t left_out = table->stats.left_out;
	int error = compile_all(table, modules);

	if (error || table->stats.left_out == left_out ||
	    table->used - bytes_mapped(table, modules) < table->arena_bytes / 4)
		return error;
	start_over(table);
	return compile_all(table, modules);
}

static int by_low(const void *a, const void *b)
{
	const struct rules_module *left = a, *right = b;

	return left->low < right->low ? -1 : left->low > right->low;
}

/* Modules that overlap (nobody's loader does that) are left out but for the first. */
static uint32_t without_overlaps(struct rules_module *module, uint32_t count)
{
	uint32_t kept = 0;

	qsort(module, count, sizeof(*module), by_low);
	for (uint32_t i = 0; i < count; i++) {
		if (kept == 0 || module[i].low >= module[kept - 1].high)
			module[kept++] = module[i];
	}
	return kept;
}

/* One rule for all of it. Returns how many modules are listed then. */
static uint32_t list_jit(struct rule_table *table, uint32_t count, uint64_t low, uint64_t high)
{
	if (count == RULES_MAX_MODULES)
		return count;
	table->module[count] = (struct rules_module){
		.low = low, .high = high, .rule = RULE_SET_GUESS,
	};
	table->stats.jit++;
	return count + 1;
}

/* Code without call frame information: behind all that has some, if there is room. */
static uint32_t list_all_jit(struct rule_table *table, const struct modules *modules,
			     uint32_t count)
{
	uint64_t low, high;

	table->stats.jit = 0;
	for (uint32_t id = 1; id <= modules_count(modules); id++) {
		const struct module *module = modules_get(modules, id);

		if (module && !module->closed && module->kind == MODULE_JIT)
			count = list_jit(table, count, module->low, module->high);
	}
	for (uint32_t i = 0; modules_jit_range(modules, i, &low, &high); i++)
		count = list_jit(table, count, low, high);
	return count;
}

static uint32_t list(struct rule_table *table, const struct modules *modules)
{
	uint32_t count = 0;

	for (uint32_t id = 1; id <= modules_count(modules) && count < RULES_MAX_MODULES; id++) {
		const struct module *module = modules_get(modules, id);
		const struct placed *placed = id <= table->placed_count ? &table->placed[id - 1] :
									  NULL;

		if (!has_code(module) || !placed || placed->row_count == 0)
			continue;
		table->module[count++] = (struct rules_module){
			.low = placed->low + module->bias, .high = placed->high + module->bias,
			.row_at = placed->row_at, .row_count = placed->row_count,
			.index_at = placed->index_at,
		};
	}
	count = list_all_jit(table, modules, count);
	return without_overlaps(table->module, count);
}

static void write_rules(struct rule_table *table)
{
	struct rules_rule *rule = (void *)((uint8_t *)table->head + RULES_RULE_AT);

	memcpy(rule + table->rules, table->set.rule + table->rules,
	       (table->set.count - table->rules) * sizeof(*rule));
	table->rules = table->set.count;
}

/* Into the directory that does not hold. Release: the shim's unmaps look at both. */
static void write_directory(struct rule_table *table, uint32_t count)
{
	uint64_t which = (table->generation + 1) & 1;
	struct rules_module *directory =
		(void *)((uint8_t *)table->head + RULES_DIRECTORY_AT(which));

	__atomic_store_n(&table->head->count[which], 0, __ATOMIC_SEQ_CST);
	__atomic_thread_fence(__ATOMIC_RELEASE);	/* before a row of it */
	memcpy(directory, table->module, count * sizeof(*directory));
	__atomic_store_n(&table->head->count[which], count, __ATOMIC_SEQ_CST);
}

/* Waits for a moment at which no unmap is under way: false if there is none. */
static bool await_quiet(const struct ring_control *control)
{
	const struct timespec pause = { 0, QUIET_PAUSE_NS };

	for (int i = 0; i < QUIET_TRIES; i++) {
		uint64_t ended = __atomic_load_n(&control->unmaps_ended, __ATOMIC_SEQ_CST);

		if (__atomic_load_n(&control->unmaps_begun, __ATOMIC_SEQ_CST) == ended)
			return true;
		(void)nanosleep(&pause, NULL);
	}
	return false;
}

int rule_table_publish(struct rule_table *table, const struct modules *modules,
		       uint64_t generation, int (*look_again)(void *context), void *context)
{
	int error = compile_with_room(table, modules);

	if (error)
		return error;
	write_rules(table);
	table->stats.modules = list(table, modules);
	write_directory(table, table->stats.modules);
	if (!await_quiet(table->control) || look_again(context) != 0 ||
	    __atomic_load_n(&table->control->module_generation, __ATOMIC_SEQ_CST) != generation)
		return -EAGAIN;
	table->generation++;
	table->modules = generation;
	table->known = modules_generation(modules);
	__atomic_store_n(&table->head->modules[table->generation & 1], generation,
			 __ATOMIC_RELAXED);
	__atomic_store_n(&table->head->generation, table->generation, __ATOMIC_SEQ_CST);
	return 0;
}

bool rule_table_holds(const struct rule_table *table, const struct modules *modules)
{
	return table->generation != 0 && table->known == modules_generation(modules) &&
	       __atomic_load_n(&table->head->generation, __ATOMIC_RELAXED) == table->generation &&
	       table->modules ==
		       __atomic_load_n(&table->control->module_generation, __ATOMIC_ACQUIRE);
}

void rule_table_stats(const struct rule_table *table, struct rule_table_stats *ret)
{
	*ret = table->stats;
	ret->rules = table->set.count;
	ret->bytes = table->used + table->set.count * sizeof(struct rules_rule);
}
