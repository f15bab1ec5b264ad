/* SPDX-License-Identifier: MIT */
/*
 * leaks_json.c - the leaks of the document, in one of three forms, and which one shows.
 *
 * Where memory was searched (input->leaks), every group has a verdict of reachability. Where
 * only allocations were watched, "not-freed" says no more than that, and the sums are null; they
 * are null, too, where the sites of a recording were judged by how long their blocks live.
 * Addresses are text: they are names, not amounts, and numbers above 2^53 do not survive
 * every JSON reader. Groups are complete whatever --top says: tools compare documents.
 */
#include "src/report/leaks_json.h"

#include <math.h>

#include "src/leak/holders/contents.h"
#include "src/report/access_json.h"
#include "src/report/leaks_text.h"
#include "src/report/name_shape.h"

static void put_addresses(struct emit *emit, const uint64_t *address, uint32_t count)
{
	emit_begin(emit, "addresses", '[');
	for (uint32_t i = 0; i < count; i++) {
		char text[24];

		snprintf(text, sizeof(text), "0x%llx", (unsigned long long)address[i]);
		emit_text(emit, NULL, text);
	}
	emit_end(emit, ']');
}

static void put_not_freed(struct emit *emit, const struct snapshot_leak *leak)
{
	emit_begin(emit, NULL, '{');
	emit_text(emit, "verdict", "not-freed");
	emit_uint(emit, "count", leak->count);
	emit_uint(emit, "bytes", leak->bytes);
	emit_null(emit, "type");
	emit_null(emit, "variable");
	emit_null(emit, "held_by");
	put_addresses(emit, leak->address, leak->address_count);
	emit_uint(emit, "site", leak->site);
	emit_end(emit, '}');
}

/* What only a search of memory tells. */
static void put_unsearched(struct emit *emit)
{
	static const char *const unknown[] = { "pause_us", "scanned_bytes", "definitely_lost",
					       "indirectly_lost", "possibly_lost",
					       "still_reachable" };

	emit_bool(emit, "covers_older_blocks", false);
	for (size_t i = 0; i < ARRAY_SIZE(unknown); i++)
		emit_null(emit, unknown[i]);
}

/* What was allocated since the attach and not freed; reachability was not looked at: null. */
static void put_watched(struct emit *emit, const struct snapshot *snapshot)
{
	if (!snapshot->has_leaks) {
		emit_null(emit, "leaks");
		return;
	}
	emit_begin(emit, "leaks", '{');
	put_unsearched(emit);
	emit_begin(emit, "groups", '[');
	for (size_t i = 0; i < snapshot->leak_count; i++)
		put_not_freed(emit, &snapshot->leak[i]);
	emit_end(emit, ']');
	emit_end(emit, '}');
}

static void put_sum(struct emit *emit, const char *key, const struct leak_sum *sum)
{
	emit_begin(emit, key, '{');
	emit_uint(emit, "count", sum->count);
	emit_uint(emit, "bytes", sum->bytes);
	emit_end(emit, '}');
}

static void put_heap(struct emit *emit, const struct leak_heap *heap)
{
	emit_begin(emit, NULL, '{');
	emit_text(emit, "allocator", heap->allocator);
	emit_text(emit, "version", heap->version[0] ? heap->version : NULL);
	emit_bool(emit, "covered", heap->covered);
	emit_text(emit, "why", heap->covered || !heap->why[0] ? NULL : heap->why);
	emit_uint(emit, "live_count", heap->live_count);
	emit_uint(emit, "live_bytes", heap->live_bytes);
	emit_end(emit, '}');
}

static void put_heaps(struct emit *emit, const struct leak_report *leaks)
{
	emit_begin(emit, "heaps", '[');
	for (uint32_t i = 0; i < leaks->heap_count && i < LEAK_MAX_HEAPS; i++)
		put_heap(emit, &leaks->heap[i]);
	emit_end(emit, ']');
}

static void put_content(struct emit *emit, const struct leak_content *content)
{
	char address[24], hex[2 * CONTENTS_MAX_BYTES + 1];
	uint32_t count = content->count < CONTENTS_MAX_BYTES ? content->count : CONTENTS_MAX_BYTES;

	snprintf(address, sizeof(address), "0x%llx", (unsigned long long)content->address);
	for (uint32_t i = 0; i < count; i++)
		snprintf(hex + (size_t)i * 2, 3, "%02x", (unsigned int)content->byte[i]);
	hex[(size_t)count * 2] = '\0';
	emit_begin(emit, NULL, '{');
	emit_text(emit, "address", address);
	emit_uint(emit, "size", content->size);
	emit_text(emit, "bytes", hex);
	emit_text(emit, "text", content->text);
	emit_text(emit, "text_kind", content->kind == LEAK_TEXT_STD ? "std::string" :
				     content->kind == LEAK_TEXT_C ? "c-string" : NULL);
	emit_bool(emit, "text_cut", content->text_cut);
	emit_end(emit, '}');
}

/* Private: the key is there only where somebody asked for it. */
static void put_contents(struct emit *emit, const struct leak_group *group)
{
	if (!group->content)
		return;
	emit_begin(emit, "contents", '[');
	for (uint32_t i = 0; i < group->content_count; i++)
		put_content(emit, &group->content[i]);
	emit_end(emit, ']');
}

static void put_name(struct emit *emit, const char *key, const struct report_names *names,
		     const char *text)
{
	_cleanup_free_ char *shaped = report_names_text(names, text);

	emit_text(emit, key, shaped);
}

static void put_group(struct emit *emit, const struct report_input *input,
		      const struct leak_group *group)
{
	const struct report_names *names = &input->names;

	emit_begin(emit, NULL, '{');
	emit_text(emit, "verdict", leak_verdict_name(group->verdict));
	emit_uint(emit, "count", group->count);
	emit_uint(emit, "bytes", group->bytes);
	emit_uint(emit, "indirect_count", group->indirect_count);
	emit_uint(emit, "indirect_bytes", group->indirect_bytes);
	emit_uint(emit, "size", group->size);
	emit_uint_if(emit, "size_class", group->size_class, group->size_class);
	put_name(emit, "type", names, group->type);
	put_name(emit, "variable", names, group->variable);
	put_name(emit, "held_by", names, group->held_by);
	put_name(emit, "last_held_by", names, group->last_held_by);
	emit_uint(emit, "last_held_count", group->last_held_count);
	put_addresses(emit, group->address, group->address_count);
	put_contents(emit, group);
	emit_uint_if(emit, "site", group->site, group->site);
	emit_uint_if(emit, "likely_site", group->likely_site, group->likely_site);
	emit_real_if(emit, "growth_per_hour", group->growth);
	emit_real_if(emit, "oldest_seconds", group->oldest);
	access_json_put(emit, names, group);
	emit_bool(emit, "by_history", group->by_history);
	emit_bool(emit, "too_few_samples", leaks_rest_on_too_few(input->snapshot, group));
	emit_end(emit, '}');
}

static void put_early(struct emit *emit, const struct leak_early *early)
{
	emit_begin(emit, NULL, '{');
	emit_uint(emit, "site", early->site);
	emit_uint(emit, "count", early->count);
	emit_uint(emit, "bytes", early->bytes);
	emit_real_if(emit, "longest_lifetime_seconds",
		     early->longest > 0 ? early->longest : NAN);
	emit_real(emit, "needs_seconds", early->needs);
	emit_end(emit, '}');
}

/* What suspects rest on, and those of which it is too early to tell. */
static void put_watch(struct emit *emit, const struct leak_report *leaks)
{
	emit_real_if(emit, "watched_seconds", leaks->watched);
	if (leaks->history > 0) {
		emit_begin(emit, "history", '{');
		emit_real(emit, "seconds", leaks->history);
		emit_uint(emit, "sites", leaks->history_sites);
		emit_end(emit, '}');
	} else {
		emit_null(emit, "history");
	}
	emit_begin(emit, "too_early", '[');
	for (size_t i = 0; i < leaks->early_count; i++)
		put_early(emit, &leaks->early[i]);
	emit_end(emit, ']');
}

static void put_protected(struct emit *emit, const struct leak_report *leaks)
{
	char address[24];

	emit_begin(emit, "protected_blocks", '{');
	emit_uint(emit, "count", leaks->protected.count);
	emit_uint(emit, "bytes", leaks->protected.bytes);
	emit_begin(emit, "addresses", '[');
	for (uint64_t i = 0; i < leaks->protected.count && i < LEAK_MAX_PROTECTED; i++) {
		(void)snprintf(address, sizeof(address), "0x%llx",
			       (unsigned long long)leaks->protected_address[i]);
		emit_text(emit, NULL, address);
	}
	emit_end(emit, ']');
	emit_end(emit, '}');
}

static void put_searched(struct emit *emit, const struct leak_report *leaks)
{
	emit_bool(emit, "covers_older_blocks", leaks->covers_older_blocks);
	emit_uint(emit, "pause_us", leaks->pause_us);
	emit_uint(emit, "scanned_bytes", leaks->scanned_bytes);
	emit_uint(emit, "unread_shared_bytes", leaks->unread_shared_bytes);
	emit_uint(emit, "late_bytes", leaks->late_bytes);
	put_protected(emit, leaks);
	put_sum(emit, "definitely_lost", &leaks->kind[BLOCK_DEFINITELY_LOST]);
	put_sum(emit, "indirectly_lost", &leaks->kind[BLOCK_INDIRECTLY_LOST]);
	put_sum(emit, "possibly_lost", &leaks->kind[BLOCK_POSSIBLY_LOST]);
	put_sum(emit, "still_reachable", &leaks->kind[BLOCK_REACHABLE]);
	put_sum(emit, "suppressed", &leaks->suppressed);
	put_heaps(emit, leaks);
	access_json_put_run(emit, &leaks->access);
}

static void put_report(struct emit *emit, const struct report_input *input)
{
	const struct leak_report *leaks = input->leaks;

	emit_begin(emit, "leaks", '{');
	if (leaks->unsearched)
		put_unsearched(emit);
	else
		put_searched(emit, leaks);
	put_watch(emit, leaks);
	emit_uint(emit, "too_few_samples_sites", leaks_too_few_sites(input->snapshot));
	emit_begin(emit, "groups", '[');
	for (size_t i = 0; i < leaks->group_count; i++)
		put_group(emit, input, &leaks->group[i]);
	emit_end(emit, ']');
	emit_end(emit, '}');
}

void leaks_json_put(struct emit *emit, const struct report_input *input)
{
	if (input->leaks)
		put_report(emit, input);
	else
		put_watched(emit, input->snapshot);
}
