/* SPDX-License-Identifier: MIT */
/*
 * start.c - the dynamic loader calls _dl_debug_state when its list of
 * modules begins and ends to change. The first end (RT_CONSISTENT) comes after
 * everything was relocated and before the first constructor runs.
 */
#include "src/session/start.h"

#include <errno.h>
#include <string.h>

#include "src/elf/link_map.h"

enum { MAX_STOPS = 64, AWAIT_MS = 3000, AWAIT_STEP_MS = 5,
       OWN = 3 /* on the list before any library: program, vdso, loader */ };

static int run_to(struct target_view *view, uint64_t address)
{
	uint64_t value[PROTO_ASKED] = { address, 0, 0, 0 };
	int error = keeper_link_call(view->link, PROTO_RUN_TO, value, NULL, 0);

	if (!error)
		error = target_view_refresh(view);
	return error < 0 ? error : 0;
}

enum libraries { LIBRARIES_UNKNOWN, LIBRARIES_NONE, LIBRARIES_CHANGE, LIBRARIES_THERE };

static enum libraries libraries_of(const struct target_view *view,
				   const struct link_map_auxv *auxv)
{
	struct link_map_input input = { .reader = &view->reader, .maps = &view->maps,
					.auxv = *auxv };
	struct link_map_list list = { .count = 0 };
	enum libraries libraries = LIBRARIES_UNKNOWN;

	if (link_map_read(&input, &list) == 0)
		libraries = list.count > 1 && list.debug && list.state == 0 ? LIBRARIES_THERE :
			    list.count > OWN ? LIBRARIES_CHANGE : LIBRARIES_NONE;
	link_map_done(&list);
	return libraries;
}

int session_start_to_libraries(struct target_view *view)
{
	struct link_map_auxv auxv = { 0 };
	struct elf_symbol notify;
	struct elf_image loader;
	int error;

	link_map_parse_auxv(view->hello.auxv, view->hello.auxv_bytes, &auxv);
	if (!auxv.base)		/* without a loader it begins at its entry point, where it stands */
		return auxv.entry ? 0 : -ENOEXEC;
	error = elf_image_open(&view->reader, auxv.base, &loader);
	if (!error)
		error = elf_image_lookup(&loader, "_dl_debug_state", &notify);
	for (int i = 0; !error && i < MAX_STOPS; i++) {
		error = run_to(view, notify.address);
		if (!error && libraries_of(view, &auxv) == LIBRARIES_THERE)
			return 0;
	}
	return error ? error : -ENOEXEC;
}

int session_await_libraries(struct target_view *view)
{
	enum libraries libraries = LIBRARIES_UNKNOWN;
	struct link_map_auxv auxv = { 0 };

	link_map_parse_auxv(view->hello.auxv, view->hello.auxv_bytes, &auxv);
	for (int ms = 0; auxv.base && ms < AWAIT_MS; ms += AWAIT_STEP_MS) {
		int error;

		libraries = libraries_of(view, &auxv);
		if (libraries == LIBRARIES_THERE)
			return 0;
		error = keeper_link_poll(view->link, AWAIT_STEP_MS);
		if (error)
			return error;
		if (view->link->target_gone)
			return view->link->target_execed ? -ESTALE : -ESRCH;
		if (view->link->stop_wanted)
			return 0;
		error = target_view_refresh(view);
		if (error < 0)
			return error;
	}
	return libraries == LIBRARIES_NONE ? -ETIME : 0;
}
