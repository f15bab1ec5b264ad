/* SPDX-License-Identifier: MIT */
/*
 * target_view.c - see target_view.h. The analyst has no rights over the target:
 * everything comes through descriptors that the keeper opened for it.
 */
#include "src/target/target_view.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "inject/attach/ring_publish.h"
#include "inject/keeper/hello.h"
#include "src/target/thread_stacks.h"

static int open_mapped(void *context, const struct procmap *map)
{
	struct target_view *view = context;
	uint64_t value[PROTO_ASKED] = { map->start, map->end, 0, 0 };
	int error = keeper_link_call(view->link, PROTO_OPEN_FILE, value, NULL, 0);

	return error ? error : keeper_link_take_fd(view->link, 0);
}

static int read_memory(void *context, uint64_t address, void *buffer, size_t bytes)
{
	struct target_view *view = context;

	return elf_reader_fd(&view->mem, address, buffer, bytes);
}

int target_view_open(struct target_view *view, struct keeper_link *link, uint64_t names_memory)
{
	struct module_source source = { open_mapped, read_memory, view };
	int error = keeper_link_call(link, PROTO_HELLO, NULL, NULL, 0);

	memset(view, 0, sizeof(*view));
	view->link = link;
	view->mem = keeper_link_take_fd(link, HELLO_MEM);
	view->maps_fd = keeper_link_take_fd(link, HELLO_MAPS);
	view->statm = keeper_link_take_fd(link, HELLO_STATM);
	view->pagemap = keeper_link_take_fd(link, HELLO_PAGEMAP);
	view->jit = keeper_link_take_fd(link, HELLO_JIT);
	view->reader = (struct elf_reader){ elf_reader_fd, &view->mem };
	if (error)
		return error;
	if (link->reply.payload_bytes != sizeof(view->hello))
		return -EPROTO;
	memcpy(&view->hello, link->payload, sizeof(view->hello));
	view->hello.exe[sizeof(view->hello.exe) - 1] = '\0';
	view->hello.cmdline[sizeof(view->hello.cmdline) - 1] = '\0';
	error = modules_new(&source, &view->modules);
	if (!error && names_memory)	/* before the first of them is copied */
		modules_set_room(view->modules, names_memory);
	if (!error)
		error = target_view_refresh(view);
	return error < 0 ? error : 0;
}

void target_view_done(struct target_view *view)
{
	modules_free(view->modules);
	procmaps_done(&view->maps);
	cleanup_fd(&view->mem);
	cleanup_fd(&view->maps_fd);
	cleanup_fd(&view->statm);
	cleanup_fd(&view->pagemap);
	cleanup_fd(&view->jit);
}

int target_view_refresh(struct target_view *view)
{
	struct procmaps maps = { 0 };
	int error = procmaps_read(view->maps_fd, &maps);

	if (error)
		return error;
	if (maps.count == 0) {		/* ended: keep what we knew */
		procmaps_done(&maps);
		return 0;
	}
	procmaps_done(&view->maps);
	view->maps = maps;
	view->reads++;
	return modules_update(view->modules, &view->maps);
}

int target_view_publish_stacks(struct target_view *view, struct ring_control *control,
			       size_t control_bytes, uint64_t main_stack_end)
{
	static struct thread_stacks stacks;
	const struct thread_stacks_input input = { control, control_bytes, &view->maps, view->mem,
						   view->pagemap };
	uint64_t ticket;
	int error = ring_publish_stacks_begin(control, &ticket);

	if (!error)
		error = target_view_refresh(view);
	if (error < 0)
		return error;
	for (size_t i = 0; i < view->maps.count; i++) {
		const struct procmap *map = &view->maps.map[i];

		if (strcmp(map->path, "[stack]") == 0) {
			bool inside = main_stack_end > map->start && main_stack_end < map->end;

			control->main_stack_low = map->start;
			control->main_stack_high =
				inside ? (main_stack_end + 15) & ~15ull : map->end;
		}
	}
	thread_stacks_find(&input, &stacks);
	return ring_publish_stacks(
		control, &(struct ring_stacks){ stacks.range, stacks.count, stacks.word }, ticket);
}

struct target_sizes target_view_sizes(const struct target_view *view)
{
	unsigned long long vsz = 0, rss = 0, data = 0;
	uint64_t page = (uint64_t)sysconf(_SC_PAGESIZE);
	char text[128];
	ssize_t got = pread(view->statm, text, sizeof(text) - 1, 0);

	if (got > 0) {
		text[got] = '\0';
		(void)sscanf(text, "%llu %llu %*s %*s %*s %llu", &vsz, &rss, &data);
	}
	return (struct target_sizes){ .rss = rss * page, .vsz = vsz * page, .data = data * page };
}
