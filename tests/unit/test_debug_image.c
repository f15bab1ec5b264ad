/* SPDX-License-Identifier: MIT */
/* test_debug_image.c - what is in the copy, what is behind it, and what lies do to it. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <cmocka.h>

#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#ifdef HAVE_ZSTD
#include <zstd.h>
#endif

#include "src/base/cleanup.h"
#include "src/modules/debug_image.h"
#include "src/modules/debug_unpack.h"

#define LOADED	0x400u

/* A file of three sections: loaded data, code, and a string without an end. */
struct file {
	Elf64_Ehdr header;
	Elf64_Phdr phdr;
	uint8_t data[64], code[64];
	char text[8];
	Elf64_Shdr section[4];
};

static void build(struct file *f)
{
	*f = (struct file){
		.header = { .e_ident = { 0x7f, 'E', 'L', 'F', ELFCLASS64, ELFDATA2LSB, 1 },
			    .e_type = ET_DYN, .e_machine = EM_X86_64, .e_version = 1,
			    .e_phoff = offsetof(struct file, phdr), .e_phnum = 1,
			    .e_phentsize = sizeof(Elf64_Phdr), .e_ehsize = sizeof(Elf64_Ehdr),
			    .e_shoff = offsetof(struct file, section), .e_shnum = 4,
			    .e_shentsize = sizeof(Elf64_Shdr) },
		.phdr = { .p_type = PT_LOAD, .p_flags = PF_R | PF_X,
			  .p_filesz = offsetof(struct file, text) },
		.section = {
			[1] = { .sh_type = SHT_PROGBITS, .sh_flags = SHF_ALLOC,
				.sh_offset = offsetof(struct file, data), .sh_size = 64 },
			[2] = { .sh_type = SHT_PROGBITS, .sh_flags = SHF_ALLOC | SHF_EXECINSTR,
				.sh_offset = offsetof(struct file, code), .sh_size = 64 },
			[3] = { .sh_type = SHT_PROGBITS,
				.sh_offset = offsetof(struct file, text), .sh_size = 8 },
		},
	};
	memset(f->data, 'd', sizeof(f->data));
	memset(f->code, 'c', sizeof(f->code));
	memset(f->text, 't', sizeof(f->text));
}

/* As much as there is. */
static int image(const struct debug_source *source)
{
	struct image_room room = { .left = 1ull << 40 };
	uint64_t bytes;

	return debug_image_make(source, &room, false, &bytes);
}

static int make(const struct file *f)
{
	const struct debug_source source = { .fd = -1, .bytes = (const void *)f,
					     .size = sizeof(*f) };

	return image(&source);
}

static void read_section(int fd, unsigned int index, Elf64_Shdr *ret)
{
	Elf64_Ehdr header;

	assert_int_equal(pread(fd, &header, sizeof(header), 0), sizeof(header));
	assert_int_equal(pread(fd, ret, sizeof(*ret), (off_t)(header.e_shoff +
			 index * sizeof(*ret))), sizeof(*ret));
}

/* count bytes at offset are all that one. */
static void assert_bytes(int fd, uint64_t offset, size_t count, int byte)
{
	uint8_t *bytes = calloc(1, count);

	assert_non_null(bytes);
	assert_int_equal(pread(fd, bytes, count, (off_t)offset), count);
	for (size_t i = 0; i < count; i++)
		assert_int_equal(bytes[i], byte);
	free(bytes);
}

/* What it takes of memory. */
static uint64_t bytes_of(int fd)
{
	struct stat status;

	assert_int_equal(fstat(fd, &status), 0);
	return (uint64_t)status.st_blocks * 512u;
}

static void copies_what_names_something(void **state)
{
	struct file f;
	Elf64_Shdr s;
	int fd;

	(void)state;
	build(&f);
	fd = make(&f);
	assert_true(fd >= 0);
	read_section(fd, 1, &s);
	assert_int_equal(s.sh_offset, offsetof(struct file, data));
	assert_bytes(fd, s.sh_offset, 64, 'd');
	read_section(fd, 2, &s);
	assert_bytes(fd, s.sh_offset, 64, 0);		/* code is left out */
	read_section(fd, 3, &s);
	assert_int_equal(s.sh_size, 8);
	assert_bytes(fd, s.sh_offset, 8, 't');
	assert_bytes(fd, s.sh_offset + 8, DEBUG_IMAGE_SLACK, 0);
	assert_int_equal(ftruncate(fd, 0), -1);		/* nobody's to change */
	assert_int_equal(pwrite(fd, "x", 1, 0), -1);
	close(fd);
}

/* A file behind a descriptor gives the same image as one in memory. */
static void from_a_descriptor(void **state)
{
	char path[] = "/tmp/memattach-image.XXXXXX";
	int file = mkstemp(path), fd, other;
	uint8_t a[32768], b[32768];
	struct file f;
	ssize_t n;

	(void)state;
	assert_true(file >= 0);
	unlink(path);
	build(&f);
	assert_int_equal(write(file, &f, sizeof(f)), sizeof(f));
	fd = image(&(struct debug_source){ .fd = file });
	other = make(&f);
	assert_true(fd >= 0 && other >= 0);
	n = pread(fd, a, sizeof(a), 0);
	assert_true(n > 0 && n < (ssize_t)sizeof(a));
	assert_int_equal(pread(other, b, sizeof(b), 0), n);
	assert_memory_equal(a, b, (size_t)n);
	close(fd);
	close(other);
	close(file);
}

static void sections_that_lie_are_emptied(void **state)
{
	struct file f;
	Elf64_Shdr s;
	int fd;

	(void)state;
	build(&f);
	f.section[3].sh_size = UINT64_MAX - f.section[3].sh_offset + 1;
	f.section[2].sh_flags = 0;
	f.section[2].sh_offset = 1ull << 60;
	f.section[1].sh_size = 1 << 20;			/* loaded, and longer than the file */
	fd = make(&f);
	assert_true(fd >= 0);
	for (unsigned int i = 1; i < 4; i++) {
		read_section(fd, i, &s);
		assert_int_equal(s.sh_size, 0);
	}
	close(fd);
}

static void refuses(void **state)
{
	int device = open("/dev/null", O_RDONLY | O_CLOEXEC);
	struct file f;

	(void)state;
	build(&f);
	f.header.e_ident[EI_CLASS] = ELFCLASS32;
	assert_int_equal(make(&f), -ENOEXEC);
	build(&f);
	f.header.e_phnum = 60000;
	assert_int_equal(make(&f), -ENOEXEC);
	assert_int_equal(image(&(struct debug_source){ .fd = device }),
			 -ENOEXEC);
	assert_int_equal(image(&(struct debug_source){ -1, (void *)&f, 10 }),
			 -ENOEXEC);
	close(device);
}

/*
 * Ten thousand sections that all are the whole file do not make it ten thousand times as large:
 * none of them is copied.
 */
static void overlaps_are_bounded(void **state)
{
	const size_t count = 10000, bytes = 1 << 20;
	uint8_t *file = calloc(1, bytes);
	Elf64_Ehdr *header = (void *)file;
	Elf64_Shdr *section = (void *)(file + LOADED);
	const struct debug_source source = { -1, file, bytes };
	struct image_room room = { .left = 1ull << 40 };
	uint64_t copied = 0;
	struct file f;
	Elf64_Shdr s;
	int fd;

	(void)state;
	assert_non_null(file);
	build(&f);
	*header = f.header;
	header->e_phnum = 0;
	header->e_shoff = LOADED;
	header->e_shnum = (uint16_t)count;
	for (size_t i = 1; i < count; i++)
		section[i] = (Elf64_Shdr){ .sh_type = SHT_PROGBITS, .sh_size = bytes };
	assert_int_equal(image(&source), -EFBIG);
	fd = debug_image_make(&source, &room, true, &copied);
	assert_true(fd >= 0);
	assert_true(bytes_of(fd) < 2 * bytes);
	read_section(fd, 1, &s);
	assert_int_equal(s.sh_size, 0);
	close(fd);
	free(file);
}

static int file_of(const struct file *f)
{
	char path[] = "/tmp/memattach-image.XXXXXX";
	int file = mkstemp(path);

	assert_true(file >= 0);
	unlink(path);
	assert_int_equal(write(file, f, sizeof(*f)), sizeof(*f));
	return file;
}

/* Eight gigabytes of nothing take nothing. */
static void holes_stay_holes(void **state)
{
	const uint64_t large = 1ull << 33;
	struct image_room room = { .left = 1u << 20 };
	uint64_t bytes = 0;
	struct file f;
	Elf64_Shdr s;
	int file, fd;

	(void)state;
	build(&f);
	f.section[3].sh_offset = 1u << 20;
	f.section[3].sh_size = large;
	file = file_of(&f);
	assert_int_equal(ftruncate(file, (off_t)(large + (1u << 21))), 0);
	assert_int_equal(pwrite(file, "end", 3, (off_t)(large + (1u << 20) - 3)), 3);
	fd = debug_image_make(&(struct debug_source){ .fd = file }, &room, false, &bytes);
	assert_true(fd >= 0);
	assert_true(bytes < 65536 && bytes_of(fd) < 1u << 20);
	assert_int_equal(room.left + bytes, 1u << 20);
	read_section(fd, 3, &s);
	assert_int_equal(s.sh_size, large);
	assert_bytes(fd, s.sh_offset + large - 3, 1, 'e');
	close(fd);
	close(file);
}

/* Where there is no room for debug information there may be some for symbols, or for nothing. */
static void keeps_to_its_room(void **state)
{
	static const struct {
		uint64_t left;
		bool symbols_only;
		int result;
		uint64_t text;
	} row[] = {
		{ 1u << 20, false, 0, 65536 }, { 1u << 20, true, 0, 0 },
		{ 32768, false, -EFBIG, 0 }, { 32768, true, 0, 0 }, { 16, true, -EFBIG, 0 },
	};
	static struct { struct file f; char text[65536]; } large;
	const struct debug_source source = { -1, (const void *)&large, sizeof(large) };

	(void)state;
	build(&large.f);
	large.f.section[3].sh_offset = offsetof(__typeof__(large), text);
	large.f.section[3].sh_size = sizeof(large.text);
	for (size_t i = 0; i < ARRAY_SIZE(row); i++) {
		struct image_room room = { .left = row[i].left };
		uint64_t bytes = 0;
		Elf64_Shdr s = { .sh_size = 0 };
		int fd = debug_image_make(&source, &room, row[i].symbols_only, &bytes);

		assert_int_equal(fd < 0 ? fd : 0, row[i].result);
		assert_int_equal(room.left, row[i].left - (fd < 0 ? 0 : bytes));
		if (fd >= 0)
			read_section(fd, 3, &s);
		assert_int_equal(s.sh_size, row[i].text);
		cleanup_fd(&fd);
	}
}

/* A file has debug information if libdw's main section is there by its name; others don't count. */
static void bytes_of_information(void **state)
{
	static const struct { char name[16]; uint64_t size; uint64_t bytes; } row[] = {
		{ ".debug_info", 8, 8 }, { ".zdebug_info", 8, 8 }, { ".debug_inf", 8, 0 },
		{ ".debug_info.x", 8, 0 }, { ".gnu_debugdata", 8, 0 }, { ".debug_info", 0, 0 },
		{ ".debug_info", 1u << 30, 0 },		/* not there */
	};
	static struct { struct file f; char names[32]; Elf64_Shdr section[5]; } named;

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(row); i++) {
		const struct debug_source source = { -1, (const void *)&named, sizeof(named) };

		build(&named.f);
		memset(named.names, 0, sizeof(named.names));
		memcpy(named.names + 1, row[i].name, sizeof(row[i].name));
		memcpy(named.section, named.f.section, sizeof(named.f.section));
		named.section[3].sh_name = 1;
		named.section[3].sh_size = row[i].size;
		named.section[4] = (Elf64_Shdr){
			.sh_type = SHT_STRTAB, .sh_size = sizeof(named.names),
			.sh_offset = offsetof(__typeof__(named), names),
		};
		named.f.header.e_shoff = offsetof(__typeof__(named), section);
		named.f.header.e_shnum = 5;
		named.f.header.e_shstrndx = 4;
		assert_int_equal(debug_image_info_bytes(&source), row[i].bytes);
	}
}

#ifdef HAVE_ZSTD
/* A file whose text is 64 KiB of 'z', compressed by zstd. */
struct packed {
	struct file f;
	Elf64_Chdr header;
	char text[1024];
};

#define PACKED_BYTES	65536u

static void pack(struct packed *p)
{
	char text[PACKED_BYTES];
	size_t bytes;

	memset(p, 0, sizeof(*p));
	build(&p->f);
	memset(text, 'z', sizeof(text));
	bytes = ZSTD_compress(p->text, sizeof(p->text), text, sizeof(text), 3);
	assert_false(ZSTD_isError(bytes));
	p->header = (Elf64_Chdr){ ELFCOMPRESS_ZSTD, 0, sizeof(text), 8 };
	p->f.section[3].sh_flags = SHF_COMPRESSED;
	p->f.section[3].sh_offset = offsetof(struct packed, header);
	p->f.section[3].sh_size = sizeof(p->header) + bytes;
}

/* The image's section 3, and the image. */
static int image_of_packed(const struct packed *p, Elf64_Shdr *ret)
{
	int fd = image(&(struct debug_source){ -1, (const void *)p, sizeof(*p) });

	assert_true(fd >= 0);
	read_section(fd, 3, ret);
	return fd;
}

static void uncompresses_zstd(void **state)
{
	struct packed p;
	Elf64_Shdr s;
	int fd;

	(void)state;
	pack(&p);
	assert_int_equal(debug_image_packing(&(struct debug_source){ -1, (void *)&p, sizeof(p) }),
			 ELFCOMPRESS_ZSTD);
	fd = image_of_packed(&p, &s);
	assert_int_equal(s.sh_size, PACKED_BYTES);
	assert_int_equal(s.sh_flags, 0);
	assert_int_equal(s.sh_addralign, 8);
	assert_bytes(fd, s.sh_offset, PACKED_BYTES, 'z');
	assert_bytes(fd, s.sh_offset + PACKED_BYTES, DEBUG_IMAGE_SLACK, 0);
	assert_int_equal(debug_image_packing(&(struct debug_source){ .fd = fd }), 0);
	close(fd);
}

/* A size that is too small cuts; one that is too large, or damage, leaves all compressed. */
static void compressed_sections_that_lie(void **state)
{
	struct packed p;
	Elf64_Shdr s;

	(void)state;
	pack(&p);
	p.header.ch_size = 5000;
	close(image_of_packed(&p, &s));
	assert_int_equal(s.sh_size, 5000);
	p.header.ch_size = PACKED_BYTES + 1;
	close(image_of_packed(&p, &s));
	assert_int_equal(s.sh_flags, SHF_COMPRESSED);
	assert_int_equal(s.sh_size, p.f.section[3].sh_size);
	pack(&p);
	p.text[0] ^= 1;
	close(image_of_packed(&p, &s));
	assert_int_equal(s.sh_flags, SHF_COMPRESSED);
}

/* The size that a few bytes claim to become is counted before the section is made. */
static void uncompressed_bytes_are_bounded(void **state)
{
	struct image_room room = { .left = 16384 };
	uint64_t bytes = 0;
	struct packed p;
	Elf64_Shdr s;
	int fd;

	(void)state;
	pack(&p);
	for (int symbols_only = 0; symbols_only < 2; symbols_only++) {
		fd = debug_image_make(&(struct debug_source){ -1, (const void *)&p, sizeof(p) },
				      &room, symbols_only, &bytes);
		assert_int_equal(fd < 0 ? fd : 0, symbols_only ? 0 : -EFBIG);
	}
	read_section(fd, 3, &s);
	assert_int_equal(s.sh_size, 0);
	close(fd);
}
#endif

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(copies_what_names_something),
		cmocka_unit_test(from_a_descriptor),
		cmocka_unit_test(sections_that_lie_are_emptied),
		cmocka_unit_test(refuses),
		cmocka_unit_test(overlaps_are_bounded),
		cmocka_unit_test(holes_stay_holes),
		cmocka_unit_test(keeps_to_its_room),
		cmocka_unit_test(bytes_of_information),
#ifdef HAVE_ZSTD
		cmocka_unit_test(uncompresses_zstd),
		cmocka_unit_test(compressed_sections_that_lie),
		cmocka_unit_test(uncompressed_bytes_are_bounded),
#endif
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
