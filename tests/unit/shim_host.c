/* SPDX-License-Identifier: MIT */
/* shim_host.c - see shim_host.h. */
#include "tests/unit/shim_host.h"

#include <dlfcn.h>
#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/auxv.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cmocka.h>

#include "inject/abi/marks_abi.h"
#include "inject/abi/rules_abi.h"
#include "inject/attach/counts_setup.h"
#include "inject/attach/island_code.h"
#include "inject/attach/ring_publish.h"
#include "inject/tracee/tsc_trust.h"
#include "src/target/thread_stacks.h"

#ifndef SHIM_PATH
#define SHIM_PATH "inject/shim/memattach-shim.so"
#endif
#define PAGE 4096u
#define ISLAND_BYTES (4u * PAGE)
#define RECOGNITION_ARENA (256u * 1024u)
#define RECOGNITION_SEEN 4096u
#define RECOGNITION_SHADOWS 16u
#define COUNTS_SLOTS 64u
#define RECOGNITION_BYTES (RULES_ARENA_AT + RECOGNITION_ARENA + RECOGNITION_SEEN * 8u + \
			   RECOGNITION_SHADOWS * RING_SHADOW_BYTES)

static const char *const hook_name[RING_SHAPE_COUNT] = {
	[RING_SHAPE_MALLOC] = "malloc",
	[RING_SHAPE_CALLOC] = "calloc",
	[RING_SHAPE_MEMALIGN] = "memalign",
	[RING_SHAPE_NEW_ALIGNED] = "new_aligned",
	[RING_SHAPE_POSIX_MEMALIGN] = "posix_memalign",
	[RING_SHAPE_REALLOC] = "realloc",
	[RING_SHAPE_REALLOCARRAY] = "reallocarray",
	[RING_SHAPE_FREE] = "free",
	[RING_SHAPE_MMAP] = "mmap",
	[RING_SHAPE_MUNMAP] = "munmap",
	[RING_SHAPE_MREMAP] = "mremap",
	[RING_SHAPE_BRK] = "brk",
	[RING_SHAPE_SBRK] = "sbrk",
	[RING_SHAPE_DL_STATE] = "dl_state",
	[RING_SHAPE_PRCTL] = "prctl",
	[RING_SHAPE_SYSCALL] = "syscall",
	[RING_SHAPE_CUSTOM_ALLOC] = "custom_alloc",
	[RING_SHAPE_CUSTOM_REALLOC] = "custom_realloc",
	[RING_SHAPE_CUSTOM_FREE] = "custom_free",
};

uint64_t shim_host_clock(void)
{
	return __builtin_ia32_rdtsc();
}

static void *map_twice(size_t bytes, void **ret_executable)
{
	int fd = memfd_create("island", MFD_CLOEXEC);
	void *writable;

	assert_true(fd >= 0);
	assert_int_equal(ftruncate(fd, (off_t)bytes), 0);
	writable = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	*ret_executable = mmap(NULL, bytes, PROT_READ | PROT_EXEC, MAP_SHARED, fd, 0);
	assert_true(writable != MAP_FAILED && *ret_executable != MAP_FAILED);
	close(fd);
	return writable;
}

/* Behind the rings, as ring_setup.c lays it out; smaller. */
static void add_recognition(struct ring_control *c, uint64_t at)
{
	c->rules_offset = at;
	c->rules_bytes = RULES_ARENA_AT + RECOGNITION_ARENA;
	c->seen_offset = c->rules_offset + c->rules_bytes;
	c->seen_slots = RECOGNITION_SEEN;
	c->shadows_offset = c->seen_offset + c->seen_slots * 8;
	c->shadow_slots = RECOGNITION_SHADOWS;
	c->recognise = 1;
}

/* At the end, on a line of its own; the usable sizes are glibc's. */
static void add_counts(struct ring_control *c, uint64_t at, const struct shim_host_options *o)
{
	struct counts_head *head = (void *)((uint8_t *)c + at);

	c->counts_offset = at;
	c->counts_slots = o->counts_slots ? o->counts_slots : COUNTS_SLOTS;
	c->counts_block = counts_block_bytes(o->counts);
	head->kind = o->counts;
	head->usable[0].kind = COUNTS_USABLE_CHUNK;
}

static uint64_t counts_bytes(const struct shim_host_options *o)
{
	uint64_t slots = o->counts_slots ? o->counts_slots : COUNTS_SLOTS;

	return o->counts ? counts_setup_bytes(o->counts, slots) : 0;
}

static void make_ring(struct shim_host *host, const struct shim_host_options *o)
{
	uint64_t ring_bytes = o->ring_bytes ? o->ring_bytes : 256u * 1024u;
	uint64_t slots = o->thread_slots ? o->thread_slots : 64;
	uint32_t rings = o->ring_count ? o->ring_count : 1;
	int fd = memfd_create("ring", MFD_CLOEXEC);
	struct ring_control *c;

	host->bytes = RING_CONTROL_BYTES + MARKS_BYTES + slots * RING_THREAD_SLOT_BYTES +
		      o->table_slots * 8 + rings * ring_bytes +
		      (o->recognise ? RECOGNITION_BYTES : 0) + counts_bytes(o);
	assert_true(fd >= 0);
	assert_int_equal(ftruncate(fd, (off_t)host->bytes), 0);
	c = mmap(NULL, host->bytes, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	assert_true(c != MAP_FAILED);
	close(fd);
	assert_int_equal(madvise(c, host->bytes, MADV_DONTFORK), 0);
	host->control = c;
	c->magic = RING_MAGIC;
	c->version = RING_VERSION;
	c->control_bytes = RING_CONTROL_BYTES;
	c->total_bytes = host->bytes;
	c->threads_offset = RING_CONTROL_BYTES + MARKS_BYTES;
	c->thread_slots = slots;
	c->table_offset = c->threads_offset + slots * RING_THREAD_SLOT_BYTES;
	c->table_slots = o->table_slots;
	c->thread_mask = ring_line_mask(slots);
	c->table_mask = ring_line_mask(o->table_slots / 8);
	ring_place_lost(c);
	c->rings_offset = c->table_offset + o->table_slots * 8;
	c->ring_bytes = ring_bytes;
	c->ring_lines = ring_bytes / RING_LINE;
	c->ring_count = rings;
	if (o->recognise)
		add_recognition(c, c->rings_offset + rings * ring_bytes);
	if (o->counts)
		add_counts(c, host->bytes - counts_bytes(o), o);
	c->epoch = 1;
	c->mode = o->mode ? o->mode : RING_MODE_ALL;
	c->interval = o->interval;
	c->seed = o->seed;
	c->stack_limit = o->stack_limit;
	c->pid = (uint64_t)getpid();
	c->may_wait = 1;
	c->thread_pointer = getauxval(AT_HWCAP2) & 2 ? RING_THREAD_POINTER_FSBASE
						     : RING_THREAD_POINTER_SELF;
	c->clock = tsc_has_rdtscp() ? RING_CLOCK_RDTSCP : RING_CLOCK_SEGMENT;
}

void shim_host_open(struct shim_host *host, const struct shim_host_options *options)
{
	const char *path = getenv("SHIM");
	void *executable;
	Dl_info info;

	memset(host, 0, sizeof(*host));
	host->handle = dlopen(path ? path : SHIM_PATH, RTLD_NOW | RTLD_LOCAL);
	if (!host->handle)
		fail_msg("%s", dlerror());
	host->root = dlsym(host->handle, "shim_root");
	assert_non_null(host->root);
	assert_int_equal((uintptr_t)host->root % PAGE, 0);
	assert_int_equal(madvise(host->root, PAGE, MADV_WIPEONFORK), 0);
	assert_int_not_equal(dladdr(host->root, &info), 0);
	host->root->shim_low = (uint64_t)info.dli_fbase;
	host->root->shim_high = (uint64_t)host->root;
	host->island_write = map_twice(ISLAND_BYTES, &executable);
	host->island = executable;
	make_ring(host, options);
}

void shim_host_close(struct shim_host *host)
{
	shim_host_disarm(host);
	munmap(host->control, host->bytes);
	munmap(host->island, ISLAND_BYTES);
	munmap(host->island_write, ISLAND_BYTES);
	assert_int_equal(dlclose(host->handle), 0);
}

void *shim_host_hook(struct shim_host *host, enum ring_shape shape, const void *original,
		     uint64_t low, uint64_t high, uint32_t index_flags)
{
	static const uint8_t jump[6] = { 0xff, 0x25 };	/* jmp *0(%rip) */
	uint32_t index = host->control->entry_count++;
	struct ring_island_entry *entry = &host->island_write[index];
	struct island_code code = {
		.shape = shape, .index = index | index_flags, .root = (uint64_t)host->root,
		.samples = host->control->mode == RING_MODE_SAMPLE,
	};
	char name[64];

	snprintf(name, sizeof(name), "shim_hook_%s", hook_name[shape]);
	code.hook = (uint64_t)dlsym(host->handle, name);
	assert_int_not_equal(code.hook, 0);
	island_code_fill(entry, &code);
	memcpy(entry->original, jump, sizeof(jump));
	memcpy(entry->original + sizeof(jump), &original, sizeof(original));
	host->control->entry[index] =
		(struct ring_entry){ .low = low, .high = high, .shape = (uint16_t)shape };
	return host->island[index].code;
}

static void publish_main_stack(struct ring_control *control)
{
	FILE *maps = fopen("/proc/self/maps", "re");
	unsigned long low, high;
	char line[512];

	assert_non_null(maps);
	while (fgets(line, sizeof(line), maps))
		if (strstr(line, "[stack]") && sscanf(line, "%lx-%lx", &low, &high) == 2) {
			control->main_stack_low = low;
			control->main_stack_high = high;
		}
	fclose(maps);
}

void shim_host_arm(struct shim_host *host)
{
	publish_main_stack(host->control);
	ring_publish_callers(host->control);
	host->control->deadline = shim_host_clock() + (1ull << 50);
	__atomic_store_n(&host->root->control, (uint64_t)host->control, __ATOMIC_RELEASE);
}

void shim_host_disarm(struct shim_host *host)
{
	__atomic_store_n(&host->root->control, 0, __ATOMIC_RELEASE);
}

int shim_host_publish_stacks(struct shim_host *host)
{
	struct thread_stacks *stacks;
	struct procmaps maps = { 0 };
	uint64_t ticket;
	int maps_fd, mem, r = ring_publish_stacks_begin(host->control, &ticket);

	if (r < 0)
		return r;
	maps_fd = open("/proc/self/maps", O_RDONLY | O_CLOEXEC);
	mem = open("/proc/self/mem", O_RDONLY | O_CLOEXEC);
	stacks = calloc(1, sizeof(*stacks));
	assert_true(maps_fd >= 0 && mem >= 0 && stacks);
	assert_int_equal(procmaps_read(maps_fd, &maps), 0);
	thread_stacks_find(&(struct thread_stacks_input){ host->control,
							  host->control->total_bytes, &maps, mem,
							  -1 },
			   stacks);
	r = ring_publish_stacks(host->control,
				&(struct ring_stacks){ stacks->range, stacks->count, stacks->word },
				ticket);
	procmaps_done(&maps);
	free(stacks);
	close(mem);
	close(maps_fd);
	return r;
}

static void check_record(const struct ring_control *control, const struct ring_record *record,
			 uint32_t lines)
{
	uint32_t needed = 1;

	assert_in_range(record->kind, RING_ALLOC, RING_KIND_COUNT - 1);
	assert_true(record->entry < control->entry_count);
	assert_true(record->time != 0 && record->caller != 0 && record->thread != 0);
	if (record->kind == RING_PATH)
		needed = 1 + (record->stack_bytes * 8u + RING_LINE - 1) / RING_LINE;
	else if (record->flags & RING_F_STACK)
		needed = 2 + (record->stack_bytes * 8u + RING_LINE - 1) / RING_LINE;
	else
		assert_int_equal(record->stack_bytes, 0);
	if (record->kind == RING_CALL)
		needed = 2;
	if (record->flags & RING_F_CALLER_ONLY)
		assert_int_equal(record->stack_bytes, 0);
	assert_true(needed <= lines);
}

unsigned int shim_host_drain(struct shim_host *host, uint32_t ring, shim_host_fn fn, void *context,
			     unsigned int *ret_pads)
{
	struct ring_control *c = host->control;
	uint8_t *base = (uint8_t *)c + c->rings_offset + ring * c->ring_bytes;
	uint64_t tail = c->ring[ring].tail;
	uint64_t head = __atomic_load_n(&c->ring[ring].head, __ATOMIC_ACQUIRE);
	unsigned int count = 0;

	assert_true(head - tail <= c->ring_lines);
	while (tail != head) {
		uint64_t line = tail & (c->ring_lines - 1);
		struct ring_record *record = (struct ring_record *)(base + line * RING_LINE);
		uint64_t commit = __atomic_load_n(&record->commit, __ATOMIC_ACQUIRE);
		uint32_t lines = ring_commit_lines(commit);

		if (ring_commit_position(commit) != tail || ring_commit_state(commit) != RING_DONE)
			break;	/* reserved, or BUSY */
		assert_true(lines > 0 && line + lines <= c->ring_lines && tail + lines <= head);
		if (line + lines == c->ring_lines && record->kind == RING_PAD) {
			if (ret_pads)
				++*ret_pads;
		} else {
			check_record(c, record, lines);
			fn(context, record, (const struct ring_stack *)(record + 1),
			   (const uint8_t *)(record + 2));
			count++;
		}
		tail += lines;
		__atomic_store_n(&c->ring[ring].tail, tail, __ATOMIC_RELEASE);
	}
	return count;
}

static void log_add(void *context, const struct ring_record *record, const struct ring_stack *stack,
		    const uint8_t *bytes)
{
	struct shim_host_log *log = context;

	assert_true(log->count < SHIM_HOST_MAX);
	log->record[log->count] = *record;
	if ((record->flags & RING_F_STACK) || record->kind == RING_CALL)
		log->stack[log->count] = *stack;
	if (record->stack_bytes)
		memcpy(&log->first_word[log->count], bytes, 8);
	log->count++;
}

void shim_host_log(struct shim_host *host, struct shim_host_log *log)
{
	memset(log, 0, sizeof(*log));
	for (uint32_t i = 0; i < host->control->ring_count; i++)
		shim_host_drain(host, i, log_add, log, NULL);
}
