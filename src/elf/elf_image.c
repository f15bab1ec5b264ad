/* SPDX-License-Identifier: MIT */
/*
 * elf_image.c - program headers, dynamic section, symbols and build id of an
 * ELF object that lies in hostile memory.
 *
 * Whatever is read is copied first and used from the copy; every address that
 * the object names must lie within its own PT_LOADs, every walk has an end of
 * its own, and sums are checked before they are used. Sections are not looked
 * at: they need not be mapped, and the loader ignores them as well.
 * libelf was rejected for this: it wants a file or a whole buffer, and the
 * target's file may be deleted, replaced or out of reach.
 */
#include "src/elf/elf_image.h"

#include <errno.h>
#include <string.h>

#define PAGE_BYTES     4096u
#define MAX_DYNAMIC    1024u
#define MAX_NOTE_BYTES 4096u
#define MAX_NAME       4096u
#define MAX_CHAIN      65536u
#define CHUNK          64u

int elf_reader_fd(void *context, uint64_t address, void *buffer, size_t bytes)
{
	int fd = *(int *)context;
	char *at = buffer;

	while (bytes > 0) {
		ssize_t n = pread(fd, at, bytes, (off_t)address);

		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0)
			return -errno;
		if (n == 0)
			return -EIO;
		at += n;
		address += (uint64_t)n;
		bytes -= (size_t)n;
	}
	return 0;
}

static int image_read(const struct elf_image *image, uint64_t address, void *buffer, size_t bytes)
{
	return image->reader.read(image->reader.context, address, buffer, bytes);
}

/* All of [address, address + bytes) is within the image. */
static bool image_holds(const struct elf_image *image, uint64_t address, uint64_t bytes)
{
	return address >= image->low && address <= image->high && bytes <= image->high - address;
}

/* Reads only what the image's own segments cover. */
static int image_read_inside(const struct elf_image *image, uint64_t address, void *buffer,
			     size_t bytes)
{
	if (!image_holds(image, address, bytes))
		return -EBADMSG;
	return image_read(image, address, buffer, bytes);
}

static int check_header(const Elf64_Ehdr *header)
{
	if (memcmp(header->e_ident, ELFMAG, SELFMAG) != 0 ||
	    header->e_ident[EI_CLASS] != ELFCLASS64 || header->e_ident[EI_DATA] != ELFDATA2LSB)
		return -ENOEXEC;
	if (header->e_type != ET_EXEC && header->e_type != ET_DYN)
		return -ENOEXEC;
	if (header->e_phentsize != sizeof(Elf64_Phdr) || header->e_phnum == 0 ||
	    header->e_phnum > ELF_MAX_PHDR)
		return -EBADMSG;
	return 0;
}

static const Elf64_Phdr *find_phdr(const struct elf_image *image, uint32_t type)
{
	for (unsigned int i = 0; i < image->phdr_count; i++) {
		if (image->phdr[i].p_type == type)
			return &image->phdr[i];
	}
	return NULL;
}

/* Extent of the PT_LOADs as virtual addresses of the file. */
static int load_extent(const struct elf_image *image, uint64_t *ret_low, uint64_t *ret_high)
{
	uint64_t low = UINT64_MAX, high = 0;

	for (unsigned int i = 0; i < image->phdr_count; i++) {
		const Elf64_Phdr *p = &image->phdr[i];

		if (p->p_type != PT_LOAD)
			continue;
		if (p->p_memsz > UINT64_MAX - PAGE_BYTES - p->p_vaddr ||
		    p->p_vaddr > UINT64_MAX - PAGE_BYTES)
			return -EBADMSG;
		low = p->p_vaddr < low ? p->p_vaddr : low;
		high = p->p_vaddr + p->p_memsz > high ? p->p_vaddr + p->p_memsz : high;
	}
	if (low >= high)
		return -EBADMSG;
	*ret_low = low & ~(uint64_t)(PAGE_BYTES - 1);
	*ret_high = (high + PAGE_BYTES - 1) & ~(uint64_t)(PAGE_BYTES - 1);
	return 0;
}

/* The header is at file offset 0, so the first PT_LOAD tells where offset 0 belongs. */
static int set_extent(struct elf_image *image)
{
	const Elf64_Phdr *first = find_phdr(image, PT_LOAD);
	uint64_t low, high;
	int r = load_extent(image, &low, &high);

	if (r < 0)
		return r;
	/* Modulo 2^64: a prelinked object may well move down. */
	image->bias = image->base - (first->p_vaddr - first->p_offset);
	image->low = low + image->bias;
	image->high = high + image->bias;
	return image->low < image->high ? 0 : -EBADMSG;
}

static int read_headers(struct elf_image *image)
{
	Elf64_Ehdr header;
	int r = image_read(image, image->base, &header, sizeof(header));

	if (r < 0)
		return r;
	r = check_header(&header);
	if (r < 0)
		return r;
	image->type = header.e_type;
	image->machine = header.e_machine;
	image->phdr_count = header.e_phnum;
	if (header.e_phoff > UINT64_MAX - image->base)
		return -EBADMSG;
	r = image_read(image, image->base + header.e_phoff, image->phdr,
		       image->phdr_count * sizeof(Elf64_Phdr));
	if (r < 0)
		return r;
	r = set_extent(image);
	if (r == 0)
		image->entry = header.e_entry + image->bias;
	return r;
}

/*
 * glibc and bionic relocate these values in memory; musl, the vdso and a file's
 * own view leave virtual addresses. 0 if it lies in the image neither way.
 */
static uint64_t dynamic_address(const struct elf_image *image, uint64_t value)
{
	if (value < image->bias || !image_holds(image, value, 1))
		value += image->bias;
	return image_holds(image, value, 1) ? value : 0;
}

static void take_dynamic(struct elf_image *image, const Elf64_Dyn *entry, uint64_t where)
{
	switch (entry->d_tag) {
	case DT_SYMTAB:
		image->symtab = dynamic_address(image, entry->d_un.d_ptr);
		break;
	case DT_STRTAB:
		image->strtab = dynamic_address(image, entry->d_un.d_ptr);
		break;
	case DT_STRSZ:
		image->strtab_bytes = entry->d_un.d_val;
		break;
	case DT_GNU_HASH:
		image->gnu_hash = dynamic_address(image, entry->d_un.d_ptr);
		break;
	case DT_HASH:
		image->sysv_hash = dynamic_address(image, entry->d_un.d_ptr);
		break;
	case DT_VERSYM:
		image->versym = dynamic_address(image, entry->d_un.d_ptr);
		break;
	case DT_DEBUG:
		image->debug_slot = where + offsetof(Elf64_Dyn, d_un);
		break;
	}
}

/* Reads up to CHUNK entries from index on; 1 when DT_NULL was among them. */
static int read_dynamic_chunk(struct elf_image *image, uint64_t index, uint64_t count)
{
	Elf64_Dyn entry[CHUNK];
	uint64_t n = count - index < CHUNK ? count - index : CHUNK;
	uint64_t at = image->dynamic + index * sizeof(Elf64_Dyn);
	int r = image_read_inside(image, at, entry, n * sizeof(Elf64_Dyn));

	if (r < 0)
		return r;
	for (uint64_t i = 0; i < n; i++) {
		if (entry[i].d_tag == DT_NULL)
			return 1;
		take_dynamic(image, &entry[i], at + i * sizeof(Elf64_Dyn));
	}
	return 0;
}

static int read_dynamic(struct elf_image *image)
{
	const Elf64_Phdr *p = find_phdr(image, PT_DYNAMIC);
	uint64_t count;
	int r = 0;

	if (!p)
		return 0;
	image->dynamic = p->p_vaddr + image->bias;
	if (!image_holds(image, image->dynamic, p->p_memsz))
		return -EBADMSG;
	count = p->p_memsz / sizeof(Elf64_Dyn);
	count = count < MAX_DYNAMIC ? count : MAX_DYNAMIC;
	for (uint64_t i = 0; i < count && r == 0; i += CHUNK)
		r = read_dynamic_chunk(image, i, count);
	/* A missing or boastful DT_STRSZ: the image is the limit then. */
	if (image->strtab &&
	    (image->strtab_bytes == 0 || image->strtab_bytes > image->high - image->strtab))
		image->strtab_bytes = image->high - image->strtab;
	return r < 0 ? r : 0;
}

static bool take_build_id(struct elf_image *image, const Elf64_Nhdr *note, const uint8_t *name,
			  const uint8_t *description)
{
	if (note->n_type != NT_GNU_BUILD_ID || note->n_namesz != 4 || memcmp(name, "GNU", 4) != 0)
		return false;
	if (note->n_descsz == 0 || note->n_descsz > ELF_MAX_BUILD_ID)
		return false;
	memcpy(image->build_id, description, note->n_descsz);
	image->build_id_bytes = (uint8_t)note->n_descsz;
	return true;
}

static bool scan_notes(struct elf_image *image, const uint8_t *notes, size_t bytes, size_t align)
{
	size_t at = 0;

	while (bytes - at >= sizeof(Elf64_Nhdr)) {
		Elf64_Nhdr note;
		size_t name = at + sizeof(note), description, next;

		memcpy(&note, notes + at, sizeof(note));
		if (note.n_namesz > bytes || note.n_descsz > bytes)
			return false;
		description = (name + note.n_namesz + align - 1) & ~(align - 1);
		next = (description + note.n_descsz + align - 1) & ~(align - 1);
		if (description + note.n_descsz > bytes)
			return false;
		if (take_build_id(image, &note, notes + name, notes + description))
			return true;
		if (next >= bytes)
			return false;
		at = next;
	}
	return false;
}

/* A build id is a convenience: notes that are broken or not mapped leave it out. */
static void read_build_id(struct elf_image *image)
{
	uint8_t notes[MAX_NOTE_BYTES];

	for (unsigned int i = 0; i < image->phdr_count; i++) {
		const Elf64_Phdr *p = &image->phdr[i];
		size_t bytes = p->p_memsz < sizeof(notes) ? p->p_memsz : sizeof(notes);

		if (p->p_type != PT_NOTE ||
		    image_read_inside(image, p->p_vaddr + image->bias, notes, bytes) < 0)
			continue;
		if (scan_notes(image, notes, bytes, p->p_align == 8 ? 8 : 4))
			return;
	}
}

static void set_eh_frame_hdr(struct elf_image *image)
{
	const Elf64_Phdr *p = find_phdr(image, PT_GNU_EH_FRAME);

	if (p && image_holds(image, p->p_vaddr + image->bias, p->p_memsz))
		image->eh_frame_hdr = p->p_vaddr + image->bias;
}

int elf_image_open(const struct elf_reader *reader, uint64_t base, struct elf_image *ret)
{
	struct elf_image image = { .reader = *reader, .base = base };
	int r = read_headers(&image);

	if (r < 0)
		return r;
	r = read_dynamic(&image);
	if (r < 0)
		return r;
	set_eh_frame_hdr(&image);
	read_build_id(&image);
	*ret = image;
	return 0;
}

/* What lookup and each share: n symbols from index on, with their versions (0: no table). */
static int read_symbols(const struct elf_image *image, uint64_t index, size_t n, Elf64_Sym *symbol,
			Elf64_Half *version)
{
	int r = image_read_inside(image, image->symtab + index * sizeof(Elf64_Sym), symbol,
				  n * sizeof(Elf64_Sym));

	memset(version, 0, n * sizeof(Elf64_Half));
	if (r < 0 || !image->versym)
		return r;
	return image_read_inside(image, image->versym + index * sizeof(Elf64_Half), version,
				 n * sizeof(Elf64_Half));
}

/* Values that are no addresses in the image stay as they are. */
static uint64_t symbol_address(const struct elf_image *image, const Elf64_Sym *symbol)
{
	if (symbol->st_shndx == SHN_UNDEF)
		return 0;
	if (symbol->st_shndx == SHN_ABS || ELF64_ST_TYPE(symbol->st_info) == STT_TLS)
		return symbol->st_value;
	return symbol->st_value + image->bias;
}

static struct elf_symbol symbol_make(const struct elf_image *image, const Elf64_Sym *symbol,
				     Elf64_Half version, const char *name)
{
	return (struct elf_symbol){
		.address = symbol_address(image, symbol),
		.size = symbol->st_size,
		.type = ELF64_ST_TYPE(symbol->st_info),
		.binding = ELF64_ST_BIND(symbol->st_info),
		.visibility = ELF64_ST_VISIBILITY(symbol->st_other),
		.section = symbol->st_shndx,
		.version = version & 0x7fff,
		.hidden = (version & 0x8000) != 0,
		.name = name,
	};
}

/* One search: what is looked for, and the best find so far. */
struct lookup {
	const struct elf_image *image;
	const char *name;
	size_t length;
	bool found;
	struct elf_symbol best;
};

static bool symbol_is_wanted(const struct elf_image *image, const Elf64_Sym *symbol)
{
	unsigned int type = ELF64_ST_TYPE(symbol->st_info);

	if (symbol->st_shndx == SHN_UNDEF || symbol->st_shndx == SHN_ABS)
		return false;
	if (type != STT_FUNC && type != STT_GNU_IFUNC && type != STT_OBJECT)
		return false;
	return image_holds(image, symbol->st_value + image->bias, 1);
}

/* 1 if the string at offset is the name, 0 if not. */
static int name_matches(const struct lookup *lookup, uint32_t offset)
{
	char name[MAX_NAME];
	size_t bytes = lookup->length + 1;
	int r;

	if (offset > lookup->image->strtab_bytes || bytes > lookup->image->strtab_bytes - offset)
		return 0;
	r = image_read_inside(lookup->image, lookup->image->strtab + offset, name, bytes);
	if (r < 0)
		return r;
	return memcmp(name, lookup->name, bytes) == 0;
}

/* 1 when the search is over (a default version), 0 to go on, -errno. */
static int lookup_try(struct lookup *lookup, uint64_t index)
{
	Elf64_Sym symbol;
	Elf64_Half version;
	int r = read_symbols(lookup->image, index, 1, &symbol, &version);

	if (r < 0 || !symbol_is_wanted(lookup->image, &symbol))
		return r;
	r = name_matches(lookup, symbol.st_name);
	if (r <= 0)
		return r;
	if (!lookup->found || !(version & 0x8000))
		lookup->best = symbol_make(lookup->image, &symbol, version, lookup->name);
	lookup->found = true;
	return !lookup->best.hidden;
}

/* The head of DT_GNU_HASH and where its parts lie. */
struct gnu_hash {
	uint32_t buckets, first_symbol, bloom_words, bloom_shift;
	uint64_t bloom, bucket, chain; /* addresses */
};

static int gnu_hash_open(const struct elf_image *image, struct gnu_hash *ret)
{
	uint32_t head[4];
	int r = image_read_inside(image, image->gnu_hash, head, sizeof(head));

	if (r < 0)
		return r;
	*ret = (struct gnu_hash){ head[0], head[1], head[2], head[3], 0, 0, 0 };
	if (head[0] == 0 || head[0] > ELF_MAX_SYMBOLS || head[1] > ELF_MAX_SYMBOLS ||
	    head[2] == 0 || head[2] > ELF_MAX_SYMBOLS || (head[2] & (head[2] - 1)) != 0)
		return -EBADMSG;
	ret->bloom = image->gnu_hash + sizeof(head);
	ret->bucket = ret->bloom + 8ull * ret->bloom_words;
	ret->chain = ret->bucket + 4ull * ret->buckets;
	return image_holds(image, ret->bucket, 4ull * ret->buckets) ? 0 : -EBADMSG;
}

static uint32_t gnu_hash_of(const char *name)
{
	uint32_t hash = 5381;

	for (; *name; name++)
		hash = hash * 33 + (unsigned char)*name;
	return hash;
}

/* 0: surely not there. */
static int gnu_hash_bloom(const struct elf_image *image, const struct gnu_hash *table,
			  uint32_t hash)
{
	uint64_t word;
	int r = image_read_inside(image,
				  table->bloom + 8ull * (hash / 64 & (table->bloom_words - 1)),
				  &word, sizeof(word));

	if (r < 0)
		return r;
	/* The shift is the file's: a count of 32 or more must not reach the operator. */
	return word >> (hash % 64) & word >> ((hash >> (table->bloom_shift & 31)) % 64) & 1;
}

/* Reads as many chain words from symbol index on as the image holds, at most CHUNK. */
static int gnu_hash_chunk(const struct elf_image *image, const struct gnu_hash *table,
			  uint64_t index, uint32_t *words)
{
	uint64_t at = table->chain + 4 * (index - table->first_symbol), n;
	int r;

	if (!image_holds(image, at, 4))
		return -EBADMSG;
	n = (image->high - at) / 4;
	n = n < CHUNK ? n : CHUNK;
	r = image_read(image, at, words, n * 4);
	return r < 0 ? r : (int)n;
}

static int lookup_gnu_chain(struct lookup *lookup, const struct gnu_hash *table, uint32_t hash,
			    uint64_t index)
{
	uint32_t words[CHUNK];

	for (uint64_t walked = 0; walked < MAX_CHAIN;) {
		int n = gnu_hash_chunk(lookup->image, table, index, words);

		if (n < 0)
			return n;
		for (int i = 0; i < n; i++, index++, walked++) {
			int r = (words[i] | 1) == (hash | 1) ? lookup_try(lookup, index) : 0;

			if (r != 0 || (words[i] & 1))
				return r < 0 ? r : 0;
		}
	}
	return -EBADMSG;
}

static int lookup_gnu(struct lookup *lookup)
{
	uint32_t hash = gnu_hash_of(lookup->name), index;
	struct gnu_hash table;
	int r = gnu_hash_open(lookup->image, &table);

	if (r < 0)
		return r;
	r = gnu_hash_bloom(lookup->image, &table, hash);
	if (r <= 0)
		return r;
	r = image_read_inside(lookup->image, table.bucket + 4ull * (hash % table.buckets), &index,
			      sizeof(index));
	if (r < 0 || index < table.first_symbol)
		return r;
	return lookup_gnu_chain(lookup, &table, hash, index);
}

/* DT_HASH: nbucket, nchain, bucket[nbucket], chain[nchain]. */
static int sysv_hash_open(const struct elf_image *image, uint32_t head[2])
{
	int r = image_read_inside(image, image->sysv_hash, head, 2 * sizeof(*head));

	if (r < 0)
		return r;
	if (head[0] == 0 ||
	    !image_holds(image, image->sysv_hash, 8 + 4ull * head[0] + 4ull * head[1]))
		return -EBADMSG;
	return 0;
}

static uint32_t sysv_hash_of(const char *name)
{
	uint32_t hash = 0;

	for (; *name; name++) {
		hash = (hash << 4) + (unsigned char)*name;
		hash ^= hash >> 24 & 0xf0;
		hash &= 0x0fffffff;
	}
	return hash;
}

static int lookup_sysv(struct lookup *lookup)
{
	const struct elf_image *image = lookup->image;
	uint32_t head[2], index = 0;
	int r = sysv_hash_open(image, head);
	uint64_t bucket = image->sysv_hash + 8, chain;

	if (r < 0)
		return r;
	chain = bucket + 4ull * head[0];
	r = image_read(image, bucket + 4ull * (sysv_hash_of(lookup->name) % head[0]), &index, 4);
	for (uint32_t walked = 0; r == 0 && index != 0; walked++) {
		if (index >= head[1] || walked >= MAX_CHAIN)
			return -EBADMSG;
		r = lookup_try(lookup, index);
		if (r == 0)
			r = image_read(image, chain + 4ull * index, &index, 4);
	}
	return r < 0 ? r : 0;
}

int elf_image_lookup(const struct elf_image *image, const char *name, struct elf_symbol *ret)
{
	struct lookup lookup = { .image = image, .name = name, .length = strlen(name) };
	int r;

	if (!image->symtab || !image->strtab || (!image->gnu_hash && !image->sysv_hash))
		return -ENOENT;
	if (lookup.length >= MAX_NAME)
		return -ENOENT;
	r = image->gnu_hash ? lookup_gnu(&lookup) : lookup_sysv(&lookup);
	if (r < 0)
		return r;
	if (!lookup.found)
		return -ENOENT;
	*ret = lookup.best;
	return 0;
}

/* The highest symbol index that any bucket starts with; first_symbol - 1 or less: none does. */
static int gnu_hash_last_bucket(const struct elf_image *image, const struct gnu_hash *table,
				uint32_t *ret)
{
	uint32_t words[CHUNK], last = 0;

	for (uint32_t i = 0; i < table->buckets; i += CHUNK) {
		uint32_t n = table->buckets - i < CHUNK ? table->buckets - i : CHUNK;
		int r = image_read_inside(image, table->bucket + 4ull * i, words, 4ull * n);

		if (r < 0)
			return r;
		for (uint32_t k = 0; k < n; k++)
			last = words[k] > last ? words[k] : last;
	}
	*ret = last;
	return 0;
}

/* The table does not say how many symbols there are: they end with the chain of the last bucket. */
static int gnu_hash_count(const struct elf_image *image, uint64_t *ret)
{
	uint32_t words[CHUNK], last = 0;
	struct gnu_hash table;
	int r = gnu_hash_open(image, &table);

	if (r == 0)
		r = gnu_hash_last_bucket(image, &table, &last);
	if (r < 0)
		return r;
	if (last < table.first_symbol) {
		*ret = table.first_symbol;
		return 0;
	}
	for (uint64_t index = last; index < ELF_MAX_SYMBOLS;) {
		int n = gnu_hash_chunk(image, &table, index, words);

		if (n < 0)
			return n;
		for (int i = 0; i < n; i++, index++) {
			if (words[i] & 1) {
				*ret = index + 1;
				return 0;
			}
		}
	}
	return -E2BIG;
}

static int symbol_count(const struct elf_image *image, uint64_t *ret)
{
	uint32_t head[2];
	int r;

	*ret = 0;
	if (!image->symtab || !image->strtab)
		return 0;
	if (image->gnu_hash)
		return gnu_hash_count(image, ret);
	if (!image->sysv_hash)
		return 0;
	r = sysv_hash_open(image, head);
	if (r < 0)
		return r;
	*ret = head[1];
	return head[1] <= ELF_MAX_SYMBOLS ? 0 : -E2BIG;
}

/* The whole string table, with an end put behind it: names need no further reads. */
static int read_strtab(const struct elf_image *image, char **ret)
{
	_cleanup_free_ char *text = NULL;
	int r;

	if (image->strtab_bytes > ELF_MAX_STRTAB)
		return -E2BIG;
	text = malloc(image->strtab_bytes + 1);
	if (!text)
		return -ENOMEM;
	r = image_read_inside(image, image->strtab, text, image->strtab_bytes);
	if (r < 0)
		return r;
	text[image->strtab_bytes] = '\0';
	*ret = text;
	text = NULL;
	return 0;
}

static int each_chunk(const struct elf_image *image, const char *names, uint64_t index, size_t n,
		      int (*each)(void *context, const struct elf_symbol *symbol), void *context)
{
	Elf64_Sym symbol[CHUNK];
	Elf64_Half version[CHUNK];
	int r = read_symbols(image, index, n, symbol, version);

	for (size_t i = 0; i < n && r == 0; i++) {
		uint64_t name = symbol[i].st_name < image->strtab_bytes ? symbol[i].st_name :
									  image->strtab_bytes;
		struct elf_symbol made = symbol_make(image, &symbol[i], version[i], names + name);

		r = each(context, &made);
	}
	return r;
}

int elf_image_each(const struct elf_image *image,
		   int (*each)(void *context, const struct elf_symbol *symbol), void *context)
{
	_cleanup_free_ char *names = NULL;
	uint64_t count;
	int r = symbol_count(image, &count);

	if (r < 0 || count <= 1)
		return r;
	r = read_strtab(image, &names);
	/* Index 0 is reserved and undefined. */
	for (uint64_t i = 1; i < count && r == 0; i += CHUNK)
		r = each_chunk(image, names, i, count - i < CHUNK ? count - i : CHUNK, each,
			       context);
	return r;
}
