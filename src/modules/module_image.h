/* SPDX-License-Identifier: MIT */
/*
 * module_image.h - a module's ELF bytes, as a private and checked copy.
 *
 * Fills file, file_bytes, fd, segment, eh_frame_hdr and build_id of a struct
 * module from a file, from a mapping, or from pieces of the target's memory.
 */
#ifndef MEMATTACH_MODULE_IMAGE_H
#define MEMATTACH_MODULE_IMAGE_H

#include "src/modules/modules.h"

/*
 * From an ELF file. Takes fd in every case: it becomes module->fd when it is a
 * regular file (also on -EBADMSG and -EFBIG, for its path's sake), else it is closed.
 * 0, -ENOEXEC no x86-64 ELF executable or library, -EBADMSG broken,
 * -EFBIG more than 512 MiB to load, -ENOMEM, -errno.
 */
int module_image_from_fd(struct module *module, int fd) _must_check_;
/* From bytes of memory at address that hold a whole ELF file (the vdso). Errors as above. */
int module_image_from_mapping(struct module *module, const struct module_source *source,
			      uint64_t address, size_t bytes) _must_check_;
/*
 * From an image whose ELF header is mapped at base: what memory has of its PT_LOADs. Errors as
 * above; also -EFBIG: module->room has too little left.
 */
int module_image_from_memory(struct module *module, const struct module_source *source,
			     uint64_t base) _must_check_;
/* Borrows image for ever. */
int module_image_borrow(struct module *module, const void *image, size_t bytes) _must_check_;
/* Gives back what any of the above took; the module may be filled again. */
void module_image_done(struct module *module);
/* The file has the layout only (a debug file): what is at the code's offsets is something else. */
void module_image_forget_code(struct module *module);
/* What must be added to the file's virtual addresses for map to be where it is. 0 or -ENOENT. */
int module_image_bias(const struct module *module, const struct procmap *map, uint64_t *ret);
/* Extent of all PT_LOADs, page-aligned, virtual addresses of the file. */
void module_image_extent(const struct module *module, uint64_t *ret_low, uint64_t *ret_high);
/* False when the first page of the mapped image is certainly another file's. */
bool module_image_is_mapped(const struct module *module, const struct module_source *source);

#endif
