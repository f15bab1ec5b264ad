/* SPDX-License-Identifier: MIT */
/*
 * debug_unpack.c - see debug_unpack.h.
 *
 * Piece by piece: neither the compressed section nor the uncompressed one is ever in memory as a
 * whole. The size that the section claims is not believed: it is the caller's limit, which the
 * caller has counted.
 */
#include "src/modules/debug_unpack.h"

#include <errno.h>
#include <unistd.h>

uint32_t debug_unpack_type(const struct debug_source *source, const Elf64_Shdr *section,
			   Elf64_Chdr *ret)
{
	if (!(section->sh_flags & SHF_COMPRESSED) || section->sh_type == SHT_NOBITS ||
	    section->sh_size < sizeof(*ret) ||
	    !debug_source_has(source, section->sh_offset, section->sh_size))
		return 0;
	debug_source_read(source, section->sh_offset, ret, sizeof(*ret));
	return ret->ch_type;
}

#ifdef HAVE_ZSTD
#include <zstd.h>
#include <zstd_errors.h>

#define PIECE	65536u

struct unpacking {
	const struct debug_source *source;
	uint64_t at, end;	/* of the source: what is still to be read */
	int file;
	uint64_t to, left;	/* of the file: what is still to be written */
	ZSTD_DCtx *context;
	uint8_t in[PIECE], out[PIECE];
};

bool debug_unpack_possible(void)
{
	return true;
}

static int write_piece(struct unpacking *u, size_t bytes)
{
	size_t done = 0;

	if (bytes > u->left)
		bytes = (size_t)u->left;
	while (done < bytes) {
		ssize_t n = pwrite(u->file, u->out + done, bytes - done, (off_t)u->to);

		if (n < 0 && errno == EINTR)
			continue;
		if (n <= 0)
			return n < 0 ? -errno : -EIO;
		done += (size_t)n;
		u->to += (uint64_t)n;
		u->left -= (uint64_t)n;
	}
	return 0;
}

/* All that comes of one piece of input. */
static int unpack_piece(struct unpacking *u, ZSTD_inBuffer *in)
{
	bool full;

	do {
		ZSTD_outBuffer out = { u->out, sizeof(u->out), 0 };
		size_t r = ZSTD_decompressStream(u->context, &out, in);
		int error;

		if (ZSTD_isError(r))
			return ZSTD_getErrorCode(r) == ZSTD_error_memory_allocation ? -ENOMEM :
										      -EBADMSG;
		full = out.pos == out.size;
		error = write_piece(u, out.pos);
		if (error)
			return error;
	} while (u->left > 0 && (full || in->pos < in->size));
	return 0;
}

static int unpack(struct unpacking *u)
{
	int error = 0;

	while (!error && u->left > 0 && u->at < u->end) {
		uint64_t rest = u->end - u->at;
		size_t bytes = rest < PIECE ? (size_t)rest : PIECE;
		ZSTD_inBuffer in = { u->in, bytes, 0 };

		debug_source_read(u->source, u->at, u->in, bytes);
		u->at += bytes;
		error = unpack_piece(u, &in);
	}
	return error ? error : u->left > 0 ? -EBADMSG : 0;
}

int debug_unpack(const struct debug_source *source, const Elf64_Shdr *section, uint64_t size,
		 int file, uint64_t to)
{
	struct unpacking *u = malloc(sizeof(*u));
	int error = -ENOMEM;

	if (!u)
		return -ENOMEM;
	u->source = source;
	u->at = section->sh_offset + sizeof(Elf64_Chdr);
	u->end = section->sh_offset + section->sh_size;
	u->file = file;
	u->to = to;
	u->left = size;
	u->context = ZSTD_createDCtx();
	if (u->context)
		error = unpack(u);
	ZSTD_freeDCtx(u->context);
	free(u);
	return error;
}
#else
bool debug_unpack_possible(void)
{
	return false;
}

int debug_unpack(const struct debug_source *source, const Elf64_Shdr *section, uint64_t size,
		 int file, uint64_t to)
{
	(void)source;
	(void)section;
	(void)size;
	(void)file;
	(void)to;
	return -ENOTSUP;
}
#endif
