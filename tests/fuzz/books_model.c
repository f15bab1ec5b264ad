/* SPDX-License-Identifier: MIT */
/* books_model.c - see books_model.h. Slow, simple, and without a pointer that is kept. */
#include "tests/fuzz/books_model.h"

#include <string.h>

#define PAGE 4096u

static void book(struct model *model, enum site_kind kind, const struct model_block *block)
{
	model->total[kind].alloc_count++;
	model->total[kind].alloc_bytes += block->size;
	model->at[kind][block->stack].alloc_count++;
	model->at[kind][block->stack].alloc_bytes += block->size;
}

/* So many more live, of so many bytes; both may be less. */
static void live(struct model *model, enum site_kind kind, uint32_t stack, int64_t count,
		 int64_t bytes)
{
	struct model_sum *sums[] = { &model->total[kind], &model->at[kind][stack] };

	for (int i = 0; i < 2; i++) {
		sums[i]->live_count += (uint64_t)count;
		sums[i]->live_bytes += (uint64_t)bytes;
	}
	if (model->total[kind].live_bytes > model->peak_bytes[kind])
		model->peak_bytes[kind] = model->total[kind].live_bytes;
}

static void end_block(struct model *model, enum site_kind kind, struct model_block *block)
{
	if (block->lives)
		live(model, kind, block->stack, -1, -(int64_t)block->size);
	block->lives = false;
}

/* The thread did something else: its munmap has not failed. */
static void forget_cut(struct model_thread *thread)
{
	memset(thread->cut, 0, sizeof(thread->cut));
	thread->cut_unknown = 0;
}

/* The realloc that the thread announced has not failed. */
static void end_call(struct model *model, enum site_kind kind, struct model_call *call)
{
	if (call->pending)
		end_block(model, kind, &call->block);
	call->pending = false;
}

static struct model_call *begin(struct model *model, const struct model_event *event)
{
	struct model_thread *thread = &model->thread[event->thread];

	forget_cut(thread);
	return &thread->call[event->kind];
}

void model_alloc(struct model *model, const struct model_event *event, bool untracked)
{
	struct model_block *at = &model->block[event->kind][event->address];

	end_call(model, event->kind, begin(model, event));
	end_block(model, event->kind, at);	/* its free was missed */
	*at = (struct model_block){ event->size, event->stack, true };
	book(model, event->kind, at);
	at->lives = !untracked;
	if (at->lives)
		live(model, event->kind, at->stack, 1, (int64_t)at->size);
}

void model_free(struct model *model, const struct model_event *event)
{
	end_call(model, event->kind, begin(model, event));
	end_block(model, event->kind, &model->block[event->kind][event->address]);
}

void model_realloc_begin(struct model *model, const struct model_event *event)
{
	struct model_block *at = &model->block[event->kind][event->address];
	struct model_call *call = begin(model, event);

	end_call(model, event->kind, call);
	*call = (struct model_call){ true, event->size == 0, event->address, *at };
	at->lives = false;
}

void model_undo(struct model *model, const struct model_event *event, bool untracked)
{
	struct model_block *at = &model->block[event->kind][event->address];
	struct model_call *call = begin(model, event);

	if (!call->pending || call->address != event->address)
		return;
	call->pending = false;
	if (untracked)
		end_block(model, event->kind, &call->block);
	if (!call->block.lives)
		return;
	end_block(model, event->kind, at);	/* another thread's, whose free was missed */
	*at = call->block;
}

/* A mapping event says nothing of a realloc, but that one to 0 bytes is over. */
static struct model_thread *begin_map(struct model *model, uint32_t number)
{
	struct model_thread *thread = &model->thread[number];

	for (int kind = 0; kind < MODEL_KINDS; kind++)
		if (thread->call[kind].to_zero)
			end_call(model, (enum site_kind)kind, &thread->call[kind]);
	return thread;
}

static void put_page(struct model *model, uint32_t page, uint16_t mapping)
{
	struct model_mapping *m = &model->mapping[mapping - 1];

	model->page[page] = mapping;
	m->pages++;
	live(model, SITE_MMAP, m->stack, m->pages == 1, PAGE);
}

/* The mapping that page was of, + 1. */
static uint16_t cut_page(struct model *model, uint32_t page)
{
	uint16_t mapping = model->page[page];
	struct model_mapping *m;

	if (!mapping)
		return 0;
	m = &model->mapping[mapping - 1];
	model->page[page] = 0;
	m->pages--;
	live(model, SITE_MMAP, m->stack, -(int64_t)(m->pages == 0), -(int64_t)PAGE);
	return mapping;
}

bool model_map(struct model *model, uint32_t thread, uint32_t stack, uint32_t low, uint32_t high)
{
	struct model_block whole = { (uint64_t)(high - low) * PAGE, stack, true };

	if (model->mappings == MODEL_MAPPINGS)
		return false;
	forget_cut(begin_map(model, thread));
	model->mapping[model->mappings++] = (struct model_mapping){ stack, 0 };
	for (uint32_t page = low; page < high; page++)
		(void)cut_page(model, page);
	for (uint32_t page = low; page < high; page++)
		put_page(model, page, (uint16_t)model->mappings);
	book(model, SITE_MMAP, &whole);
	return true;
}

void model_unmap(struct model *model, uint32_t thread, uint32_t low, uint32_t high)
{
	struct model_thread *t = begin_map(model, thread);

	forget_cut(t);
	for (uint32_t page = low; page < high; page++) {
		t->cut[page] = cut_page(model, page);
		t->cut_unknown += t->cut[page] ? 0 : PAGE;
	}
	model->unknown_bytes += t->cut_unknown;
}

void model_unmap_undo(struct model *model, uint32_t thread)
{
	struct model_thread *t = begin_map(model, thread);

	for (uint32_t page = 0; page < MODEL_PAGES; page++)
		if (t->cut[page])
			(void)cut_page(model, page);
	for (uint32_t page = 0; page < MODEL_PAGES; page++)
		if (t->cut[page])
			put_page(model, page, t->cut[page]);
	model->unknown_bytes -= t->cut_unknown;
	forget_cut(t);
}

void model_finish(struct model *model)
{
	for (uint32_t i = 0; i < MODEL_THREADS; i++)
		for (int kind = 0; kind < MODEL_KINDS; kind++)
			end_call(model, (enum site_kind)kind, &model->thread[i].call[kind]);
}
