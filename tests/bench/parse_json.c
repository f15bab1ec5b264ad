/* SPDX-License-Identifier: MIT */
/*
 * parse_json.c - jansson parses a large JSON file, and everything is freed again.
 *
 * The file is made before the work: a document for each thread, of records as a catalogue
 * has them. It is mapped, not read by stdio, so that all that is allocated in the work goes
 * through the functions that jansson is told to use, which count. They don't know the size of
 * what they free; as all is freed, the sums are equal. Units are records, shared by the
 * threads; a record is 330 bytes or so, and 55 allocations.
 */
#include "tests/bench/bench.h"

#include <fcntl.h>
#include <jansson.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>

struct document {
	size_t begin, size;
};

static struct document documents[BENCH_THREADS];
static const char *text;
static __thread struct bench_truth *counted;

static void *counting_malloc(size_t size)
{
	return bench_malloc(counted, size);
}

static void counting_free(void *block)
{
	if (block)
		bench_free(counted, block, 0);
}

static void parse_json(struct bench_worker *w)
{
	const struct document *document = &documents[w->number];
	json_error_t error;
	json_t *root;

	counted = &w->truth;
	root = json_loadb(text + document->begin, document->size, 0, &error);
	if (!root)
		_exit(6);
	json_decref(root);
	if (w->truth.allocs == w->truth.frees)
		w->truth.free_bytes = w->truth.alloc_bytes;
}

/* Returns its length. No floating point: printf might allocate for it. */
static int make_record(char *room, size_t size, uint64_t number, uint64_t *state)
{
	uint64_t r = bench_random(state);

	return snprintf(room, size,
			"%s{\"id\": %llu, \"sku\": \"article-%llx\", \"price\": %u.%02u, "
			"\"stock\": %u, \"available\": %s, \"discount\": null,\n"
			"  \"tags\": [\"tag%u\", \"tag%u\", \"tag%u\"],\n"
			"  \"size\": {\"width\": %u, \"height\": %u, \"depth\": %u},\n"
			"  \"text\": \"%.*s\\u00e9\\n\", \"seen\": [%u, %u, %u, %u]}\n",
			number ? "," : "", (unsigned long long)number, (unsigned long long)r,
			(unsigned int)(r % 1000), (unsigned int)(r >> 10) % 100,
			(unsigned int)(r >> 20) % 5000, r & 1 ? "true" : "false",
			(unsigned int)(r >> 3) % 90, (unsigned int)(r >> 9) % 90,
			(unsigned int)(r >> 13) % 90, (unsigned int)(r >> 5) % 700,
			(unsigned int)(r >> 7) % 700, (unsigned int)(r >> 11) % 700,
			(int)(r >> 40 & 63), "a text of any length that says what the article is "
			"good for, or what it is not",
			(unsigned int)(r >> 30) % 1000, (unsigned int)(r >> 33) % 1000,
			(unsigned int)(r >> 36) % 1000, (unsigned int)(r >> 39) % 1000);
}

static void put(int fd, const char *bytes, size_t size, size_t *at)
{
	if (write(fd, bytes, size) != (ssize_t)size)
		_exit(7);
	*at += size;
}

static void make_document(int fd, uint64_t records, uint64_t state, size_t *at)
{
	char room[65536];
	size_t used = 0;

	room[used++] = '[';
	for (uint64_t i = 0; i < records; i++) {
		used += (size_t)make_record(room + used, sizeof(room) - used, i, &state);
		if (used > sizeof(room) - 1024) {
			put(fd, room, used, at);
			used = 0;
		}
	}
	room[used++] = ']';
	put(fd, room, used, at);
}

/* The file has no name any more once it is mapped. */
static void make_file(const struct bench *b)
{
	char path[4096];
	size_t at = 0;
	int fd;

	snprintf(path, sizeof(path), "%s.json", b->result);
	fd = open(path, O_RDWR | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
	if (fd < 0)
		_exit(7);
	for (unsigned int i = 0; i < b->threads; i++) {
		struct bench_worker w = { .bench = b, .number = i };

		documents[i].begin = at;
		make_document(fd, bench_share(&w), i + 1, &at);
		documents[i].size = at - documents[i].begin;
	}
	text = mmap(NULL, at, PROT_READ, MAP_PRIVATE | MAP_POPULATE, fd, 0);
	if (text == MAP_FAILED)
		_exit(7);
	unlink(path);
	close(fd);
}

int main(int argc, char **argv)
{
	struct bench b = bench_begin(argc, argv);

	json_set_alloc_funcs(counting_malloc, counting_free);
	json_object_seed(1);
	make_file(&b);
	return bench_run(&b, parse_json);
}
