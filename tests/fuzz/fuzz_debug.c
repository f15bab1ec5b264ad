/* SPDX-License-Identifier: MIT */
/*
 * fuzz_debug.c - forged debug information: frames, lines, variables, types, fields.
 *
 * The input overwrites pieces of the debug sections of subject4.so or subject5.so, which lie
 * beside this program (DWARF 4, 5). What libdw dies of costs a child (src/base/apart.h), which
 * is no failure; that the process here dies, or that nobody answers without a reason, is. What a
 * sanitizer has to say of our own code in the child it says on stderr, and in its log.
 */
#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "src/base/apart.h"
#include "src/base/log.h"
#include "src/unwind/cfi_rule.h"
#include "src/leak/variable/assigned.h"
#include "src/debuginfo/fields.h"
#include "src/leak/holders/frame_variables.h"
#include "src/symbolize/symbolize.h"
#include "tests/unit/leak_heap_lab.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);
int LLVMFuzzerInitialize(int *argc, char ***argv);
const char *__asan_default_options(void);

#define PLACE		0x7f0000000000ull
#define MAX_BYTES	(1u << 20)
#define MAX_SECTIONS	32u

struct subject {
	uint8_t *bytes;
	size_t size;
	Elf64_Shdr section[MAX_SECTIONS];	/* of debug information */
	unsigned int section_count;
	Elf64_Phdr code, data;
};
static struct subject subjects[2];

/* A subject with lies in it, and who reads it. */
struct trial {
	uint8_t bytes[MAX_BYTES];
	const struct subject *subject;
	struct modules *modules;
	unsigned int named;	/* frames, variables: in the child */
};

/* libdw's ends are told by signals; it is not ours to mend, and its strings are not watched. */
const char *__asan_default_options(void)
{
	return "handle_segv=0:handle_sigbus=0:handle_abort=0:handle_sigfpe=0:handle_sigill=0:"
	       "replace_str=0:replace_intrin=0:detect_leaks=0";
}

/* ---- the subjects ---- */

static void find_parts(struct subject *s)
{
	const Elf64_Ehdr *header = (const void *)s->bytes;
	const Elf64_Shdr *section = (const void *)(s->bytes + header->e_shoff);
	const Elf64_Phdr *phdr = (const void *)(s->bytes + header->e_phoff);
	const char *names = (const char *)s->bytes + section[header->e_shstrndx].sh_offset;

	for (unsigned int i = 0; i < header->e_shnum; i++)
		if (strncmp(names + section[i].sh_name, ".debug_", 7) == 0 &&
		    section[i].sh_size && s->section_count < MAX_SECTIONS)
			s->section[s->section_count++] = section[i];
	for (unsigned int i = 0; i < header->e_phnum; i++) {
		if (phdr[i].p_type == PT_LOAD && (phdr[i].p_flags & PF_X))
			s->code = phdr[i];
		if (phdr[i].p_type == PT_LOAD && (phdr[i].p_flags & PF_W))
			s->data = phdr[i];
	}
	if (!s->section_count || !s->code.p_filesz || !s->data.p_memsz)
		abort();
}

static void read_subject(struct subject *s, const char *program, char version)
{
	const char *slash = strrchr(program, '/');
	char path[4096];
	FILE *file;

	(void)snprintf(path, sizeof(path), "%.*ssubject%c.so",
		       slash ? (int)(slash + 1 - program) : 0, program, version);
	file = fopen(path, "re");
	s->bytes = calloc(1, MAX_BYTES);
	if (!file || !s->bytes)
		abort();
	s->size = fread(s->bytes, 1, MAX_BYTES, file);
	fclose(file);
	find_parts(s);
}

int LLVMFuzzerInitialize(int *argc, char ***argv)
{
	(void)argc;
	log_init(LOG_ERROR);
	read_subject(&subjects[0], (*argv)[0], '4');
	read_subject(&subjects[1], (*argv)[0], '5');
	return 0;
}

/* A few more lies that follow from the input: small inputs come first, and say little. */
static void mutate_more(struct trial *trial, uint64_t seed)
{
	static const uint8_t nasty[] = { 0, 1, 0x7f, 0x80, 0xff, 0x04, 0x08, 0x16, 0x21 };
	const struct subject *s = trial->subject;

	seed = (seed + 1) * LAB_RANDOM;
	for (uint64_t i = 0, count = seed >> 32 & 7; i <= count; i++) {
		uint64_t draw = lab_draw(&seed);
		const Elf64_Shdr *section = &s->section[(draw >> 48) % s->section_count];
		uint64_t at = (draw >> 8) % (draw & 1 ? section->sh_size :
					     section->sh_size < 64 ? section->sh_size : 64);

		trial->bytes[section->sh_offset + at] =
			draw & 2 ? nasty[(draw >> 40) % sizeof(nasty)] : (uint8_t)(draw >> 32);
	}
}

/* Which section, where in it, how much: then the bytes. */
static void mutate(struct trial *trial, const uint8_t *data, size_t size)
{
	const struct subject *s = trial->subject;
	uint64_t seed = 14695981039346656037u;

	memcpy(trial->bytes, s->bytes, s->size);
	for (size_t i = 0; i < size; i++)
		seed = (seed ^ data[i]) * 1099511628211u;
	if (size > 0)
		mutate_more(trial, seed);
	while (size > 4) {
		const Elf64_Shdr *section = &s->section[data[0] % s->section_count];
		size_t at = (data[1] | (size_t)data[2] << 8) % section->sh_size;
		size_t n = data[3] % 16u + 1;

		n = n < size - 4 ? n : size - 4;
		n = n < section->sh_size - at ? n : section->sh_size - at;
		memcpy(trial->bytes + section->sh_offset + at, data + 4, n);
		data += 4 + n;
		size -= 4 + n;
	}
}

/* ---- in the child ---- */

static void ask_frames(struct trial *trial)
{
	const Elf64_Phdr *code = &trial->subject->code;
	struct symbolizer *symbolizer;
	struct assigned_finder *finder;
	struct assigned assigned;
	size_t count;

	if (symbolizer_new(trial->modules, &symbolizer) < 0 ||
	    assigned_finder_new(trial->modules, symbolizer, NULL, &finder) < 0)
		return;
	for (uint64_t at = 1; at < code->p_filesz; at += 3) {
		const struct frame frame = { .module = 1, .flags = FRAME_RETURN,
					     .offset = code->p_vaddr + at };

		trial->named += symbolizer_frame(symbolizer, &frame, &count)->line > 0;
		if (assigned_find(finder, &frame, 1, &assigned) == 0)
			trial->named += assigned.how != ASSIGNED_UNKNOWN;
	}
	assigned_finder_free(finder);
	symbolizer_free(symbolizer);
}

static void ask_path(struct fields *fields, const struct field_variable *variable)
{
	uint64_t bytes = fields_size(&variable->type);
	struct field_path path;
	struct field_view view;

	for (uint64_t at = 0; at < bytes && at < 256; at += 8) {
		fields_walk(fields, &variable->type, at, &path);
		if (path.fit == FIELD_POINTER && fields_follow(fields, &path, NULL, 0, &view))
			fields_walk_block(fields, &view, 64, 8, &path);
	}
}

static void ask_variables(struct trial *trial, struct fields *fields)
{
	const struct module *module = modules_get(trial->modules, 1);
	const Elf64_Phdr *data = &trial->subject->data;
	struct field_variable variable;
	struct field_type type;

	for (uint64_t at = 0; at < data->p_memsz; at += 8)
		if (fields_global(fields, PLACE + data->p_vaddr + at, &variable)) {
			trial->named++;
			ask_path(fields, &variable);
		}
	for (uint64_t at = 0; at < 16; at += 8)
		(void)fields_thread_local(fields, module, at, &variable);
	(void)fields_type_named(fields, PLACE + data->p_vaddr, "node", &type);
}

/* Every register of every place in the code, and some of the frame. */
static void ask_locals(struct trial *trial, struct fields *fields)
{
	struct debug_index *index = fields_index(fields, modules_get(trial->modules, 1));
	const Elf64_Phdr *code = &trial->subject->code;
	const uint64_t value[CFI_REGISTERS] = { [CFI_RSP] = 0x1000, [CFI_RBP] = 0x1100 };
	struct frame_state state = { .value = value, .cfa = 0x1200, .bias = PLACE };
	struct debug_function function;

	for (uint64_t at = 0; index && at < code->p_filesz; at += 7) {
		state.pc = code->p_vaddr + at;
		if (debug_index_function(index, state.pc, &function) != 0)
			continue;
		state.function = &function.die;
		for (unsigned int i = 0; i < 24; i++) {
			struct frame_variable wanted = {
				.wanted_register = i < 16 ? i : FRAME_NO_REGISTER,
				.wanted_address = 0x1180 + i * 8,
			};

			trial->named += frame_variable_find(&state, &wanted);
		}
	}
}

static int answer(void *context, const void *question, size_t bytes, struct apart_answer *ret)
{
	static const int fatal[] = { SIGABRT, SIGBUS, SIGFPE, SIGILL, SIGSEGV, SIGTRAP };
	struct trial *trial = context;
	struct fields *fields;

	(void)question;
	(void)bytes;
	for (size_t i = 0; i < ARRAY_SIZE(fatal); i++)
		(void)signal(fatal[i], SIG_DFL);
	trial->named = 0;
	ask_frames(trial);
	if (fields_new(trial->modules, &fields) == 0) {
		ask_variables(trial, fields);
		ask_locals(trial, fields);
		fields_free(fields);
	}
	return apart_put(ret, &trial->named, sizeof(trial->named));
}

/* ---- in the parent ---- */

static bool blame(void *context, const char *how)
{
	const struct trial *trial = context;

	(void)how;
	return modules_blame(trial->modules, how);
}

static int open_file(void *context, const struct procmap *map)
{
	const struct trial *trial = context;
	int fd = memfd_create("subject", MFD_CLOEXEC);
	size_t size = trial->subject->size;

	(void)map;
	if (fd >= 0 && write(fd, trial->bytes, size) != (ssize_t)size) {
		close(fd);
		return -EIO;
	}
	return fd < 0 ? -errno : fd;
}

static void load(struct trial *trial)
{
	const struct module_source source = { .open_file = open_file, .context = trial };
	const Elf64_Phdr *code = &trial->subject->code;
	struct procmap map = {
		.start = PLACE + (code->p_vaddr & ~0xfffull), .inode = 1,
		.end = PLACE + ((code->p_vaddr + code->p_filesz + 0xfff) & ~0xfffull),
		.offset = code->p_offset & ~0xfffull,
		.prot = PROCMAP_R | PROCMAP_X, .path = "/subject",
	};
	struct procmaps maps = { .count = 1, .map = &map };

	if (modules_new(&source, &trial->modules) < 0 || modules_update(trial->modules, &maps) < 0)
		abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static struct trial trial;
	const struct apart_work work = { answer, blame, &trial, 10 };
	struct apart_reader reader;
	struct apart *apart;
	unsigned int named = 0;

	trial.subject = &subjects[size ? data[0] % 2 : 0];
	mutate(&trial, data + (size > 0), size - (size > 0));
	load(&trial);
	if (apart_new(&work, &apart) < 0 || apart_ask(apart, "", 1, &reader) != 0 ||
	    apart_get(&reader, &named, sizeof(named)) != 0)
		abort();
	if (size <= 1 && named < 40)
		abort();
	apart_free(apart);
	modules_free(trial.modules);
	return 0;
}
