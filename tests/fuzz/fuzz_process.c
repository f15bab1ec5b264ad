/* SPDX-License-Identifier: MIT */
/*
 * fuzz_process.c - see fuzz_process.h.
 *
 * The offsets of struct pthread are those of glibc 2.36. Rejected: the picture of a real process,
 * which would differ from run to run.
 */
#include "tests/fuzz/fuzz_process.h"

#include <stdlib.h>
#include <string.h>

#include "tests/fuzz/fuzz_heap.h"

#define MAIN_BLOCK	0x30006800ull
#define THREAD_BLOCK	0x30003000ull
#define ENDED_BLOCK	0x30005000ull
#define DTV		0x30007800ull
#define HEADS		0x10004000ull	/* stacks in use, given by the program, kept */
#define LIST		0x2c0u
#define TID		0x2d0u
#define STACKBLOCK	0x690u
#define EH_HDR		0x400u
#define EH_FRAME	0x500u
#define CODE		0x1000u
#define DYNAMIC		0x3000u		/* offsets in the library */
#define RELOCATIONS	0x3200u
#define GOT		0x3300u

static void put(struct process *p, uint64_t address, uint64_t word)
{
	lab_put(&p->lab, address, word);
}

static void put_library(struct process *p)
{
	static const Elf64_Phdr phdr[] = {
		{ .p_type = PT_LOAD, .p_flags = PF_R | PF_X, .p_filesz = 0x2000,
		  .p_memsz = 0x2000, .p_align = 0x1000 },
		{ .p_type = PT_LOAD, .p_flags = PF_R | PF_W, .p_offset = 0x2000, .p_vaddr = 0x2000,
		  .p_filesz = 0x4000, .p_memsz = 0x4000, .p_align = 0x1000 },
		{ .p_type = PT_DYNAMIC, .p_offset = DYNAMIC, .p_vaddr = DYNAMIC, .p_filesz = 96,
		  .p_memsz = 96 },
		{ .p_type = PT_TLS, .p_offset = 0x3400, .p_vaddr = 0x3400, .p_filesz = 64,
		  .p_memsz = 64, .p_align = 8 },
		{ .p_type = PT_GNU_EH_FRAME, .p_offset = EH_HDR, .p_vaddr = EH_HDR,
		  .p_filesz = 20, .p_memsz = 20 },
	};
	const Elf64_Dyn dynamic[] = {
		{ DT_RELA, { RELOCATIONS } }, { DT_RELASZ, { 2 * sizeof(Elf64_Rela) } },
		{ DT_NULL, { 0 } },
	};
	const Elf64_Rela rela[] = {
		{ GOT, ELF64_R_INFO(0, R_X86_64_DTPMOD64), 0 },
		{ GOT + 16, ELF64_R_INFO(0, R_X86_64_RELATIVE), 0 },
	};

	lab_put_elf(p->library, phdr, ARRAY_SIZE(phdr));
	memcpy(p->library + DYNAMIC, dynamic, sizeof(dynamic));
	memcpy(p->library + RELOCATIONS, rela, sizeof(rela));
	put(p, PROCESS_LIBRARY + GOT, 1);		/* the module's number */
}

/* One FDE for all the code: the return address lies behind 8 bytes of frame. */
static void put_frames(struct process *p)
{
	static const uint8_t cie[] = {
		20, 0, 0, 0, 0, 0, 0, 0, 1, 'z', 'R', 0, 1, 0x78, 16, 1, 0x1b,
		0x0c, 7, 16, 0x90, 1, 0, 0,
	};
	static const uint8_t head[] = { 1, 0x1b, 0x03, 0x3b };
	const int32_t fde[] = { 16, 28, CODE - (EH_FRAME + 32), 0x1000, 0, 0 };
	const int32_t table[] = { EH_FRAME - (EH_HDR + 4), 1, CODE - EH_HDR,
				  EH_FRAME + 24 - EH_HDR };

	memcpy(p->library + EH_FRAME, cie, sizeof(cie));
	memcpy(p->library + EH_FRAME + 24, fde, sizeof(fde));
	memcpy(p->library + EH_HDR, head, sizeof(head));
	memcpy(p->library + EH_HDR + 4, table, sizeof(table));
	for (unsigned int i = 0; i < PROCESS_FRAMES - 1; i++)
		put(p, PROCESS_STACK + 0x808 + i * 16, PROCESS_LIBRARY + CODE + 0x100 + i * 16);
}

/* Alone in the ring of head. */
static void put_thread(struct process *p, uint64_t block, uint64_t head, uint64_t tid)
{
	put(p, block, block);
	put(p, block + 8, DTV);
	put(p, block + 16, block);
	put(p, block + LIST, head);
	put(p, block + LIST + 8, head);
	put(p, block + TID, tid);
	put(p, head, block + LIST);
	put(p, head + 8, block + LIST);
}

static void put_stack(struct process *p, uint64_t block, uint64_t low, uint64_t bytes)
{
	put(p, block + STACKBLOCK, low);
	put(p, block + STACKBLOCK + 8, bytes);
	put(p, block + STACKBLOCK + 16, 0x1000);
}

static void put_threads(struct process *p)
{
	put_thread(p, THREAD_BLOCK, HEADS, 2);
	put_stack(p, THREAD_BLOCK, PROCESS_THREADS, 0x4000);
	put_thread(p, MAIN_BLOCK, HEADS + 16, 1);
	put_thread(p, ENDED_BLOCK, HEADS + 32, 0);
	put_stack(p, ENDED_BLOCK, PROCESS_THREADS + 0x4000, 0x2000);
	put(p, DTV - 16, 4);
	put(p, DTV, 1);
	put(p, DTV + 16, PROCESS_TLS);
	put(p, DTV + 32, UINT64_MAX);
}

/* Classes "meta", which describes classes, and "node", which it describes. */
static void put_classes(struct process *p)
{
	static const char meta[] = "N10__cxxabiv117__class_type_infoE", node[] = "4node";
	const uint64_t meta_table = PROCESS_DATA + 0x100, node_table = PROCESS_DATA + 0x200;
	const uint64_t meta_info = PROCESS_DATA + 0x300, node_info = PROCESS_DATA + 0x320;

	memcpy(p->library + 0x800, meta, sizeof(meta));
	memcpy(p->library + 0x880, node, sizeof(node));
	put(p, meta_table + 8, meta_info);
	put(p, node_table + 8, node_info);
	put(p, meta_info, meta_table + 16);
	put(p, meta_info + 8, PROCESS_LIBRARY + 0x800);
	put(p, node_info, meta_table + 16);
	put(p, node_info + 8, PROCESS_LIBRARY + 0x880);
	for (unsigned int i = 0; i < 4; i++)
		put(p, PROCESS_OBJECTS + i * 64, i % 2 ? meta_table + 16 : node_table + 16);
}

static void add_thread(struct process *p)
{
	struct picture_thread *thread = reallocarray(p->lab.picture.thread, 2, sizeof(*thread));

	if (!thread)
		abort();
	p->lab.picture.thread = thread;
	p->lab.picture.thread_count = 2;
	thread[1] = (struct picture_thread){ .tid = 2 };
	thread[1].registers.rip = PROCESS_LIBRARY + CODE + 0x200;
	thread[1].registers.rsp = PROCESS_THREADS + 0x2000;
	thread[1].registers.fs_base = THREAD_BLOCK;
}

/* How much of the input is about a register; the rest is about memory. */
static size_t register_bytes(const uint8_t *data, size_t size)
{
	return size < 10 || data[0] < 0x80 ? size > 0 : 10;
}

static void put_register(struct process *p, const uint8_t *data)
{
	struct user_regs_struct *registers;
	uint64_t word;

	registers = &p->lab.picture.thread[data[0] % 2].registers;
	memcpy(&word, data + 2, sizeof(word));
	memcpy((char *)registers + data[1] % (sizeof(*registers) / 8) * 8, &word, sizeof(word));
}

void process_open(struct process *p, const uint8_t *data, size_t size)
{
	static const struct lab_area areas[] = {
		{ PROCESS_LIBRARY, 0x6000, offsetof(struct process, library) },
		{ PROCESS_THREADS, 0x8000, offsetof(struct process, threads) },
		{ PROCESS_STACK, 0x1000, offsetof(struct process, stack) },
	};
	static const struct fuzz_heap fuzz = { .unit = 8, .most = 16 };
	size_t used = register_bytes(data, size);

	*p = (struct process){ .lab = { LAB_AGAIN(p->lab, areas) } };
	p->lab.maps = "10000000-10002000 r-xp 00000000 08:01 9 /lib/libnode.so\n"
		      "10002000-10006000 rw-p 00002000 08:01 9 /lib/libnode.so\n"
		      "30000000-30008000 rw-p 00000000 00:00 0 \n"
		      "50000000-50001000 rw-p 00000000 00:00 0 [stack]\n";
	p->lab.registers.rip = PROCESS_LIBRARY + CODE + 0x80;
	p->lab.registers.rsp = PROCESS_STACK + 0x800;
	p->lab.registers.fs_base = MAIN_BLOCK;
	put_library(p);
	put_frames(p);
	put_threads(p);
	put_classes(p);
	fuzz_heap_mutate(&fuzz, &p->lab, data + used, size - used);
	if (lab_open(&p->lab) < 0)
		abort();
	add_thread(p);
	if (used > 1)
		put_register(p, data);
}

void process_close(struct process *p)
{
	lab_close(&p->lab);
}
