/* SPDX-License-Identifier: MIT */
/*
 * fuzz_recording.c - a recording, damaged or forged: bytes of the file are changed, or cells of its
 * tables, since few of the former get past SQLite. Its end and a moment of it are read, judged,
 * printed, exported and compared.
 *
 * The input's first byte says which, and what is done with it; then come changes: for cells
 * six bytes each, which column, how, which row, which value (forged_recording.h). The columns are
 * those that the file has, so that none is forgotten. All of it with each input would be some
 * five a second: an input has a part.
 */
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <sqlite3.h>

#include "tests/unit/forged_recording.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);
size_t LLVMFuzzerCustomMutator(uint8_t *data, size_t size, size_t most, unsigned int seed);
size_t LLVMFuzzerMutate(uint8_t *data, size_t size, size_t most);

#define CHANGE_BYTES 6u
#define MOST_CHANGES 10u
#define BYTES_OF_FILE 0x80u	/* of the first byte: they are changed, not cells */

/*
 * SQLite's own memory is not ours to watch, and half of the time would go into watching it: it
 * comes from libc, each block behind its size.
 */
void *__libc_malloc(size_t size);
void *__libc_realloc(void *block, size_t size);
void __libc_free(void *block);
int LLVMFuzzerInitialize(int *argc, char ***argv);

#define SIZE_BYTES	16	/* as much as keeps a block aligned */

static void *with_size(int *whole, int size)
{
	if (!whole)
		return NULL;
	*whole = size;
	return (char *)whole + SIZE_BYTES;
}

static void *sqlite_malloc(int size)
{
	return with_size(__libc_malloc((size_t)size + SIZE_BYTES), size);
}

static void *sqlite_realloc(void *block, int size)
{
	return with_size(__libc_realloc((char *)block - SIZE_BYTES, (size_t)size + SIZE_BYTES),
			 size);
}

static void sqlite_free(void *block)
{
	__libc_free((char *)block - SIZE_BYTES);
}

static int sqlite_size(void *block)
{
	return block ? *(int *)(void *)((char *)block - SIZE_BYTES) : 0;
}

static int sqlite_round(int size)
{
	return (size + 7) & ~7;
}

static int sqlite_begin(void *context)
{
	(void)context;
	return SQLITE_OK;
}

static void sqlite_end(void *context)
{
	(void)context;
}

int LLVMFuzzerInitialize(int *argc, char ***argv)
{
	const struct sqlite3_mem_methods methods = {
		sqlite_malloc, sqlite_free, sqlite_realloc, sqlite_size, sqlite_round,
		sqlite_begin, sqlite_end, NULL,
	};

	(void)argc;
	(void)argv;
	return sqlite3_config(SQLITE_CONFIG_MALLOC, &methods);
}

static uint32_t two(const uint8_t *data)
{
	return data[0] | (uint32_t)data[1] << 8;
}

static void change_cells(const uint8_t *data, size_t size)
{
	size = size < CHANGE_BYTES * MOST_CHANGES ? size : CHANGE_BYTES * MOST_CHANGES;
	forged_open();
	for (; size >= CHANGE_BYTES; data += CHANGE_BYTES, size -= CHANGE_BYTES)
		forged_apply(&(struct forged_change){
			.column = two(data), .way = (enum forged_way)(data[2] % FORGED_WAYS),
			.row = data[3], .value = two(data + 4) });
	forged_close();
}

/* A value of the list three times of four. */
static void invent(uint8_t change[CHANGE_BYTES])
{
	unsigned int column = (unsigned int)rand() % (unsigned int)forged_columns();
	unsigned int value = (unsigned int)rand() % (rand() % 4 ?
						     (unsigned int)forged_values() : 65536u);
	unsigned int way = rand() % 4 ? (unsigned int)rand() % (FORGED_TAKE + 1) :
					(unsigned int)rand() % FORGED_WAYS;

	change[0] = (uint8_t)column;
	change[1] = (uint8_t)(column >> 8);
	change[2] = (uint8_t)way;
	change[3] = (uint8_t)(rand() % 16);
	change[4] = (uint8_t)value;
	change[5] = (uint8_t)(value >> 8);
}

/* One change more, another instead of one, or another use; now and then as libFuzzer likes. */
size_t LLVMFuzzerCustomMutator(uint8_t *data, size_t size, size_t most, unsigned int seed)
{
	size_t count = size ? (size - 1) / CHANGE_BYTES : 0, at;

	if (!forged_columns())
		forged_begin();
	srand(seed);
	if (!size || most < 1 + CHANGE_BYTES * MOST_CHANGES || rand() % 8 == 0)
		return LLVMFuzzerMutate(data, size, most);
	if (rand() % 4 == 0)
		data[0] = (uint8_t)((unsigned int)rand() % (rand() % 8 ? BYTES_OF_FILE : 256u));
	at = count && (count >= MOST_CHANGES || rand() % 2) ? (size_t)rand() % count : count;
	invent(data + 1 + at * CHANGE_BYTES);
	count += at == count;
	return 1 + count * CHANGE_BYTES;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static const char *const moment[] = { "@0s", "@5s", "@50%", "@peak", "@end" };
	static const unsigned int use[] = { FORGED_REPORTS, FORGED_VIEWS, FORGED_EXPORTS,
					    FORGED_COMPARED };
	uint8_t first = size ? data[0] : 0;

	if (!forged_columns())
		forged_begin();
	if (first & BYTES_OF_FILE)
		forged_bytes(data + 1, size - 1);
	else
		change_cells(size ? data + 1 : data, size ? size - 1 : 0);
	(void)forged_use(moment[first / 4 % 5], use[first % 4] |
			 (first % 4 == 2 && first / 4 % 32 == 7 ? FORGED_HEAPTRACK : 0));
	return 0;
}
