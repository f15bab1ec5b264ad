/* SPDX-License-Identifier: MIT */
/*
 * truth.c - books allocations by shadow call stack in static tables, prints JSON.
 *
 * A site is a whole stack of (function, line), as in memattach's report, so the
 * two can be compared one to one. "Temporary" is a block freed by the thread that
 * allocated it, with no other allocation of that thread in between.
 * Rejected: reading the real stack with backtrace(), which would test one
 * unwinder by another, and allocates on its first call.
 */
#include "tests/victims/truth.h"
#include "tests/victims/victim.h"

#include <pthread.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>

#define MAX_DEPTH	40
#define MAX_SITES	2048	/* a power of two */
#define OUTPUT_BYTES	(4u << 20)

struct frame {
	const char *function;
	int line;
};

struct figures {
	atomic_ulong alloc_count, alloc_bytes, free_count, free_bytes, temporary;
	atomic_ulong peak;
	atomic_ulong at_peak;	/* live when the total was at its peak; sites only */
};

struct truth_site {
	struct frame frame[MAX_DEPTH];	/* outermost first */
	int depth;			/* 0: slot unused */
	struct figures figures;
};

struct thread_state {
	struct frame frame[MAX_DEPTH];
	int depth;
	unsigned long serial;
};

static __thread struct thread_state self;
static struct truth_site sites[MAX_SITES];
static struct truth_site *used[MAX_SITES];	/* slots in the order of their first use */
static atomic_uint used_count;
static pthread_mutex_t sites_lock = PTHREAD_MUTEX_INITIALIZER;
static struct figures totals;
static atomic_ulong unknown_frees;

int truth_enter(const char *function)
{
	if (self.depth == MAX_DEPTH)
		victim_fail("shadow stack too deep");
	self.frame[self.depth].function = function;
	self.frame[self.depth].line = 0;
	return self.depth++;
}

void truth_leave(const int *scope)
{
	self.depth = *scope;
}

void truth_at(int line)
{
	self.frame[self.depth - 1].line = line;
}

static size_t stack_hash(void)
{
	size_t hash = 1469598103934665603u;

	for (int i = 0; i < self.depth; i++) {
		hash = (hash ^ (size_t)self.frame[i].function) * 1099511628211u;
		hash = (hash ^ (size_t)self.frame[i].line) * 1099511628211u;
	}
	return hash ^ (hash >> 29);
}

static int site_is_here(const struct truth_site *site)
{
	return site->depth == self.depth &&
	       memcmp(site->frame, self.frame, sizeof(struct frame) * (size_t)self.depth) == 0;
}

static struct truth_site *site_find(size_t slot)
{
	for (size_t i = 0; i < MAX_SITES; i++) {
		struct truth_site *site = &sites[(slot + i) % MAX_SITES];

		if (site->depth == 0) {
			memcpy(site->frame, self.frame, sizeof(struct frame) * (size_t)self.depth);
			site->depth = self.depth;
			used[used_count++] = site;
			return site;
		}
		if (site_is_here(site))
			return site;
	}
	victim_fail("too many sites");
}

static struct truth_site *site_here(void)
{
	struct truth_site *site;

	pthread_mutex_lock(&sites_lock);
	site = site_find(stack_hash() % MAX_SITES);
	pthread_mutex_unlock(&sites_lock);
	return site;
}

/* Returns whether this is a new peak. */
static int figures_add(struct figures *figures, size_t size)
{
	unsigned long bytes = atomic_fetch_add(&figures->alloc_bytes, size) + size;
	unsigned long live = bytes - atomic_load(&figures->free_bytes);

	atomic_fetch_add(&figures->alloc_count, 1);
	if (live <= atomic_load(&figures->peak))
		return 0;
	atomic_store(&figures->peak, live);
	return 1;
}

/* The plain way: at each peak of all, what every site has. */
static void book_peak(void)
{
	for (unsigned i = 0; i < used_count; i++) {
		struct figures *figures = &used[i]->figures;

		atomic_store(&figures->at_peak, atomic_load(&figures->alloc_bytes) -
						atomic_load(&figures->free_bytes));
	}
}

static void figures_remove(struct figures *figures, size_t size, int temporary)
{
	atomic_fetch_add(&figures->free_bytes, size);
	atomic_fetch_add(&figures->free_count, 1);
	if (temporary)
		atomic_fetch_add(&figures->temporary, 1);
}

/* The address of a thread's own state names it. */
static unsigned long thread_name(void)
{
	return (unsigned long)&self;
}

void *truth_allocated(struct truth_block *block, void *p, size_t size)
{
	if (!victim_seen(p))
		return NULL;
	block->p = p;
	block->size = size;
	block->site = site_here();
	block->serial = ++self.serial;
	block->thread = thread_name();
	figures_add(&block->site->figures, size);
	if (figures_add(&totals, size))
		book_peak();
	return p;
}

void truth_freed(struct truth_block *block)
{
	int temporary = block->thread == thread_name() && block->serial == self.serial;

	if (!block->p)
		return;
	figures_remove(&block->site->figures, block->size, temporary);
	figures_remove(&totals, block->size, temporary);
	memset(block, 0, sizeof(*block));
}

void truth_freed_unknown(void)
{
	atomic_fetch_add(&unknown_frees, 1);
}

void *truth_reallocated(struct truth_block *block, void *p, size_t size)
{
	if (!p && size > 0)
		return NULL;
	truth_freed(block);
	return truth_allocated(block, p, size);
}

void truth_implied(struct truth_block *block, int line, size_t size)
{
	static char somewhere;

	truth_at(line);
	truth_allocated(block, &somewhere, size);
}

/* Output, put together in one static buffer. */
static char output[OUTPUT_BYTES];
static size_t output_used;

static void emit(const char *format, ...) __attribute__((format(printf, 1, 2)));
static void emit(const char *format, ...)
{
	size_t room = sizeof(output) - output_used;
	va_list arguments;
	int length;

	va_start(arguments, format);
	length = vsnprintf(output + output_used, room, format, arguments);
	va_end(arguments);
	if (length < 0 || (size_t)length >= room)
		victim_fail("truth too long");
	output_used += (size_t)length;
}

static void emit_figures(const struct figures *figures)
{
	unsigned long count = atomic_load(&figures->alloc_count);
	unsigned long bytes = atomic_load(&figures->alloc_bytes);
	unsigned long freed = atomic_load(&figures->free_count);
	unsigned long freed_bytes = atomic_load(&figures->free_bytes);

	emit("\"alloc_count\":%lu,\"alloc_bytes\":%lu,\"free_count\":%lu,", count, bytes, freed);
	emit("\"free_bytes\":%lu,\"live_count\":%lu,", freed_bytes, count - freed);
	emit("\"live_bytes\":%lu,\"peak_live_bytes\":%lu,", bytes - freed_bytes,
	     atomic_load(&figures->peak));
	emit("\"temporary_count\":%lu", atomic_load(&figures->temporary));
}

static void emit_site(const struct truth_site *site)
{
	emit("{\"stack\":[");
	for (int i = site->depth - 1; i >= 0; i--)
		emit("{\"function\":\"%s\",\"line\":%d}%s", site->frame[i].function,
		     site->frame[i].line, i > 0 ? "," : "],");
	emit_figures(&site->figures);
	emit(",\"at_peak_bytes\":%lu}", atomic_load(&site->figures.at_peak));
}

void truth_print(struct truth_claims claims)
{
	const char *separator = "";

	output_used = 0;
	emit("truth {\"claims\":{\"totals\":%s,\"peaks\":%s},\"interrupts\":%d,\"totals\":{",
	     claims.totals ? "true" : "false", claims.peaks ? "true" : "false",
	     victim_interrupts());
	emit_figures(&totals);
	emit(",\"free_unknown_count\":%lu},\"sites\":[", atomic_load(&unknown_frees));
	for (size_t i = 0; i < MAX_SITES; i++) {
		if (sites[i].depth == 0)
			continue;
		emit("%s", separator);
		emit_site(&sites[i]);
		separator = ",";
	}
	emit("]}\n");
	victim_write(output, output_used);
}
