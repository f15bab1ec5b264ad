/* SPDX-License-Identifier: MIT */
/*
 * hook_cost.c - see hook_cost.h.
 *
 * The shim itself is loaded into this process and called as a target calls it: the very
 * instructions, on the very processor. Our own malloc and free are called by the thousand with
 * hooks and without, in turn; of each the fastest round counts, since whatever comes in between
 * only ever makes one slower. With functions that do nothing in their place hooks would seem twice
 * as costly: processors run them beside the allocator's own instructions. Rejected: a constant
 * (processors differ by a factor of four), and timing the calls in the target, which would cost
 * more than what it measures.
 */
#include "inject/hook_cost.h"

#include <dlfcn.h>
#include <errno.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <sys/mman.h>
#include <time.h>

#include "inject/arch/x86_64/hook_probe.h"
#include "inject/ring_setup.h"
#include "inject/shim_image.h"
#include "src/base/cleanup.h"

#define PAIRS		500u
#define ROUNDS		40u
#define TOTAL_BYTES	(1ull << 20)
#define NEVER		((1ull << 47) - 1)	/* a mean interval at which nothing is sampled */
#define LEAST		1e-10
#define MOST		1e-7

struct probe {
	void *shim;
	struct shim_root *root;
	struct ring_control *control;
	size_t bytes;
};

static int load_shim(struct probe *p)
{
	_cleanup_fd_ int fd = memfd_create("hook-cost", MFD_CLOEXEC);
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
	hook_probe_hook[0] = dlsym(p->shim, "shim_hook_malloc");
	hook_probe_hook[1] = dlsym(p->shim, "shim_hook_free");
	return p->root && hook_probe_hook[0] && hook_probe_hook[1] ? 0 : -ENOEXEC;
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
	p->root->control = (uint64_t)p->control;
	return 0;
}

static void probe_done(struct probe *p)
{
	if (p->root)
		p->root->control = 0;
	if (p->control)
		(void)munmap(p->control, p->bytes);
	if (p->shim)
		(void)dlclose(p->shim);
}

static double now(void)
{
	struct timespec t;

	(void)clock_gettime(CLOCK_MONOTONIC, &t);
	return (double)t.tv_sec + (double)t.tv_nsec * 1e-9;
}

/* The fastest of rounds, with hooks and without in turn; seconds a pair. */
static double difference(void)
{
	double plain = 1, hooked = 1;

	for (unsigned int i = 0; i < ROUNDS; i++) {
		double begin = now(), between, end;

		hook_probe_pairs(PAIRS, hook_probe_plain_malloc, hook_probe_plain_free);
		between = now();
		hook_probe_pairs(PAIRS, hook_probe_hooked_malloc, hook_probe_hooked_free);
		end = now();
		if (between - begin < plain)
			plain = between - begin;
		if (end - between < hooked)
			hooked = end - between;
	}
	return (hooked - plain) / PAIRS;
}

double hook_cost_measure(void)
{
	struct probe probe = { 0 };
	double cost = HOOK_COST_USUAL;

	if (!load_shim(&probe) && !make_control(&probe))
		cost = difference();
	probe_done(&probe);
	return cost < LEAST ? LEAST : cost > MOST ? MOST : cost;
}
