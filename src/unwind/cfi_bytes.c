/* SPDX-License-Identifier: MIT */
/* cfi_bytes.c - a cursor over bytes of call frame information that may be hostile. */
#include "src/unwind/cfi_bytes.h"

#include <dwarf.h>
#include <string.h>

uint64_t cfi_bytes_fixed(struct cfi_bytes *bytes, size_t count)
{
	uint64_t value = 0;

	if (bytes->bad || (size_t)(bytes->end - bytes->at) < count) {
		bytes->bad = true;
		return 0;
	}
	memcpy(&value, bytes->at, count);
	bytes->at += count;
	bytes->address += count;
	return value;
}

/* Both kinds are the same length. *ret_sign: all bits above the last that was written. */
static uint64_t read_leb(struct cfi_bytes *bytes, uint64_t *ret_sign)
{
	uint64_t value = 0;
	unsigned int shift = 0;
	uint8_t byte;

	do {
		byte = cfi_bytes_one(bytes);
		if (shift < 64)
			value |= (uint64_t)(byte & 0x7f) << shift;
		shift += 7;
		if (shift > 70)
			bytes->bad = true;
	} while ((byte & 0x80) && !bytes->bad);
	*ret_sign = (byte & 0x40) && shift < 64 ? UINT64_MAX << shift : 0;
	return value;
}

uint64_t cfi_bytes_uleb(struct cfi_bytes *bytes)
{
	uint64_t sign;

	return read_leb(bytes, &sign);
}

int64_t cfi_bytes_sleb(struct cfi_bytes *bytes)
{
	uint64_t sign, value = read_leb(bytes, &sign);

	return (int64_t)(value | sign);
}

void cfi_bytes_skip(struct cfi_bytes *bytes, uint64_t count)
{
	if (bytes->bad || count > (uint64_t)(bytes->end - bytes->at)) {
		bytes->bad = true;
		return;
	}
	bytes->at += count;
	bytes->address += count;
}

struct cfi_bytes cfi_bytes_take(struct cfi_bytes *bytes, uint64_t count)
{
	struct cfi_bytes part = *bytes;

	cfi_bytes_skip(bytes, count);
	part.end = bytes->bad ? part.at : bytes->at;
	part.bad = bytes->bad;
	return part;
}

uint64_t cfi_bytes_format(struct cfi_bytes *bytes, uint8_t encoding)
{
	switch (encoding & 0x0f) {
	case DW_EH_PE_absptr:
	case DW_EH_PE_udata8:
	case DW_EH_PE_sdata8:
		return cfi_bytes_fixed(bytes, 8);
	case DW_EH_PE_udata4:
		return cfi_bytes_fixed(bytes, 4);
	case DW_EH_PE_sdata4:
		return (uint64_t)(int64_t)(int32_t)cfi_bytes_fixed(bytes, 4);
	case DW_EH_PE_udata2:
		return cfi_bytes_fixed(bytes, 2);
	case DW_EH_PE_sdata2:
		return (uint64_t)(int64_t)(int16_t)cfi_bytes_fixed(bytes, 2);
	}
	bytes->bad = true;
	return 0;
}

uint64_t cfi_bytes_pointer(struct cfi_bytes *bytes, uint8_t encoding)
{
	uint64_t base = bytes->address;
	uint64_t value = cfi_bytes_format(bytes, encoding);
	uint8_t application = encoding & 0x70;

	if (application != DW_EH_PE_absptr && application != DW_EH_PE_pcrel)
		bytes->bad = true;
	return application == DW_EH_PE_pcrel ? value + base : value;
}
