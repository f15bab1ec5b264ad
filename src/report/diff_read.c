/* SPDX-License-Identifier: MIT */
/*
 * diff_read.c - one of our JSON documents, read as if somebody else had written it.
 *
 * The text is cut into members (json_walk.h); jansson parses one site, one group at a time, so
 * that memory follows the largest of them and not the document. Keys that are not needed are
 * not looked at: documents of later versions, with more of them, can be read. What is needed
 * and missing, negative or of another type ends it, with the byte where that is.
 * Refused: more than DIFF_MAX_BYTES, a member of more than MAX_MEMBER, several documents in a
 * file. Integers are read as reals: jansson refuses those above 2^63, which offsets reach.
 */
#include <errno.h>
#include <fcntl.h>
#include <jansson.h>
#include <math.h>
#include <stdarg.h>
#include <string.h>
#define HASH_NONFATAL_OOM 1	/* without memory nothing is added, and hh.tbl is NULL */
#include <uthash.h>

#include "src/base/why.h"
#include "src/report/diff.h"
#include "src/report/json_walk.h"
#include "src/report/printable.h"

#define MAX_MEMBER	(8ull << 20)
#define MAX_AMOUNT	9007199254740992.0	/* 2^53: whole numbers are exact up to here */
#define READ_BYTES	(1u << 20)

/* The frames of a site, until all groups are read. */
struct site {
	UT_hash_handle hh;
	uint64_t id;
	uint32_t frame_count;
	struct diff_frame frame[];
};
struct reading {
	struct diff *diff;
	enum diff_side side;
	const char *path, *text;	/* text: where byte 0 is */
	char *problem;
	struct site *sites;
	/* Members of the document; those of leaks. */
	struct json_piece schema, target, session, totals, site_list, leaks;
	struct json_piece covers, sum[DIFF_SUMS], groups;
};

/* what may quote the document: it must not move the cursor. */
static int bad(struct reading *r, const char *at, const char *what)
{
	_cleanup_free_ char *safe = printable_copy(what, PRINTABLE_TERMINAL);

	snprintf(r->problem, DIFF_PROBLEM_BYTES, "%.200s: byte %zu: %.200s", r->path,
		 (size_t)(at - r->text), safe ? safe : "?");
	return -EBADMSG;
}

static int failed(struct reading *r, int error)
{
	snprintf(r->problem, DIFF_PROBLEM_BYTES, "%.200s: %s", r->path, why_file(error).text);
	return error;
}

static inline void cleanup_json(json_t **json)
{
	json_decref(*json);
}
#define _cleanup_json_ _cleanup_(cleanup_json)

/* A member as jansson reads it. */
static int parse(struct reading *r, struct json_piece piece, json_t **ret)
{
	json_error_t error;

	if (piece.bytes > MAX_MEMBER)
		return bad(r, piece.text, "a member of more than 8 MiB");
	*ret = json_loadb(piece.text, piece.bytes, JSON_DECODE_ANY | JSON_DECODE_INT_AS_REAL,
			  &error);
	if (*ret)
		return 0;
	if (json_error_code(&error) == json_error_out_of_memory)
		return failed(r, -ENOMEM);
	return bad(r, piece.text + (error.position > 0 ? error.position : 0), error.text);
}

/* Texts and numbers of a parsed object, and the first thing that was wrong with it. */
struct fields {
	struct reading *r;
	json_t *object;
	const char *wrong;	/* the key */
};

static const char *text_of(struct fields *fields, const char *key)
{
	json_t *value = json_object_get(fields->object, key);

	if (value && !json_is_string(value) && !json_is_null(value))
		fields->wrong = key;
	return diff_text(fields->r->diff, json_string_value(value));
}

/* NAN: null or not there. */
static double real_of(struct fields *fields, const char *key)
{
	json_t *value = json_object_get(fields->object, key);

	if (value && !json_is_number(value) && !json_is_null(value))
		fields->wrong = key;
	return json_is_number(value) ? json_number_value(value) : (double)NAN;
}

/* A count or an amount of bytes, which must be there. */
static uint64_t amount_of(struct fields *fields, const char *key)
{
	double value = real_of(fields, key);

	if (value >= 0 && value <= MAX_AMOUNT)
		return (uint64_t)value;
	fields->wrong = key;
	return 0;
}

/* A whole number up to max; 0: null or not there. */
static uint64_t number_of(struct fields *fields, const char *key, uint64_t max)
{
	double value = real_of(fields, key);

	if (isnan(value))
		return 0;
	if (value >= 0 && value < (double)max)
		return (uint64_t)value;
	if (value < 0 || value > (double)max)
		fields->wrong = key;
	return max;
}

static int fields_verdict(struct fields *fields, struct json_piece piece)
{
	char what[80];

	if (!fields->wrong && json_is_object(fields->object))
		return 0;
	snprintf(what, sizeof(what), "\"%s\" is missing or not what it should be",
		 fields->wrong ? fields->wrong : "");
	return bad(fields->r, piece.text, json_is_object(fields->object) ? what : "no object");
}

static int read_frame(struct reading *r, json_t *object, struct json_piece piece,
		      struct diff_frame *ret)
{
	struct fields fields = { .r = r, .object = object };

	*ret = (struct diff_frame){
		.function = text_of(&fields, "function"), .file = text_of(&fields, "file"),
		.module = text_of(&fields, "module"),
		.offset = number_of(&fields, "offset", UINT64_MAX),
		.line = (uint32_t)number_of(&fields, "line", UINT32_MAX),
		.column = (uint32_t)number_of(&fields, "column", UINT32_MAX),
		.inlined = json_is_true(json_object_get(object, "inlined")),
	};
	return fields_verdict(&fields, piece);
}

static int read_frames(struct reading *r, json_t *frames, struct json_piece piece,
		       struct site **ret)
{
	size_t count = json_array_size(frames);
	struct site *site;
	int error = 0;

	if (!json_is_array(frames))
		return bad(r, piece.text, "\"frames\" is missing or no list");
	site = calloc(1, sizeof(*site) + count * sizeof(site->frame[0]));
	if (!site)
		return failed(r, -ENOMEM);
	for (size_t i = 0; !error && i < count; i++)
		error = read_frame(r, json_array_get(frames, i), piece, &site->frame[i]);
	site->frame_count = (uint32_t)count;
	*ret = site;
	return error;
}

/* Kept for the groups, which know sites by their id. */
static int keep_site(struct reading *r, struct site *site, struct json_piece piece)
{
	struct site *twin;

	HASH_FIND(hh, r->sites, &site->id, sizeof(site->id), twin);
	if (twin)
		return bad(r, piece.text, "a site with the id of another one");
	HASH_ADD(hh, r->sites, id, sizeof(site->id), site);
	return site->hh.tbl ? 0 : failed(r, -ENOMEM);
}

static int book_site(struct reading *r, struct fields *fields, const struct site *site,
		     struct json_piece piece)
{
	struct diff_amount amount = {
		.count = amount_of(fields, "live_count"), .bytes = amount_of(fields, "live_bytes"),
		.bytes_low = amount_of(fields, "live_bytes_low"),
		.bytes_high = amount_of(fields, "live_bytes_high"),
	};
	struct diff_entry like = { .verdict = text_of(fields, "kind"),
				   .frame_count = site->frame_count };
	int error;

	amount.too_few = diff_is_too_few(text_of(fields, "verdict"));
	error = fields_verdict(fields, piece);
	like.frame = (struct diff_frame *)(uintptr_t)site->frame;
	if (!error)
		error = diff_add(r->diff, DIFF_SITES, r->side, &like, &amount);
	return error == -ENOMEM ? failed(r, error) : error;
}

static int read_site(struct reading *r, struct json_piece piece)
{
	_cleanup_json_ json_t *object = NULL;
	struct fields fields = { .r = r };
	struct site *site = NULL;
	int error = parse(r, piece, &object);

	fields.object = object;
	if (!error)
		error = read_frames(r, json_object_get(object, "frames"), piece, &site);
	if (!error) {
		site->id = amount_of(&fields, "id");
		error = book_site(r, &fields, site, piece);
	}
	if (!error)
		error = keep_site(r, site, piece);
	if (error)
		free(site);
	return error;
}

static int read_group(struct reading *r, struct json_piece piece)
{
	_cleanup_json_ json_t *object = NULL;
	int error = parse(r, piece, &object);
	struct fields fields = { .r = r, .object = object };
	struct diff_amount amount;
	struct diff_entry like;
	struct site *site;
	uint64_t id;

	if (error)
		return error;
	amount = (struct diff_amount){
		.count = amount_of(&fields, "count"), .bytes = amount_of(&fields, "bytes"),
		.indirect_count = amount_of(&fields, "indirect_count"),
		.indirect_bytes = amount_of(&fields, "indirect_bytes"),
		.too_few = json_is_true(json_object_get(object, "too_few_samples")),
	};
	like = (struct diff_entry){
		.verdict = text_of(&fields, "verdict"), .type = text_of(&fields, "type"),
		.variable = text_of(&fields, "variable"), .held_by = text_of(&fields, "held_by"),
		.size = amount_of(&fields, "size"),
		.address = diff_text(r->diff, json_string_value(
			json_array_get(json_object_get(object, "addresses"), 0))),
	};
	id = number_of(&fields, "site", UINT32_MAX);
	if (!like.size)		/* they differ: what they have in common */
		like.size = number_of(&fields, "size_class", UINT64_MAX);
	if (!like.verdict)
		fields.wrong = "verdict";
	error = fields_verdict(&fields, piece);
	HASH_FIND(hh, r->sites, &id, sizeof(id), site);
	if (id && site) {
		like.frame = site->frame;
		like.frame_count = site->frame_count;
	}
	if (!error)
		error = diff_add(r->diff, DIFF_LEAKS, r->side, &like, &amount);
	return error == -ENOMEM ? failed(r, error) : error;
}

/* Each element of a list. */
static int read_list(struct reading *r, struct json_piece list, const char *what,
		     int (*read)(struct reading *, struct json_piece))
{
	struct json_piece element, key;
	struct json_walk walk;
	int more;

	if (json_walk_begin(&walk, list, '[') < 0)
		return bad(r, list.text, what);
	while ((more = json_walk_next(&walk, &key, &element)) > 0) {
		int error = read(r, element);

		if (error)
			return error;
	}
	return more < 0 ? bad(r, walk.at, "no JSON") : 0;
}

/* A key that is looked for, and where its value goes. */
struct wanted {
	const char *key;
	struct json_piece *piece;
};

/* Finds members of an object; those that are not there keep a text of NULL. */
static int find_members(struct reading *r, struct json_walk *walk, struct json_piece whole,
			const struct wanted *wanted, size_t count)
{
	struct json_piece key = { 0 }, value = { 0 };
	int more;

	if (json_walk_begin(walk, whole, '{') < 0)
		return bad(r, walk->at, "no JSON object begins here");
	while ((more = json_walk_next(walk, &key, &value)) > 0) {
		for (size_t i = 0; i < count; i++) {
			if (!json_piece_is(key, wanted[i].key))
				continue;
			if (wanted[i].piece->text)
				return bad(r, key.text, "a key for the second time");
			*wanted[i].piece = value;
		}
	}
	return more < 0 ? bad(r, walk->at, "no JSON") : 0;
}

static int find_document(struct reading *r, struct json_piece whole)
{
	const struct wanted wanted[] = {
		{ "schema", &r->schema }, { "target", &r->target }, { "session", &r->session },
		{ "totals", &r->totals }, { "sites", &r->site_list }, { "leaks", &r->leaks },
	};
	struct json_walk walk;
	int error = find_members(r, &walk, whole, wanted, ARRAY_SIZE(wanted));

	if (error)
		return error;
	if (!json_piece_is(r->schema, "\"memattach-snapshot-1\""))
		return bad(r, r->schema.text ? r->schema.text : whole.text,
			   "no memattach-snapshot-1 document (made by `memattach --json`)");
	json_walk_blank(&walk);
	if (walk.at < walk.end)
		return bad(r, walk.at, "something follows the document: one a file");
	for (size_t i = 0; i < ARRAY_SIZE(wanted); i++)
		if (!wanted[i].piece->text)
			return bad(r, whole.text, "\"target\", \"session\", \"totals\", \"sites\" "
				   "or \"leaks\" is missing");
	return 0;
}

static int read_target(struct reading *r, struct diff_document *document)
{
	_cleanup_json_ json_t *object = NULL;
	int error = parse(r, r->target, &object);
	struct fields fields = { .r = r, .object = object };

	if (error)
		return error;
	document->exe = text_of(&fields, "exe");
	document->pid = (int64_t)amount_of(&fields, "pid");
	document->start_time = real_of(&fields, "start_time");
	if (!document->exe || isnan(document->start_time))
		fields.wrong = document->exe ? "start_time" : "exe";
	return fields_verdict(&fields, r->target);
}

static int read_session(struct reading *r, struct diff_document *document,
			uint64_t *ret_interval)
{
	_cleanup_json_ json_t *object = NULL;
	int error = parse(r, r->session, &object);
	struct fields fields = { .r = r, .object = object };

	if (error)
		return error;
	document->time = real_of(&fields, "begin_time") + real_of(&fields, "duration");
	*ret_interval = number_of(&fields, "sample_interval_bytes", UINT64_MAX);
	return fields_verdict(&fields, r->session);
}

static int read_sum(struct reading *r, struct json_piece piece, const char *count,
		    const char *bytes, struct diff_sum *ret)
{
	_cleanup_json_ json_t *object = NULL;
	int error = parse(r, piece, &object);
	struct fields fields = { .r = r, .object = object };

	if (error)
		return error;
	ret->count = amount_of(&fields, count);
	ret->bytes = ret->low = ret->high = amount_of(&fields, bytes);
	return fields_verdict(&fields, piece);
}

/* Ends that are not there, as in older documents, are the figure itself. */
static int read_live(struct reading *r, struct diff_document *document, uint64_t interval)
{
	_cleanup_json_ json_t *object = NULL;
	int error = parse(r, r->totals, &object);
	struct fields fields = { .r = r, .object = object };
	struct diff_sum *live = &document->sum[0];
	bool drawn;

	if (error)
		return error;
	live->count = amount_of(&fields, "live_count");
	live->bytes = live->low = live->high = amount_of(&fields, "live_bytes");
	if (!isnan(real_of(&fields, "live_bytes_low")))
		live->low = amount_of(&fields, "live_bytes_low");
	if (!isnan(real_of(&fields, "live_bytes_high")))
		live->high = amount_of(&fields, "live_bytes_high");
	drawn = isnan(real_of(&fields, "temporary_count"));
	diff_set_unseen(document, drawn ? interval : 0);
	return fields_verdict(&fields, r->totals);
}

static int find_leaks(struct reading *r)
{
	struct wanted wanted[DIFF_SUMS + 1] = { { "covers_older_blocks", &r->covers },
						{ "groups", &r->groups } };
	struct json_walk walk;
	int error;

	for (size_t i = 1; i < DIFF_SUMS; i++)
		wanted[i + 1] = (struct wanted){ diff_sum_name(i), &r->sum[i] };
	error = find_members(r, &walk, r->leaks, wanted, ARRAY_SIZE(wanted));
	for (size_t i = 0; !error && i < ARRAY_SIZE(wanted); i++)
		if (!wanted[i].piece->text)
			error = bad(r, r->leaks.text, "a key of \"leaks\" is missing");
	return error;
}

/* Without sums, memory was not searched: what was not freed is told by the sites. */
static int read_leaks(struct reading *r, struct diff_document *document)
{
	int error = json_piece_is(r->leaks, "null") ? 0 : find_leaks(r);

	if (error || !r->groups.text || json_piece_is(r->sum[1], "null"))
		return error;
	for (size_t i = 1; !error && i < DIFF_SUMS; i++)
		error = read_sum(r, r->sum[i], "count", "bytes", &document->sum[i]);
	document->searched = true;
	document->covers_older_blocks = json_piece_is(r->covers, "true");
	return error ? error : read_list(r, r->groups, "\"groups\" is no list", read_group);
}

static int read_document(struct reading *r, struct json_piece whole)
{
	struct diff_document *document = &r->diff->document[r->side];
	uint64_t interval = 0;
	int error = find_document(r, whole);

	if (!error)
		error = read_target(r, document);
	if (!error)
		error = read_session(r, document, &interval);
	if (!error)
		error = read_live(r, document, interval);
	if (!error)
		error = read_list(r, r->site_list, "\"sites\" is no list", read_site);
	return error ? error : read_leaks(r, document);
}

/* All of a file or pipe. To be freed. */
static int read_text(int fd, char **ret, size_t *ret_bytes)
{
	size_t room = READ_BYTES, bytes = 0;
	char *text = malloc(room);
	ssize_t count;

	while (text && (count = read(fd, text + bytes, room - bytes)) != 0) {
		int error = count < 0 ? -errno : 0;
		char *larger = text;

		bytes += count > 0 ? (size_t)count : 0;
		if (!error && bytes > DIFF_MAX_BYTES)
			error = -EFBIG;
		if (!error && bytes == room)
			larger = realloc(text, room *= 2);
		if (error || !larger)
			free(text);
		if (error)
			return error;
		text = larger;
	}
	*ret = text;
	*ret_bytes = bytes;
	return text ? 0 : -ENOMEM;
}

static void forget_sites(struct site *sites)
{
	struct site *site, *next;

	HASH_ITER(hh, sites, site, next) {
		HASH_DEL(sites, site);
		free(site);
	}
}

int diff_read(struct diff *diff, enum diff_side side, const char *path,
	      char ret_problem[DIFF_PROBLEM_BYTES])
{
	struct reading r = { .diff = diff, .side = side, .path = path, .problem = ret_problem };
	_cleanup_fd_ int fd = open(path, O_RDONLY | O_CLOEXEC | O_NOCTTY);
	_cleanup_free_ char *text = NULL;
	size_t bytes = 0;
	int error = fd < 0 ? -errno : read_text(fd, &text, &bytes);

	if (error == -EFBIG) {
		snprintf(ret_problem, DIFF_PROBLEM_BYTES, "%.200s: larger than %llu MiB", path,
			 DIFF_MAX_BYTES >> 20);
		return error;
	}
	if (error)
		return failed(&r, error);
	r.text = text;
	error = read_document(&r, (struct json_piece){ text, bytes });
	forget_sites(r.sites);
	return error;
}
