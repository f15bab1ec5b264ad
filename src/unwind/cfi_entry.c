/* SPDX-License-Identifier: MIT */
/*
 * cfi_entry.c - CIEs and FDEs: what stands before their instructions.
 *
 * One reading of it for what is handed to libunwind (cfi_check.c) and for what we
 * compile ourselves (cfi_table.c), so that both are about the same code.
 */
#include "src/unwind/cfi_entry.h"

#include <dwarf.h>
#include <elf.h>
#include <errno.h>
#include <string.h>

#define MAX_AUGMENTATION	5u	/* "zPLR" and its end; libunwind keeps no more */
#define DEBUG_CIE_ID		0xffffffffu

/* Only read-only segments: what libunwind reads must be the file's. */
static const uint8_t *source_bytes(const struct cfi_source *source, uint64_t address, size_t bytes)
{
	const uint8_t *at;
	uint32_t flags;

	if (source->bytes)
		return bytes <= source->size && address <= source->size - bytes
		       ? source->bytes + address : NULL;
	at = module_bytes(source->module, address, bytes, &flags);
	return at && !(flags & PF_W) ? at : NULL;
}

int cfi_entry_open(const struct cfi_source *source, uint64_t address, struct cfi_bytes *ret)
{
	const uint8_t *head = source_bytes(source, address, sizeof(uint32_t)), *body;
	uint32_t length;

	if (!head)
		return -EBADMSG;
	memcpy(&length, head, sizeof(length));
	if (length == 0xffffffff)
		return -EOPNOTSUPP;
	if (length < 8 || length > CFI_MAX_ENTRY)
		return -EBADMSG;
	body = source_bytes(source, address, sizeof(length) + length);
	if (!body)
		return -EBADMSG;
	*ret = (struct cfi_bytes){
		.at = body + sizeof(length), .end = body + sizeof(length) + length,
		.address = address + sizeof(length),
	};
	return 0;
}

bool cfi_entry_is_end(const struct cfi_source *source, uint64_t address)
{
	const uint8_t *head = source_bytes(source, address, sizeof(uint32_t));
	uint32_t length = 0;

	if (!head)
		return false;
	memcpy(&length, head, sizeof(length));
	return length == 0 && !source->bytes;
}

/* The augmentation string: 'z' first, then any of R, P, L, S once. */
static void read_augmentation(struct cfi_bytes *bytes, char *ret)
{
	size_t length = 0;
	char c;

	while ((c = (char)cfi_bytes_one(bytes)) != '\0') {
		if (length == MAX_AUGMENTATION - 1) {
			bytes->bad = true;
			break;
		}
		ret[length++] = c;
	}
	ret[length] = '\0';
}

static void read_augmentation_data(struct cfi_bytes *bytes, const char *letter, struct cfi_cie *cie)
{
	for (; *letter && !bytes->bad; letter++) {
		switch (*letter) {
		case 'R':
			cie->fde_encoding = cfi_bytes_one(bytes);
			bytes->bad |= (cie->fde_encoding & DW_EH_PE_indirect) != 0;
			break;
		case 'L':
			cfi_bytes_one(bytes);
			break;
		case 'P':
			/* libunwind may follow it: it is served files only then. */
			cfi_bytes_pointer(bytes, cfi_bytes_one(bytes));
			break;
		case 'S':
			cie->signal = true;
			break;
		default:
			bytes->bad = true;
		}
	}
}

/* Size of addresses and of segments, which only version 4 has. */
static bool is_version(struct cfi_bytes *bytes, const struct cfi_source *source, uint64_t version)
{
	if (version == 1 || version == 3)
		return true;
	return source->bytes && version == 4 && cfi_bytes_one(bytes) == sizeof(uint64_t) &&
	       cfi_bytes_one(bytes) == 0;
}

static int read_cie(struct cfi_bytes *bytes, const char *augmentation, uint64_t version,
		    struct cfi_cie *cie)
{
	cie->code_align = cfi_bytes_uleb(bytes);
	cie->data_align = cfi_bytes_sleb(bytes);
	if ((version == 1 ? cfi_bytes_one(bytes) : cfi_bytes_uleb(bytes)) != CFI_RETURN_COLUMN)
		return -EOPNOTSUPP;
	if (augmentation[0] == 'z') {
		uint64_t count = cfi_bytes_uleb(bytes);
		struct cfi_bytes data = cfi_bytes_take(bytes, count);

		cie->sized = true;
		read_augmentation_data(&data, augmentation + 1, cie);
		bytes->bad |= data.bad;
	} else if (augmentation[0] != '\0') {
		return -EOPNOTSUPP;
	}
	cie->program = *bytes;
	return bytes->bad ? -EBADMSG : 0;
}

int cfi_entry_cie(const struct cfi_source *source, uint64_t address, struct cfi_cie *ret)
{
	char augmentation[MAX_AUGMENTATION] = "";
	struct cfi_cie cie = { .low = address, .fde_encoding = DW_EH_PE_absptr };
	struct cfi_bytes bytes;
	int r = cfi_entry_open(source, address, &bytes);
	uint64_t version;

	if (r < 0)
		return r;
	cie.high = bytes.address + (uint64_t)(bytes.end - bytes.at);
	if (cfi_bytes_fixed(&bytes, 4) != (source->bytes ? DEBUG_CIE_ID : 0))
		return -EBADMSG;
	version = cfi_bytes_one(&bytes);
	read_augmentation(&bytes, augmentation);
	if (!is_version(&bytes, source, version))
		return -EOPNOTSUPP;
	r = read_cie(&bytes, augmentation, version, &cie);
	if (r == 0)
		*ret = cie;
	return r;
}

int cfi_entry_head(const struct cfi_source *source, uint64_t address, struct cfi_head *ret)
{
	struct cfi_head head = { .low = address };
	int r = cfi_entry_open(source, address, &head.rest);
	uint64_t reference;

	if (r < 0)
		return r;
	head.high = head.rest.address + (uint64_t)(head.rest.end - head.rest.at);
	reference = cfi_bytes_fixed(&head.rest, 4);
	if (reference == (source->bytes ? DEBUG_CIE_ID : 0))
		return -EBADMSG;
	head.cie = source->bytes ? reference : address + 4 - reference;
	*ret = head;
	return 0;
}

int cfi_entry_range(const struct cfi_cie *cie, struct cfi_head *head, uint64_t *ret_start,
		    uint64_t *ret_end)
{
	uint64_t start = cfi_bytes_pointer(&head->rest, cie->fde_encoding);
	uint64_t end = start + cfi_bytes_format(&head->rest, cie->fde_encoding);

	if (cie->sized)
		cfi_bytes_skip(&head->rest, cfi_bytes_uleb(&head->rest));
	if (head->rest.bad || end <= start)
		return -EBADMSG;
	*ret_start = start;
	*ret_end = end;
	return 0;
}
