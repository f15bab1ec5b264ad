/* SPDX-License-Identifier: MIT */
/*
 * hook_cost.c - see hook_cost.h.
 *
 * The shim itself is loaded into this process and called through an island as a target calls it:
 * the very instructions, on the very processor. Our own malloc and free are called by the
 * thousand with hooks and without, in turn; of each the fastest round counts, since whatever comes
 * in between only ever makes one slower. With functions that do nothing in their place hooks would
 * seem twice as costly: processors run them beside the allocator's own instructions. Rejected: a
 * constant (processors differ by a factor of four), and timing the calls in the target, which
 * would cost more than what it measures.
 */
#include "src/plan/hook_cost.h"

#include <dlfcn.h>
#include <errno.h>
#include <math.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>

#include "inject/arch/x86_64/hook_probe.h"
#include "inject/attach/island_code.h"
#include "inject/attach/ring_setup.h"
#include "inject/attach/shim_image.h"
#include "src/base/cleanup.h"
#include "src/base/memfd.h"

#define PAIRS		500u
#define ROUNDS		40u
#define TOTAL_BYTES	(1ull << 20)
#define NEVER		((1ull << 47) - 1)	/* a mean interval at which nothing is sampled */
#define LEAST		1e-10
#define MOST		2e-7

/* Each followed by that of its free. */
enum { USUAL_MALLOC = 0, KEEPING_MALLOC = 2, CUSTOM_ALLOC = 4, SLOTS = 6 };

struct probe {
	void *shim;
	struct shim_root *root;
	struct ring_control *control;
	size_t bytes;
	const struct ring_island_entry *island;	/* SLOTS, r-x */
};

static int load_shim(struct probe *p)
{
	_cleanup_fd_ int fd = memfd_new("hook-cost");
	size_t done = 0, bytes = shim_image_bytes();
	char path[48];

	while (fd >= 0 && done < bytes) {
		ssize_t wrote = write(fd, shim_image_start + done, bytes - done);

		if (wrote <= 0)
			return -EIO;
		done += (size_t)wrote;
	}
	(void)snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
	p->shim = fd < 0 ? NULL : dlopen(path, RTLD_NOW | RTLD_LOCAL);
	if (!p->shim)
		return -ENOEXEC;
	p->root = dlsym(p->shim, "shim_root");
	return p->root ? 0 : -ENOEXEC;
}

/* As in a target; the original is a jump to the function. */
static int fill_slot(const struct probe *p, struct ring_island_entry *slot, const char *hook,
		     bool keeps, void (*original)(void))
{
	static const uint8_t jump[6] = { 0xff, 0x25 };	/* jmp *0(%rip) */
	struct island_code code = {
		.shape = original == hook_probe_plain_free ? RING_SHAPE_FREE : RING_SHAPE_MALLOC,
		.index = keeps ? 0 : RING_ISLAND_TLS, .keeps = keeps, .samples = true,
		.root = (uint64_t)p->root, .hook = (uint64_t)dlsym(p->shim, hook),
	};

	island_code_fill(slot, &code);
	memcpy(slot->original, jump, sizeof(jump));
	memcpy(slot->original + sizeof(jump), &original, sizeof(original));
	return code.hook ? 0 : -ENOEXEC;
}

static int fill_slots(const struct probe *p, struct ring_island_entry slot[static SLOTS])
{
	static const char *const hook[SLOTS] = {
		[USUAL_MALLOC] = "shim_hook_malloc", "shim_hook_free",
		[KEEPING_MALLOC] = "shim_hook_kept_malloc", "shim_hook_kept_free",
		[CUSTOM_ALLOC] = "shim_hook_custom_alloc", "shim_hook_custom_free",
	};
	int err = 0;

	for (unsigned int i = 0; i < SLOTS && !err; i++)
		err = fill_slot(p, &slot[i], hook[i], i >= KEEPING_MALLOC,
				i % 2 ? hook_probe_plain_free : hook_probe_plain_malloc);
	return err;
}

static int make_island(struct probe *p)
{
	_cleanup_fd_ int fd = memfd_new("hook-cost-island");
	struct ring_island_entry slot[SLOTS];
	void *memory;

	if (fill_slots(p, slot))
		return -ENOEXEC;
	if (fd < 0 || write(fd, slot, sizeof(slot)) != sizeof(slot))
		return -EIO;
	memory = mmap(NULL, sizeof(slot), PROT_READ | PROT_EXEC, MAP_PRIVATE, fd, 0);
	if (memory == MAP_FAILED)
		return -ENOMEM;
	p->island = memory;
	return 0;
}

static int make_control(struct probe *p)
{
	struct ring_geometry geometry = ring_setup_geometry(TOTAL_BYTES, 1, true);
	void *memory;

	p->bytes = geometry.total_bytes;
	memory = mmap(NULL, p->bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (memory == MAP_FAILED)
		return -ENOMEM;
	p->control = memory;
	ring_setup_control(p->control, &geometry);
	p->control->mode = RING_MODE_SAMPLE;
	p->control->interval = NEVER;
	p->control->deadline = UINT64_MAX;
	p->control->entry[0].arguments = ring_arguments_pack((struct ring_arguments){
		.size = 1, .block = 1,
	});
	p->root->control = (uint64_t)p->control;
	return 0;
}

static void probe_done(struct probe *p)
{
	if (p->root)
		p->root->control = 0;
	if (p->control)
		(void)munmap(p->control, p->bytes);
	if (p->island)
		(void)munmap((void *)(uintptr_t)p->island, SLOTS * sizeof(*p->island));
	if (p->shim)
		(void)dlclose(p->shim);
}

static double now(void)
{
	struct timespec t;

	(void)clock_gettime(CLOCK_MONOTONIC, &t);
	return (double)t.tv_sec + (double)t.tv_nsec * 1e-9;
}

static double pairs_take(uint64_t allocate, uint64_t give_back)
{
	double begin;

	hook_probe_to[0] = allocate;
	hook_probe_to[1] = give_back;
	begin = now();
	hook_probe_pairs(PAIRS, hook_probe_malloc, hook_probe_free);
	return now() - begin;
}

/*
 * The fastest of rounds, with hooks and without in turn; seconds a pair. allocate: the slot of an
 * allocation, in front of that of its free.
 */
static double difference(const struct probe *p, unsigned int allocate)
{
	const struct ring_island_entry *slot = &p->island[allocate];
	double plain = 1, hooked = 1;

	for (unsigned int i = 0; i < ROUNDS; i++) {
		plain = fmin(plain, pairs_take((uint64_t)hook_probe_plain_malloc,
					       (uint64_t)hook_probe_plain_free));
		hooked = fmin(hooked, pairs_take((uint64_t)slot[0].code, (uint64_t)slot[1].code));
	}
	return fmin(fmax((hooked - plain) / PAIRS, LEAST), MOST);
}

struct hook_cost hook_cost_measure(void)
{
	struct probe probe = { 0 };
	struct hook_cost cost = { HOOK_COST_USUAL, HOOK_COST_KEEPING_USUAL,
				  HOOK_COST_KEEPING_USUAL };

	if (!load_shim(&probe) && !make_control(&probe) && !make_island(&probe)) {
		cost.pair = difference(&probe, USUAL_MALLOC);
		cost.keeping = difference(&probe, KEEPING_MALLOC);
		cost.custom = difference(&probe, CUSTOM_ALLOC);
	}
	probe_done(&probe);
	return cost;
}

double hook_cost_pair(const struct hook_cost *cost, const struct hook_plan *plan)
{
	for (uint32_t i = 0; i < plan->family_count; i++)
		if (plan->family[i].kind == HOOK_FAMILY_MALLOC)
			return plan->family[i].keeps_registers ? cost->keeping : cost->pair;
	return cost->pair;
}
