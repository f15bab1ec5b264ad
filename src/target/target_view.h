/* SPDX-License-Identifier: MIT */
/*
 * target_view.h - the target as the analyst sees it: descriptors from the
 * keeper, its maps, its modules, what the stack ranges are.
 */
#ifndef MEMATTACH_TARGET_VIEW_H
#define MEMATTACH_TARGET_VIEW_H

#include "inject/abi/ring_abi.h"
#include "src/elf/elf_image.h"
#include "src/modules/modules.h"
#include "src/target/keeper_link.h"

struct target_view {
	struct keeper_link *link;
	struct proto_hello hello;
	int mem, maps_fd, statm, pagemap, jit;
	struct procmaps maps;		/* as last read, */
	uint64_t reads;			/* of so many */
	struct modules *modules;
	struct elf_reader reader;	/* of mem */
};

/* Says hello to the keeper and reads the target's maps. 0 or -errno. */
int target_view_open(struct target_view *view, struct keeper_link *link, uint64_t names_memory)
	_must_check_;
void target_view_done(struct target_view *view);
/* Reads maps again and brings modules up to date. 1 modules changed, 0, -errno. */
int target_view_refresh(struct target_view *view);
/*
 * Publishes to the shim where the stacks lie of threads that it has met. main_stack_end: the true
 * one (__libc_stack_end), 0 unknown; control_bytes: of all of the mapping that control begins.
 * 0, -EAGAIN the target is just unmapping something.
 */
int target_view_publish_stacks(struct target_view *view, struct ring_control *control,
			       size_t control_bytes, uint64_t main_stack_end);
/*
 * In bytes, now; zeros when it has ended. data: of private mappings that can be written to, and
 * stacks: all that a block can lie in.
 */
struct target_sizes {
	uint64_t rss, vsz, data;
};
struct target_sizes target_view_sizes(const struct target_view *view);

#endif
