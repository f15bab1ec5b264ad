/* SPDX-License-Identifier: MIT */
/*
 * fuzz_paths.c - a target that names call paths as it likes: any return addresses, any number of
 * them, names told twice, forgotten and asked for. The path of a name is the one that was told last
 * in this epoch, else in the one before; its frames are its addresses, as far as it goes.
 *
 * Input: a module and a stack (fuzz_module.h), then commands: what, and a name.
 */
#include <stdlib.h>
#include <string.h>

#include "src/recognition/path_table.h"
#include "tests/fuzz/fuzz_module.h"

#define NAMES		256u
#define MOST_WORDS	(RING_MAX_STACK_BYTES / sizeof(uint64_t))

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

struct fuzz {
	struct fuzz_input input;
	struct modules *modules;
	struct stacks *stacks;
	struct paths *paths;
	uint32_t now[NAMES], before[NAMES];	/* stacks, 0: not told */
};
static uint64_t words[FUZZ_STACK_WORDS], path[MOST_WORDS];

static void must(bool good)
{
	if (!good)
		abort();
}

static uint32_t take(struct fuzz *f)
{
	uint8_t byte = 0;

	if (f->input.left > 0) {
		byte = *f->input.at++;
		f->input.left--;
	}
	return byte;
}

/* So many addresses, of which most lead into the module. */
static uint32_t make_path(struct fuzz *f)
{
	uint32_t first = take(f), count = take(f) * (take(f) % 16 + 1);

	for (uint32_t i = 0; i < count && i < MOST_WORDS; i++)
		path[i] = words[(first + i) % FUZZ_STACK_WORDS];
	return count < MOST_WORDS ? count : MOST_WORDS;
}

static void check_stack(const struct fuzz *f, uint32_t id, uint32_t count, bool truncated)
{
	struct stack stack = stacks_get(f->stacks, id);

	must(stack.frame_count <= count && stack.frame_count <= STACKS_MAX_FRAMES);
	must(!(stack.flags & STACK_TRUNCATED) == !(truncated || stack.frame_count < count));
	for (uint32_t i = 0; i < stack.frame_count; i++) {
		const struct module *module = modules_get(f->modules, stack.frame[i].module);

		must(stack.frame[i].offset + (module ? module->bias : 0) == path[i]);
		must(stack.frame[i].flags & FRAME_RETURN);
	}
}

static uint32_t path_of(const struct fuzz *f, uint32_t name)
{
	return f->now[name] ? f->now[name] : f->before[name];
}

static void tell(struct fuzz *f, uint32_t name, bool truncated)
{
	uint32_t count = make_path(f);
	const struct event event = {
		.kind = RING_PATH, .path = name + 1, .stack = (const uint8_t *)path,
		.stack_bytes = count * (uint32_t)sizeof(*path),
		.flags = truncated ? RING_F_TRUNCATED : 0,
	};
	uint32_t known;

	must(paths_add(f->paths, &event) == 0);
	f->now[name] = paths_find(f->paths, name + 1);
	must(f->now[name] != 0);
	check_stack(f, f->now[name], count, truncated);
	known = stacks_count(f->stacks);
	must(paths_add(f->paths, &event) == 0);
	must(stacks_count(f->stacks) == known && paths_find(f->paths, name + 1) == f->now[name]);
}

static void renew(struct fuzz *f)
{
	paths_renew(f->paths);
	memcpy(f->before, f->now, sizeof(f->before));
	memset(f->now, 0, sizeof(f->now));
}

static void find(struct fuzz *f, uint32_t name)
{
	uint32_t glanced;

	paths_foresee(f->paths, name + 1);
	glanced = paths_glance(f->paths, name + 1);
	must(glanced == 0 || glanced == f->now[name]);
	must(paths_find(f->paths, name + 1) == path_of(f, name));
}

static void check_all(struct fuzz *f)
{
	uint64_t told = 0;

	for (uint32_t name = 0; name < NAMES; name++) {
		find(f, name);
		told += f->now[name] != 0;
	}
	must(paths_are_many(f->paths, told) == false);
	must(told == 0 || paths_are_many(f->paths, told - 1));
}

static void do_command(struct fuzz *f)
{
	uint32_t what = take(f), name = take(f);

	if (what % 8 < 5)
		tell(f, name, what & 128);
	else if (what % 8 < 7)
		find(f, name);
	else
		renew(f);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static struct fuzz_file file;
	struct fuzz f = { .input = { data, size } };
	struct unwind_input walk = { 0 };

	fuzz_module_make(&file, &f.input);
	fuzz_module_stack(&walk, words, &f.input);
	f.modules = fuzz_module_load(&file);
	must(stacks_new(&f.stacks) == 0 && paths_new(f.stacks, f.modules, &f.paths) == 0);
	while (f.input.left > 0)
		do_command(&f);
	check_all(&f);
	paths_free(f.paths);
	stacks_free(f.stacks);
	modules_free(f.modules);
	return 0;
}
