/* SPDX-License-Identifier: MIT */
#include "tests/unit/shim_user.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>

#include <cmocka.h>

static void *original_malloc(size_t size)
{
	return malloc(size);
}

static void *original_realloc(void *old, size_t size)
{
	return realloc(old, size);
}

static void original_free(void *block)
{
	free(block);
}

static void original_dl_state(void)
{
}

void user_begin(struct shim_user *user, const struct shim_host_options *options)
{
	shim_host_open(&user->host, options);
#define HOOK(member, shape) \
	(*(void **)&user->hook.member = shim_host_hook(&user->host, shape, \
						       (const void *)original_##member, 0, 0, 0))
	HOOK(malloc, RING_SHAPE_MALLOC);
	HOOK(realloc, RING_SHAPE_REALLOC);
	HOOK(free, RING_SHAPE_FREE);
	HOOK(dl_state, RING_SHAPE_DL_STATE);
#undef HOOK
	shim_host_arm(&user->host);
}

void user_expect(struct shim_user *user, unsigned int count)
{
	shim_host_log(&user->host, &user->log);
	assert_int_equal(user->log.count, count);
}

struct ring_head user_losses(const struct shim_user *user)
{
	const struct ring_control *control = user->host.control;
	struct ring_head sum = control->ring[0];

	for (uint32_t i = 1; i < control->ring_count; i++) {
		sum.lost_alloc += control->ring[i].lost_alloc;
		sum.lost_free += control->ring[i].lost_free;
		sum.lost_alloc_bytes += control->ring[i].lost_alloc_bytes;
	}
	for (uint32_t i = 0; i < RING_LANES; i++) {
		sum.lost_alloc += control->lane[i].lost_alloc;
		sum.lost_free += control->lane[i].lost_free;
		sum.lost_alloc_bytes += control->lane[i].lost_alloc_bytes;
	}
	return sum;
}

void shim_tally_add(void *context, const struct ring_record *record,
		    const struct ring_stack *stack, const uint8_t *bytes)
{
	struct shim_tally *tally = context;

	(void)stack;
	(void)bytes;
	tally->count++;
	tally->bytes += record->size;
	tally->lines += ring_commit_lines(record->commit);
	tally->last_address = record->address;
}
