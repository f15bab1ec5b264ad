/* SPDX-License-Identifier: MIT */
/*
 * code_ranges.c - function extents from .eh_frame_hdr, else from .symtab.
 *
 * Only the table form that linkers write is read (sorted pairs of 32-bit offsets,
 * encoding 0x3b); of each FDE only the length of its range, whose encoding the
 * CIE names. Everything is read from the target's memory and checked to lie in
 * the module. A table that is not sorted is refused as a whole: it would say
 * "hole" where there is code.
 *
 * Walking .eh_frame itself was rejected: its extent is known to section headers
 * only, which are not mapped, and it takes 1000 times the reads.
 */
#include "src/plan/code_ranges.h"

#include <errno.h>
#include <string.h>

#define EH_SIZE_MASK	0x0fu
#define CIE_BYTES	64u	/* as much of a CIE as is looked at */

/* DW_EH_PE_ encodings, by what they mean for the size of a value. */
enum { EH_ABSPTR = 0x00, EH_UDATA2 = 0x02, EH_UDATA4 = 0x03, EH_UDATA8 = 0x04,
       EH_SDATA2 = 0x0a, EH_SDATA4 = 0x0b, EH_SDATA8 = 0x0c, EH_TABLE = 0x3b };

struct eh_table {
	const struct elf_image *image;
	uint64_t rows;		/* address of the first pair */
	uint64_t count;
};

struct eh_row {
	uint64_t start, fde;
};

static int read_inside(const struct elf_image *image, uint64_t address, void *buffer, size_t bytes)
{
	if (address < image->low || address > image->high || bytes > image->high - address)
		return -EBADMSG;
	return image->reader.read(image->reader.context, address, buffer, bytes);
}

/* Bytes of a value so encoded, 0 for what is not supported. */
static unsigned int encoded_bytes(uint8_t encoding)
{
	switch (encoding & EH_SIZE_MASK) {
	case EH_UDATA2:
	case EH_SDATA2:
		return 2;
	case EH_UDATA4:
	case EH_SDATA4:
		return 4;
	case EH_ABSPTR:
	case EH_UDATA8:
	case EH_SDATA8:
		return 8;
	default:
		return 0;
	}
}

static int table_open(const struct elf_image *image, struct eh_table *ret)
{
	uint8_t head[12];
	uint32_t count;
	int r;

	if (!image->eh_frame_hdr)
		return -ENOENT;
	r = read_inside(image, image->eh_frame_hdr, head, sizeof(head));
	if (r < 0)
		return r;
	if (head[0] != 1 || encoded_bytes(head[1]) != 4 || head[2] != EH_UDATA4 ||
	    head[3] != EH_TABLE)
		return -ENOENT;
	memcpy(&count, head + 8, sizeof(count));
	*ret = (struct eh_table){ image, image->eh_frame_hdr + sizeof(head), count };
	return count <= (image->high - ret->rows) / 8 ? 0 : -EBADMSG;
}

static int table_row(const struct eh_table *table, uint64_t index, struct eh_row *ret)
{
	int32_t pair[2];
	int r = read_inside(table->image, table->rows + index * sizeof(pair), pair, sizeof(pair));

	if (r < 0)
		return r;
	ret->start = table->image->eh_frame_hdr + (uint64_t)(int64_t)pair[0];
	ret->fde = table->image->eh_frame_hdr + (uint64_t)(int64_t)pair[1];
	return 0;
}

/* Index of the last row that starts at or below address, 0 if none does. */
static int table_search(const struct eh_table *table, uint64_t address, uint64_t *ret)
{
	uint64_t first = 0, end = table->count;

	while (end - first > 1) {
		uint64_t middle = first + (end - first) / 2;
		struct eh_row row;
		int r = table_row(table, middle, &row);

		if (r < 0)
			return r;
		if (row.start <= address)
			first = middle;
		else
			end = middle;
	}
	*ret = first;
	return 0;
}

/* Index behind a LEB128 number at *at; count when it does not end. */
static size_t skip_leb(const uint8_t *bytes, size_t count, size_t at)
{
	while (at < count && (bytes[at] & 0x80))
		at++;
	return at < count ? at + 1 : count;
}

/* Looks up 'R' in the augmentation data that starts at `at`. */
static int augmentation_encoding(const uint8_t *cie, const char *letters, size_t at)
{
	for (const char *letter = letters; *letter; letter++) {
		if (at >= CIE_BYTES)
			return -EBADMSG;
		if (*letter == 'R')
			return cie[at];
		if (*letter == 'P') {
			unsigned int bytes = encoded_bytes(cie[at]);

			if (bytes == 0)
				return -EBADMSG;
			at += 1 + bytes;
		} else if (*letter == 'L') {
			at++;
		} else if (*letter != 'S' && *letter != 'B') {
			return -EBADMSG;
		}
	}
	return EH_ABSPTR;
}

/* Encoding of code addresses in FDEs of the CIE at address, or -errno. */
static int cie_encoding(const struct elf_image *image, uint64_t address)
{
	uint8_t cie[CIE_BYTES];
	const char *letters = (const char *)cie + 9;
	size_t at;
	int r = read_inside(image, address, cie, sizeof(cie));

	if (r < 0)
		return r;
	if (cie[4] | cie[5] | cie[6] | cie[7])
		return -EBADMSG;
	if ((cie[8] != 1 && cie[8] != 3) || !memchr(letters, '\0', sizeof(cie) - 9))
		return -EBADMSG;
	at = 9 + strlen(letters) + 1;
	at = skip_leb(cie, sizeof(cie), at);	/* code alignment */
	at = skip_leb(cie, sizeof(cie), at);	/* data alignment */
	at = cie[8] == 1 ? at + 1 : skip_leb(cie, sizeof(cie), at);	/* return column */
	if (letters[0] != 'z')
		return letters[0] == '\0' ? EH_ABSPTR : -EBADMSG;
	at = skip_leb(cie, sizeof(cie), at);	/* length of what follows */
	return augmentation_encoding(cie, letters + 1, at);
}

/* FDE: length, distance back to its CIE, start, range. */
static int row_range(const struct elf_image *image, const struct eh_row *row,
		     struct entry_span *ret)
{
	uint32_t head[2];
	uint64_t range = 0;
	unsigned int bytes;
	int encoding, r = read_inside(image, row->fde, head, sizeof(head));

	if (r < 0)
		return r;
	if (head[0] < 8 || head[0] == UINT32_MAX || head[1] == 0)
		return -EBADMSG;
	encoding = cie_encoding(image, row->fde + 4 - head[1]);
	if (encoding < 0)
		return encoding;
	bytes = encoded_bytes((uint8_t)encoding);
	if (bytes == 0)
		return -EBADMSG;
	r = read_inside(image, row->fde + 8 + bytes, &range, bytes);
	if (r < 0)
		return r;
	if (row->start < image->low || row->start > image->high ||
	    range > image->high - row->start)
		return -EBADMSG;
	*ret = (struct entry_span){ row->start, row->start + range };
	return 0;
}

static int ranges_by_table(const struct elf_image *image, uint64_t low, uint64_t high,
			   struct code_ranges *ret)
{
	struct eh_table table;
	struct eh_row row;
	uint64_t i;
	int r = table_open(image, &table);

	ret->count = 0;
	if (r == 0)
		r = table_search(&table, low, &i);
	for (; r == 0 && i < table.count && ret->count < CODE_MAX_RANGES; i++) {
		r = table_row(&table, i, &row);
		if (r == 0)
			r = row_range(image, &row, &ret->range[ret->count]);
		if (r < 0)
			break;
		if (ret->count > 0 && row.start < ret->range[ret->count - 1].low)
			return -EBADMSG;
		ret->count++;
		if (row.start >= high)
			break;
	}
	return r < 0 || ret->count > 0 ? r : -ENOENT;
}

static int ranges_by_symbols(const struct symtab *symtab, uint64_t low, uint64_t high,
			     struct code_ranges *ret)
{
	size_t first = 0, end = symtab->function_count;

	ret->count = 0;
	while (end - first > 1) {
		size_t middle = first + (end - first) / 2;

		if (symtab->function[middle].low <= low)
			first = middle;
		else
			end = middle;
	}
	for (size_t i = first; i < symtab->function_count && ret->count < CODE_MAX_RANGES; i++) {
		ret->range[ret->count++] = symtab->function[i];
		if (symtab->function[i].low >= high)
			break;
	}
	return ret->count > 0 ? 0 : -ENOENT;
}

int code_ranges_near(const struct elf_image *image, const struct symtab *symtab, uint64_t low,
		     uint64_t high, struct code_ranges *ret)
{
	struct code_ranges ranges;
	int r = ranges_by_table(image, low, high, &ranges);

	if (r < 0 && symtab)
		r = ranges_by_symbols(symtab, low, high, &ranges);
	if (r == 0)
		*ret = ranges;
	return r;
}

const struct entry_span *code_ranges_find(const struct code_ranges *ranges, uint64_t address)
{
	for (size_t i = 0; i < ranges->count; i++) {
		if (address >= ranges->range[i].low && address < ranges->range[i].high)
			return &ranges->range[i];
	}
	return NULL;
}
