/* SPDX-License-Identifier: MIT */
/*
 * rules.c - how to leave a frame, by what memattach has published (docs/RECOGNITION.md).
 *
 * Two searches: the module of an address among the published ones, by halves; its row by the
 * index of the page. Before both, a place for the return address in the thread's own memory.
 *
 * memattach writes one directory while the other one holds, so a walk that is slow enough can
 * find anything here. Every index is held against the size of what it is an index of, which is
 * a constant or was set before the shim came; and who walks asks for the generation again.
 */
#include "inject/shim/shadow.h"

static const struct rules_head *rules_head(const struct ring_control *control)
{
	return (const struct rules_head *)((const uint8_t *)control + control->rules_offset);
}

uint64_t shim_rules_generation(const struct ring_control *control)
{
	const struct rules_head *head = rules_head(control);
	uint64_t generation = shim_load_acquire(&head->generation);

	if (generation == 0 ||
	    shim_load(&head->modules[generation & 1]) != shim_load(&control->module_generation))
		return 0;
	return generation;
}

static const struct rules_module *directory_of(const struct rules_head *head, uint64_t which,
					       uint32_t *ret_count)
{
	uint32_t count = shim_load(&head->count[which]);

	*ret_count = count < RULES_MAX_MODULES ? count : RULES_MAX_MODULES;
	return (const struct rules_module *)((const uint8_t *)head + RULES_DIRECTORY_AT(which));
}

/* The last module that begins at address or before, or the first one. pre: count > 0. */
static uint32_t module_search(const struct rules_module *directory, uint32_t count,
			      uint64_t address)
{
	uint32_t low = 0, high = count;

	while (high - low > 1) {
		uint32_t middle = (low + high) / 2;

		if (directory[middle].low <= address)
			low = middle;
		else
			high = middle;
	}
	return low;
}

/* The module that holds address; low == high: none. */
static struct rules_module module_find(const struct rules_head *head, uint64_t generation,
				       uint64_t address)
{
	struct rules_module module = { .low = 0 };
	const struct rules_module *directory;
	uint32_t count;

	directory = directory_of(head, generation & 1, &count);
	if (count > 0)
		module = directory[module_search(directory, count, address)];
	if (address < module.low || address >= module.high)
		module.high = module.low;
	return module;
}

/* Both directories: the one that is being written may be the next to hold. */
void shim_rules_unmap(struct ring_control *control, uint64_t low, uint64_t high)
{
	const struct rules_head *head = rules_head(control);

	if (control->rules_offset == 0)
		return;
	for (uint64_t which = 0; which < 2; which++) {
		uint32_t count, i;
		const struct rules_module *module = directory_of(head, which, &count);

		i = count > 0 ? module_search(module, count, low) : 0;
		for (; i < count && module[i].low < high; i++) {
			if (module[i].high <= low)
				continue;
			shim_add(&control->module_generation, 1);
			return;
		}
	}
}

/* Index of the rule for offset in module. Every load is held against arena_bytes. */
static uint32_t row_find(const struct ring_control *control, const struct rules_head *head,
			 const struct rules_module *module, uint64_t offset)
{
	uint64_t arena_bytes = control->rules_bytes - RULES_ARENA_AT;
	const uint8_t *arena = (const uint8_t *)head + RULES_ARENA_AT;
	uint64_t page = module->index_at + (offset >> RULES_PAGE_LOG2);
	const struct rules_row *row;
	uint32_t at, last;

	if (module->row_count == 0 || (page + 2) * sizeof(uint32_t) > arena_bytes ||
	    ((uint64_t)module->row_at + module->row_count) * sizeof(*row) > arena_bytes)
		return 0;
	at = shim_load((const uint32_t *)arena + page);
	last = shim_load((const uint32_t *)arena + page + 1);
	if (last >= module->row_count)
		last = module->row_count - 1;
	row = (const struct rules_row *)arena + module->row_at;
	while (at < last) {	/* the last one that starts at offset or before */
		uint32_t middle = at + (last - at + 1) / 2;

		if (shim_load(&row[middle].start) <= offset)
			at = middle;
		else
			last = middle - 1;
	}
	return at < module->row_count ? shim_load(&row[at].rule) : 0;
}

/* A call lies before its return address, which may be the next function's first. */
static uint32_t index_find(const struct ring_control *control, uint64_t generation, uint64_t ra)
{
	const struct rules_head *head = rules_head(control);
	struct rules_module module = module_find(head, generation, ra - 1);
	uint32_t index;

	if (module.low == module.high)
		return 0;
	index = row_find(control, head, &module, ra - 1 - module.low);
	return index < RULES_MAX_RULES ? index : 0;
}

void shim_rule_search(const struct ring_control *control, struct shadow_rule *place,
		      uint64_t generation, uint64_t ra)
{
	const struct rules_rule *rule =
		(const struct rules_rule *)((const uint8_t *)rules_head(control) + RULES_RULE_AT);

	place->rule = rule[index_find(control, generation, ra)];
	place->ra = ra;
	place->generation = generation;
}
