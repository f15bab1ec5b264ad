/* SPDX-License-Identifier: MIT */
/*
 * module_image.c - a module's ELF bytes, as a private and checked copy.
 *
 * Of a file the headers and the PT_LOADs are copied when they are asked for
 * (module_pages.c); a file that shrinks meanwhile leaves zeros. Sections that
 * are not loaded (debug information, the greater part of a debug build) are left
 * out; dwarf_file.c reads those through the descriptor, on demand. What is loaded
 * is 2-20 MB for a server, 200 MB for a browser; above 512 MiB the module has no
 * bytes.
 * Refuses everything but 64-bit little-endian x86-64 ET_EXEC and ET_DYN.
 */
#include "src/modules/module_image.h"

#include <elf.h>
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>

#include "src/base/log.h"
#include "src/modules/image_room.h"
#include "src/modules/module_pages.h"

#define PAGE_BYTES	4096u
#define MAX_PHDR	512u
#define MAX_LOADED	(512ull << 20)
#define MAX_VDSO	(1u << 20)
#define MAX_FILE	(1ull << 40)
#define MAX_ADDRESS	(1ull << 47)
#define MAX_NOTES	65536u

struct note {
	uint64_t offset, bytes;
	uint64_t align;
};

/* What one pass over the program headers finds. */
struct layout {
	struct module_segment *segment;
	uint32_t segment_count;
	uint64_t loaded_bytes;		/* sum of the PT_LOADs' file parts */
	uint64_t end;			/* of the last PT_LOAD in the file */
	uint64_t eh_frame_hdr;
	struct note note[4];
	uint32_t note_count;
};

static int check_header(const Elf64_Ehdr *header)
{
	if (memcmp(header->e_ident, ELFMAG, SELFMAG) != 0 ||
	    header->e_ident[EI_CLASS] != ELFCLASS64 || header->e_ident[EI_DATA] != ELFDATA2LSB ||
	    header->e_machine != EM_X86_64 ||
	    (header->e_type != ET_EXEC && header->e_type != ET_DYN))
		return -ENOEXEC;
	if (header->e_phentsize != sizeof(Elf64_Phdr) || header->e_phnum == 0 ||
	    header->e_phnum > MAX_PHDR)
		return -EBADMSG;
	return 0;
}

static int take_load(struct layout *layout, const Elf64_Phdr *p)
{
	struct module_segment *segment = &layout->segment[layout->segment_count];

	if (p->p_filesz > p->p_memsz || p->p_vaddr > MAX_ADDRESS || p->p_memsz > MAX_ADDRESS ||
	    p->p_offset > MAX_FILE || p->p_filesz > MAX_FILE)
		return -EBADMSG;
	*segment = (struct module_segment){
		.address = p->p_vaddr, .memory_bytes = p->p_memsz,
		.offset = p->p_offset, .file_bytes = p->p_filesz, .flags = p->p_flags,
	};
	layout->segment_count++;
	layout->loaded_bytes += p->p_filesz;
	if (p->p_offset + p->p_filesz > layout->end)
		layout->end = p->p_offset + p->p_filesz;
	return 0;
}

static int take_header(struct layout *layout, const Elf64_Phdr *p)
{
	if (p->p_type == PT_LOAD)
		return take_load(layout, p);
	if (p->p_type == PT_GNU_EH_FRAME)
		layout->eh_frame_hdr = p->p_vaddr;
	if (p->p_type == PT_NOTE && layout->note_count < 4)
		layout->note[layout->note_count++] = (struct note){
			.offset = p->p_offset, .bytes = p->p_filesz, .align = p->p_align,
		};
	return 0;
}

/* Reads count program headers; layout->segment is the caller's to free, also after an error. */
static int read_layout(const Elf64_Phdr *phdr, uint32_t count, struct layout *layout)
{
	layout->segment = calloc(count, sizeof(*layout->segment));
	if (!layout->segment)
		return -ENOMEM;
	for (uint32_t i = 0; i < count; i++) {
		int r = take_header(layout, &phdr[i]);

		if (r < 0)
			return r;
	}
	return layout->segment_count > 0 ? 0 : -EBADMSG;
}

/* Reads as much as there is; the rest of buffer stays as it was. */
static void read_some(int fd, uint8_t *buffer, size_t bytes, uint64_t offset)
{
	while (bytes > 0) {
		ssize_t n = pread(fd, buffer, bytes, (off_t)offset);

		if (n < 0 && errno == EINTR)
			continue;
		if (n <= 0)
			return;
		buffer += n;
		offset += (uint64_t)n;
		bytes -= (size_t)n;
	}
}

static void take_build_id(struct module *module, const uint8_t *id, size_t bytes)
{
	if (bytes > (sizeof(module->build_id) - 1) / 2)
		return;
	for (size_t i = 0; i < bytes; i++)
		snprintf(module->build_id + 2 * i, 3, "%02x", id[i]);
}

static bool scan_notes(struct module *module, const uint8_t *note, size_t bytes, size_t align)
{
	size_t at = 0;

	while (at < bytes && bytes - at >= sizeof(Elf64_Nhdr)) {
		Elf64_Nhdr header;
		size_t name = at + sizeof(header), id, end;

		memcpy(&header, note + at, sizeof(header));
		if (header.n_namesz > bytes || header.n_descsz > bytes)
			return false;
		id = (name + header.n_namesz + align - 1) & ~(align - 1);
		end = id + header.n_descsz;
		if (end > bytes)
			return false;
		if (header.n_type == NT_GNU_BUILD_ID && header.n_namesz == 4 &&
		    memcmp(note + name, "GNU", 4) == 0) {
			take_build_id(module, note + id, header.n_descsz);
			return true;
		}
		at = (end + align - 1) & ~(align - 1);
	}
	return false;
}

/* Notes outside the PT_LOADs are zeros in the copy and not found: none is seen in practice. */
static void find_build_id(struct module *module, const struct layout *layout)
{
	for (uint32_t i = 0; i < layout->note_count; i++) {
		const struct note *note = &layout->note[i];
		size_t bytes = note->bytes < MAX_NOTES ? note->bytes : MAX_NOTES;

		const uint8_t *at = module_file(module, note->offset, bytes);

		if (at && scan_notes(module, at, bytes, note->align == 8 ? 8 : 4))
			return;
	}
}

/* Clips the segments to what the file has and hands everything to module. */
static void adopt(struct module *module, struct layout *layout, const uint8_t *file,
		  struct module_pages *pages, size_t bytes)
{
	for (uint32_t i = 0; i < layout->segment_count; i++) {
		struct module_segment *segment = &layout->segment[i];

		if (segment->offset > bytes)
			segment->offset = bytes;
		if (segment->file_bytes > bytes - segment->offset)
			segment->file_bytes = bytes - segment->offset;
	}
	module->segment = layout->segment;
	module->segment_count = layout->segment_count;
	module->eh_frame_hdr = layout->eh_frame_hdr;
	layout->segment = NULL;
	module->file = file;
	module->pages = pages;
	module->file_bytes = bytes;
	if (file)
		find_build_id(module, layout);
}

static uint8_t *reserve(size_t bytes)
{
	void *at = mmap(NULL, bytes, PROT_READ | PROT_WRITE,
			MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);

	return at == MAP_FAILED ? NULL : at;
}

/* The program headers of a file; *ret is malloc'ed. */
static int read_phdrs(int fd, Elf64_Phdr **ret, uint32_t *ret_count)
{
	Elf64_Ehdr header = { 0 };
	Elf64_Phdr *phdr;
	int r;

	read_some(fd, (uint8_t *)&header, sizeof(header), 0);
	r = check_header(&header);
	if (r < 0)
		return r;
	if (header.e_phoff > MAX_FILE)
		return -EBADMSG;
	phdr = calloc(header.e_phnum, sizeof(*phdr));
	if (!phdr)
		return -ENOMEM;
	read_some(fd, (uint8_t *)phdr, header.e_phnum * sizeof(*phdr), header.e_phoff);
	*ret = phdr;
	*ret_count = header.e_phnum;
	return 0;
}

static int fill_from_fd(struct module *module, int fd, size_t bytes)
{
	_cleanup_free_ Elf64_Phdr *phdr = NULL;
	struct layout layout = { 0 };
	struct module_pages *pages = NULL;
	uint32_t count = 0;
	int r = read_phdrs(fd, &phdr, &count);

	if (r == 0)
		r = read_layout(phdr, count, &layout);
	if (r == 0)
		r = layout.loaded_bytes > MAX_LOADED ? -EFBIG :
		    module_pages_new(fd, layout.segment, layout.segment_count, bytes,
				     module->room, &pages);
	/* Too large to copy: the segments still tell where it lies, and libdw can read it. */
	if (r == 0 || r == -EFBIG)
		adopt(module, &layout, pages ? module_pages_start(pages) : NULL, pages, bytes);
	free(layout.segment);
	return r;
}

int module_image_from_fd(struct module *module, int fd)
{
	struct stat stat;
	int r;

	if (fstat(fd, &stat) < 0)
		r = -errno;
	else
		r = S_ISREG(stat.st_mode) && stat.st_size > 0 ? 0 : -ENOEXEC;
	if (r == 0 && (uint64_t)stat.st_size > MAX_FILE)
		r = -EFBIG;
	if (r < 0) {
		close(fd);
		return r;
	}
	module->fd = fd;
	module->changed = stat.st_ctim;
	return fill_from_fd(module, fd, (size_t)stat.st_size);
}

void module_image_forget_code(struct module *module)
{
	struct module_segment *segment = (struct module_segment *)(uintptr_t)module->segment;

	for (uint32_t i = 0; i < module->segment_count; i++)
		segment[i].file_bytes = 0;
	module->eh_frame_hdr = 0;
}

/* Headers and layout of an image that lies whole in bytes of copy. */
static int adopt_whole(struct module *module, const uint8_t *copy, size_t bytes)
{
	_cleanup_free_ Elf64_Phdr *phdr = NULL;
	struct layout layout = { 0 };
	Elf64_Ehdr header;
	int r;

	if (bytes < sizeof(header))
		return -ENOEXEC;
	memcpy(&header, copy, sizeof(header));
	r = check_header(&header);
	if (r < 0)
		return r;
	if (header.e_phoff > bytes || header.e_phnum * sizeof(*phdr) > bytes - header.e_phoff)
		return -EBADMSG;
	phdr = calloc(header.e_phnum, sizeof(*phdr));
	if (!phdr)
		return -ENOMEM;
	memcpy(phdr, copy + header.e_phoff, header.e_phnum * sizeof(*phdr));
	r = read_layout(phdr, header.e_phnum, &layout);
	if (r == 0)
		adopt(module, &layout, copy, NULL, bytes);
	free(layout.segment);
	return r;
}

int module_image_from_mapping(struct module *module, const struct module_source *source,
			      uint64_t address, size_t bytes)
{
	uint8_t *copy;
	int r;

	if (!source->read_memory)
		return -EIO;
	if (bytes > MAX_VDSO)
		return -EFBIG;
	copy = reserve(bytes);
	if (!copy)
		return -ENOMEM;
	r = source->read_memory(source->context, address, copy, bytes);
	if (r == 0)
		r = adopt_whole(module, copy, bytes);
	if (r < 0)
		munmap(copy, bytes);
	module->from_memory = r == 0;
	return r;
}

int module_image_borrow(struct module *module, const void *image, size_t bytes)
{
	int r = adopt_whole(module, image, bytes);

	module->borrowed = r == 0;
	return r;
}

/* Page by page, because parts of a segment may be unreadable: those stay zero. */
static void read_pages(const struct module_source *source, uint64_t address, uint8_t *buffer,
		       size_t bytes)
{
	while (bytes > 0) {
		size_t n = PAGE_BYTES - (address & (PAGE_BYTES - 1));

		n = n < bytes ? n : bytes;
		(void)source->read_memory(source->context, address, buffer, n);
		address += n;
		buffer += n;
		bytes -= n;
	}
}

static int read_memory_phdrs(const struct module_source *source, uint64_t base, Elf64_Phdr **ret,
			     uint32_t *ret_count)
{
	Elf64_Ehdr header;
	Elf64_Phdr *phdr;
	int r = source->read_memory(source->context, base, &header, sizeof(header));

	if (r == 0)
		r = check_header(&header);
	if (r < 0)
		return r;
	if (header.e_phoff > PAGE_BYTES)
		return -EBADMSG;
	phdr = calloc(header.e_phnum, sizeof(*phdr));
	if (!phdr)
		return -ENOMEM;
	r = source->read_memory(source->context, base + header.e_phoff, phdr,
				header.e_phnum * sizeof(*phdr));
	if (r < 0) {
		free(phdr);
		return r;
	}
	*ret = phdr;
	*ret_count = header.e_phnum;
	return 0;
}

/* The segments of layout, each read to its file offset, base being where offset 0 lies. */
static int copy_memory(const struct module_source *source, uint64_t base,
		       const struct layout *layout, uint8_t **ret)
{
	uint64_t bias = base - layout->segment[0].address + layout->segment[0].offset;
	uint8_t *copy;

	if (layout->loaded_bytes > MAX_LOADED || layout->end > MAX_LOADED)
		return -EFBIG;
	copy = reserve(layout->end);
	if (!copy)
		return -ENOMEM;
	for (uint32_t i = 0; i < layout->segment_count; i++) {
		const struct module_segment *segment = &layout->segment[i];

		read_pages(source, segment->address + bias, copy + segment->offset,
			   segment->file_bytes);
	}
	mprotect(copy, layout->end, PROT_READ);
	*ret = copy;
	return 0;
}

static int take_room(struct module *module, uint64_t bytes)
{
	if (image_room_take(module->room, bytes)) {
		module->copied = bytes;
		return 0;
	}
	if (!module->room->said)
		log_warning("%s: its code is larger than what --max-memory leaves for it; stacks "
			    "may end there", module->path);
	module->room->said = true;
	return -EFBIG;
}

int module_image_from_memory(struct module *module, const struct module_source *source,
			     uint64_t base)
{
	_cleanup_free_ Elf64_Phdr *phdr = NULL;
	struct layout layout = { 0 };
	uint8_t *copy = NULL;
	uint32_t count = 0;
	int r;

	if (!source->read_memory)
		return -EIO;
	r = read_memory_phdrs(source, base, &phdr, &count);
	if (r == 0)
		r = read_layout(phdr, count, &layout);
	if (r == 0)
		r = take_room(module, layout.loaded_bytes);
	if (r == 0)
		r = layout.end > 0 ? copy_memory(source, base, &layout, &copy) : -EBADMSG;
	if (r == 0) {
		adopt(module, &layout, copy, NULL, layout.end);
		module->from_memory = true;
	}
	free(layout.segment);
	return r;
}

void module_image_done(struct module *module)
{
	if (module->pages)
		module_pages_free(module->pages);
	else if (module->file && !module->borrowed)
		munmap((void *)(uintptr_t)module->file, module->file_bytes);
	free((void *)(uintptr_t)module->segment);
	cleanup_fd(&module->fd);
	module->file = NULL;
	module->pages = NULL;
	module->file_bytes = 0;
	module->segment = NULL;
	module->segment_count = 0;
	module->eh_frame_hdr = 0;
	image_room_give(module->room, module->copied);
	module->copied = 0;
	module->from_memory = module->borrowed = false;
	module->build_id[0] = '\0';
}

static bool segment_holds_offset(const struct module_segment *segment, uint64_t offset)
{
	uint64_t low = segment->offset & ~(uint64_t)(PAGE_BYTES - 1);

	return offset >= low && offset < segment->offset + segment->file_bytes;
}

int module_image_bias(const struct module *module, const struct procmap *map, uint64_t *ret)
{
	const struct module_segment *found = NULL;
	uint32_t want = map->prot & PROCMAP_X ? PF_X : 0;

	/* Two segments may share a page of the file: the one with the mapping's rights is meant. */
	for (uint32_t i = 0; i < module->segment_count; i++) {
		const struct module_segment *segment = &module->segment[i];

		if (segment_holds_offset(segment, map->offset) &&
		    (!found || (segment->flags & PF_X) == want))
			found = segment;
	}
	if (!found)
		return -ENOENT;
	*ret = map->start - map->offset + found->offset - found->address;
	return 0;
}

void module_image_extent(const struct module *module, uint64_t *ret_low, uint64_t *ret_high)
{
	uint64_t low = UINT64_MAX, high = 0;

	for (uint32_t i = 0; i < module->segment_count; i++) {
		const struct module_segment *segment = &module->segment[i];
		uint64_t end = segment->address + segment->memory_bytes;

		low = segment->address < low ? segment->address : low;
		high = end > high ? end : high;
	}
	*ret_low = low & ~(uint64_t)(PAGE_BYTES - 1);
	*ret_high = (high + PAGE_BYTES - 1) & ~(uint64_t)(PAGE_BYTES - 1);
}

bool module_image_is_mapped(const struct module *module, const struct module_source *source)
{
	const struct module_segment *first = module->segment;
	const uint8_t *file;
	uint8_t page[PAGE_BYTES];
	size_t bytes;

	if (!source->read_memory || !module->file || module->segment_count == 0 ||
	    first->offset != 0 || (first->flags & PF_W))
		return true;
	bytes = first->file_bytes < sizeof(page) ? first->file_bytes : sizeof(page);
	if (source->read_memory(source->context, module->bias + first->address, page, bytes) < 0)
		return true;
	file = module_file(module, 0, bytes);
	return !file || memcmp(page, file, bytes) == 0;
}
