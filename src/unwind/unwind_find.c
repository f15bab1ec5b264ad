/* SPDX-License-Identifier: MIT */
/*
 * unwind_find.c - the call frame information for a place in a module.
 *
 * A binary search over the copy of .eh_frame_hdr finds the row, cfi_check()
 * approves the FDE, and libunwind's own dwarf_search_unwind_table() is
 * then given a table of just that row, so that it reads nothing else.
 * libunwind-ptrace's finder was rejected: it maps the ELF file again for every
 * module a stack crosses (4.5 ms a stack), and aborts on a header without table.
 * What was approved is kept for a few only: to find one of many again would take as long as to
 * check it, and what libunwind made of it is kept (unwind_states.c).
 * Modules without a table that cfi_search.c serves are left to libdw (cfi_rule.c).
 * The public declaration of dwarf_search_unwind_table is missing from libunwind's
 * headers although the symbol is exported for this use; perf declares it likewise.
 */
#include "src/unwind/unwind_find.h"

#include <errno.h>
#include <string.h>

#include "src/base/array.h"
#include "src/base/hashmap.h"
#include "src/unwind/cfi_search.h"

#define dwarf_search_unwind_table UNW_OBJ(dwarf_search_unwind_table)
extern int dwarf_search_unwind_table(unw_addr_space_t space, unw_word_t ip, unw_dyn_info_t *info,
				     unw_proc_info_t *proc, int need_unwind_info, void *argument);

#define SAMPLE_ROWS	64u		/* 8 cache lines */
#define MAX_CHECKED	1024u

/* A module's search table, and where every 64th of its rows starts: what a search begins with. */
struct table {
	bool opened;
	struct cfi_search search;
	int32_t *sample;		/* NULL: no memory for it */
};

/* What cfi_check() said of a row's FDE; key 0: of none. */
struct checked {
	uint64_t key;			/* module id << 32 | row */
	struct cfi_fde fde;
	int result;
};

/* The segment that the last FDE is in. */
struct window {
	const struct module *module;
	uint64_t offset;		/* in the file */
	uint64_t low, size;		/* virtual addresses of the file */
};

struct unwind_find {
	struct table *table;		/* [module id - 1] */
	uint32_t table_count;
	unw_dyn_info_t last;		/* one-row table of the FDE found last */
	struct window window;
	struct checked checked[MAX_CHECKED];	/* by hash of key */
};

int unwind_find_new(struct unwind_find **ret)
{
	struct unwind_find *find = calloc(1, sizeof(*find));

	if (!find)
		return -ENOMEM;
	*ret = find;
	return 0;
}

void unwind_find_free(struct unwind_find *find)
{
	if (!find)
		return;
	for (uint32_t i = 0; i < find->table_count; i++)
		free(find->table[i].sample);
	free(find->table);
	free(find);
}

/* A search in a table of a megabyte waits for memory at every step; the samples stay at hand. */
static void open_table(struct table *table, const struct module *module)
{
	uint32_t count;

	table->opened = true;
	table->search = cfi_search_open(module);
	count = table->search.count / SAMPLE_ROWS;
	table->sample = count ? reallocarray(NULL, count, sizeof(*table->sample)) : NULL;
	for (uint32_t i = 0; table->sample && i < count; i++)
		table->sample[i] = cfi_search_value(&table->search, i * SAMPLE_ROWS, 0);
}

static int get_table(struct unwind_find *find, const struct module *module,
		     const struct table **ret)
{
	struct table *table;

	if (module->id > find->table_count) {
		uint32_t count = module->id + 63;

		table = reallocarray(find->table, count, sizeof(*table));
		if (!table)
			return -ENOMEM;
		memset(table + find->table_count, 0,
		       (count - find->table_count) * sizeof(*table));
		find->table = table;
		find->table_count = count;
	}
	table = &find->table[module->id - 1];
	if (!table->opened)
		open_table(table, module);
	*ret = table;
	return table->search.header ? 0 : -ENOENT;
}

/* The last row that starts at or below address; count: none. */
static uint32_t find_row(const struct table *table, uint64_t address)
{
	const struct cfi_search *search = &table->search;
	int64_t relative = (int64_t)(address - search->header);
	size_t low = 0, count = search->count;

	if (table->sample) {
		size_t samples = count / SAMPLE_ROWS;
		size_t at = ARRAY_BISECT(samples, i, table->sample[i] <= relative);

		low = at == 0 ? 0 : (at - 1) * SAMPLE_ROWS;
		if (at < samples)
			count = at * SAMPLE_ROWS;
	}
	low += ARRAY_BISECT(count - low, i,
			    cfi_search_value(search, (uint32_t)(low + i), 0) <= relative);
	return low == 0 ? search->count : (uint32_t)low - 1;
}

/* The row's FDE must be about the code that the row says. */
static int check_row(const struct module *module, const struct cfi_search *search, uint32_t row,
		     struct cfi_fde *ret)
{
	int r = cfi_check(module, cfi_search_fde(search, row), ret);

	return r == 0 && ret->start != cfi_search_start(search, row) ? -EBADMSG : r;
}

static const struct checked *get_checked(struct unwind_find *find, const struct module *module,
					 const struct cfi_search *search, uint32_t row)
{
	uint64_t key = ((uint64_t)module->id << 32) | row;
	struct checked *checked = &find->checked[hashmap_hash(key) % MAX_CHECKED];

	if (checked->key == key)
		return checked;
	checked->key = key;
	checked->result = check_row(module, search, row, &checked->fde);
	return checked;
}

/* Addresses in the target of a table with one row. */
static void set_last(struct unwind_find *find, const struct module *module,
		     const struct cfi_search *table, uint32_t row, const struct cfi_fde *fde)
{
	uint64_t at = table->header + CFI_SEARCH_TABLE + (uint64_t)row * CFI_SEARCH_ROW;

	find->last = (unw_dyn_info_t){
		.start_ip = fde->start + module->bias,
		.end_ip = fde->end + module->bias,
		.format = UNW_INFO_FORMAT_REMOTE_TABLE,
		.u.rti = {
			.segbase = table->header + module->bias,
			.table_data = at + module->bias,
			.table_len = CFI_SEARCH_ROW / sizeof(unw_word_t),
		},
	};
}

/* module_bytes(), by which entries are checked, would find some of the segment in one before it. */
static bool is_covered(const struct module *module, uint32_t at)
{
	const struct module_segment *segment = &module->segment[at];

	for (uint32_t i = 0; i < at; i++) {
		const struct module_segment *other = &module->segment[i];

		if (segment->address < other->address + other->file_bytes &&
		    other->address < segment->address + segment->file_bytes)
			return true;
	}
	return false;
}

static void set_window(struct unwind_find *find, const struct module *module,
		       const struct cfi_fde *fde)
{
	struct window *window = &find->window;

	if (window->module == module && fde->low - window->low < window->size)
		return;
	*window = (struct window){ .module = module };
	for (uint32_t i = 0; i < module->segment_count && module->file; i++) {
		const struct module_segment *segment = &module->segment[i];

		if (fde->low - segment->address >= segment->file_bytes || is_covered(module, i))
			continue;
		window->offset = segment->offset;
		window->low = segment->address;
		window->size = segment->file_bytes;
		return;
	}
}

int unwind_find_fde(struct unwind_find *find, const struct module *module, uint64_t address,
		    struct cfi_fde *ret)
{
	const struct table *table;
	const struct checked *checked;
	uint32_t row;
	int r = get_table(find, module, &table);

	if (r < 0)
		return r;
	row = find_row(table, address);
	if (row == table->search.count)
		return -ENOENT;
	checked = get_checked(find, module, &table->search, row);
	if (checked->result < 0)
		return checked->result;
	if (address < checked->fde.start || address >= checked->fde.end)
		return -ENOENT;
	set_last(find, module, &table->search, row, &checked->fde);
	set_window(find, module, &checked->fde);
	*ret = checked->fde;
	return 0;
}

int unwind_find_info(const struct unwind_find *find, unw_addr_space_t space, unw_word_t ip,
		     unw_proc_info_t *ret, int need_unwind_info, void *argument)
{
	unw_dyn_info_t info = find->last;

	if (ip < info.start_ip || ip >= info.end_ip)
		return -UNW_EINVAL;
	return dwarf_search_unwind_table(space, ip, &info, ret, need_unwind_info, argument);
}

bool unwind_find_word(const struct unwind_find *find, const struct module *module,
		      uint64_t address, uint64_t *ret)
{
	const struct window *window = &find->window;
	uint64_t value = 0, at = address - module->bias - window->low;

	if (window->module == module && at < window->size && window->size - at >= sizeof(value)) {
		memcpy(ret, module_file(module, window->offset + at, sizeof(value)),
		       sizeof(value));
		return true;
	}
	for (size_t bytes = sizeof(value); bytes > 0; bytes--) {
		const uint8_t *from = module_bytes(module, address - module->bias, bytes, NULL);

		if (!from)
			continue;
		memcpy(&value, from, bytes);
		*ret = value;
		return true;
	}
	return false;
}
