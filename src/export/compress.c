/* SPDX-License-Identifier: MIT */
/*
 * compress.c - zlib and zstd behind stdio, so that writers print and know nothing of either.
 *
 * The output is the same for the same input: no time stamp, no name in the header.
 */
#include "src/export/compress.h"

#include <errno.h>
#include <stdint.h>

#ifdef HAVE_ZLIB
#include <zlib.h>
#endif
#ifdef HAVE_ZSTD
#include <zstd.h>
#endif

#define CHUNK (64u << 10)

#if defined(HAVE_ZLIB) || defined(HAVE_ZSTD)
static int put(FILE *under, const void *bytes, size_t count)
{
	return fwrite(bytes, 1, count, under) == count ? 0 : -EIO;
}
#endif

#ifdef HAVE_ZLIB
#define GZIP_WINDOW (15 + 16)	/* the largest, with gzip's header */

struct gzip {
	FILE *under;
	z_stream stream;
	uint8_t out[CHUNK];
};

/* Until all input is taken, or with Z_FINISH all output is out. */
static int gzip_run(struct gzip *gzip, int flush)
{
	int result;

	do {
		gzip->stream.next_out = gzip->out;
		gzip->stream.avail_out = CHUNK;
		result = deflate(&gzip->stream, flush);
		if (result == Z_STREAM_ERROR)
			return -EIO;
		if (put(gzip->under, gzip->out, CHUNK - gzip->stream.avail_out) < 0)
			return -EIO;
	} while (gzip->stream.avail_out == 0);
	return 0;
}

static ssize_t gzip_write(void *context, const char *bytes, size_t count)
{
	struct gzip *gzip = context;
	size_t part = count < CHUNK ? count : CHUNK;

	gzip->stream.next_in = (Bytef *)(uintptr_t)bytes;
	gzip->stream.avail_in = (uInt)part;
	return gzip_run(gzip, Z_NO_FLUSH) < 0 ? 0 : (ssize_t)part;
}

static int gzip_close(void *context)
{
	struct gzip *gzip = context;
	int err;

	gzip->stream.avail_in = 0;
	err = gzip_run(gzip, Z_FINISH);
	deflateEnd(&gzip->stream);
	free(gzip);
	return err < 0 ? EOF : 0;
}

static int gzip_open(FILE *under, FILE **ret)
{
	struct gzip *gzip = calloc(1, sizeof(*gzip));

	if (!gzip)
		return -ENOMEM;
	gzip->under = under;
	if (deflateInit2(&gzip->stream, Z_DEFAULT_COMPRESSION, Z_DEFLATED, GZIP_WINDOW, 8,
			 Z_DEFAULT_STRATEGY) != Z_OK) {
		free(gzip);
		return -ENOMEM;
	}
	*ret = fopencookie(gzip, "w", (cookie_io_functions_t){ .write = gzip_write,
							       .close = gzip_close });
	if (*ret)
		return 0;
	deflateEnd(&gzip->stream);
	free(gzip);
	return -ENOMEM;
}
#endif

#ifdef HAVE_ZSTD
struct zstd {
	FILE *under;
	ZSTD_CCtx *context;
	uint8_t out[CHUNK];
};

static int zstd_run(struct zstd *zstd, ZSTD_inBuffer *in, ZSTD_EndDirective mode)
{
	size_t left;

	do {
		ZSTD_outBuffer out = { zstd->out, CHUNK, 0 };

		left = ZSTD_compressStream2(zstd->context, &out, in, mode);
		if (ZSTD_isError(left) || put(zstd->under, zstd->out, out.pos) < 0)
			return -EIO;
	} while (mode == ZSTD_e_end ? left > 0 : in->pos < in->size);
	return 0;
}

static ssize_t zstd_write(void *context, const char *bytes, size_t count)
{
	ZSTD_inBuffer in = { bytes, count, 0 };

	return zstd_run(context, &in, ZSTD_e_continue) < 0 ? 0 : (ssize_t)count;
}

static int zstd_close(void *context)
{
	struct zstd *zstd = context;
	ZSTD_inBuffer nothing = { NULL, 0, 0 };
	int err = zstd_run(zstd, &nothing, ZSTD_e_end);

	ZSTD_freeCCtx(zstd->context);
	free(zstd);
	return err < 0 ? EOF : 0;
}

static int zstd_open(FILE *under, FILE **ret)
{
	struct zstd *zstd = calloc(1, sizeof(*zstd));

	if (!zstd)
		return -ENOMEM;
	zstd->under = under;
	zstd->context = ZSTD_createCCtx();
	*ret = !zstd->context ? NULL :
	       fopencookie(zstd, "w", (cookie_io_functions_t){ .write = zstd_write,
							       .close = zstd_close });
	if (*ret)
		return 0;
	ZSTD_freeCCtx(zstd->context);
	free(zstd);
	return -ENOMEM;
}
#endif

int compress_open(FILE *under, enum compress_kind kind, FILE **ret)
{
#ifdef HAVE_ZLIB
	if (kind == COMPRESS_GZIP)
		return gzip_open(under, ret);
#endif
#ifdef HAVE_ZSTD
	if (kind == COMPRESS_ZSTD)
		return zstd_open(under, ret);
#endif
	(void)under;
	(void)kind;
	(void)ret;
	return -ENOTSUP;
}
