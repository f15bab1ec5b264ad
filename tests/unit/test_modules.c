/* SPDX-License-Identifier: MIT */
/*
 * test_modules.c - what is mapped becomes modules, and stays what it was.
 *
 * Maps are made up as text, files are copies of this program itself, so that each
 * case says exactly what changes between two updates.
 */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <cmocka.h>

#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#include "src/modules/modules.h"

#define PLACE	0x7f0000000000ull

/* A source whose only file is fd; memory is the ELF file laid out at PLACE. */
struct source {
	char path[64];
	uint8_t *image;		/* what memory has from PLACE on; NULL: unreadable */
	size_t image_bytes;
	int opened;
	bool refuse;
	struct modules *modules;
	Elf64_Phdr code;	/* the executable PT_LOAD */
};

static int open_file(void *context, const struct procmap *map)
{
	struct source *source = context;
	int fd;

	(void)map;
	if (source->refuse)
		return -EACCES;
	source->opened++;
	fd = open(source->path, O_RDONLY | O_CLOEXEC);
	return fd < 0 ? -errno : fd;
}

static int read_memory(void *context, uint64_t address, void *buffer, size_t bytes)
{
	const struct source *source = context;

	if (!source->image || address < PLACE || address - PLACE > source->image_bytes ||
	    bytes > source->image_bytes - (address - PLACE))
		return -EIO;
	memcpy(buffer, source->image + (address - PLACE), bytes);
	return 0;
}

static void copy_self(int to)
{
	_cleanup_fd_ int from = open("/proc/self/exe", O_RDONLY | O_CLOEXEC);
	char buffer[65536];
	ssize_t n;

	assert_true(from >= 0);
	while ((n = read(from, buffer, sizeof(buffer))) > 0)
		assert_int_equal(write(to, buffer, (size_t)n), n);
}

/* Lays the PT_LOADs of the file out as a loader would, and remembers the one with code. */
static void lay_out(struct source *source)
{
	_cleanup_fd_ int fd = open(source->path, O_RDONLY | O_CLOEXEC);
	Elf64_Ehdr header;
	Elf64_Phdr phdr[32];

	source->image_bytes = 64u << 20;
	source->image = calloc(1, source->image_bytes);
	assert_non_null(source->image);
	assert_int_equal(pread(fd, &header, sizeof(header), 0), sizeof(header));
	assert_true(header.e_phnum <= 32);
	assert_true(pread(fd, phdr, header.e_phnum * sizeof(phdr[0]), (off_t)header.e_phoff) > 0);
	for (int i = 0; i < header.e_phnum; i++) {
		if (phdr[i].p_type != PT_LOAD)
			continue;
		assert_true(pread(fd, source->image + phdr[i].p_vaddr, phdr[i].p_filesz,
				  (off_t)phdr[i].p_offset) >= 0);
		if (phdr[i].p_flags & PF_X)
			source->code = phdr[i];
	}
	assert_true(source->code.p_filesz > 0);
}

static void begin(struct source *source)
{
	struct module_source callbacks = { open_file, read_memory, source };
	int fd;

	memset(source, 0, sizeof(*source));
	strcpy(source->path, "/tmp/test_modules.XXXXXX");
	fd = mkstemp(source->path);
	assert_true(fd >= 0);
	copy_self(fd);
	close(fd);
	lay_out(source);
	assert_int_equal(modules_new(&callbacks, &source->modules), 0);
}

static void end(struct source *source)
{
	modules_free(source->modules);
	unlink(source->path);
	free(source->image);
}

/* One line of maps for the code of the file, loaded at base. */
static size_t code_line(const struct source *source, char *text, size_t bytes, uint64_t base,
			unsigned long inode)
{
	uint64_t low = source->code.p_vaddr & ~0xfffull;
	uint64_t high = (source->code.p_vaddr + source->code.p_filesz + 0xfff) & ~0xfffull;

	return (size_t)snprintf(text, bytes, "%lx-%lx r-xp %08lx 08:01 %lu %s\n",
				(unsigned long)(base + low), (unsigned long)(base + high),
				(unsigned long)(source->code.p_offset & ~0xfffull), inode,
				source->path);
}

static int update(struct modules *modules, const char *text)
{
	_cleanup_(procmaps_done) struct procmaps maps = { 0 };

	assert_int_equal(procmaps_parse(text, strlen(text), &maps), 0);
	return modules_update(modules, &maps);
}

/* text: a line of maps for the code of the file, at PLACE; the modules know it. */
static void begin_mapped(struct source *source, char *text, size_t bytes)
{
	begin(source);
	code_line(source, text, bytes, PLACE, 11);
	assert_int_equal(update(source->modules, text), 1);
}

static void opens_finds_and_keeps(void **state)
{
	const struct module *module;
	struct source source;
	uint64_t generation, inside;
	char text[512];
	uint32_t flags;

	(void)state;
	begin_mapped(&source, text, sizeof(text));
	generation = modules_generation(source.modules);
	inside = PLACE + source.code.p_vaddr + 16;
	module = modules_find(source.modules, inside);
	assert_non_null(module);
	assert_int_equal(module->bias, PLACE);
	assert_int_equal(module->kind, MODULE_FILE);
	assert_true(module->fd >= 0);
	assert_true(module->eh_frame_hdr != 0);
	assert_true(strlen(module->build_id) == 40);
	assert_ptr_equal(modules_get(source.modules, module->id), module);
	assert_memory_equal(module_bytes(module, inside - PLACE, 16, &flags),
			    source.image + (inside - PLACE), 16);
	assert_true(flags & PF_X);
	/* The same again is no change, and opens nothing. */
	assert_int_equal(update(source.modules, text), 0);
	assert_int_equal(modules_generation(source.modules), generation);
	assert_int_equal(source.opened, 1);
	assert_null(modules_find(source.modules, PLACE - 1));
	assert_null(modules_find(source.modules, module->high));
	end(&source);
}

static void closes_and_keeps_the_names(void **state)
{
	const struct module *module;
	struct source source;
	char text[512];

	(void)state;
	begin_mapped(&source, text, sizeof(text));
	module = modules_get(source.modules, 1);
	assert_int_equal(update(source.modules, "1000-2000 rw-p 00000000 00:00 0 \n"), 1);
	assert_true(module->closed);
	assert_null(modules_find(source.modules, module->low));
	assert_ptr_equal(modules_get(source.modules, 1), module);
	assert_string_equal(module->path, source.path);
	assert_true(module->fd >= 0);
	end(&source);
}

/* Loaded and unloaded all day, here and there: one module, one copy of the file. */
static void comes_again(void **state)
{
	const struct module *module;
	struct source source;
	char text[512];

	(void)state;
	begin_mapped(&source, text, sizeof(text));
	source.image_bytes = 0;		/* memory elsewhere can't be read: the file is trusted */
	module = modules_get(source.modules, 1);
	for (uint64_t i = 1; i <= 100; i++) {
		uint64_t place = PLACE + (i % 3 << 32), generation;

		assert_int_equal(update(source.modules, "1000-2000 rw-p 00000000 00:00 0 \n"), 1);
		assert_true(module->closed);
		assert_int_equal(modules_closings(source.modules), i);
		generation = modules_generation(source.modules);
		code_line(&source, text, sizeof(text), place, 11);
		assert_int_equal(update(source.modules, text), 1);
		assert_int_not_equal(modules_generation(source.modules), generation);
		assert_ptr_equal(modules_find(source.modules, place + source.code.p_vaddr), module);
		assert_false(module->closed);
		assert_int_equal(module->bias, place);
	}
	assert_int_equal(modules_count(source.modules), 1);
	/* Another file, if only by its inode, is another module. */
	code_line(&source, text, sizeof(text), PLACE, 12);
	assert_int_equal(update(source.modules, text), 1);
	assert_int_equal(modules_count(source.modules), 2);
	end(&source);
}

static void another_file_in_its_place(void **state)
{
	struct source source;
	char text[512];

	(void)state;
	begin_mapped(&source, text, sizeof(text));
	code_line(&source, text, sizeof(text), PLACE, 12);
	assert_int_equal(update(source.modules, text), 1);
	assert_int_equal(modules_count(source.modules), 2);
	assert_true(modules_get(source.modules, 1)->closed);
	assert_int_equal(modules_find(source.modules, PLACE + source.code.p_vaddr)->id, 2);
	end(&source);
}

static void moved_and_twice(void **state)
{
	struct source source;
	char text[1024];
	size_t at;

	(void)state;
	begin(&source);
	source.image_bytes = 0;		/* memory elsewhere can't be read: the file is trusted */
	at = code_line(&source, text, sizeof(text), PLACE, 11);
	code_line(&source, text + at, sizeof(text) - at, PLACE + (1ull << 32), 11);
	assert_int_equal(update(source.modules, text), 1);
	assert_int_equal(modules_count(source.modules), 2);
	assert_int_equal(modules_get(source.modules, 2)->bias, PLACE + (1ull << 32));
	code_line(&source, text, sizeof(text), PLACE + (1ull << 32), 11);
	assert_int_equal(update(source.modules, text), 1);
	assert_true(modules_get(source.modules, 1)->closed);
	assert_false(modules_get(source.modules, 2)->closed);
	end(&source);
}

/* Written over in place: the file is not what is mapped, memory is. */
static void file_is_not_what_is_mapped(void **state)
{
	const struct module *module;
	struct source source;
	char text[512];

	(void)state;
	begin(&source);
	source.image[64 + 8]++;		/* a program header's offset */
	code_line(&source, text, sizeof(text), PLACE, 11);
	assert_int_equal(update(source.modules, text), 1);
	module = modules_get(source.modules, 1);
	assert_true(module->fd < 0);
	end(&source);
}

static void files_that_can_not_be_had(void **state)
{
	const struct module *module;
	struct source source;
	char text[1024];
	int n;

	(void)state;
	begin(&source);
	source.refuse = true;
	n = snprintf(text, sizeof(text), "%llx-%llx r--p 00000000 08:01 11 %s\n", PLACE,
		     PLACE + 0x1000, source.path);
	code_line(&source, text + n, sizeof(text) - (size_t)n, PLACE, 11);
	assert_int_equal(update(source.modules, text), 1);
	module = modules_get(source.modules, 1);
	assert_true(module->from_memory);
	assert_true(module->fd < 0);
	assert_int_equal(module->bias, PLACE);
	assert_memory_equal(module_bytes(module, source.code.p_vaddr, 64, NULL),
			    source.image + source.code.p_vaddr, 64);
	assert_int_equal(update(source.modules, text), 0);
	end(&source);
}

/* Neither file nor memory: the place and the path are still known. */
static void nothing_can_be_had(void **state)
{
	const struct module *module;
	struct source source;
	char text[512];

	(void)state;
	begin(&source);
	source.refuse = true;
	source.image_bytes = 0;
	code_line(&source, text, sizeof(text), PLACE, 11);
	assert_int_equal(update(source.modules, text), 1);
	module = modules_find(source.modules, PLACE + source.code.p_vaddr);
	assert_non_null(module);
	assert_null(module->file);
	assert_string_equal(module->path, source.path);
	assert_int_equal(update(source.modules, text), 0);
	end(&source);
}

/* The owner cuts the file off while we look: no signal, zeros, and no wild read. */
static void file_shrinks(void **state)
{
	static const uint8_t zeros[64];
	const struct module *module;
	struct source source;
	const uint8_t *at;
	char text[512];

	(void)state;
	begin_mapped(&source, text, sizeof(text));
	module = modules_get(source.modules, 1);
	assert_non_null(module_bytes(module, source.code.p_vaddr, 64, NULL));
	assert_int_equal(truncate(source.path, 100), 0);
	assert_memory_equal(module_bytes(module, source.code.p_vaddr, 64, NULL),
			    source.image + source.code.p_vaddr, 64);
	at = module_bytes(module, source.code.p_vaddr + source.code.p_filesz - 64, 64, NULL);
	assert_non_null(at);
	assert_memory_equal(at, zeros, sizeof(zeros));
	/* And one that is short from the start. */
	code_line(&source, text, sizeof(text), PLACE, 12);
	source.image_bytes = 0;
	assert_int_equal(update(source.modules, text), 1);
	end(&source);
}

static void deleted_file(void **state)
{
	struct source source;
	char text[512];

	(void)state;
	begin_mapped(&source, text, sizeof(text));
	unlink(source.path);
	text[strlen(text) - 1] = '\0';
	strcat(text, " (deleted)\n");
	assert_int_equal(update(source.modules, text), 0);
	assert_string_equal(modules_get(source.modules, 1)->path, source.path);
	end(&source);
}

static void jit_memory(void **state)
{
	struct source source;
	uint64_t generation;

	(void)state;
	begin(&source);
	assert_int_equal(update(source.modules, "10000-12000 rwxp 00000000 00:00 0 \n"
						"12000-13000 r-xp 00000000 00:00 0 \n"), 1);
	generation = modules_generation(source.modules);
	assert_int_equal(modules_count(source.modules), 0);
	assert_true(modules_is_jit(source.modules, 0x10000));
	assert_true(modules_is_jit(source.modules, 0x12fff));
	assert_false(modules_is_jit(source.modules, 0x13000));
	assert_false(modules_is_jit(source.modules, 0xffff));
	assert_int_equal(update(source.modules, "10000-11000 rwxp 00000000 00:00 0 \n"), 1);
	assert_int_not_equal(modules_generation(source.modules), generation);
	assert_false(modules_is_jit(source.modules, 0x12000));
	end(&source);
}

static void shim_comes_and_goes(void **state)
{
	struct source source;
	struct stat stat;
	uint8_t *image;
	int fd;

	(void)state;
	begin(&source);
	fd = open(source.path, O_RDONLY | O_CLOEXEC);
	assert_int_equal(fstat(fd, &stat), 0);
	image = malloc((size_t)stat.st_size);
	assert_int_equal(read(fd, image, (size_t)stat.st_size), stat.st_size);
	close(fd);
	assert_int_equal(modules_set_shim(source.modules, "nothing", 8, PLACE), -EBADMSG);
	assert_int_equal(modules_set_shim(source.modules, image, (size_t)stat.st_size, PLACE), 0);
	assert_int_equal(modules_find(source.modules, PLACE + source.code.p_vaddr)->kind,
			 MODULE_SHIM);
	/* It is not in maps as a file of its own, and must not vanish for that. */
	assert_int_equal(update(source.modules, "1000-2000 rw-p 00000000 00:00 0 \n"), 0);
	assert_non_null(modules_find(source.modules, PLACE + source.code.p_vaddr));
	assert_int_equal(modules_set_shim(source.modules, NULL, 0, 0), 0);
	assert_null(modules_find(source.modules, PLACE + source.code.p_vaddr));
	end(&source);
	free(image);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(opens_finds_and_keeps),
		cmocka_unit_test(closes_and_keeps_the_names),
		cmocka_unit_test(comes_again),
		cmocka_unit_test(another_file_in_its_place),
		cmocka_unit_test(moved_and_twice),
		cmocka_unit_test(file_is_not_what_is_mapped),
		cmocka_unit_test(files_that_can_not_be_had),
		cmocka_unit_test(nothing_can_be_had),
		cmocka_unit_test(file_shrinks),
		cmocka_unit_test(deleted_file),
		cmocka_unit_test(jit_memory),
		cmocka_unit_test(shim_comes_and_goes),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
