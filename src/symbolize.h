/* SPDX-License-Identifier: MIT */
/* symbolize.h - from (module, offset) to function, file, line, column, inline frames. */
#ifndef MEMATTACH_SYMBOLIZE_H
#define MEMATTACH_SYMBOLIZE_H

#include "src/modules.h"
#include "src/stacks.h"

struct symbol_frame {
	const char *function;		/* demangled; NULL: unknown (print module+offset) */
	const char *file;		/* NULL: unknown */
	uint32_t line, column;		/* 0: unknown */
	/*
	 * Of the call instruction (of the instruction itself, if the frame is no
	 * return address), from the entry of the function that is really there;
	 * frames inlined into it have the same.
	 */
	uint64_t function_offset;
	const char *module;		/* path, "[vdso]", "[jit]" or "" */
	const char *build_id;		/* hex, "" unknown */
	uint64_t offset;		/* of the call instruction in the module, or its address */
	bool inlined;			/* inlined into the next frame of this list */
};

struct symbolizer;
/* modules is borrowed and must outlive the symbolizer. 0 or -ENOMEM. */
int symbolizer_new(struct modules *modules, struct symbolizer **ret) _must_check_;
void symbolizer_free(struct symbolizer *symbolizer);
/*
 * All source-level frames of one machine frame, innermost first, at least one.
 * Borrowed, valid for the symbolizer's life (results are cached). The first
 * question about a module opens its debug information: up to a second for a large one.
 */
const struct symbol_frame *symbolizer_frame(struct symbolizer *symbolizer,
					    const struct frame *frame, size_t *ret_count);
/*
 * The module's file as it is opened for its names; NULL: none can be had. Borrowed, valid for
 * the symbolizer's life.
 */
struct dwarf_file *symbolizer_file(struct symbolizer *symbolizer, const struct module *module);
/*
 * The linkage name of the function at frame from the symbol tables alone, no
 * inline frames, not demangled; NULL when unknown. Valid for the symbolizer's life.
 */
const char *symbolizer_function_name(struct symbolizer *symbolizer, const struct frame *frame);
/*
 * Names for JIT code from the perf map file fd (/tmp/perf-PID.map; read now, not
 * kept open). Replaces an earlier one for frames that are asked for from now on.
 * 0, -EINVAL no regular file, -ENOMEM, -errno.
 */
int symbolizer_set_jit_map(struct symbolizer *symbolizer, int fd);

#endif
