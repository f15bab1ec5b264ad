/* SPDX-License-Identifier: MIT */
/*
 * debug_image.c - see debug_image.h.
 *
 * libdw is careless at the end of what it parses: strings without an end, numbers that are cut
 * off, a field more than there is. In a copy in which zeros follow every section it finds zeros
 * there, which end strings, numbers and lists alike. (What it does with offsets that lead far away
 * is another matter: apart.h.) The copy is also private: its owner may rewrite or truncate the
 * file while we read.
 * Loaded parts stay at their offsets, since program headers lead to them; sections that are not
 * loaded are moved behind them. Code is left out, it names nothing. Sections that claim more than
 * the file has are emptied. Sections that zstd has compressed are copied uncompressed, because not
 * every libelf can read them.
 */
#include "src/modules/debug_image.h"

#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/sendfile.h>
#include <sys/stat.h>

#include "src/base/memfd.h"
#include "src/modules/debug_unpack.h"

#define MAX_SECTIONS	65536u
#define MAX_PHDR	512u
#define MAX_FILE	(1ull << 40)
#define SMALL_BYTES	(64u << 20)

struct making {
	const struct debug_source *source;
	int fd;
	uint64_t limit;		/* bytes that the copy may take */
	uint64_t copied, most;	/* overlapping sections must not make more of the file than it is */
	uint64_t packed;	/* bytes of sections that were uncompressed */
	bool symbols_only;
	Elf64_Ehdr header;
	Elf64_Phdr *phdr;
	Elf64_Shdr *section;
	size_t section_count;
};

static int write_all(int fd, uint64_t offset, const void *bytes, size_t count)
{
	const char *at = bytes;

	while (count > 0) {
		ssize_t n = pwrite(fd, at, count, (off_t)offset);

		if (n < 0 && errno == EINTR)
			continue;
		if (n <= 0)
			return n < 0 ? -errno : -EIO;
		at += n;
		offset += (uint64_t)n;
		count -= (size_t)n;
	}
	return 0;
}

static int count_copied(struct making *m, uint64_t bytes)
{
	m->copied += bytes;
	return m->copied > m->most ? -EFBIG : 0;
}

/* [at, end) of the file, all data, to offset to. A file that shrinks leaves zeros. */
static int copy_data(struct making *m, off_t at, off_t end, uint64_t to)
{
	int error = count_copied(m, (uint64_t)(end - at));

	if (error)
		return error;
	if (lseek(m->fd, (off_t)to, SEEK_SET) < 0)
		return -errno;
	while (at < end) {
		ssize_t n = sendfile(m->fd, m->source->fd, &at, (size_t)(end - at));

		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0 && errno == ENOMEM)
			return -ENOMEM;
		if (n <= 0)
			break;
	}
	return 0;
}

/* What the file has of [from, from + bytes), to offset to: data alone, holes would become pages. */
static int copy_range(struct making *m, uint64_t from, uint64_t to, uint64_t bytes)
{
	off_t end = (off_t)(from + bytes), low = (off_t)from, high;
	int error = 0;

	if (m->source->fd < 0)
		return count_copied(m, bytes) ?: write_all(m->fd, to, m->source->bytes + from,
							   bytes);
	while (!error && low < end) {
		low = lseek(m->source->fd, low, SEEK_DATA);
		if (low < 0 || low >= end)
			return low < 0 && errno != ENXIO ? -errno : 0;
		high = lseek(m->source->fd, low, SEEK_HOLE);
		if (high <= low || high > end)
			high = end;
		error = copy_data(m, low, high, to + (uint64_t)low - from);
		low = high;
	}
	return error;
}

static int read_headers(struct making *m)
{
	const struct debug_source *source = m->source;
	Elf64_Ehdr *h = &m->header;
	Elf64_Shdr first;

	debug_source_read(source, 0, h, sizeof(*h));
	if (!debug_source_has(source, 0, sizeof(*h)) || memcmp(h->e_ident, ELFMAG, SELFMAG) != 0 ||
	    h->e_ident[EI_CLASS] != ELFCLASS64 || h->e_ident[EI_DATA] != ELFDATA2LSB ||
	    h->e_phnum > MAX_PHDR || (h->e_phnum && h->e_phentsize != sizeof(Elf64_Phdr)))
		return -ENOEXEC;
	m->section_count = h->e_shnum;
	if (h->e_shoff && debug_source_has(source, h->e_shoff, sizeof(first)) && !h->e_shnum) {
		debug_source_read(source, h->e_shoff, &first, sizeof(first));
		m->section_count = first.sh_size;	/* too many for e_shnum */
	}
	if (!h->e_shoff || h->e_shentsize != sizeof(Elf64_Shdr) ||
	    m->section_count > MAX_SECTIONS ||
	    !debug_source_has(source, h->e_shoff, m->section_count * sizeof(Elf64_Shdr)) ||
	    !debug_source_has(source, h->e_phoff, h->e_phnum * sizeof(Elf64_Phdr)))
		m->section_count = 0;
	m->phdr = calloc(h->e_phnum + 1u, sizeof(*m->phdr));
	m->section = calloc(m->section_count + 1, sizeof(*m->section));
	if (!m->phdr || !m->section)
		return -ENOMEM;
	debug_source_read(source, h->e_phoff, m->phdr, h->e_phnum * sizeof(*m->phdr));
	debug_source_read(source, h->e_shoff, m->section, m->section_count * sizeof(*m->section));
	return 0;
}

/* Where what is loaded ends in the file, and the program headers. */
static uint64_t loaded_end(const struct making *m)
{
	uint64_t end = sizeof(m->header);

	for (unsigned int i = 0; i < m->header.e_phnum; i++) {
		const Elf64_Phdr *p = &m->phdr[i];

		if (p->p_type == PT_LOAD && debug_source_has(m->source, p->p_offset, p->p_filesz) &&
		    p->p_offset + p->p_filesz > end)
			end = p->p_offset + p->p_filesz;
	}
	if (m->header.e_phnum && m->header.e_phoff + m->header.e_phnum * sizeof(*m->phdr) > end)
		end = m->header.e_phoff + m->header.e_phnum * sizeof(*m->phdr);
	return end;
}

/* By sections, which tell code from constants; whole segments where there are none. */
static int copy_loaded(struct making *m, uint64_t end)
{
	int error = 0;

	for (unsigned int i = 0; !error && i < m->header.e_phnum; i++) {
		const Elf64_Phdr *p = &m->phdr[i];
		bool wanted = p->p_type == PT_NOTE || p->p_type == PT_DYNAMIC ||
			      p->p_type == PT_GNU_EH_FRAME ||
			      (p->p_type == PT_LOAD && !m->section_count);

		if (wanted && debug_source_has(m->source, p->p_offset, p->p_filesz) &&
		    p->p_offset + p->p_filesz <= end)
			error = copy_range(m, p->p_offset, p->p_offset, p->p_filesz);
	}
	for (size_t i = 0; !error && i < m->section_count; i++) {
		const Elf64_Shdr *s = &m->section[i];

		if ((s->sh_flags & SHF_ALLOC) && !(s->sh_flags & SHF_EXECINSTR) &&
		    s->sh_type != SHT_NOBITS &&
		    debug_source_has(m->source, s->sh_offset, s->sh_size) &&
		    s->sh_offset + s->sh_size <= end)
			error = copy_range(m, s->sh_offset, s->sh_offset, s->sh_size);
	}
	return error;
}

static uint64_t with_slack(uint64_t at)
{
	return (at + DEBUG_IMAGE_SLACK + 4095) & ~4095ull;
}

/* Does a section have debug information? Its name may not be believed; symbols have their types. */
static bool is_information(const Elf64_Shdr *s)
{
	return s->sh_type != SHT_SYMTAB && s->sh_type != SHT_STRTAB && s->sh_type != SHT_NOTE;
}

/* The section uncompressed, to offset to. A damaged one is left as it is. */
static int unpack_section(struct making *m, Elf64_Shdr *s, uint64_t to, const Elf64_Chdr *packed)
{
	int error = count_copied(m, packed->ch_size);

	if (error)
		return error;
	m->packed += s->sh_size;
	error = m->packed > m->source->size ? -EBADMSG :
		debug_unpack(m->source, s, packed->ch_size, m->fd, to);
	if (error == -EBADMSG || error == -ENOTSUP)
		return copy_range(m, s->sh_offset, to, s->sh_size);
	s->sh_size = packed->ch_size;
	s->sh_addralign = packed->ch_addralign;
	s->sh_flags &= ~(uint64_t)SHF_COMPRESSED;
	return error;
}

static int copy_section(struct making *m, Elf64_Shdr *s, uint64_t to)
{
	Elf64_Chdr packed;

	if (debug_unpack_type(m->source, s, &packed) == ELFCOMPRESS_ZSTD)
		return unpack_section(m, s, to, &packed);
	return copy_range(m, s->sh_offset, to, s->sh_size);
}

/* Moves what is not loaded behind at, which moves on. */
static int copy_rest(struct making *m, uint64_t *at)
{
	for (size_t i = 0; i < m->section_count; i++) {
		Elf64_Shdr *s = &m->section[i];
		int error;

		if (s->sh_type == SHT_NOBITS || s->sh_type == SHT_NULL ||
		    ((s->sh_flags & SHF_ALLOC) &&
		     debug_source_has(m->source, s->sh_offset, s->sh_size)))
			continue;
		if (!debug_source_has(m->source, s->sh_offset, s->sh_size) || *at > MAX_FILE ||
		    (m->symbols_only && is_information(s)))
			s->sh_size = 0;
		error = copy_section(m, s, *at);
		if (error)
			return error;
		s->sh_offset = *at;
		*at = with_slack(*at + s->sh_size);
	}
	return 0;
}

static int finish(struct making *m, uint64_t at)
{
	Elf64_Ehdr header = m->header;
	uint64_t bytes = m->section_count * sizeof(*m->section);
	int error;

	header.e_shoff = m->section_count ? at : 0;
	if (!m->section_count)
		header.e_shnum = 0;
	error = write_all(m->fd, 0, &header, sizeof(header)) ?:
		write_all(m->fd, header.e_phoff, m->phdr, header.e_phnum * sizeof(*m->phdr)) ?:
		write_all(m->fd, at, m->section, bytes);
	if (!error && (ftruncate(m->fd, (off_t)with_slack(at + bytes)) < 0 ||
		       fcntl(m->fd, F_ADD_SEALS, F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_WRITE |
			     F_SEAL_SEAL) < 0))
		error = -errno;
	return error;
}

/* The bytes that the file takes without overlaps, uncompressed, and some more. */
static uint64_t most_of(const struct making *m)
{
	uint64_t most = 2 * m->source->size + SMALL_BYTES;
	Elf64_Chdr packed;

	for (size_t i = 0; i < m->section_count && most < m->limit; i++) {
		if (debug_unpack_type(m->source, &m->section[i], &packed) != ELFCOMPRESS_ZSTD)
			continue;
		if (packed.ch_size > m->limit)
			return m->limit;
		most += packed.ch_size;
	}
	return most < m->limit ? most : m->limit;
}

static int make(struct making *m)
{
	uint64_t at;
	int error = read_headers(m);

	if (error)
		return error;
	m->most = most_of(m);
	at = loaded_end(m);
	error = copy_loaded(m, at);
	at = with_slack(at);
	if (!error)
		error = copy_rest(m, &at);
	return error ? error : finish(m, at);
}

/* One try. A descriptor or -errno. */
static int make_once(const struct debug_source *source, uint64_t limit, bool symbols_only,
		     uint64_t *ret_bytes)
{
	struct making m = { .source = source, .limit = limit, .symbols_only = symbols_only };
	int error;

	m.fd = memfd_new("memattach-names");
	if (m.fd < 0)
		return m.fd;
	error = make(&m);
	free(m.phdr);
	free(m.section);
	if (error)
		cleanup_fd(&m.fd);
	*ret_bytes = m.copied;
	return error ? error : m.fd;
}

/* The size of source, which may be given by its descriptor alone. */
static int measure(const struct debug_source *source, struct debug_source *ret)
{
	struct stat file;

	*ret = *source;
	if (source->fd >= 0) {
		if (fstat(source->fd, &file) < 0 || !S_ISREG(file.st_mode))
			return -ENOEXEC;
		ret->size = (uint64_t)file.st_size;
	}
	return ret->size > MAX_FILE ? -EFBIG : 0;
}

int debug_image_make(const struct debug_source *source, struct image_room *room,
		     bool symbols_only, uint64_t *ret_bytes)
{
	struct debug_source whole;
	int fd = measure(source, &whole);

	if (fd < 0)
		return fd;
	fd = make_once(&whole, room->left, symbols_only, ret_bytes);
	if (fd >= 0 && !image_room_take(room, *ret_bytes)) {	/* it became less meanwhile */
		(void)close(fd);
		return -EFBIG;
	}
	return fd;
}

static bool is_named(const struct making *m, const Elf64_Shdr *s, const char *name)
{
	size_t bytes = strlen(name) + 1;
	char text[16] = "";
	uint64_t at;

	if (m->header.e_shstrndx >= m->section_count || bytes > sizeof(text))
		return false;
	at = m->section[m->header.e_shstrndx].sh_offset + s->sh_name;
	if (!debug_source_has(m->source, at, bytes))
		return false;
	debug_source_read(m->source, at, text, bytes);
	return memcmp(text, name, bytes) == 0;
}

/*
 * The bytes of all sections that are not loaded and have no symbols; compilers' texts are among
 * them. 0: libdw finds no debug information.
 */
static uint64_t information_in(const struct making *m)
{
	uint64_t bytes = 0;
	bool found = false;

	for (size_t i = 0; i < m->section_count; i++) {
		const Elf64_Shdr *s = &m->section[i];
		Elf64_Chdr packed = { .ch_size = 0 };

		if (s->sh_type == SHT_NOBITS || s->sh_type == SHT_NULL ||
		    (s->sh_flags & SHF_ALLOC) || !is_information(s) ||
		    !debug_source_has(m->source, s->sh_offset, s->sh_size))
			continue;
		if (!debug_unpack_type(m->source, s, &packed))
			packed.ch_size = s->sh_size;
		bytes = packed.ch_size < UINT64_MAX - bytes ? bytes + packed.ch_size : UINT64_MAX;
		found = found || is_named(m, s, ".debug_info") || is_named(m, s, ".zdebug_info");
	}
	return found ? bytes : 0;
}

uint64_t debug_image_info_bytes(const struct debug_source *source)
{
	struct debug_source whole;
	struct making m = { .source = &whole, .fd = -1 };
	uint64_t bytes = 0;

	if (measure(source, &whole) == 0 && read_headers(&m) == 0)
		bytes = information_in(&m);
	free(m.phdr);
	free(m.section);
	return bytes;
}

uint32_t debug_image_packing(const struct debug_source *source)
{
	struct debug_source whole;
	struct making m = { .source = &whole, .fd = -1 };
	uint32_t found = 0;
	Elf64_Chdr packed;

	if (measure(source, &whole) == 0 && read_headers(&m) == 0)
		for (size_t i = 0; i < m.section_count && !found; i++) {
			found = debug_unpack_type(&whole, &m.section[i], &packed);
			if (found == ELFCOMPRESS_ZLIB)
				found = 0;
		}
	free(m.phdr);
	free(m.section);
	return found;
}
