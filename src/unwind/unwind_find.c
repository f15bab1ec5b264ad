/* SPDX-License-Identifier: MIT */
/*
 * unwind_find.c - the call frame information for a place in a module.
 *
 * A binary search over the copy of .eh_frame_hdr finds the row, cfi_check()
 * approves the FDE once, and libunwind's own dwarf_search_unwind_table() is
 * then given a table of just that row, so that it reads nothing else.
 * libunwind-ptrace's finder was rejected: it maps the ELF file again for every
 * module a stack crosses (4.5 ms a stack), and aborts on a header without table.
 * Modules without a table that cfi_search.c serves are left to libdw (cfi_rule.c).
 * The public declaration of dwarf_search_unwind_table is missing from libunwind's
 * headers although the symbol is exported for this use; perf declares it likewise.
 */
#include "src/unwind/unwind_find.h"

#include <errno.h>
#include <string.h>

#include "src/base/hashmap.h"
#include "src/unwind/cfi_search.h"

#define dwarf_search_unwind_table UNW_OBJ(dwarf_search_unwind_table)
extern int dwarf_search_unwind_table(unw_addr_space_t space, unw_word_t ip, unw_dyn_info_t *info,
				     unw_proc_info_t *proc, int need_unwind_info, void *argument);

#define MAX_CHECKED	(1u << 18)

struct checked {
	struct cfi_fde fde;
	int result;			/* of cfi_check */
};

struct unwind_find {
	struct cfi_search *table;	/* [module id - 1] */
	uint32_t table_count;
	struct hashmap index;		/* module id << 32 | row -> index in checked */
	struct checked *checked;
	uint32_t checked_count, checked_capacity;
	unw_dyn_info_t last;		/* one-row table of the FDE found last */
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
	hashmap_done(&find->index);
	free(find->checked);
	free(find->table);
	free(find);
}

static int get_table(struct unwind_find *find, const struct module *module, struct cfi_search *ret)
{
	if (module->id > find->table_count) {
		uint32_t count = module->id + 63;
		struct cfi_search *table = reallocarray(find->table, count, sizeof(*table));

		if (!table)
			return -ENOMEM;
		memset(table + find->table_count, 0xff,
		       (count - find->table_count) * sizeof(*table));
		find->table = table;
		find->table_count = count;
	}
	if (find->table[module->id - 1].header == UINT64_MAX)
		find->table[module->id - 1] = cfi_search_open(module);
	*ret = find->table[module->id - 1];
	return ret->header ? 0 : -ENOENT;
}

/* The last row that starts at or below address; count: none. */
static uint32_t find_row(const struct cfi_search *table, uint64_t address)
{
	int64_t relative = (int64_t)(address - table->header);
	uint32_t low = 0, high = table->count;

	while (low < high) {
		uint32_t middle = low + (high - low) / 2;

		if (cfi_search_value(table, middle, 0) <= relative)
			low = middle + 1;
		else
			high = middle;
	}
	return low == 0 ? table->count : low - 1;
}

static int remember(struct unwind_find *find, uint64_t key, const struct checked *checked)
{
	int r;

	/* Full: forget all. A new check costs a microsecond. */
	if (find->checked_count == MAX_CHECKED) {
		hashmap_done(&find->index);
		find->index = (struct hashmap){ 0 };
		find->checked_count = 0;
	}
	if (find->checked_count == find->checked_capacity) {
		uint32_t capacity = find->checked_capacity ? find->checked_capacity * 2 : 256;
		struct checked *table = reallocarray(find->checked, capacity, sizeof(*table));

		if (!table)
			return -ENOMEM;
		find->checked = table;
		find->checked_capacity = capacity;
	}
	r = hashmap_put(&find->index, key, find->checked_count);
	if (r == 0)
		find->checked[find->checked_count++] = *checked;
	return r;
}

/* The row's FDE must be about the code that the row says. */
static struct checked check_row(const struct module *module, const struct cfi_search *table,
				uint32_t row)
{
	struct checked checked = { 0 };

	checked.result = cfi_check(module, cfi_search_fde(table, row), &checked.fde);
	if (checked.result == 0 && checked.fde.start != cfi_search_start(table, row))
		checked.result = -EBADMSG;
	return checked;
}

static int get_checked(struct unwind_find *find, const struct module *module,
		       const struct cfi_search *table, uint32_t row, struct checked *ret)
{
	uint64_t key = ((uint64_t)module->id << 32) | row, at;

	if (hashmap_get(&find->index, key, &at)) {
		*ret = find->checked[at];
		return 0;
	}
	*ret = check_row(module, table, row);
	return remember(find, key, ret);
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

int unwind_find_fde(struct unwind_find *find, const struct module *module, uint64_t address,
		    struct cfi_fde *ret)
{
	struct checked checked;
	struct cfi_search table;
	uint32_t row;
	int r = get_table(find, module, &table);

	if (r < 0)
		return r;
	row = find_row(&table, address);
	if (row == table.count)
		return -ENOENT;
	r = get_checked(find, module, &table, row, &checked);
	if (r < 0)
		return r;
	if (checked.result < 0)
		return checked.result;
	if (address < checked.fde.start || address >= checked.fde.end)
		return -ENOENT;
	set_last(find, module, &table, row, &checked.fde);
	*ret = checked.fde;
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
