/* SPDX-License-Identifier: MIT */
/*
 * leak_assigned_bench.c - see leak_assigned_bench.h.
 *
 * Calls come from objdump's listing: what is measured should not also be what finds them.
 */
#include "tests/unit/leak_assigned_bench.h"

#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>

#define PLACE	0x7f0000000000ull

static int open_file(void *context, const struct procmap *map)
{
	(void)context;
	return open(map->path, O_RDONLY | O_CLOEXEC);
}

/* The line of /proc/PID/maps for the program's code. */
static int maps_line(const char *path, char *text, size_t bytes)
{
	_cleanup_fd_ int fd = open(path, O_RDONLY | O_CLOEXEC);
	Elf64_Phdr phdr[64];
	Elf64_Ehdr header;

	if (fd < 0 || pread(fd, &header, sizeof(header), 0) != sizeof(header) ||
	    header.e_phnum > ARRAY_SIZE(phdr) ||
	    pread(fd, phdr, header.e_phnum * sizeof(phdr[0]), (off_t)header.e_phoff) <= 0)
		return -ENOEXEC;
	for (unsigned int i = 0; i < header.e_phnum; i++) {
		if (phdr[i].p_type != PT_LOAD || !(phdr[i].p_flags & PF_X))
			continue;
		snprintf(text, bytes, "%llx-%llx r-xp %08llx 08:01 7 %s\n",
			 PLACE + (phdr[i].p_vaddr & ~0xfffull),
			 PLACE + ((phdr[i].p_vaddr + phdr[i].p_filesz + 0xfff) & ~0xfffull),
			 (unsigned long long)phdr[i].p_offset & ~0xfffull, path);
		return 0;
	}
	return -ENOEXEC;
}

int bench_begin(const char *path, struct bench *ret)
{
	struct module_source files = { .open_file = open_file };
	_cleanup_(procmaps_done) struct procmaps maps = { 0 };
	struct bench bench = { .modules = NULL };
	char text[8192];
	int r = maps_line(path, text, sizeof(text));

	if (r == 0)
		r = procmaps_parse(text, strlen(text), &maps);
	if (r == 0)
		r = modules_new(&files, &bench.modules);
	if (r == 0)
		r = modules_update(bench.modules, &maps);
	if (r >= 0)
		r = symbolizer_new(bench.modules, &bench.symbolizer);
	if (r < 0) {
		bench_end(&bench);
		return r;
	}
	*ret = bench;
	return 0;
}

void bench_end(struct bench *bench)
{
	symbolizer_free(bench->symbolizer);
	modules_free(bench->modules);
}

/* ---- calls ---- */

/* The symbol in <symbol+0x12>, without what compilers and linkers add to its end. */
static bool read_symbol(const char *line, char symbol[128])
{
	const char *open = strchr(line, '<');
	size_t bytes = open ? strcspn(open + 1, "@>+.") : 0;

	if (bytes == 0 || bytes >= 128 || open[bytes + 1] == '+')
		return false;
	memcpy(symbol, open + 1, bytes);
	symbol[bytes] = '\0';
	return true;
}

static struct bench_call *add(struct bench_calls *calls)
{
	size_t room = calls->room ? calls->room * 2 : 256;
	struct bench_call *grown;

	if (calls->count == calls->room) {
		grown = reallocarray(calls->call, room, sizeof(*grown));
		if (!grown)
			return NULL;
		calls->call = grown;
		calls->room = room;
	}
	return &calls->call[calls->count++];
}

struct reading {
	char function[128];
	bool pending;		/* the last line was a call: the next line's address is its end */
};

/* "0000000000001136 <main>:" or "    1139:\tcall   1040 <malloc@plt>" */
static int read_line(struct reading *reading, const char *line, struct bench_calls *calls)
{
	struct bench_call *call;
	char *after;
	uint64_t address = strtoull(line, &after, 16);

	if (after == line)
		return 0;
	if (*after == ' ' && line[0] != ' ') {
		reading->pending = false;
		(void)read_symbol(line, reading->function);
		return 0;
	}
	if (*after != ':')
		return 0;
	if (reading->pending)
		calls->call[calls->count - 1].return_address = address;
	reading->pending = false;
	if (!strstr(line, "\tcall "))
		return 0;
	call = add(calls);
	if (!call)
		return -ENOMEM;
	*call = (struct bench_call){ .return_address = 0 };
	memcpy(call->function, reading->function, sizeof(call->function));
	reading->pending = read_symbol(line, call->callee);
	if (!reading->pending)
		calls->count--;
	return 0;
}

int bench_calls_read(const char *path, struct bench_calls *ret)
{
	_cleanup_free_ char *command = NULL, *line = NULL;
	struct bench_calls calls = { NULL, 0, 0 };
	struct reading reading = { .pending = false };
	size_t room = 0;
	FILE *objdump;
	int r = 0;

	if (asprintf(&command, "objdump -d --no-show-raw-insn -j .text '%s'", path) < 0)
		return -ENOMEM;
	objdump = popen(command, "r");
	if (!objdump)
		return -errno;
	while (r == 0 && getline(&line, &room, objdump) > 0)
		r = read_line(&reading, line, &calls);
	if (pclose(objdump) != 0 && r == 0)
		r = -EIO;
	if (r < 0) {
		bench_calls_done(&calls);
		return r;
	}
	*ret = calls;
	return 0;
}

void bench_calls_done(struct bench_calls *calls)
{
	free(calls->call);
	*calls = (struct bench_calls){ NULL, 0, 0 };
}

bool bench_is_named(const char *names, const char *name)
{
	size_t bytes = strlen(name);

	for (const char *at = names; at; at = strchr(at, ',')) {
		at += *at == ',';
		if (strcspn(at, ",") == bytes && memcmp(at, name, bytes) == 0)
			return true;
	}
	return false;
}
