/* SPDX-License-Identifier: MIT */
/*
 * test_shim.c - the hooks: what is recorded of which call, and that the call
 * itself does not notice.
 */
#include <errno.h>
#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "tests/unit/shim_host.h"

/* The originals. Not libc's own functions: these must lie in our code. */
static void *original_malloc(size_t size) { return malloc(size); }
static void *original_calloc(size_t count, size_t size)
{
	size_t bytes;	/* sanitizers report what calloc itself would refuse */

	return __builtin_mul_overflow(count, size, &bytes) ? NULL : calloc(count, size);
}
static void *original_memalign(size_t align, size_t size) { return aligned_alloc(align, size); }
static void *original_new_aligned(size_t size, size_t align) { return aligned_alloc(align, size); }
static void *original_realloc(void *old, size_t size) { return realloc(old, size); }
static void *original_reallocarray(void *old, size_t count, size_t size)
{
	size_t bytes;

	return __builtin_mul_overflow(count, size, &bytes) ? NULL : realloc(old, bytes);
}
static void original_free(void *block) { free(block); }
static void no_free(void *block) { (void)block; }
static void *fail_realloc(void *old, size_t size)
{
	(void)old;
	(void)size;
	errno = ENOMEM;
	return NULL;
}
static int original_posix_memalign(void **block, size_t align, size_t size)
{
	return align % sizeof(void *) ? EINVAL : posix_memalign(block, align, size);
}
static void *fail_alloc(size_t size)
{
	(void)size;
	return NULL;
}

/* One hook of each shape, called through these. */
struct hooks {
	void *(*malloc)(size_t);
	void *(*fail_malloc)(size_t);
	void *(*calloc)(size_t, size_t);
	void *(*memalign)(size_t, size_t);
	void *(*new_aligned)(size_t, size_t);
	int (*posix_memalign)(void **, size_t, size_t);
	void *(*realloc)(void *, size_t);
	void *(*fail_realloc)(void *, size_t);
	void *(*reallocarray)(void *, size_t, size_t);
	void (*free)(void *), (*no_free)(void *);
	void *(*mmap)(void *, size_t, int, int, int, off_t);
	int (*munmap)(void *, size_t);
	void *(*mremap)(void *, size_t, size_t, int, ...);
	int (*brk)(void *);
	void *(*sbrk)(intptr_t);
	void (*dl_state)(void);
};
static void original_dl_state(void)
{
}
static int original_brk(void *address)
{
	return address ? 0 : -1;
}
static void *original_sbrk(intptr_t increment)
{
	return increment < -4096 ? (void *)-1 : (void *)0x100000;
}

/* Of all hooks: RING_ISLAND_TLS lets the island itself count down. */
static uint32_t island_flags;

static void hook_all(struct shim_host *host, struct hooks *h)
{
#define HOOK(member, shape, function) \
	(*(void **)&h->member = shim_host_hook(host, shape, (const void *)(function), 0, 0, \
					       island_flags))
	HOOK(malloc, RING_SHAPE_MALLOC, original_malloc);
	HOOK(fail_malloc, RING_SHAPE_MALLOC, fail_alloc);
	HOOK(calloc, RING_SHAPE_CALLOC, original_calloc);
	HOOK(memalign, RING_SHAPE_MEMALIGN, original_memalign);
	HOOK(new_aligned, RING_SHAPE_NEW_ALIGNED, original_new_aligned);
	HOOK(posix_memalign, RING_SHAPE_POSIX_MEMALIGN, original_posix_memalign);
	HOOK(realloc, RING_SHAPE_REALLOC, original_realloc);
	HOOK(fail_realloc, RING_SHAPE_REALLOC, fail_realloc);
	HOOK(reallocarray, RING_SHAPE_REALLOCARRAY, original_reallocarray);
	HOOK(free, RING_SHAPE_FREE, original_free);
	HOOK(no_free, RING_SHAPE_FREE, no_free);
	HOOK(mmap, RING_SHAPE_MMAP, mmap);
	HOOK(munmap, RING_SHAPE_MUNMAP, munmap);
	HOOK(mremap, RING_SHAPE_MREMAP, mremap);
	HOOK(brk, RING_SHAPE_BRK, original_brk);
	HOOK(sbrk, RING_SHAPE_SBRK, original_sbrk);
	HOOK(dl_state, RING_SHAPE_DL_STATE, original_dl_state);
#undef HOOK
}

struct fixture {
	struct shim_host host;
	struct hooks hook;
	struct shim_host_log log;
};

static void begin(struct fixture *f, const struct shim_host_options *options)
{
	shim_host_open(&f->host, options);
	hook_all(&f->host, &f->hook);
	shim_host_arm(&f->host);
}

/* Drains; exactly count records must have come. */
static void expect_count(struct fixture *f, unsigned int count)
{
	shim_host_log(&f->host, &f->log);
	assert_int_equal(f->log.count, count);
}

static void expect(const struct fixture *f, unsigned int i, enum ring_kind kind,
		   const void *address, uint64_t size)
{
	assert_true(i < f->log.count);
	assert_int_equal(f->log.record[i].kind, kind);
	assert_ptr_equal((void *)f->log.record[i].address, address);
	assert_int_equal(f->log.record[i].size, size);
}

static void record_every_heap_shape(void **state)
{
	struct fixture f;
	const struct shim_host_options options = { .stack_limit = 512 };
	void *p[6] = { NULL };

	(void)state;
	begin(&f, &options);
	p[0] = f.hook.malloc(100);
	p[1] = f.hook.calloc(3, 50);
	p[2] = f.hook.memalign(64, 640);
	p[3] = f.hook.new_aligned(512, 256);
	assert_int_equal(f.hook.posix_memalign(&p[4], 128, 77), 0);
	p[5] = f.hook.reallocarray(NULL, 7, 11);
	expect_count(&f, 6);
	for (unsigned int i = 0; i < 6; i++) {
		static const uint64_t size[] = { 100, 150, 640, 512, 77, 77 };
		static const uint32_t align[] = { 0, 0, 6, 8, 7, 0 };

		expect(&f, i, RING_ALLOC, p[i], size[i]);
		assert_int_equal(f.log.record[i].flags, RING_F_STACK | RING_F_TRUNCATED);
		assert_int_equal(f.log.record[i].stack_bytes * 8, 512);
		assert_int_equal(f.log.record[i].align_log2, align[i]);
		assert_int_equal(f.log.stack[i].interval, 0);
		assert_int_equal(f.log.first_word[i], f.log.record[i].caller);
		f.hook.free(p[i]);
	}
	f.hook.free(NULL);
	expect_count(&f, 6);
	for (unsigned int i = 0; i < 6; i++) {
		expect(&f, i, RING_FREE, p[i], 0);
		assert_int_equal(f.log.record[i].flags, 0);
	}
	shim_host_close(&f.host);
}

/* The second line of record i, a RING_CALL of the hook's. */
static const struct ring_call *traced(const struct fixture *f, unsigned int i, uint64_t result)
{
	assert_true(i < f->log.count);
	assert_int_equal(f->log.record[i].kind, RING_CALL);
	assert_int_equal(f->log.record[i].address, result);
	return (const struct ring_call *)&f->log.stack[i];
}

/* With control.calls: failures, free(NULL) and all arguments; without it not one record more. */
static void record_calls_if_asked(void **state)
{
	const struct ring_call *call;
	struct fixture f;
	uint64_t before;
	void *p = NULL, *q;

	(void)state;
	begin(&f, &(struct shim_host_options){ .stack_limit = 8, .table_slots = 1024 });
	f.hook.free(NULL);
	assert_null(f.hook.fail_malloc(8));
	expect_count(&f, 0);
	f.host.control->calls = RING_CALLS | RING_CALLS_TID;
	before = shim_host_clock();
	f.hook.free(NULL);
	assert_null(f.hook.fail_malloc(8));
	p = f.hook.calloc(3, 5);
	f.hook.free(p);
	assert_int_equal(f.hook.posix_memalign(&q, 64, 100), 0);
	expect_count(&f, 8);
	call = traced(&f, 0, f.log.record[0].address);
	assert_int_equal(call->argument[0], 0);
	assert_true(before < call->begin && call->begin < call->end);
	assert_true(call->end < shim_host_clock());
	assert_int_equal(ring_call_tid(f.log.record[0].size), getpid());
	assert_int_equal(traced(&f, 1, 0)->argument[0], 8);
	assert_int_equal(f.log.record[2].kind, RING_ALLOC);
	call = traced(&f, 3, (uint64_t)p);
	assert_int_equal(call->argument[0], 3);
	assert_int_equal(call->argument[1], 5);
	assert_int_equal(f.log.record[4].kind, RING_FREE);
	(void)traced(&f, 5, f.log.record[5].address);
	assert_int_equal(f.log.record[5].flags, RING_F_ANNOUNCED);
	assert_int_equal(traced(&f, 7, 0)->argument[0], (uint64_t)&q);
	assert_int_equal(f.log.record[7].old_address, (uint64_t)q);
	f.host.control->calls = RING_CALLS;
	assert_null(f.hook.fail_realloc(q, 9));
	expect_count(&f, 3);
	(void)traced(&f, 2, 0);
	assert_int_equal(ring_call_tid(f.log.record[2].size), 0);
	/* what is lost is said by the next one, and costs nobody else his room */
	f.host.control->ring[0].head += f.host.control->ring_lines * 7 / 8;
	assert_null(f.hook.fail_malloc(8));
	assert_int_equal(f.host.control->ring[0].lost_call, 1);
	f.host.control->ring[0].head = f.host.control->ring[0].tail;
	assert_null(f.hook.fail_malloc(8));
	expect_count(&f, 1);
	assert_int_equal(ring_call_lost(f.log.record[0].size), 1);
	free(q);
	shim_host_close(&f.host);
}

/* A free of what is not known to live carries its stack, if there is room for such luxury. */
static void suspect_frees_carry_their_stack(void **state)
{
	struct fixture f;
	char *p, *q;

	(void)state;
	begin(&f, &(struct shim_host_options){ .stack_limit = 512, .table_slots = 1024,
					       .ring_bytes = 65536 });
	p = f.hook.malloc(64);
	q = f.hook.fail_realloc(p, 5);		/* p lives on */
	f.hook.no_free(p);
	f.hook.no_free(p);			/* again */
	f.hook.no_free(p + 8);
	q = f.hook.realloc(f.hook.malloc(10), 5000);
	f.hook.no_free(q);
	expect_count(&f, 10);
	for (unsigned int i = 0; i < 10; i++) {
		bool suspect = i == 4 || i == 5;
		bool always = f.log.record[i].kind == RING_ALLOC ||
			      f.log.record[i].kind == RING_UNDO;

		assert_int_equal(!!(f.log.record[i].flags & RING_F_STACK), suspect || always);
		if (suspect)
			assert_int_equal(f.log.first_word[i], f.log.record[i].caller);
	}
	f.host.control->free_stacks = 1;
	free(p);
	p = f.hook.malloc(64);
	f.hook.no_free(p);
	expect_count(&f, 2);
	assert_true(f.log.record[1].flags & RING_F_STACK);
	/* The ring is full but for the part that is kept: without its stack, and no loss. */
	f.host.control->ring[0].head += f.host.control->ring_lines * 7 / 8;
	f.hook.no_free(p);
	assert_int_equal(f.host.control->ring[0].head - f.host.control->ring[0].tail,
			 f.host.control->ring_lines * 7 / 8 + 1);
	assert_int_equal(f.host.control->ring[0].lost_free, 0);
	assert_int_equal(f.host.control->ring[0].lost_stack, 0);
	free(p);
	free(q);
	shim_host_close(&f.host);
}

static void record_nothing_that_failed(void **state)
{
	struct fixture f;
	void *p = (void *)1;
	volatile size_t half = SIZE_MAX / 2 + 1;

	(void)state;
	begin(&f, &(struct shim_host_options){ .stack_limit = 64 });
	assert_null(f.hook.fail_malloc(10));
	assert_null(f.hook.calloc(half, 2));
	assert_int_equal(f.hook.posix_memalign(&p, 3, 100), EINVAL);
	assert_ptr_equal(f.hook.mmap(NULL, 0, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0),
			 MAP_FAILED);
	assert_int_equal(f.hook.brk(NULL), -1);
	assert_ptr_equal(f.hook.sbrk(-8192), (void *)-1);
	f.hook.sbrk(0);
	expect_count(&f, 0);
	shim_host_close(&f.host);
}

static void realloc_is_free_and_alloc(void **state)
{
	struct fixture f;
	void *p, *q;
	volatile size_t half = SIZE_MAX / 2 + 1;

	(void)state;
	begin(&f, &(struct shim_host_options){ .stack_limit = 64 });
	p = f.hook.realloc(NULL, 10);
	q = f.hook.realloc(p, 100000);
	assert_null(f.hook.fail_realloc(q, 5));
	assert_null(f.hook.reallocarray(q, half, 2));
	assert_null(f.hook.realloc(q, 0));
	assert_null(f.hook.fail_realloc(NULL, 7));
	expect_count(&f, 9);
	expect(&f, 0, RING_ALLOC, p, 10);
	assert_int_equal(f.log.record[0].old_address, 0);
	assert_false(f.log.record[0].flags & RING_F_REALLOC);
	expect(&f, 1, RING_FREE, p, 100000);
	assert_int_equal(f.log.record[1].flags, RING_F_REALLOC);
	expect(&f, 2, RING_ALLOC, q, 100000);
	assert_ptr_equal((void *)f.log.record[2].old_address, p);
	assert_true(f.log.record[2].flags & RING_F_REALLOC);
	expect(&f, 3, RING_FREE, q, 5);
	expect(&f, 4, RING_UNDO, q, 5);
	expect(&f, 5, RING_FREE, q, RING_SIZE_LIMIT - 1);
	expect(&f, 6, RING_UNDO, q, RING_SIZE_LIMIT - 1);
	expect(&f, 7, RING_FREE, q, 0);
	expect(&f, 8, RING_UNDO, NULL, 7);
	for (unsigned int i = 3; i < 9; i++)	/* where no record of a block will say it */
		assert_int_equal(!!(f.log.record[i].flags & RING_F_STACK), i != 3 && i != 5);
	shim_host_close(&f.host);
}

static void record_mappings(void **state)
{
	const int anonymous = MAP_PRIVATE | MAP_ANONYMOUS;
	struct fixture f;
	char *p, *q;

	(void)state;
	begin(&f, &(struct shim_host_options){ .stack_limit = 64 });
	p = f.hook.mmap(NULL, 8192, PROT_READ, anonymous, -1, 0);
	q = f.hook.mmap(p, 4096, PROT_READ, anonymous | MAP_FIXED, -1, 0);
	assert_ptr_equal(p, q);
	q = f.hook.mremap(p, 4096, 12288, MREMAP_MAYMOVE);
	assert_true(q != MAP_FAILED);
	assert_ptr_equal(f.hook.mremap((void *)1, 4096, 8192, 0), MAP_FAILED);
	assert_int_equal(f.hook.munmap((void *)1, 4096), -1);
	assert_int_equal(f.hook.munmap(q, 12288), 0);
	f.hook.brk((void *)0x3000);
	f.hook.sbrk(256);
	expect_count(&f, 11);
	expect(&f, 0, RING_MAP, p, 8192);
	assert_int_equal(f.log.record[0].flags & (RING_F_ANONYMOUS | RING_F_FIXED),
			 RING_F_ANONYMOUS);
	assert_true(f.log.record[0].flags & RING_F_STACK);
	expect(&f, 1, RING_MAP, p, 4096);
	assert_true(f.log.record[1].flags & RING_F_FIXED);
	expect(&f, 2, RING_UNMAP, p, 4096);
	expect(&f, 3, RING_MAP, q, 12288);
	assert_ptr_equal((void *)f.log.record[3].old_address, p);
	expect(&f, 4, RING_UNMAP, (void *)1, 4096);
	expect(&f, 5, RING_UNMAP_UNDO, (void *)1, 4096);
	expect(&f, 6, RING_UNMAP, (void *)1, 4096);
	expect(&f, 7, RING_UNMAP_UNDO, (void *)1, 4096);
	expect(&f, 8, RING_UNMAP, q, 12288);
	expect(&f, 9, RING_BRK, (void *)0x3000, (uint64_t)sbrk(0));
	expect(&f, 10, RING_BRK, (void *)0x100100, 0x100000);
	assert_int_equal(f.host.control->unmaps_begun, f.host.control->unmaps_ended);
	munmap(p + 4096, 4096);
	shim_host_close(&f.host);
}

/*
 * A function of assembly that notes its registers, and a caller that sets them
 * all: what the hook must not change, and what it must report.
 */
uint64_t register_seen[8];	/* rdi, rsi, rdx, rcx, r8, r9, rax at the original */
void register_original(void);
/* in: 7 as above; saved: rbx, rbp, r12-r15 during the call; out: rax, rdx, rsp difference */
void register_call(void *hook, const uint64_t in[7], const uint64_t saved[6], uint64_t out[3]);
__asm__(".text\n"
	"register_original:\n"
	"	mov %rdi, register_seen+0(%rip)\n"
	"	mov %rsi, register_seen+8(%rip)\n"
	"	mov %rdx, register_seen+16(%rip)\n"
	"	mov %rcx, register_seen+24(%rip)\n"
	"	mov %r8, register_seen+32(%rip)\n"
	"	mov %r9, register_seen+40(%rip)\n"
	"	mov %rax, register_seen+48(%rip)\n"
	"	mov %rsp, register_seen+56(%rip)\n"
	"	mov $0x5555, %eax\n"
	"	mov $0x7777, %edx\n"
	"	xor %ecx, %ecx\n"
	"	xor %edi, %edi\n"
	"	xor %esi, %esi\n"
	"	ret\n"
	"register_call:\n"
	"	push %rbx\n	push %rbp\n	push %r12\n	push %r13\n	push %r14\n"
	"	push %r15\n	push %rcx\n"
	"	mov %rdi, %r11\n	mov %rsi, %r10\n"
	"	mov 0(%rdx), %rbx\n	mov 8(%rdx), %rbp\n	mov 16(%rdx), %r12\n"
	"	mov 24(%rdx), %r13\n	mov 32(%rdx), %r14\n	mov 40(%rdx), %r15\n"
	"	mov 0(%r10), %rdi\n	mov 8(%r10), %rsi\n	mov 16(%r10), %rdx\n"
	"	mov 24(%r10), %rcx\n	mov 32(%r10), %r8\n	mov 40(%r10), %r9\n"
	"	mov 48(%r10), %rax\n"
	"	call *%r11\n"
	"	mov (%rsp), %rcx\n"
	"	mov %rax, 0(%rcx)\n	mov %rdx, 8(%rcx)\n	mov %rsp, 16(%rcx)\n"
	"	pop %rcx\n"
	"	pop %r15\n	pop %r14\n	pop %r13\n	pop %r12\n"
	"	pop %rbp\n	pop %rbx\n"
	"	ret\n");

static void check_registers(struct fixture *f, enum ring_shape shape)
{
	static const uint64_t in[7] = { 0x111000, 0x2000, 3, 0x10, 5, 6, 0x99 };
	static const uint64_t saved[6] = { 0xb0, 0xb1, 0xb2, 0xb3, 0xb4, 0xb5 };
	uint64_t out[3];
	void *hook = shim_host_hook(&f->host, shape, (const void *)register_original, 0, 0,
				    island_flags);
	const struct ring_stack *stack = &f->log.stack[0];

	memset(register_seen, 0, sizeof(register_seen));
	register_call(hook, in, saved, out);
	assert_memory_equal(register_seen, in, sizeof(in));
	assert_int_equal(register_seen[7] % 16, 8);	/* as after any call */
	assert_int_equal(out[0], 0x5555);
	assert_int_equal(out[1], 0x7777);
	shim_host_log(&f->host, &f->log);
	if (f->log.count == 1 && (f->log.record[0].flags & RING_F_STACK)) {
		assert_int_equal(stack->rsp, out[2] - 8);
		assert_int_equal(stack->rbx, saved[0]);
		assert_int_equal(stack->rbp, saved[1]);
		assert_int_equal(stack->r12, saved[2]);
		assert_int_equal(stack->r13, saved[3]);
		assert_int_equal(stack->r14, saved[4]);
		assert_int_equal(stack->r15, saved[5]);
	}
}

/* Through every path: with a frame, by tail jump, sampled or not, off, not armed. */
static void keep_all_registers(void **state)
{
	static const struct {
		enum ring_mode mode;
		uint64_t interval;
	} run[] = {
		{ RING_MODE_ALL, 0 },
		{ RING_MODE_SAMPLE, 0 },
		{ RING_MODE_SAMPLE, 1ull << 40 },
		{ RING_MODE_OFF, 0 },
	};
	const unsigned int runs = sizeof(run) / sizeof(run[0]);
	struct fixture f;

	(void)state;
	begin(&f, &(struct shim_host_options){ .stack_limit = 64, .table_slots = 64 });
	for (unsigned int r = 0; r <= runs; r++) {
		f.host.control->entry_count = 0;
		f.host.control->interval = run[r % runs].interval;
		f.host.control->mode = run[r % runs].mode;
		if (r == runs)
			shim_host_disarm(&f.host);
		for (enum ring_shape shape = RING_SHAPE_MALLOC; shape < RING_SHAPE_COUNT; shape++) {
			/* posix_memalign's error, so that nobody reads through 0x111000 */
			check_registers(&f, shape);
			check_registers(&f, shape);
			f.host.control->entry_count -= 2;
		}
	}
	shim_host_close(&f.host);
}

/* mmap inside a malloc counts, malloc inside calloc does not, brk inside sbrk does not. */
static struct hooks *inner;
__attribute__((section("outer_heap"))) static void *outer_alloc(size_t count, size_t size)
{
	void *unused = inner->mmap(NULL, 4096, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	void *block = inner->malloc(count * size);

	munmap(unused, 4096);
	return block;
}
__attribute__((section("outer_maps"))) static void *outer_sbrk(intptr_t increment)
{
	volatile int r = inner->brk((void *)increment);

	return r == 0 ? (void *)0x7000 : NULL;
}
extern const char __start_outer_heap[], __stop_outer_heap[];	/* by the linker */
extern const char __start_outer_maps[], __stop_outer_maps[];

static void drop_nested_calls(void **state)
{
	void *(*hooked_calloc)(size_t, size_t), *(*hooked_sbrk)(intptr_t);
	struct fixture f;
	void *p;

	(void)state;
	begin(&f, &(struct shim_host_options){ .stack_limit = 64 });
	shim_host_disarm(&f.host);
	*(void **)&hooked_calloc = shim_host_hook(&f.host, RING_SHAPE_CALLOC,
						  (const void *)outer_alloc,
						  (uint64_t)__start_outer_heap,
						  (uint64_t)__stop_outer_heap, 0);
	*(void **)&hooked_sbrk = shim_host_hook(&f.host, RING_SHAPE_SBRK, (const void *)outer_sbrk,
						(uint64_t)__start_outer_maps,
						(uint64_t)__stop_outer_maps, 0);
	inner = &f.hook;
	shim_host_arm(&f.host);
	p = hooked_calloc(3, 5);
	hooked_sbrk(16);
	expect_count(&f, 3);
	assert_int_equal(f.log.record[0].kind, RING_MAP);
	expect(&f, 1, RING_ALLOC, p, 15);
	expect(&f, 2, RING_BRK, (void *)0x7010, 0x7000);
	free(p);
	shim_host_close(&f.host);
}

/* An original that is a jump to another hooked function: the inner one sees the shim call it. */
static void drop_calls_reached_by_tail_jump(void **state)
{
	void *(*array)(void *, size_t, size_t);
	void (*delete)(void *);
	struct fixture f;
	void *p;

	(void)state;
	begin(&f, &(struct shim_host_options){ .stack_limit = 64 });
	*(void **)&array = shim_host_hook(&f.host, RING_SHAPE_REALLOCARRAY,
					  *(void **)&f.hook.realloc, 0, 0, 0);
	*(void **)&delete = shim_host_hook(&f.host, RING_SHAPE_FREE, *(void **)&f.hook.free, 0, 0,
					   RING_ISLAND_SPAN);
	p = array(NULL, 24, 1);
	delete(p);
	expect_count(&f, 2);
	expect(&f, 0, RING_ALLOC, p, 24);
	expect(&f, 1, RING_FREE, p, 0);
	assert_int_equal(f.log.record[1].entry, f.host.control->entry_count - 1);
	shim_host_close(&f.host);
}

/* However its entry finds it out, it is the same thread. */
static void know_the_thread(void **state)
{
	void *(*with_tls)(size_t);
	struct fixture f;
	void *p, *q;

	(void)state;
	begin(&f, &(struct shim_host_options){ .stack_limit = 64 });
	*(void **)&with_tls = shim_host_hook(&f.host, RING_SHAPE_MALLOC, (const void *)malloc, 0,
					     0, RING_ISLAND_TLS);
	p = f.hook.malloc(24);
	q = with_tls(24);
	expect_count(&f, 2);
	assert_true(f.log.record[0].thread == (uint64_t)pthread_self());
	assert_true(f.log.record[1].thread == (uint64_t)pthread_self());
	assert_int_equal(f.log.record[1].entry, f.host.control->entry_count - 1);
	free(p);
	free(q);
	shim_host_close(&f.host);
}

static int child_of(struct fixture *f)
{
	if (f->host.root->control != 0)
		return 10;
	for (unsigned int i = 0; i < 100; i++)
		f->hook.free(f->hook.realloc(f->hook.malloc(10), 20));
	return f->hook.mmap(NULL, 4096, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0) ==
	       MAP_FAILED;
}

/* The child's root page is empty and the ring is not even mapped: it must not be touched. */
static void pass_through_in_fork_children(void **state)
{
	struct fixture f;
	int status;
	pid_t pid;

	(void)state;
	for (unsigned int i = 0; i < 2; i++) {
		begin(&f, &(struct shim_host_options){ .stack_limit = 64, .table_slots = 64,
			.mode = i ? RING_MODE_SAMPLE : RING_MODE_ALL, .interval = 1ull << 40 });
		f.hook.free(f.hook.malloc(10));		/* this thread has a slot */
		shim_host_log(&f.host, &f.log);
		pid = fork();
		if (pid == 0)
			_exit(child_of(&f));
		assert_int_equal(waitpid(pid, &status, 0), pid);
		assert_int_equal(status, 0);
		expect_count(&f, 0);
		shim_host_close(&f.host);
	}
}

static void *errno_malloc(size_t size)
{
	errno = 4711;
	return malloc(size);
}

static void keep_errno(void **state)
{
	void *(*hook)(size_t);
	struct fixture f;

	(void)state;
	begin(&f, &(struct shim_host_options){ .ring_bytes = 65536, .stack_limit = 512 });
	*(void **)&hook = shim_host_hook(&f.host, RING_SHAPE_MALLOC, (const void *)errno_malloc, 0,
					 0, 0);
	f.host.control->main_stack_high = 0;	/* the stack goes through a system call */
	f.host.control->may_readv = 1;
	f.host.control->pid = 1u << 30;		/* ... that fails */
	free(hook(10));
	assert_int_equal(errno, 4711);
	expect_count(&f, 1);
	assert_true(f.log.record[0].flags & RING_F_CALLER_ONLY);
	shim_host_close(&f.host);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(record_every_heap_shape),
		cmocka_unit_test(record_calls_if_asked),
		cmocka_unit_test(suspect_frees_carry_their_stack),
		cmocka_unit_test(record_nothing_that_failed),
		cmocka_unit_test(realloc_is_free_and_alloc),
		cmocka_unit_test(record_mappings),
		cmocka_unit_test(keep_all_registers),
		cmocka_unit_test(drop_nested_calls),
		cmocka_unit_test(drop_calls_reached_by_tail_jump),
		cmocka_unit_test(know_the_thread),
		cmocka_unit_test(pass_through_in_fork_children),
		cmocka_unit_test(keep_errno),
	};

	int failed = cmocka_run_group_tests(tests, NULL, NULL);

	island_flags = RING_ISLAND_TLS;
	return failed + cmocka_run_group_tests(tests, NULL, NULL);
}
