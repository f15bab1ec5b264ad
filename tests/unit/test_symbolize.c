/* SPDX-License-Identifier: MIT */
/*
 * test_symbolize.c - names, lines and inlined calls, judged by addr2line.
 *
 * Every few bytes of a C++ program's code are looked up both ways. Where addr2line
 * (binutils 2.40) is alone against llvm-symbolizer and gdb it is not followed: it
 * names the padding behind a function after it, and puts the symbol's name over the
 * innermost frame of functions without a linkage name. llvm-symbolizer, where it is
 * installed, judges files, lines and columns without exception. The rest are
 * cases that addr2line has no opinion on: stripped files with a debug file, a debug
 * file of another build, JIT maps, call instructions, files that vanish.
 */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <cmocka.h>

#include <elf.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>

#include "src/debuginfo/demangle.h"
#include "src/symbolize/call_site.h"
#include "src/symbolize/jit_map.h"
#include "src/symbolize/symbolize.h"
#include "tests/unit/unwind_harness.h"

#define PLACE	0x7f0000000000ull

/* A file's code as a module, without a process. */
struct bench {
	char path[4096];
	struct modules *modules;
	struct symbolizer *symbolizer;
	const struct module *module;
};

static int open_file(void *context, const struct procmap *map)
{
	(void)context;
	return open(map->path, O_RDONLY | O_CLOEXEC);
}

/* Finds the executable PT_LOAD and maps it as /proc/PID/maps would say. */
static void begin(struct bench *bench, const char *path)
{
	struct module_source source = { .open_file = open_file };
	_cleanup_(procmaps_done) struct procmaps maps = { 0 };
	_cleanup_fd_ int fd = open(path, O_RDONLY | O_CLOEXEC);
	Elf64_Phdr phdr[32], *code = NULL;
	Elf64_Ehdr header;
	char text[8192];

	assert_true(fd >= 0);
	assert_int_equal(pread(fd, &header, sizeof(header), 0), sizeof(header));
	assert_true(header.e_phnum <= 32);
	assert_true(pread(fd, phdr, header.e_phnum * sizeof(phdr[0]), (off_t)header.e_phoff) > 0);
	for (int i = 0; i < header.e_phnum; i++) {
		if (phdr[i].p_type == PT_LOAD && (phdr[i].p_flags & PF_X))
			code = &phdr[i];
	}
	assert_non_null(code);
	snprintf(text, sizeof(text), "%llx-%llx r-xp %08lx 08:01 7 %s\n",
		 PLACE + (code->p_vaddr & ~0xfffull),
		 PLACE + ((code->p_vaddr + code->p_filesz + 0xfff) & ~0xfffull),
		 (unsigned long)(code->p_offset & ~0xfffull), path);
	memset(bench, 0, sizeof(*bench));
	snprintf(bench->path, sizeof(bench->path), "%s", path);
	assert_int_equal(procmaps_parse(text, strlen(text), &maps), 0);
	assert_int_equal(modules_new(&source, &bench->modules), 0);
	assert_int_equal(modules_update(bench->modules, &maps), 1);
	bench->module = modules_get(bench->modules, 1);
	assert_int_equal(symbolizer_new(bench->modules, &bench->symbolizer), 0);
}

static void end(struct bench *bench)
{
	symbolizer_free(bench->symbolizer);
	modules_free(bench->modules);
}

static const struct symbol_frame *look_up(struct bench *bench, uint64_t offset, uint32_t flags,
					  size_t *ret_count)
{
	struct frame frame = { .module = 1, .flags = flags, .offset = offset };

	return symbolizer_frame(bench->symbolizer, &frame, ret_count);
}

static const char *base_name(const char *path)
{
	const char *slash = path ? strrchr(path, '/') : NULL;

	return slash ? slash + 1 : path;
}

/* One "function\nfile:line" of addr2line -i -f -C -a against one of our frames. */
static bool same(const struct symbol_frame *frame, const char *function, char *place)
{
	char *line = strrchr(place, ':');
	char *file;

	if (!line)
		return false;
	*line++ = '\0';
	file = place;
	if (strcmp(function, "??") != 0 &&
	    (!frame->function || strcmp(function, frame->function) != 0))
		return false;
	if (strcmp(file, "??") == 0 || line[0] == '?')
		return true;
	return frame->file && strcmp(base_name(file), base_name(frame->file)) == 0 &&
	       (uint32_t)atoi(line) == frame->line;
}

/* Whether name is that of the symbol which holds address. */
static bool is_symbol_name(struct bench *bench, uint64_t address, const char *name)
{
	struct frame frame = { .module = 1, .offset = address };
	const char *raw = symbolizer_function_name(bench->symbolizer, &frame);
	_cleanup_free_ char *shown = raw ? demangle(raw) : NULL;

	return raw && name && strcmp(shown ? shown : raw, name) == 0;
}

/* Padding: no symbol holds the address, and DWARF has no function there. */
static bool is_padding(struct bench *bench, uint64_t address, const struct symbol_frame *frame)
{
	struct frame place = { .module = 1, .offset = address };

	return !frame->function && !symbolizer_function_name(bench->symbolizer, &place);
}

/* See the top: the innermost name, or the outermost of ours, is the symbol's. */
static bool is_excused(struct bench *bench, uint64_t address, const struct symbol_frame *frame,
		       size_t at, size_t count, const char *function)
{
	if (at == 0 && (is_padding(bench, address, frame) ||
			is_symbol_name(bench, address, function)))
		return true;
	return at + 1 == count && is_symbol_name(bench, address, frame[at].function);
}

struct score {
	size_t addresses, frames, different, inlined, excused;
};

/* Reads what addr2line says of address until the next "0x" line; *next gets that line. */
static void judge(struct bench *bench, FILE *pipe, char *next, size_t bytes, struct score *score)
{
	uint64_t address = strtoull(next, NULL, 16);
	char function[16384], place[16384];
	const struct symbol_frame *frame;
	size_t count, at = 0;

	frame = look_up(bench, address, 0, &count);
	score->addresses++;
	next[0] = '\0';
	while (fgets(function, sizeof(function), pipe)) {
		if (strncmp(function, "0x", 2) == 0) {
			snprintf(next, bytes, "%s", function);
			break;
		}
		assert_non_null(fgets(place, sizeof(place), pipe));
		function[strcspn(function, "\n")] = '\0';
		place[strcspn(place, "\n")] = '\0';
		if (strstr(place, " (discriminator"))
			*strstr(place, " (discriminator") = '\0';
		score->frames++;
		if (at >= count || !same(&frame[at], function, place)) {
			if (at < count &&
			    is_excused(bench, address, frame, at, count, function)) {
				score->excused++;
				at++;
				continue;
			}
			if (score->different++ < 5)
				print_message("%#lx frame %zu: addr2line %s %s, ours %s %s:%u\n",
					      (unsigned long)address, at, function, place,
					      at < count ? frame[at].function : "none",
					      at < count ? base_name(frame[at].file) : "",
					      at < count ? frame[at].line : 0);
		}
		at++;
	}
	score->inlined += at > 1;
	if (at != count)
		score->different++;
}

/* Runs format with the file and a list of addresses, one every step bytes of code. */
static FILE *run_tool(const struct bench *bench, const char *format, uint64_t step)
{
	char list[] = "/tmp/test_symbolize.XXXXXX", command[8192];
	int fd = mkstemp(list);
	FILE *file, *pipe;

	assert_true(fd >= 0);
	file = fdopen(fd, "w");
	for (uint32_t i = 0; i < bench->module->segment_count; i++) {
		const struct module_segment *segment = &bench->module->segment[i];

		if (!(segment->flags & PF_X))
			continue;
		for (uint64_t at = 0; at < segment->file_bytes; at += step)
			fprintf(file, "0x%lx\n", (unsigned long)(segment->address + at));
	}
	fclose(file);
	snprintf(command, sizeof(command), format, bench->path, list, list);
	pipe = popen(command, "re");
	assert_non_null(pipe);
	return pipe;
}

static void like_addr2line(void **state)
{
	struct score score = { 0 };
	struct bench bench;
	char next[16384];
	FILE *pipe;

	(void)state;
	begin(&bench, harness_path("unwind_cxx"));
	pipe = run_tool(&bench, "addr2line -a -i -f -C -e %s < %s; rm -f %s", 13);
	assert_non_null(fgets(next, sizeof(next), pipe));
	while (next[0])
		judge(&bench, pipe, next, sizeof(next), &score);
	assert_int_equal(pclose(pipe), 0);
	print_message("%zu addresses, %zu frames, %zu inlined, %zu different, %zu excused\n",
		      score.addresses, score.frames, score.inlined, score.different, score.excused);
	assert_true(score.excused < score.frames / 50);
	assert_true(score.addresses > 300);
	assert_true(score.inlined > 100);
	assert_int_equal(score.different, 0);
	end(&bench);
}

/* No line in either: llvm then has the file of a symbol table, which we leave out. */
static bool both_without_line(const char *llvm, const char *ours)
{
	size_t length = strlen(llvm);

	return strcmp(ours, "??:0:0") == 0 && length > 4 && strcmp(llvm + length - 4, ":0:0") == 0;
}

/* "file:line:column" lines up to an empty one: those of one address. */
static void judge_lines(struct bench *bench, FILE *pipe, uint64_t address, struct score *score)
{
	const struct symbol_frame *frame;
	size_t count, at = 0;
	char line[16384], ours[16384];

	frame = look_up(bench, address, 0, &count);
	score->addresses++;
	while (fgets(line, sizeof(line), pipe) && line[0] != '\n') {
		line[strcspn(line, "\n")] = '\0';
		assert_non_null(fgets(line, sizeof(line), pipe));
		line[strcspn(line, "\n")] = '\0';
		if (at < count && frame[at].file)
			snprintf(ours, sizeof(ours), "%s:%u:%u", base_name(frame[at].file),
				 frame[at].line, frame[at].column);
		else
			snprintf(ours, sizeof(ours), "%s", at < count ? "??:0:0" : "none");
		if (strcmp(base_name(line), ours) != 0 && !both_without_line(line, ours) &&
		    score->different++ < 5)
			print_message("%#lx frame %zu: llvm %s, ours %s\n",
				      (unsigned long)address, at, line, ours);
		score->frames++;
		at++;
	}
	score->different += at != count;
	score->inlined += at > 1;
}

static void lines_like_llvm(void **state)
{
	struct score score = { 0 };
	struct bench bench;
	FILE *pipe;

	(void)state;
	if (system("llvm-symbolizer --version > /dev/null 2>&1") != 0)
		skip();
	begin(&bench, harness_path("unwind_cxx"));
	pipe = run_tool(&bench, "llvm-symbolizer -i -e %s < %s; rm -f %s", 7);
	for (uint32_t i = 0; i < bench.module->segment_count; i++) {
		const struct module_segment *segment = &bench.module->segment[i];

		for (uint64_t at = 0; (segment->flags & PF_X) && at < segment->file_bytes; at += 7)
			judge_lines(&bench, pipe, segment->address + at, &score);
	}
	assert_int_equal(pclose(pipe), 0);
	print_message("%zu addresses, %zu frames, %zu with inlined calls, %zu different\n",
		      score.addresses, score.frames, score.inlined, score.different);
	assert_true(score.inlined > 100);
	assert_int_equal(score.different, 0);
	end(&bench);
}

/* Finds a function by asking at every byte: small files only. */
static uint64_t find_function(struct bench *bench, const char *name)
{
	for (uint32_t i = 0; i < bench->module->segment_count; i++) {
		const struct module_segment *segment = &bench->module->segment[i];

		for (uint64_t at = 0; (segment->flags & PF_X) && at < segment->file_bytes; at++) {
			struct frame frame = { .module = 1, .offset = segment->address + at };
			const char *found = symbolizer_function_name(bench->symbolizer, &frame);

			if (found && strcmp(found, name) == 0)
				return frame.offset;
		}
	}
	return 0;
}

/* A call's return address is given; offset and line are those of the call. */
static void return_address_means_the_call(void **state)
{
	const struct symbol_frame *frame;
	struct bench bench;
	const uint8_t *code;
	uint64_t start, at;
	size_t count;

	(void)state;
	begin(&bench, harness_path("unwind_victim"));
	start = find_function(&bench, "victim_leaf");
	assert_int_not_equal(start, 0);
	code = module_bytes(bench.module, start, 64, NULL);
	assert_non_null(code);
	for (at = 0; at < 60 && code[at] != 0xe8; at++)
		;
	assert_true(at < 60);
	frame = look_up(&bench, start + at + 5, FRAME_RETURN, &count);
	assert_int_equal(count, 1);
	assert_string_equal(frame->function, "victim_leaf");
	assert_int_equal(frame->offset, start + at);
	assert_int_equal(frame->function_offset, at);
	assert_string_equal(base_name(frame->file), "unwind_victim.c");
	assert_true(frame->line > 0);
	assert_int_equal(strlen(frame->build_id), 40);
	/* Asked again: the very same. */
	assert_ptr_equal(look_up(&bench, start + at + 5, FRAME_RETURN, &count), frame);
	/* Not behind a call: an address within the instruction, better than none. */
	assert_int_equal(call_site_find(bench.module, start, start + at), start + at - 1);
	assert_int_equal(call_site_find(bench.module, start + at + 9, start + at), start + at - 1);
	end(&bench);
}

static int run(const char *format, const char *a, const char *b)
{
	char command[16384];

	snprintf(command, sizeof(command), format, a, b);
	return system(command);
}

/* A stripped copy with a debug file by debuglink; then the debug file of another build. */
static void split_debug_file(void **state)
{
	char directory[] = "/tmp/test_symbolize.XXXXXX", path[8192];
	const struct symbol_frame *frame;
	struct bench bench, stripped;
	uint64_t start;
	size_t count;

	(void)state;
	begin(&bench, harness_path("unwind_victim"));
	start = find_function(&bench, "victim_outer");
	end(&bench);
	assert_int_not_equal(start, 0);
	assert_non_null(mkdtemp(directory));
	assert_int_equal(run("objcopy --only-keep-debug %s %s/v.debug",
			     harness_path("unwind_victim"), directory), 0);
	assert_int_equal(run("cp %s %s/v", harness_path("unwind_victim"), directory), 0);
	assert_int_equal(run("cd %s && strip v && objcopy --add-gnu-debuglink=v.debug %s",
			     directory, "v"), 0);
	snprintf(path, sizeof(path), "%s/v", directory);
	begin(&stripped, path);
	frame = look_up(&stripped, start + 1, 0, &count);
	assert_string_equal(frame[count - 1].function, "victim_outer");
	assert_string_equal(base_name(frame[0].file), "unwind_victim.c");
	end(&stripped);

	assert_int_equal(run("objcopy --only-keep-debug %s %s/v.debug", harness_path("unwind_cxx"),
			     directory), 0);
	begin(&stripped, path);
	frame = look_up(&stripped, start + 1, 0, &count);
	assert_int_equal(count, 1);
	assert_null(frame->file);
	assert_string_equal(frame->module, path);
	assert_int_equal(frame->offset, start + 1);
	end(&stripped);
	assert_int_equal(run("rm -r %s%s", directory, ""), 0);
}

/* Deleted after it was opened: the names are still there. */
static void deleted_file(void **state)
{
	char path[] = "/tmp/test_symbolize.XXXXXX";
	struct bench bench;
	uint64_t start;
	int fd = mkstemp(path);

	(void)state;
	assert_true(fd >= 0);
	close(fd);
	assert_int_equal(run("cp %s %s", harness_path("unwind_victim"), path), 0);
	begin(&bench, path);
	unlink(path);
	start = find_function(&bench, "victim_outer");
	assert_int_not_equal(start, 0);
	end(&bench);
}

static void unknown_places(void **state)
{
	const struct symbol_frame *frame;
	struct frame nowhere = { .module = 0, .offset = 0x1234 };
	struct bench bench;
	size_t count;

	(void)state;
	begin(&bench, harness_path("unwind_victim"));
	frame = look_up(&bench, 0x7fffffff0000, FRAME_RETURN, &count);
	assert_int_equal(count, 1);
	assert_null(frame->function);
	assert_string_equal(frame->module, bench.path);
	frame = symbolizer_frame(bench.symbolizer, &nowhere, &count);
	assert_int_equal(count, 1);
	assert_null(frame->function);
	assert_string_equal(frame->module, "");
	assert_int_equal(frame->offset, 0x1234);
	nowhere.module = 77;
	assert_null(symbolizer_function_name(bench.symbolizer, &nowhere));
	end(&bench);
}

static void jit_names(void **state)
{
	static const char text[] = "1000 100 first\nbroken\n2000 0 empty\n1080 10 second name\n"
				   "ffffffffffffffff 2 wraps\n3000 20 last";
	struct jit_map *map;

	(void)state;
	assert_int_equal(jit_map_parse(text, strlen(text), &map), 0);
	assert_string_equal(jit_map_find(map, 0x1000)->name, "first");
	assert_string_equal(jit_map_find(map, 0x1085)->name, "second name");
	assert_string_equal(jit_map_find(map, 0x10ff)->name, "first");
	assert_string_equal(jit_map_find(map, 0x301f)->name, "last");
	assert_null(jit_map_find(map, 0x1100));
	assert_null(jit_map_find(map, 0x2000));
	assert_null(jit_map_find(map, 0xfff));
	jit_map_free(map);
	assert_int_equal(jit_map_parse("", 0, &map), 0);
	assert_null(jit_map_find(map, 0));
	jit_map_free(map);
}

static void jit_map_replaced(void **state)
{
	struct frame place = { .module = 0, .flags = FRAME_RETURN, .offset = 0x1005 };
	const struct symbol_frame *frame;
	struct bench bench;
	size_t count;
	int fd = memfd_create("map", MFD_CLOEXEC);

	(void)state;
	begin(&bench, harness_path("unwind_victim"));
	assert_int_equal(dprintf(fd, "1000 10 old\n"), 12);
	assert_int_equal(symbolizer_set_jit_map(bench.symbolizer, fd), 0);
	frame = symbolizer_frame(bench.symbolizer, &place, &count);
	assert_string_equal(frame->function, "old");
	assert_string_equal(frame->module, "[jit]");
	assert_int_equal(dprintf(fd, "1000 10 new\n"), 12);
	assert_int_equal(symbolizer_set_jit_map(bench.symbolizer, fd), 0);
	assert_string_equal(symbolizer_frame(bench.symbolizer, &place, &count)->function, "new");
	/* What was handed out before stays as it was. */
	assert_string_equal(frame->function, "old");
	close(fd);
	end(&bench);
}

static void demangled(void **state)
{
	static const struct { const char *raw, *shown; } cases[] = {
		{ "_ZN4shop5totalEi", "shop::total(int)" },
		{ "_ZN4core3fmt9Formatter3pad17h0123456789abcdefE", "core::fmt::Formatter::pad" },
		{ "_RNvC6_123foo3bar", "123foo::bar" },
		{ "main", NULL },
		{ "_Zgarbage", NULL },
		{ "", NULL },
	};

	(void)state;
#ifndef HAVE_LIBIBERTY
	skip();
#endif
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		char *shown = demangle(cases[i].raw);

		if (cases[i].shown)
			assert_string_equal(shown ? shown : "(null)", cases[i].shown);
		else
			assert_null(shown);
		free(shown);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(like_addr2line),
		cmocka_unit_test(lines_like_llvm),
		cmocka_unit_test(return_address_means_the_call),
		cmocka_unit_test(split_debug_file),
		cmocka_unit_test(deleted_file),
		cmocka_unit_test(unknown_places),
		cmocka_unit_test(jit_names),
		cmocka_unit_test(jit_map_replaced),
		cmocka_unit_test(demangled),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
