/* SPDX-License-Identifier: MIT */
/*
 * test_link_map.c - this program's own list of modules against what its loader
 * says, and lists in a small invented memory that lie.
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
#include <stdlib.h>
#include <string.h>
#include <sys/auxv.h>

#include "src/elf/link_map.h"

/* Of the running program. */
struct self {
	int mem;
	struct elf_reader reader;
	struct procmaps maps;
	struct link_map_input input;
};

static void self_open(struct self *self)
{
	_cleanup_fd_ int maps = open("/proc/self/maps", O_RDONLY | O_CLOEXEC);
	_cleanup_fd_ int auxv = open("/proc/self/auxv", O_RDONLY | O_CLOEXEC);
	char bytes[4096];
	ssize_t count = read(auxv, bytes, sizeof(bytes));

	assert_true(count > 0);
	self->mem = open("/proc/self/mem", O_RDONLY | O_CLOEXEC);
	self->reader = (struct elf_reader){ elf_reader_fd, &self->mem };
	assert_int_equal(procmaps_read(maps, &self->maps), 0);
	self->input = (struct link_map_input){ .reader = &self->reader, .maps = &self->maps };
	link_map_parse_auxv(bytes, (size_t)count, &self->input.auxv);
}

static void self_close(struct self *self)
{
	procmaps_done(&self->maps);
	close(self->mem);
}

static void parse_own_auxv(void **state)
{
	struct self self;

	(void)state;
	self_open(&self);
	assert_int_equal(self.input.auxv.phdr, getauxval(AT_PHDR));
	assert_int_equal(self.input.auxv.base, getauxval(AT_BASE));
	assert_int_equal(self.input.auxv.entry, getauxval(AT_ENTRY));
	self_close(&self);
}

static void parse_cut_auxv(void **state)
{
	static const uint64_t words[] = { AT_PHDR, 7, AT_BASE };
	struct link_map_auxv auxv;

	(void)state;
	link_map_parse_auxv(words, sizeof(words), &auxv);
	assert_int_equal(auxv.phdr, 7);
	assert_int_equal(auxv.base, 0);
	link_map_parse_auxv(NULL, 0, &auxv);
	assert_int_equal(auxv.phdr, 0);
}

/* Module for module, in order, with the addresses of the real structures. */
static void expect_own_list(const struct link_map_list *list)
{
	const struct link_map *module = _r_debug.r_map;
	size_t i = 0;

	for (; module; module = module->l_next, i++) {
		assert_true(i < list->count);
		assert_int_equal(list->module[i].handle, (uintptr_t)module);
		assert_int_equal(list->module[i].bias, module->l_addr);
		assert_int_equal(list->module[i].dynamic, (uintptr_t)module->l_ld);
		assert_string_equal(list->module[i].name, module->l_name);
		assert_int_equal(list->module[i].space, 0);
	}
	assert_int_equal(i, list->count);
	assert_int_equal(list->notify, _r_debug.r_brk);
	assert_int_equal(list->state, RT_CONSISTENT);
	assert_int_equal(list->interpreter_base, getauxval(AT_BASE));
}

static void read_own_list(void **state)
{
	struct link_map_list list;
	struct self self;

	(void)state;
	self_open(&self);
	assert_int_equal(link_map_read(&self.input, &list), 0);
	expect_own_list(&list);
	assert_int_equal(list.exe_base, getauxval(AT_PHDR) - sizeof(Elf64_Ehdr));
	for (size_t i = 0; i < list.count; i++) {
		uint64_t base = link_map_module_base(&self.maps, &list.module[i]);

		/* The vdso has no file. */
		if (base)
			assert_memory_equal((void *)(uintptr_t)base, ELFMAG, SELFMAG);
		else
			assert_non_null(strstr(list.module[i].name, "vdso"));
	}
	link_map_done(&list);
	self_close(&self);
}

/* ld.so as the "executable": its PT_DYNAMIC has no DT_DEBUG, its symbol leads there. */
static void read_list_by_symbol(void **state)
{
	struct link_map_list list;
	struct self self;

	(void)state;
	self_open(&self);
	self.input.exe_base = self.input.auxv.base;
	self.input.auxv.base = 0;
	assert_int_equal(link_map_read(&self.input, &list), 0);
	expect_own_list(&list);
	link_map_done(&list);
	self_close(&self);
}

static void find_by_name(void **state)
{
	const struct link_map_module *found;
	struct link_map_list list;
	struct self self;
	char path[64];
	void *handle;
	int fd;

	(void)state;
	/* As the shim is opened: an unusual path that nobody else uses. */
	fd = open("/lib/x86_64-linux-gnu/libm.so.6", O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		skip();
	snprintf(path, sizeof(path), "/proc/self/fd/../fd/%d", fd);
	handle = dlopen(path, RTLD_NOW);
	assert_non_null(handle);
	self_open(&self);
	assert_int_equal(link_map_read(&self.input, &list), 0);
	/* A library that was there under its own name keeps that name. */
	found = link_map_find_name(&list, ((struct link_map *)handle)->l_name);
	assert_non_null(found);
	assert_ptr_equal((void *)(uintptr_t)found->handle, handle);
	assert_null(link_map_find_name(&list, "/no/such/module"));
	link_map_done(&list);
	self_close(&self);
	dlclose(handle);
	close(fd);
}

static void read_other_namespaces(void **state)
{
	struct link_map_list list;
	struct self self;
	void *handle = dlmopen(LM_ID_NEWLM, "libm.so.6", RTLD_NOW);
	uint32_t most = 0;

	(void)state;
	if (!handle)
		skip();
	self_open(&self);
	assert_int_equal(link_map_read(&self.input, &list), 0);
	for (size_t i = 0; i < list.count; i++) {
		assert_true(list.module[i].space >= most);
		most = list.module[i].space;
	}
	/* glibc links namespaces since 2.35. */
	if (_r_debug.r_version > 1)
		assert_int_equal(most, 1);
	link_map_done(&list);
	self_close(&self);
	dlclose(handle);
}

/* Memory that holds the structures of an invented list at FAKE_BASE. */
#define FAKE_BASE 0x10000000ull
struct fake {
	Elf64_Ehdr header;
	Elf64_Phdr phdr[2];
	Elf64_Dyn dynamic[2];
	struct r_debug debug;
	struct link_map module[3];
	char name[8];
};

static int fake_read(void *context, uint64_t address, void *buffer, size_t bytes)
{
	if (address < FAKE_BASE || address - FAKE_BASE > 4096 ||
	    bytes > 4096 - (address - FAKE_BASE))
		return -EIO;
	memcpy(buffer, (char *)context + (address - FAKE_BASE), bytes);
	return 0;
}

static void *fake_address(size_t offset)
{
	return (void *)(uintptr_t)(FAKE_BASE + offset);
}

static struct link_map *fake_module(size_t index)
{
	return fake_address(offsetof(struct fake, module) + index * sizeof(struct link_map));
}

static struct fake *fake_new(void)
{
	struct fake *fake = calloc(1, 4096);

	memcpy(fake->header.e_ident, ELFMAG, SELFMAG);
	fake->header.e_ident[EI_CLASS] = ELFCLASS64;
	fake->header.e_ident[EI_DATA] = ELFDATA2LSB;
	fake->header.e_type = ET_DYN;
	fake->header.e_machine = EM_X86_64;
	fake->header.e_phoff = offsetof(struct fake, phdr);
	fake->header.e_phnum = 2;
	fake->header.e_phentsize = sizeof(Elf64_Phdr);
	fake->phdr[0] = (Elf64_Phdr){ .p_type = PT_LOAD, .p_filesz = 4096, .p_memsz = 4096 };
	fake->phdr[1] = (Elf64_Phdr){ .p_type = PT_DYNAMIC,
				      .p_vaddr = offsetof(struct fake, dynamic),
				      .p_memsz = sizeof(fake->dynamic) };
	fake->dynamic[0].d_tag = DT_DEBUG;
	fake->dynamic[0].d_un.d_ptr = FAKE_BASE + offsetof(struct fake, debug);
	fake->debug.r_version = 1;
	fake->debug.r_map = fake_module(0);
	for (size_t i = 0; i < 3; i++) {
		fake->module[i].l_name = fake_address(offsetof(struct fake, name));
		fake->module[i].l_next = i < 2 ? fake_module(i + 1) : NULL;
		fake->module[i].l_prev = i > 0 ? fake_module(i - 1) : NULL;
	}
	strcpy(fake->name, "module");
	return fake;
}

static int fake_list_read(struct fake *fake, struct link_map_list *ret)
{
	const struct elf_reader reader = { fake_read, fake };
	const struct procmaps maps = { 0 };
	const struct link_map_input input = { .reader = &reader, .maps = &maps,
					      .exe_base = FAKE_BASE };

	return link_map_read(&input, ret);
}

static void read_invented_list(void **state)
{
	_cleanup_free_ struct fake *fake = fake_new();
	struct link_map_list list;

	(void)state;
	assert_int_equal(fake_list_read(fake, &list), 0);
	assert_int_equal(list.count, 3);
	assert_string_equal(list.module[2].name, "module");
	link_map_done(&list);
}

static void refuse_circle(void **state)
{
	_cleanup_free_ struct fake *fake = fake_new();
	struct link_map_list list = { 0 };

	(void)state;
	fake->module[2].l_next = fake_module(0);
	assert_int_equal(fake_list_read(fake, &list), -EAGAIN);
	fake->module[2].l_next = fake_module(2);
	assert_int_equal(fake_list_read(fake, &list), -EAGAIN);
	assert_int_equal(list.count, 0);
}

static void refuse_wild_pointers(void **state)
{
	_cleanup_free_ struct fake *fake = fake_new();
	struct link_map_list list = { 0 };

	(void)state;
	fake->module[1].l_name = fake_address(4096 * 2);
	assert_int_equal(fake_list_read(fake, &list), -EAGAIN);
	fake->dynamic[0].d_un.d_ptr = FAKE_BASE + 4090;
	assert_int_equal(fake_list_read(fake, &list), -EBADMSG);
}

/* Before the loader has run, and in static programs. */
static void read_exe_alone(void **state)
{
	_cleanup_free_ struct fake *fake = fake_new();
	struct link_map_list list;

	(void)state;
	fake->dynamic[0].d_un.d_ptr = 0;
	assert_int_equal(fake_list_read(fake, &list), 0);
	assert_int_equal(list.count, 1);
	assert_int_equal(list.module[0].handle, 0);
	assert_int_equal(list.module[0].bias, FAKE_BASE);
	assert_string_equal(list.module[0].name, "");
	link_map_done(&list);
}

int main(void)
{
	static const struct CMUnitTest tests[] = {
		cmocka_unit_test(parse_own_auxv),
		cmocka_unit_test(parse_cut_auxv),
		cmocka_unit_test(read_own_list),
		cmocka_unit_test(read_list_by_symbol),
		cmocka_unit_test(find_by_name),
		cmocka_unit_test(read_other_namespaces),
		cmocka_unit_test(read_invented_list),
		cmocka_unit_test(refuse_circle),
		cmocka_unit_test(refuse_wild_pointers),
		cmocka_unit_test(read_exe_alone),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
