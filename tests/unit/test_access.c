/* SPDX-License-Identifier: MIT */
/*
 * test_access.c - --access without a target: the kernel's records taken apart, also when they are
 * cut or lie; which words are watched in what order; reads told from writes; what becomes of
 * groups and sums when lost blocks turn out to be used.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <linux/perf_event.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "inject/arch/x86_64/access_regs.h"
#include "src/access/samples.h"
#include "src/access/verdict.h"
#include "src/report/access_text.h"

/* ---- records ---- */

struct records {
	uint8_t byte[4096];
	struct access_thread thread;
};
struct seen {
	size_t count;
	struct access_sample last;
};

static void put(struct records *r, const void *data, size_t bytes)
{
	assert_true(r->thread.bytes + bytes <= sizeof(r->byte));
	memcpy(r->byte + r->thread.bytes, data, bytes);
	r->thread.bytes += (uint32_t)bytes;
}

static void put_u64(struct records *r, uint64_t value)
{
	put(r, &value, sizeof(value));
}

static void put_header(struct records *r, uint32_t type, size_t body)
{
	struct perf_event_header header = { .type = type, .size = (uint16_t)(sizeof(header) +
									     body) };

	put(r, &header, sizeof(header));
}

static void put_sample(struct records *r, uint64_t id, uint64_t stack, uint64_t good)
{
	struct access_regs regs = { 1, 2, 3, 4, 5, 6, 7, 8 };

	put_header(r, PERF_RECORD_SAMPLE, 8 + 8 + sizeof(regs) + 8 + stack + (stack ? 8 : 0));
	put_u64(r, id);
	put_u64(r, PERF_SAMPLE_REGS_ABI_64);
	put(r, &regs, sizeof(regs));
	put_u64(r, stack);
	for (uint64_t i = 0; i < stack; i += 8)
		put_u64(r, i);
	if (stack)
		put_u64(r, good);
}

static void see(void *context, const struct access_sample *sample)
{
	struct seen *seen = context;

	seen->count++;
	seen->last = *sample;
}

static void new_records(struct records *r)
{
	memset(r, 0, sizeof(*r));
	r->thread.id[0] = 70;
	r->thread.id[2] = 72;
}

static size_t parse(const struct records *r, struct seen *seen, uint64_t *lost)
{
	memset(seen, 0, sizeof(*seen));
	return access_samples_each(&r->thread, r->byte, see, seen, lost);
}

static void test_samples(void **state)
{
	struct records r;
	struct seen seen;
	uint64_t lost;

	(void)state;
	new_records(&r);
	put_sample(&r, 70, 64, 64);
	put_header(&r, PERF_RECORD_LOST, 16);
	put_u64(&r, 70);
	put_u64(&r, 5);
	put_header(&r, PERF_RECORD_THROTTLE, 8);
	put_u64(&r, 1);
	put_sample(&r, 99, 64, 64);	/* nobody's */
	put_sample(&r, 0, 64, 64);	/* no slot has id 0 */
	put_sample(&r, 72, 64, 16);
	assert_int_equal(parse(&r, &seen, &lost), 2);
	assert_int_equal(seen.count, 2);
	assert_int_equal(lost, 5);
	assert_int_equal(seen.last.slot, 2);
	assert_int_equal(seen.last.stack_bytes, 16);
	assert_int_equal(seen.last.registers.rbx, 1);
	assert_int_equal(seen.last.registers.rsp, 3);
	assert_int_equal(seen.last.registers.rip, 4);
	assert_int_equal(seen.last.registers.r15, 8);
	new_records(&r);
	put_sample(&r, 72, 0, 0);
	assert_int_equal(parse(&r, &seen, &lost), 1);
	assert_int_equal(seen.last.stack_bytes, 0);
}

/* Whatever is cut off, nothing is read behind the end and what is whole counts. */
static void test_samples_cut(void **state)
{
	struct records r;
	struct seen seen;
	uint64_t lost;
	uint32_t first;

	(void)state;
	new_records(&r);
	put_sample(&r, 70, 64, 64);
	first = r.thread.bytes;
	put_sample(&r, 72, 64, 64);
	for (uint32_t bytes = r.thread.bytes; bytes-- > 0;) {
		_cleanup_free_ uint8_t *exact = malloc(bytes + 1);

		assert_non_null(exact);
		memcpy(exact, r.byte, bytes);
		r.thread.bytes = bytes;
		memset(&seen, 0, sizeof(seen));
		assert_int_equal(access_samples_each(&r.thread, exact, see, &seen, &lost),
				 bytes >= first);
	}
}

static void test_samples_lie(void **state)
{
	static const uint64_t sizes[] = { 1ull << 63, UINT64_MAX, 65, 4096 };
	struct perf_event_header *header;
	struct records r;
	struct seen seen;
	uint64_t lost;

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(sizes); i++) {
		new_records(&r);
		put_sample(&r, 70, 64, 64);
		memcpy(r.byte + sizeof(*header) + 16 + sizeof(struct access_regs), &sizes[i], 8);
		assert_int_equal(parse(&r, &seen, &lost), 0);
	}
	new_records(&r);
	put_sample(&r, 70, 64, 1000);	/* more was read than there is */
	assert_int_equal(parse(&r, &seen, &lost), 1);
	assert_int_equal(seen.last.stack_bytes, 64);
	header = (void *)r.byte;
	header->size = 0;
	assert_int_equal(parse(&r, &seen, &lost), 0);
	header->size = 7;
	assert_int_equal(parse(&r, &seen, &lost), 0);
}

/* ---- the plan ---- */

static struct leak_report *report_of(const struct leak_group *group, size_t count)
{
	struct leak_report *report;

	assert_int_equal(leak_report_new(&report), 0);
	for (size_t i = 0; i < count; i++)
		assert_int_equal(leak_report_add(report, &group[i]), 0);
	return report;
}

static struct leak_group group_of(enum leak_verdict verdict, uint64_t at, uint32_t examples,
				  uint64_t bytes)
{
	struct leak_group group = { .verdict = verdict, .count = examples, .size = bytes,
				    .bytes = examples * bytes, .growth = NAN, .oldest = NAN,
				    .address_count = examples };

	for (uint32_t i = 0; i < examples; i++) {
		group.address[i] = at + i * 0x1000;
		group.example[i].bytes = bytes;
	}
	return group;
}

static void test_plan_turns(void **state)
{
	struct leak_group group[] = {
		group_of(LEAK_DEFINITELY_LOST, 0x10000, 2, 64),
		group_of(LEAK_STUCK, 0x20000, 16, 64),
		group_of(LEAK_REACHABLE, 0x30000, 1, 64),
	};
	struct leak_report *report = report_of(group, 3);
	struct access_slice slice;
	struct access_plan plan;

	(void)state;
	assert_int_equal(access_plan_new(report, &plan), 0);
	assert_int_equal(plan.count, 18);
	access_plan_next(&plan, 4, &slice);
	assert_int_equal(slice.count, 4);
	assert_int_equal(slice.target[0].address, 0x10000);
	assert_int_equal(slice.target[1].address, 0x20000);
	assert_int_equal(slice.target[2].address, 0x11008);	/* another one of the next */
	assert_int_equal(slice.target[3].address, 0x21008);
	access_plan_next(&plan, 2, &slice);
	assert_int_equal(slice.count, 2);
	assert_int_equal(slice.target[0].address, 0x10008);	/* the next word */
	access_plan_done(&plan);
	leak_report_free(report);
}

/* All words of a block are met, in as many turns and a few more, each within it. */
static void test_plan_words(void **state)
{
	static const uint64_t sizes[] = { 8, 16, 24, 40, 64, 136, 1000, 8000 };

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(sizes); i++) {
		struct leak_group group = group_of(LEAK_OLD, 0x10000, 1, sizes[i]);
		struct leak_report *report = report_of(&group, 1);
		uint64_t words = sizes[i] / 8, met = 0;
		bool seen[1024] = { false };
		struct access_slice slice;
		struct access_plan plan;

		assert_int_equal(access_plan_new(report, &plan), 0);
		for (uint64_t turn = 0; turn < words + 4; turn++) {
			access_plan_next(&plan, 1, &slice);
			assert_int_equal(slice.count, 1);
			assert_in_range(slice.target[0].address, 0x10000, 0x10000 + sizes[i] - 8);
			met += !seen[(slice.target[0].address - 0x10000) / 8];
			seen[(slice.target[0].address - 0x10000) / 8] = true;
		}
		assert_int_equal(met, words);
		access_plan_next(&plan, 4, &slice);
		assert_int_equal(slice.count, words < 4 ? words : 4);	/* no word twice */
		access_plan_done(&plan);
		leak_report_free(report);
	}
}

static void test_plan_pairs(void **state)
{
	struct leak_group group = group_of(LEAK_GROWING, 0x10000, 2, 64);
	struct leak_report *report = report_of(&group, 1);
	struct access_slice slice;
	struct access_plan plan;

	(void)state;
	assert_int_equal(access_plan_new(report, &plan), 0);
	plan.block[0].state = ACCESS_TOUCHED;
	plan.block[0].touched = 0x10028;
	access_plan_next(&plan, 4, &slice);
	assert_int_equal(slice.count, 4);
	assert_true(slice.target[0].paired && slice.target[1].paired);
	assert_false(slice.target[0].writes_only);
	assert_true(slice.target[1].writes_only);
	assert_int_equal(slice.target[1].address, 0x10028);
	assert_int_equal(slice.target[2].block, 1);
	plan.block[1].state = ACCESS_GONE;
	access_plan_next(&plan, 4, &slice);
	assert_int_equal(slice.count, 4);
	assert_true(slice.target[1].paired);	/* the second and last time */
	for (int i = 0; i < 8; i++) {	/* then other words of it, for a while */
		assert_int_equal(slice.target[3].block, 0);
		assert_false(slice.target[3].paired);
		access_plan_next(&plan, 4, &slice);
		if (slice.count < 4)
			break;
	}
	access_plan_next(&plan, 4, &slice);
	assert_int_equal(slice.count, 0);
	access_plan_done(&plan);
	leak_report_free(report);
}

/* ---- places ---- */

static void hit(struct access_places *places, uint64_t offset, enum access_role role)
{
	struct frame frame = { .module = 1, .flags = FRAME_RETURN, .offset = offset };

	assert_int_equal(access_places_add(places, &frame, 1, role, false), 0);
}

static void test_places(void **state)
{
	struct access_places places = { .count = 0 };
	struct leak_access access = { .hits = 0 };

	(void)state;
	for (int i = 0; i < 3; i++)
		hit(&places, 0x100, ACCESS_PAIR_ALL);	/* reads */
	for (int i = 0; i < 5; i++) {
		hit(&places, 0x200, ACCESS_PAIR_ALL);	/* writes */
		hit(&places, 0x200, ACCESS_PAIR_WRITES);
	}
	hit(&places, 0x300, ACCESS_ALONE);
	for (int i = 0; i < 2; i++)	/* behind the other one's limit */
		hit(&places, 0x400, ACCESS_PAIR_WRITES);
	for (uint64_t i = 0; i < 200; i++)
		hit(&places, 0x1000 + i, ACCESS_ALONE);
	access_places_put(&places, &access);
	assert_int_equal(access.hits, 209);
	assert_int_equal(access.place_count, LEAK_MAX_PLACES);
	assert_int_equal(access.place[0].frame[0].offset, 0x200);
	assert_int_equal(access.place[0].hits, 5);
	assert_int_equal(access.place[0].kind, LEAK_ACCESS_WRITE);
	assert_int_equal(access.place[1].kind, LEAK_ACCESS_READ);
	assert_int_equal(access.place[1].hits, 3);
	assert_int_equal(access.place[2].frame[0].offset, 0x400);
	assert_int_equal(access.place[2].kind, LEAK_ACCESS_WRITE);
	assert_int_equal(access.place[3].kind, LEAK_ACCESS_EITHER);
	access_places_done(&places);
}

/* ---- verdicts ---- */

struct judged {
	struct leak_report *report;
	struct access_plan plan;
	struct access_places places[4];
};

static void judge_begin(struct judged *j, const struct leak_group *group, size_t count)
{
	memset(j, 0, sizeof(*j));
	j->report = report_of(group, count);
	for (size_t i = 0; i < count; i++) {
		struct leak_sum *sum = &j->report->kind[group[i].verdict == LEAK_DEFINITELY_LOST ?
							BLOCK_DEFINITELY_LOST :
							BLOCK_POSSIBLY_LOST];

		sum->count += group[i].count;
		sum->bytes += group[i].bytes;
		j->report->kind[BLOCK_INDIRECTLY_LOST].count += group[i].indirect_count;
		j->report->kind[BLOCK_INDIRECTLY_LOST].bytes += group[i].indirect_bytes;
	}
	assert_int_equal(access_plan_new(j->report, &j->plan), 0);
	for (size_t i = 0; i < j->plan.count; i++)
		j->plan.block[i].armed = 0.5;
}

static void judge_end(struct judged *j)
{
	for (size_t i = 0; i < ARRAY_SIZE(j->places); i++)
		access_places_done(&j->places[i]);
	access_plan_done(&j->plan);
	leak_report_free(j->report);
}

static void judge(struct judged *j)
{
	assert_int_equal(access_verdict_apply(j->report, &j->plan, j->places, 10), 0);
}

static void expect_sum(const struct judged *j, enum block_kind kind, uint64_t count,
		       uint64_t bytes)
{
	assert_int_equal(j->report->kind[kind].count, count);
	assert_int_equal(j->report->kind[kind].bytes, bytes);
}

static void test_verdict_whole(void **state)
{
	struct leak_group group = group_of(LEAK_DEFINITELY_LOST, 0x10000, 1, 64);
	struct judged j;

	(void)state;
	group.indirect_count = 3;
	group.indirect_bytes = 300;
	judge_begin(&j, &group, 1);
	j.plan.block[0].state = ACCESS_TOUCHED;
	hit(&j.places[0], 1, ACCESS_ALONE);
	judge(&j);
	assert_int_equal(j.report->group_count, 1);
	assert_int_equal(j.report->group[0].verdict, LEAK_REACHABLE);
	assert_true(j.report->group[0].access->disproved);
	assert_int_equal(j.report->group[0].access->hits, 1);
	expect_sum(&j, BLOCK_DEFINITELY_LOST, 0, 0);
	expect_sum(&j, BLOCK_INDIRECTLY_LOST, 0, 0);
	expect_sum(&j, BLOCK_REACHABLE, 4, 364);
	judge_end(&j);
}

/* Two of three are used, one of them freed; the third is of the same type, or just as large. */
static void test_verdict_split(void **state)
{
	(void)state;
	for (int typed = 0; typed < 2; typed++) {
		struct leak_group group = group_of(LEAK_DEFINITELY_LOST, 0x10000, 3, 64), *left;
		struct judged j;

		group.type = typed ? strdup("struct node") : NULL;
		group.indirect_count = 5;
		group.indirect_bytes = 50;
		group.example[0].indirect_count = 2;
		group.example[0].indirect_bytes = 20;
		judge_begin(&j, &group, 1);
		j.plan.block[0].state = ACCESS_TOUCHED;
		j.plan.block[2].state = ACCESS_FREED;
		j.plan.block[2].capped = true;
		hit(&j.places[0], 1, ACCESS_ALONE);
		judge(&j);
		assert_int_equal(j.report->group_count, 2);
		left = &j.report->group[0];
		assert_int_equal(left->verdict,
				 typed ? LEAK_POSSIBLY_LOST : LEAK_DEFINITELY_LOST);
		assert_int_equal(left->count, 1);
		assert_int_equal(left->bytes, 64);
		assert_int_equal(left->indirect_count, 3);
		assert_int_equal(left->address_count, 1);
		assert_int_equal(left->address[0], 0x11000);
		assert_int_equal(left->access->doubtful, typed);
		assert_int_equal(left->access->watched, 1);
		assert_int_equal(left->access->hits, 0);
		assert_false(left->access->at_least);
		assert_int_equal(j.report->group[1].verdict, LEAK_REACHABLE);
		assert_int_equal(j.report->group[1].count, 2);
		assert_int_equal(j.report->group[1].address[1], 0x12000);
		assert_int_equal(j.report->group[1].access->accessed, 1);
		assert_int_equal(j.report->group[1].access->freed, 1);
		assert_true(j.report->group[1].access->at_least);
		expect_sum(&j, BLOCK_REACHABLE, 4, 148);
		expect_sum(&j, BLOCK_DEFINITELY_LOST, !typed, typed ? 0 : 64);
		expect_sum(&j, BLOCK_POSSIBLY_LOST, typed ? 4 : 0, typed ? 94 : 0);
		expect_sum(&j, BLOCK_INDIRECTLY_LOST, typed ? 0 : 3, typed ? 0 : 30);
		judge_end(&j);
	}
}

static char *text_of(const struct leak_group *group)
{
	const struct report_input input = { .options = { .top = 0 } };
	char *text = NULL;
	size_t bytes;
	FILE *out = open_memstream(&text, &bytes);

	assert_non_null(out);
	access_text_put(out, &input, group);
	assert_int_equal(fclose(out), 0);
	return text;
}

/* A few of five blocks are watched: the report says how many, and that the others were not. */
static void test_unwatched(void **state)
{
	(void)state;
	for (uint32_t quiet = 0; quiet < 2; quiet++) {
		struct leak_group group = group_of(LEAK_DEFINITELY_LOST, 0x10000, 2, 64), *left;
		_cleanup_free_ char *text = NULL, *used = NULL;
		struct judged j;

		group.type = strdup("struct node");
		group.count = 5;
		group.bytes = 320;
		judge_begin(&j, &group, 1);
		j.plan.block[0].state = ACCESS_FREED;
		j.plan.block[1].state = quiet ? ACCESS_QUIET : ACCESS_FREED;
		judge(&j);
		left = &j.report->group[0];
		assert_int_equal(left->verdict, LEAK_POSSIBLY_LOST);
		assert_int_equal(left->count, 3 + quiet);
		assert_int_equal(leak_group_unwatched(left), 3);
		text = text_of(left);
		assert_non_null(strstr(text, "others like these are still used"));
		assert_non_null(strstr(text, quiet ? "    1 of 4 blocks watched, the others were "
				       "not\n" : "    these blocks were not watched\n"));
		assert_int_equal(leak_group_unwatched(&j.report->group[1]), 0);
		used = text_of(&j.report->group[1]);
		assert_null(strstr(used, "not watched"));
		assert_null(strstr(used, "were not"));
		judge_end(&j);
	}
}

static void test_verdict_stays(void **state)
{
	struct leak_group group[] = {
		group_of(LEAK_DEFINITELY_LOST, 0x10000, 2, 64),
		group_of(LEAK_STUCK, 0x20000, 2, 64),
		group_of(LEAK_GROWING, 0x30000, 2, 64),
	};
	struct judged j;

	(void)state;
	judge_begin(&j, group, 1);	/* sums of lost ones only */
	judge_end(&j);
	memset(&j, 0, sizeof(j));
	j.report = report_of(group, 3);
	assert_int_equal(access_plan_new(j.report, &j.plan), 0);
	for (size_t i = 0; i < 4; i++)
		j.plan.block[i].armed = 0.5;
	j.plan.block[2].state = ACCESS_TOUCHED;
	judge(&j);
	assert_int_equal(j.report->group_count, 3);
	assert_int_equal(j.report->group[0].verdict, LEAK_DEFINITELY_LOST);
	assert_int_equal(j.report->group[0].access->accessed, 0);
	assert_true(fabs(j.report->group[0].access->armed_seconds - 1) < 1e-9);
	assert_int_equal(j.report->group[1].verdict, LEAK_STUCK);
	assert_int_equal(j.report->group[1].access->accessed, 1);
	assert_null(j.report->group[2].access);	/* its turn never came */
	judge_end(&j);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_samples),
		cmocka_unit_test(test_samples_cut),
		cmocka_unit_test(test_samples_lie),
		cmocka_unit_test(test_plan_turns),
		cmocka_unit_test(test_plan_words),
		cmocka_unit_test(test_plan_pairs),
		cmocka_unit_test(test_places),
		cmocka_unit_test(test_verdict_whole),
		cmocka_unit_test(test_verdict_split),
		cmocka_unit_test(test_unwatched),
		cmocka_unit_test(test_verdict_stays),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
