/* SPDX-License-Identifier: MIT */
/* html_threads.c - see html_threads.h. */
#include "src/export/html_threads.h"

#define COLUMN(key, put, count, value) do { \
	emit_begin(emit, key, '['); \
	for (size_t i = 0; i < (count); i++) \
		put(emit, NULL, value); \
	emit_end(emit, ']'); \
} while (0)
#define ROWS(key, value) COLUMN(key, emit_uint, table->row_count, table->row[i].value)
#define PAIRS(key) COLUMN(#key, emit_uint, table->handover_count, table->handover[i].key)

static void put_rows(struct emit *emit, const struct thread_table *table)
{
	emit_begin(emit, "rows", '{');
	ROWS("number", number);
	ROWS("tid", id.tid);
	ROWS("ids", id.ids);
	COLUMN("name", emit_text, table->row_count, table->row[i].id.name);
	ROWS("alloc_count", alloc_count);
	ROWS("alloc_bytes", alloc_bytes);
	ROWS("free_count", free_count);
	ROWS("free_bytes", free_bytes);
	ROWS("freed_others", freed_others);
	ROWS("live_count", live_count);
	ROWS("live_bytes", live_bytes);
	emit_end(emit, '}');
}

void html_threads_put(struct emit *emit, const struct thread_table *table)
{
	if (!table) {
		emit_null(emit, "threads");
		return;
	}
	emit_begin(emit, "threads", '{');
	emit_uint(emit, "total", table->total);
	put_rows(emit, table);
	emit_begin(emit, "handovers", '{');
	PAIRS(owner);
	PAIRS(freer);
	PAIRS(count);
	PAIRS(bytes);
	emit_end(emit, '}');
	emit_end(emit, '}');
}
