/* SPDX-License-Identifier: MIT */
/* symbolize.h - from (module, offset) to function, file, line, column, inline frames. */
#ifndef MEMATTACH_SYMBOLIZE_H
#define MEMATTACH_SYMBOLIZE_H

#include "src/modules/modules.h"
#include "src/modules/stacks.h"

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

#define SYMBOLIZER_MAX_FRAMES 64u	/* of one machine frame */

#define SYMBOLIZER_FORESEEN 128u	/* frames of one question */
/* frame, count: as symbolizer_remote.ask answers; borrowed for the call. */
typedef void symbolizer_tell(void *told, const struct frame *asked,
			     const struct symbol_frame *frame, size_t count);

/* Somebody else who reads modules' files for names. */
struct symbolizer_remote {
	/*
	 * What symbolizer_frame would answer, but for module and build_id: ret and its count, 1 to
	 * SYMBOLIZER_MAX_FRAMES. Strings are borrowed until the next question. 0 or -errno.
	 */
	int (*ask)(void *context, const struct frame *frame,
		   struct symbol_frame ret[SYMBOLIZER_MAX_FRAMES], size_t *ret_count);
	/*
	 * The same of up to SYMBOLIZER_FORESEEN at once: tell has each answer, in their order.
	 * NULL: can't be asked so. -errno: those that were not told of are not known.
	 */
	int (*ask_many)(void *context, const struct frame *frame, uint32_t count,
			symbolizer_tell *tell, void *told);
	void *context;
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
/* The same; NULL: not known yet, to be asked for again (session_names_until). */
const struct symbol_frame *symbolizer_frame_soon(struct symbolizer *symbolizer,
						 const struct frame *frame, size_t *ret_count);
/* The same, of what was asked for before: nobody is asked. NULL: it was not. */
const struct symbol_frame *symbolizer_frame_known(const struct symbolizer *symbolizer,
						  const struct frame *frame, size_t *ret_count);
/*
 * Those will be asked for: a remote is asked for many in one question, which takes a fraction of
 * what they take one by one. Fails silently: they are asked for again when they are wanted.
 */
void symbolizer_foresee(struct symbolizer *symbolizer, const struct frame *frame, uint32_t count);
/* Asks at once, though they are fewer than one question may have. */
void symbolizer_ask_foreseen(struct symbolizer *symbolizer);
/* From now on remote is asked for what is not known yet; NULL: the files are read here. Copied. */
void symbolizer_set_remote(struct symbolizer *symbolizer, const struct symbolizer_remote *remote);
/* Where the modules' files are open for their names. Borrowed, for the symbolizer's life. */
struct dwarf_files *symbolizer_files(const struct symbolizer *symbolizer);
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
