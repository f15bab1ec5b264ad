/* SPDX-License-Identifier: MIT */
/*
 * test_elf_image.c - the running libc, the vdso and this program itself, read
 * from /proc/self/mem and compared with what the loader says; then a copy of
 * libc with lies in it, behind a reader that refuses everything outside.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <link.h>
#include <string.h>
#include <sys/auxv.h>

#include "src/elf/elf_image.h"

static int mem_fd = -1;
static const struct elf_reader live = { elf_reader_fd, &mem_fd };

struct found {
	const char *part;
	uint64_t base, phdrs;
	const Elf64_Phdr *phdr;
};

static int match_module(struct dl_phdr_info *info, size_t size, void *context)
{
	struct found *found = context;

	(void)size;
	if (!strstr(info->dlpi_name, found->part))
		return 0;
	found->base = info->dlpi_addr;
	found->phdr = info->dlpi_phdr;
	found->phdrs = info->dlpi_phnum;
	return 1;
}

static void open_libc(struct elf_image *ret)
{
	struct found found = { .part = "libc.so" };

	assert_int_equal(dl_iterate_phdr(match_module, &found), 1);
	assert_int_equal(elf_image_open(&live, found.base, ret), 0);
	assert_int_equal(ret->phdr_count, found.phdrs);
	assert_memory_equal(ret->phdr, found.phdr, found.phdrs * sizeof(Elf64_Phdr));
}

static void open_running_libc(void **state)
{
	struct elf_image image;

	(void)state;
	open_libc(&image);
	assert_int_equal(image.bias, image.base);
	assert_int_equal(image.type, ET_DYN);
	assert_int_equal(image.machine, EM_X86_64);
	assert_true(image.low <= image.base && image.high > image.base);
	assert_true(image.symtab && image.strtab && image.strtab_bytes && image.versym);
	assert_true(image.gnu_hash || image.sysv_hash);
	assert_true(image.build_id_bytes >= 8);
	assert_true(image.eh_frame_hdr > image.low && image.eh_frame_hdr < image.high);
	assert_int_equal(*(uint8_t *)(uintptr_t)image.eh_frame_hdr, 1);
}

static void open_itself(void **state)
{
	uint64_t phdr = getauxval(AT_PHDR), base = phdr - sizeof(Elf64_Ehdr), debug;
	struct elf_image image;
	struct r_debug copy;

	(void)state;
	assert_int_equal(elf_image_open(&live, base, &image), 0);
	assert_int_equal(image.entry, getauxval(AT_ENTRY));
	assert_int_equal(image.dynamic, (uint64_t)(uintptr_t)_DYNAMIC);
	assert_true(image.debug_slot != 0);
	memcpy(&debug, (void *)(uintptr_t)image.debug_slot, sizeof(debug));
	/* Not &_r_debug: a copy relocation may have given this program its own, stale one. */
	memcpy(&copy, (void *)(uintptr_t)debug, sizeof(copy));
	assert_ptr_equal(copy.r_map->l_ld, _DYNAMIC);
}

static void lookup_equals_dlsym(void **state)
{
	static const char *const names[] = { "malloc", "calloc",         "free",   "mmap64",
					     "munmap", "posix_memalign", "dlopen", "environ" };
	struct elf_image image;

	(void)state;
	open_libc(&image);
	for (size_t i = 0; i < ARRAY_SIZE(names); i++) {
		void *libc = dlopen("libc.so.6", RTLD_NOW | RTLD_NOLOAD);
		struct elf_symbol symbol;

		assert_int_equal(elf_image_lookup(&image, names[i], &symbol), 0);
		/* Not under a sanitizer's interposer: the handle searches libc alone. */
		assert_ptr_equal((void *)(uintptr_t)symbol.address, dlsym(libc, names[i]));
		assert_false(symbol.hidden);
		assert_true(symbol.size > 0);
		dlclose(libc);
	}
}

/* memcpy@GLIBC_2.2.5 (hidden) and memcpy@@GLIBC_2.14: the loader gives the default one to
 * newcomers. */
static void lookup_prefers_default_version(void **state)
{
	struct elf_image image;
	struct elf_symbol symbol;

	(void)state;
	open_libc(&image);
	assert_int_equal(elf_image_lookup(&image, "memcpy", &symbol), 0);
	assert_false(symbol.hidden);
	assert_int_equal(symbol.type, STT_GNU_IFUNC);
	assert_int_equal(elf_image_lookup(&image, "pthread_cond_wait", &symbol), 0);
	assert_false(symbol.hidden);
	assert_ptr_equal((void *)(uintptr_t)symbol.address,
			 dlvsym(RTLD_DEFAULT, "pthread_cond_wait", "GLIBC_2.3.2"));
}

static void lookup_what_is_not_there(void **state)
{
	_cleanup_free_ char *endless = malloc(100000);
	struct elf_image image;
	struct elf_symbol symbol;

	(void)state;
	memset(endless, 'a', 99999);
	endless[99999] = '\0';
	open_libc(&image);
	assert_int_equal(elf_image_lookup(&image, "no_such_symbol_here", &symbol), -ENOENT);
	assert_int_equal(elf_image_lookup(&image, "", &symbol), -ENOENT);
	assert_int_equal(elf_image_lookup(&image, endless, &symbol), -ENOENT);
	/* Undefined in libc, defined in the loader. */
	assert_int_equal(elf_image_lookup(&image, "__tls_get_addr", &symbol), -ENOENT);
}

struct walk {
	const struct elf_image *image;
	size_t defined, hidden, wrong, stop_after;
};

static int compare_with_lookup(void *context, const struct elf_symbol *symbol)
{
	struct walk *walk = context;
	struct elf_symbol looked;

	walk->hidden += symbol->hidden;
	if (symbol->section == SHN_UNDEF || symbol->section == SHN_ABS || symbol->hidden ||
	    (symbol->type != STT_FUNC && symbol->type != STT_GNU_IFUNC))
		return 0;
	walk->defined++;
	if (elf_image_lookup(walk->image, symbol->name, &looked) < 0 ||
	    looked.address != symbol->address)
		walk->wrong++;
	return 0;
}

static void each_agrees_with_lookup(void **state)
{
	struct elf_image image;
	struct walk walk = { .image = &image };

	(void)state;
	open_libc(&image);
	assert_int_equal(elf_image_each(&image, compare_with_lookup, &walk), 0);
	assert_true(walk.defined > 1500);
	assert_true(walk.hidden > 50);
	assert_int_equal(walk.wrong, 0);
}

static int stop_early(void *context, const struct elf_symbol *symbol)
{
	(void)symbol;
	return ++*(int *)context == 3 ? 42 : 0;
}

static void each_stops_when_told(void **state)
{
	struct elf_image image;
	int calls = 0;

	(void)state;
	open_libc(&image);
	assert_int_equal(elf_image_each(&image, stop_early, &calls), 42);
	assert_int_equal(calls, 3);
}

/* The vdso's dynamic section is never relocated, and it has DT_HASH as well. */
static void lookup_in_vdso(void **state)
{
	uint64_t base = getauxval(AT_SYSINFO_EHDR);
	struct elf_symbol by_gnu, by_sysv;
	struct elf_image image;

	(void)state;
	if (!base)
		skip();
	assert_int_equal(elf_image_open(&live, base, &image), 0);
	assert_true(image.symtab > base && image.symtab < image.high);
	assert_int_equal(elf_image_lookup(&image, "__vdso_clock_gettime", &by_gnu), 0);
	assert_true(by_gnu.address > base && by_gnu.address < image.high);
	if (!image.gnu_hash || !image.sysv_hash)
		skip();
	image.gnu_hash = 0;
	assert_int_equal(elf_image_lookup(&image, "__vdso_clock_gettime", &by_sysv), 0);
	assert_int_equal(by_sysv.address, by_gnu.address);
	assert_int_equal(elf_image_lookup(&image, "__vdso_nothing", &by_sysv), -ENOENT);
}

/* Every symbol of the vdso by DT_HASH alone. */
static void each_by_sysv_hash(void **state)
{
	uint64_t base = getauxval(AT_SYSINFO_EHDR);
	struct elf_image image;
	struct walk walk = { .image = &image };

	(void)state;
	if (!base || elf_image_open(&live, base, &image) < 0 || !image.sysv_hash)
		skip();
	image.gnu_hash = 0;
	assert_int_equal(elf_image_each(&image, compare_with_lookup, &walk), 0);
	assert_true(walk.defined >= 4);
	assert_int_equal(walk.wrong, 0);
}

static void open_what_is_no_elf(void **state)
{
	static const char text[256] = "\177ELF but not really";
	struct elf_image image;

	(void)state;
	assert_int_equal(elf_image_open(&live, (uint64_t)(uintptr_t)text, &image), -ENOEXEC);
	assert_int_equal(elf_image_open(&live, 8, &image), -EIO);
	assert_int_equal(elf_image_open(&live, UINT64_MAX - 8, &image), -EINVAL);
}

/* A copy of an image in a buffer, at a made-up address. */
struct copy {
	uint8_t *bytes;
	uint64_t base, size;
	size_t reads;
};

static int copy_read(void *context, uint64_t address, void *buffer, size_t bytes)
{
	struct copy *copy = context;

	copy->reads++;
	if (address < copy->base || address - copy->base > copy->size ||
	    bytes > copy->size - (address - copy->base))
		return -EIO;
	memcpy(buffer, copy->bytes + (address - copy->base), bytes);
	return 0;
}

static void copy_vdso(struct copy *copy, struct elf_image *ret)
{
	uint64_t base = getauxval(AT_SYSINFO_EHDR);
	const struct elf_reader reader = { copy_read, copy };

	if (!base || elf_image_open(&live, base, ret) < 0)
		skip();
	copy->base = 0x10000000;
	copy->size = ret->high - ret->low;
	copy->reads = 0;
	copy->bytes = malloc(copy->size);
	assert_int_equal(elf_reader_fd(&mem_fd, base, copy->bytes, copy->size), 0);
	assert_int_equal(elf_image_open(&reader, copy->base, ret), 0);
}

static uint32_t *word_at(const struct copy *copy, uint64_t address)
{
	return (uint32_t *)(void *)(copy->bytes + (address - copy->base));
}

static int count_symbols(void *context, const struct elf_symbol *symbol)
{
	(void)symbol;
	++*(size_t *)context;
	return 0;
}

/* A chain whose every link leads back to itself must end, and not find anything. */
static void lookup_circular_chain(void **state)
{
	struct elf_symbol symbol;
	struct elf_image image;
	struct copy copy;
	uint32_t *hash;

	(void)state;
	copy_vdso(&copy, &image);
	if (!image.sysv_hash)
		skip();
	hash = word_at(&copy, image.sysv_hash);
	image.gnu_hash = 0;
	for (uint32_t i = 0; i < hash[0]; i++)
		hash[2 + i] = 1;
	for (uint32_t i = 0; i < hash[1]; i++)
		hash[2 + hash[0] + i] = 1;
	copy.reads = 0;
	assert_int_equal(elf_image_lookup(&image, "not_there", &symbol), -EBADMSG);
	assert_true(copy.reads < 1000000);
	free(copy.bytes);
}

static void each_boastful_count(void **state)
{
	struct elf_image image;
	struct copy copy;
	size_t calls = 0;

	(void)state;
	copy_vdso(&copy, &image);
	if (!image.sysv_hash)
		skip();
	image.gnu_hash = 0;
	word_at(&copy, image.sysv_hash)[1] = 0x7fffffff;
	assert_int_equal(elf_image_each(&image, count_symbols, &calls), -EBADMSG);
	assert_int_equal(calls, 0);
	free(copy.bytes);
}

static void open_extents_that_wrap(void **state)
{
	struct elf_image image;
	struct copy copy;
	Elf64_Phdr *phdr;
	const struct elf_reader reader = { copy_read, &copy };

	(void)state;
	copy_vdso(&copy, &image);
	phdr = (Elf64_Phdr *)(void *)(copy.bytes + ((Elf64_Ehdr *)(void *)copy.bytes)->e_phoff);
	while (phdr->p_type != PT_LOAD)
		phdr++;
	phdr->p_memsz = UINT64_MAX - 100;
	assert_int_equal(elf_image_open(&reader, copy.base, &image), -EBADMSG);
	phdr->p_memsz = UINT64_MAX - 0x4000;
	assert_int_equal(elf_image_open(&reader, copy.base, &image), -EBADMSG);
	phdr->p_memsz = 0;
	assert_int_equal(elf_image_open(&reader, copy.base, &image), -EBADMSG);
	free(copy.bytes);
}

static int open_mem(void **state)
{
	(void)state;
	mem_fd = open("/proc/self/mem", O_RDONLY | O_CLOEXEC);
	return mem_fd < 0 ? -1 : 0;
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(open_running_libc),
		cmocka_unit_test(open_itself),
		cmocka_unit_test(lookup_equals_dlsym),
		cmocka_unit_test(lookup_prefers_default_version),
		cmocka_unit_test(lookup_what_is_not_there),
		cmocka_unit_test(each_agrees_with_lookup),
		cmocka_unit_test(each_stops_when_told),
		cmocka_unit_test(lookup_in_vdso),
		cmocka_unit_test(each_by_sysv_hash),
		cmocka_unit_test(open_what_is_no_elf),
		cmocka_unit_test(lookup_circular_chain),
		cmocka_unit_test(each_boastful_count),
		cmocka_unit_test(open_extents_that_wrap),
	};

	return cmocka_run_group_tests(tests, open_mem, NULL);
}
