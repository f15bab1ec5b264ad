/* SPDX-License-Identifier: MIT */
/*
 * recording_diff.c - see recording_diff.h.
 *
 * Figures of a recording may be anything: they are limited as those of a document are, so that
 * their differences fit.
 */
#include "src/recording/recording_diff.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#define HASH_NONFATAL_OOM 1	/* without memory nothing is added, and hh.tbl is NULL */
#include <uthash.h>

#include "src/base/hashmap.h"
#include "src/recording/moment.h"
#include "src/recording/recorded_names.h"
#include "src/recording/site_frames.h"
#include "src/report/leaks_text.h"

#define MAX_AMOUNT	(1ull << 53)	/* as of a document */

struct known_id {
	const char *text;	/* the other recording's */
	UT_hash_handle hh;
};
struct adding {
	struct diff *diff;
	enum diff_side side;
	const struct recording_content *content;
	struct known_id *shared;	/* build ids of the other recording's modules */
	struct site_frames frames;	/* of one stack */
	struct hashmap by_site;		/* id -> index; for leaks */
};

bool recording_diff_is(const char *name)
{
	_cleanup_free_ char *path = NULL;
	struct recording_moment moment;
	char magic[16] = "";
	struct stat file;

	if (recording_moment_parse(name, &path, &moment) < 0)
		return strchr(name, '@');	/* its reader says what is wrong */
	if (moment.kind != RECORDING_END)
		return true;
	_cleanup_fd_ int fd = open(path, O_RDONLY | O_CLOEXEC | O_NOCTTY | O_NONBLOCK);

	return fd >= 0 && fstat(fd, &file) == 0 && S_ISREG(file.st_mode) &&
	       pread(fd, magic, sizeof(magic), 0) == (ssize_t)sizeof(magic) &&
	       memcmp(magic, "SQLite format 3", sizeof(magic)) == 0;
}

static int share(struct adding *a, const struct recording_content *other)
{
	for (struct named_module *m = other ? other->own->modules : NULL; m; m = m->hh.next) {
		struct known_id *known;

		HASH_FIND_STR(a->shared, m->build_id, known);
		if (known || !m->build_id[0])
			continue;
		known = calloc(1, sizeof(*known));
		if (!known)
			return -ENOMEM;
		known->text = m->build_id;
		HASH_ADD_KEYPTR(hh, a->shared, known->text, strlen(known->text), known);
		if (!known->hh.tbl) {
			free(known);
			return -ENOMEM;
		}
	}
	return 0;
}

static void forget_shared(struct known_id *shared)
{
	struct known_id *known, *next;

	HASH_ITER(hh, shared, known, next) {
		HASH_DEL(shared, known);
		free(known);
	}
}

static const char *keep(void *context, const char *text)
{
	struct adding *a = context;

	return diff_text(a->diff, text);
}

/* The build ids of both: their files are the same. */
static const char *match(void *context, const char *build_id, const char *path)
{
	struct adding *a = context;
	struct known_id *known;

	(void)path;
	HASH_FIND_STR(a->shared, build_id, known);
	return known ? diff_text(a->diff, build_id) : NULL;
}

static uint64_t amount(uint64_t value)
{
	return value < MAX_AMOUNT ? value : MAX_AMOUNT;
}

static int add_site(struct adding *a, const struct snapshot_site *site)
{
	struct diff_amount figures = {
		.count = amount(site->live_count), .bytes = amount(site->live_bytes),
		.bytes_low = amount(site->live_bytes_low),
		.bytes_high = amount(site->live_bytes_high),
	};
	struct diff_entry like = { .verdict = diff_text(a->diff, snapshot_kind_name(site->kind)) };
	int err = site_frames_take(&a->frames, a->content, site);

	figures.too_few = diff_is_too_few(snapshot_verdict_name(site->verdict));
	like.frame = a->frames.frame;
	like.frame_count = a->frames.frame_count;
	return err < 0 ? err : diff_add(a->diff, DIFF_SITES, a->side, &like, &figures);
}

static int index_sites(struct adding *a)
{
	const struct snapshot *snapshot = a->content->snapshot;
	int err = 0;

	for (size_t i = 0; err == 0 && i < snapshot->site_count; i++)
		err = hashmap_put(&a->by_site, snapshot->site[i].id, i);
	return err;
}

static const struct snapshot_site *site_of(const struct adding *a, uint32_t id)
{
	uint64_t at;

	return id && hashmap_get(&a->by_site, id, &at) ? &a->content->snapshot->site[at] : NULL;
}

static int add_group(struct adding *a, const struct leak_group *group)
{
	const struct diff_amount figures = {
		.count = amount(group->count), .bytes = amount(group->bytes),
		.indirect_count = amount(group->indirect_count),
		.indirect_bytes = amount(group->indirect_bytes),
		.too_few = leaks_rest_on_too_few(a->content->snapshot, group),
	};
	const struct snapshot_site *site = site_of(a, group->site);
	struct diff_entry like = {
		.verdict = diff_text(a->diff, leak_verdict_name(group->verdict)),
		.type = diff_text(a->diff, group->type),
		.variable = diff_text(a->diff, group->variable),
		.held_by = diff_text(a->diff, group->held_by),
		.size = group->size ? group->size : group->size_class,
	};
	char address[24];
	int err = site ? site_frames_take(&a->frames, a->content, site) : 0;

	snprintf(address, sizeof(address), "0x%" PRIx64, group->address[0]);
	if (group->address_count)
		like.address = diff_text(a->diff, address);
	if (site) {
		like.frame = a->frames.frame;
		like.frame_count = a->frames.frame_count;
	}
	return err < 0 ? err : diff_add(a->diff, DIFF_LEAKS, a->side, &like, &figures);
}

static struct diff_sum sum_of(const struct leak_sum *kind)
{
	uint64_t bytes = amount(kind->bytes);

	return (struct diff_sum){ amount(kind->count), bytes, bytes, bytes };
}

/* In the order of diff_sum_name. */
static void describe(struct adding *a)
{
	static const enum block_kind kind[DIFF_SUMS - 1] = {
		BLOCK_DEFINITELY_LOST, BLOCK_INDIRECTLY_LOST, BLOCK_POSSIBLY_LOST, BLOCK_REACHABLE,
	};
	const struct snapshot *snapshot = a->content->snapshot;
	const struct leak_report *leaks = a->content->leaks;
	struct diff_document *document = &a->diff->document[a->side];

	*document = (struct diff_document){
		.exe = diff_text(a->diff, snapshot->target.exe), .pid = snapshot->target.pid,
		.start_time = snapshot->target.start_time,
		.time = snapshot->session.begin_time + snapshot->session.duration,
		.searched = leaks != NULL,
		.covers_older_blocks = leaks && leaks->covers_older_blocks,
	};
	document->sum[0] = (struct diff_sum){ amount(snapshot->totals.live_count),
					      amount(snapshot->totals.live_bytes),
					      amount(snapshot->totals.live_bytes_low),
					      amount(snapshot->totals.live_bytes_high) };
	diff_set_unseen(document, snapshot->every_alloc ? 0 :
			snapshot->session.sample_interval_bytes);
	for (size_t i = 0; leaks && i < ARRAY_SIZE(kind); i++)
		document->sum[i + 1] = sum_of(&leaks->kind[kind[i]]);
}

int recording_diff_add(struct diff *diff, enum diff_side side,
		       const struct recording_content *content,
		       const struct recording_content *other)
{
	struct adding a = { .diff = diff, .side = side, .content = content };
	const struct leak_report *leaks = content->leaks;
	int err = share(&a, other);

	a.frames = (struct site_frames){ .keep = keep, .match = match, .context = &a,
					 .with_code = other != NULL };
	describe(&a);
	for (size_t i = 0; err == 0 && i < content->snapshot->site_count; i++)
		err = add_site(&a, &content->snapshot->site[i]);
	if (err == 0 && leaks)
		err = index_sites(&a);
	for (size_t i = 0; err == 0 && leaks && i < leaks->group_count; i++)
		err = add_group(&a, &leaks->group[i]);
	hashmap_done(&a.by_site);
	forget_shared(a.shared);
	site_frames_done(&a.frames);
	return err;
}
