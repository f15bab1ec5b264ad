/* SPDX-License-Identifier: MIT */
/*
 * packed.c - what a packer's stub does: a static program that maps another one into anonymous
 * memory, its dynamic loader from its file, and jumps there.
 *
 * The kernel goes on saying that the stub is the program: AT_PHDR and AT_BASE of /proc/PID/auxv are
 * its own, only the copy on the stack is corrected. The test builds it static.
 */
#define _GNU_SOURCE
#include <elf.h>
#include <fcntl.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#define PAGE    4096ul
#define HEADERS 24

struct image {
	uintptr_t base, entry, phdr;
	unsigned int phdr_count;
};

static void map_segment(int fd, uintptr_t base, const Elf64_Phdr *phdr, int anonymous)
{
	uintptr_t start = base + (phdr->p_vaddr & -PAGE), file_end;
	size_t before = phdr->p_vaddr % PAGE;
	size_t bytes = (before + phdr->p_memsz + PAGE - 1) & -PAGE;
	int protection = (phdr->p_flags & PF_R ? PROT_READ : 0) |
			 (phdr->p_flags & PF_W ? PROT_WRITE : 0) |
			 (phdr->p_flags & PF_X ? PROT_EXEC : 0);

	mmap((void *)start, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED,
	     -1, 0);
	if (anonymous) {
		if (pread(fd, (void *)(start + before), phdr->p_filesz, phdr->p_offset) < 0)
			exit(1);
		mprotect((void *)start, bytes, protection);
		return;
	}
	file_end = (start + before + phdr->p_filesz + PAGE - 1) & -PAGE;
	mmap((void *)start, file_end - start, protection, MAP_PRIVATE | MAP_FIXED, fd,
	     phdr->p_offset - before);
	if (phdr->p_memsz > phdr->p_filesz)
		memset((void *)(start + before + phdr->p_filesz), 0,
		       file_end - (start + before + phdr->p_filesz));
	mprotect((void *)file_end, start + bytes - file_end, protection);
}

static struct image map_file(const char *path, int anonymous)
{
	Elf64_Phdr phdr[HEADERS];
	Elf64_Ehdr header;
	uintptr_t top = 0, base;
	int fd = open(path, O_RDONLY | O_CLOEXEC);

	if (fd < 0 || pread(fd, &header, sizeof(header), 0) != sizeof(header) ||
	    header.e_phnum > HEADERS ||
	    pread(fd, phdr, header.e_phnum * sizeof(*phdr), header.e_phoff) < 0)
		exit(1);
	for (int i = 0; i < header.e_phnum; i++)
		if (phdr[i].p_type == PT_LOAD && phdr[i].p_vaddr + phdr[i].p_memsz > top)
			top = phdr[i].p_vaddr + phdr[i].p_memsz;
	base = (uintptr_t)mmap(NULL, top + PAGE, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	for (int i = 0; i < header.e_phnum; i++)
		if (phdr[i].p_type == PT_LOAD)
			map_segment(fd, base, &phdr[i], anonymous);
	close(fd);
	return (struct image){ base, base + header.e_entry, base + header.e_phoff, header.e_phnum };
}

static void correct(Elf64_auxv_t *auxv, const struct image *program, const struct image *loader)
{
	for (; auxv->a_type != AT_NULL; auxv++) {
		if (auxv->a_type == AT_PHDR)
			auxv->a_un.a_val = program->phdr;
		else if (auxv->a_type == AT_PHNUM)
			auxv->a_un.a_val = program->phdr_count;
		else if (auxv->a_type == AT_ENTRY)
			auxv->a_un.a_val = program->entry;
		else if (auxv->a_type == AT_BASE)
			auxv->a_un.a_val = loader->base;
	}
}

int main(int argc, char **argv, char **envp)
{
	struct image program, loader;
	uintptr_t *stack = (uintptr_t *)(argv - 1);
	char **end = envp;

	if (argc < 3)
		return 1;
	program = map_file(argv[1], 1);
	loader = map_file(argv[2], 0);
	while (*end)
		end++;
	correct((Elf64_auxv_t *)(end + 1), &program, &loader);
	/* Two words, so that the stack stays aligned: the stub's name and the program's go. */
	stack[2] = (uintptr_t)argc - 2;
	__asm__ volatile("mov %0, %%rsp\n\txor %%edx, %%edx\n\txor %%ebp, %%ebp\n\tjmp *%1"
			 :
			 : "a"(stack + 2), "c"(loader.entry)
			 : "memory");
	__builtin_unreachable();
}
