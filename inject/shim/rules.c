/* SPDX-License-Identifier: MIT */
/*
 * rules.c - how to leave a frame, by what memattach has published (docs/RECOGNITION.md).
 *
 * Two searches: the module of an address among the published ones, by halves; its row by the
 * index of the page. What they find is kept for all threads in a table of hints, one cache line
 * for each return address: where a program does much between two of its calls, what it costs
 * to find a rule is the number of lines that have to come from memory.
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

/*
 * Both directories: the one that is being written may be the next to hold. Code that was made at
 * run time comes and goes all the time, and what comes to its place is its like, or is announced.
 */
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
			if (module[i].high <= low || shim_load(&module[i].rule))
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
	index = module.rule ? module.rule :
			      row_find(control, head, &module, ra - 1 - module.low);
	return index < RULES_MAX_RULES ? index : 0;
}

/* Where the hint for a return address lies, if there is one. line: NULL, there can be none. */
struct hint_place {
	uint64_t *line;
	uint64_t key;		/* all of the hint but its rule */
};

/* Looked at first, way = 0, and so on. Low bits of a product are those of what was multiplied. */
static uint64_t *hint_at(const struct hint_place *place, uint64_t way)
{
	return &place->line[((place->key >> (RULES_HINT_REST_BITS - 8)) + way) % RULES_HINT_WAYS];
}

static inline struct hint_place hint_place(struct ring_control *control, uint64_t generation,
					   uint64_t ra)
{
	uint64_t *hints = (uint64_t *)((uint8_t *)control + control->rules_offset +
				       RULES_HINTS_AT);
	uint64_t spread = ra * SHIM_GOLDEN & (((uint64_t)1 << RULES_HINT_ADDRESS_BITS) - 1);
	uint64_t rest = spread & (((uint64_t)1 << RULES_HINT_REST_BITS) - 1);

	if (ra >> RULES_HINT_ADDRESS_BITS || generation >= RULES_HINT_GENERATIONS)
		return (struct hint_place){ .line = NULL };
	return (struct hint_place){
		.line = hints + (spread >> RULES_HINT_REST_BITS) * RULES_HINT_WAYS,
		.key = generation << RULES_HINT_REST_BITS | rest,
	};
}

/* In the place of one of another generation, or (there is none) of the first that was tried. */
static void hint_put(const struct hint_place *place, uint32_t index)
{
	uint64_t generation = place->key >> RULES_HINT_REST_BITS;
	uint64_t *to = hint_at(place, 0);

	for (uint64_t way = 0; way < RULES_HINT_WAYS; way++) {
		uint64_t *hint = hint_at(place, way);

		if (shim_load(hint) >> RULES_HINT_RULE_BITS >> RULES_HINT_REST_BITS == generation)
			continue;
		to = hint;
		break;
	}
	shim_store(to, place->key << RULES_HINT_RULE_BITS | index);
}

static __attribute__((noinline)) uint32_t search(struct ring_control *control,
						 uint64_t generation, uint64_t ra,
						 const struct hint_place *place)
{
	uint32_t index = index_find(control, generation, ra);

	if (place->line && index >> RULES_HINT_RULE_BITS == 0)
		hint_put(place, index);
	return index;
}

const struct rules_rule *shim_rule_find(struct ring_control *control, uint64_t generation,
					uint64_t ra)
{
	const struct rules_rule *rule =
		(const struct rules_rule *)((const uint8_t *)rules_head(control) + RULES_RULE_AT);
	struct hint_place place = hint_place(control, generation, ra);

	for (uint64_t way = 0; place.line && way < RULES_HINT_WAYS; way++) {
		uint64_t hint = shim_load(hint_at(&place, way));

		if (hint >> RULES_HINT_RULE_BITS == place.key)
			return &rule[hint & (((uint64_t)1 << RULES_HINT_RULE_BITS) - 1)];
	}
	return &rule[search(control, generation, ra, &place)];
}
