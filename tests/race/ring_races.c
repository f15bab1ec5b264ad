/* SPDX-License-Identifier: MIT */
/*
 * ring_races.c - the ring's real writer (inject/shim/record.c) and its real reader
 * (src/ring/reader.c) in every order of their accesses to shared words, up to some preemptions
 * (RACE_PREEMPTIONS adds to each case's own).
 *
 * What must hold in each: who depends on a record is handed over after it; each record is handed
 * over once, with what was written into it, or is counted as lost; nobody waits for ever; a writer
 * that dies in the middle of a record, or is interrupted there by a handler that writes, takes
 * nothing with it that is not counted.
 */
#include "tests/race/schedule.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "src/ring/reader_private.h"
#include "tests/race/writer.h"

enum { RINGS = 2, LINES = 4, RECORDS = 16, NONE = -1 };

/* What is written in a run. */
static struct {
	bool begun, recorded, seen; /* recorded: who wrote it goes on, others may know of it */
	int after;                  /* who wrote this one knew that record; NONE */
	int writer;
} record[RECORDS];

static struct ring_control *control;
static size_t control_bytes;
static struct reader *reader;
static uint64_t time_now;
static uint64_t written; /* so often was a shared word, for who waits for a change */
static const char *case_name;
static unsigned long long handed, lost; /* in all runs */

static void broken(const char *what, int i)
{
	(void)fprintf(stderr, "FAIL: %s: record %d %s; order %s\n", case_name, i, what,
		      schedule_trail());
	abort();
}

/* ---- what the writer and the reader ask for ---- */

static bool is_shared(const volatile void *word)
{
	uintptr_t at = (uintptr_t)word, rings = (uintptr_t)control + control->rings_offset;
	uintptr_t heads = (uintptr_t)&control->ring[0];

	if (at >= rings && at < rings + RINGS * control->ring_bytes)
		return at % RING_LINE == 0; /* commit words; what a record says goes with them */
	if (at >= heads && at < (uintptr_t)&control->ring[RINGS])
		return (at - heads) % sizeof(struct ring_head) ==
			       offsetof(struct ring_head, head) ||
		       (at - heads) % sizeof(struct ring_head) == offsetof(struct ring_head, tail);
	return word == &control->wake || word == &control->pressed;
}

void race_point(const volatile void *word, int writes)
{
	if (!schedule_current() || !is_shared(word))
		return;
	schedule_point();
	written += (uint64_t)writes; /* it is written before anybody else comes */
}

uint64_t race_clock(const struct ring_control *of, uint32_t *ret_cpu)
{
	(void)of;
	schedule_point();
	*ret_cpu = schedule_current() ? schedule_current()->cpu : 0;
	return ++time_now;
}

static uint64_t reader_clock(void)
{
	schedule_point();
	return ++time_now;
}

static bool has_changed(const void *seen)
{
	return written != *(const uint64_t *)seen;
}

uint64_t race_written(void)
{
	return written;
}

void race_await(uint64_t seen)
{
	schedule_wait(has_changed, &seen);
}

/* ---- writing and reading ---- */

/* What record i says: of each word something else. */
static struct race_record race_record(int i)
{
	uint64_t n = (uint64_t)i + 1;

	return (struct race_record){
		.address = 16 * n, .size = n, .thread = 64 * n, .caller = 0x1000 + n
	};
}

static void write_record(int i, enum ring_kind kind, int after)
{
	record[i].after = after;
	record[i].writer = schedule_current()->number;
	record[i].begun = true;
	record[i].recorded = race_write(control, kind, race_record(i));
}

static void see(void *context, const struct event *event)
{
	int i = (int)event->size - 1;
	struct race_record is;

	(void)context;
	if (i < 0 || i >= RECORDS || !record[i].begun)
		broken("was never written", i);
	if (record[i].seen)
		broken("comes twice", i);
	is = race_record(i);
	if (event->thread != is.thread || event->caller != is.caller ||
	    event->address != is.address)
		broken("is torn", i);
	if (record[i].after != NONE && record[record[i].after].recorded &&
	    !record[record[i].after].seen)
		broken("comes before one that it depends on", i);
	record[i].seen = true;
	handed++;
}

static int writers;

static bool writers_ended(void)
{
	for (int i = 0; i < writers; i++)
		if (!schedule_ended(i))
			return false;
	return true;
}

static bool may_read(const void *seen)
{
	return has_changed(seen) || writers_ended();
}

/* The last task of each case: reads as long as somebody writes. */
static void read_all(struct schedule_task *task)
{
	(void)task;
	while (!writers_ended()) {
		uint64_t before = written;

		if (reader_drain(reader, see, NULL) == 0)
			schedule_wait(may_read, &before);
	}
}

/* A handler of a thread that waits for itself gives up: see standstill.c. */
static void let_time_pass(void)
{
	time_now += (1ull << 32) + 1;
}

static void begin(void)
{
	memset(control->ring, 0, RINGS * sizeof(control->ring[0]));
	memset((uint8_t *)control + control->rings_offset, 0, RINGS * control->ring_bytes);
	memset(control->lane, 0, sizeof(control->lane));
	control->pressed = control->wake = 0;
	memset(record, 0, sizeof(record));
	time_now = 1000;
	written = 0;
	if (reader_new(&(struct reader_source){ .mapping = control,
						.bytes = control_bytes,
						.clock = reader_clock },
		       &reader))
		broken("no reader", NONE);
}

/*
 * What lies behind a record that nobody can finish is out of reach, and counted as one. A writer
 * that died may have counted what it lost, or not yet.
 */
static void end(void)
{
	struct reader_losses losses;
	uint64_t missing = 0, of_the_dead = 0, counted;

	(void)reader_finish(reader, see, NULL);
	reader_losses(reader, &losses);
	counted = losses.alloc + losses.free;
	if (losses.corrupt)
		broken("is called corrupt", NONE);
	for (int i = 0; i < RECORDS && !losses.abandoned && !reader->unreachable; i++) {
		if (record[i].recorded && !record[i].seen)
			broken("was recorded and never came", i);
		if (record[i].begun && !record[i].seen)
			*(schedule_died(record[i].writer) ? &of_the_dead : &missing) += 1;
	}
	if (!losses.abandoned && !reader->unreachable &&
	    (counted < missing || counted > missing + of_the_dead))
		broken("is lost, and not counted", NONE);
	lost += missing;
	reader_free(reader);
}

/* ---- cases ---- */

static bool is_recorded(const void *i)
{
	return record[*(const int *)i].recorded;
}

/* A block is allocated, freed by another thread, and its address used anew by a third. */
static void life_of_address(struct schedule_task *task)
{
	static const int before[3] = { NONE, 0, 1 };

	if (task->number > 0)
		schedule_wait(is_recorded, &before[task->number]);
	if (task->number > 0 && !record[before[task->number]].recorded)
		return;
	write_record(task->number, task->number == 1 ? RING_FREE : RING_ALLOC,
		     before[task->number]);
}

/* The first and the last two of three records, the last of which depends on the one before. */
static void write_behind(struct schedule_task *task)
{
	static const int before[3] = { NONE, NONE, 1 };

	if (before[task->number] != NONE)
		schedule_wait(is_recorded, &before[task->number]);
	if (before[task->number] == NONE || record[before[task->number]].recorded)
		write_record(task->number, RING_FREE, before[task->number]);
}

/* Two lines, one, two: the second or third wraps, as two do not fit behind one. */
static void write_three(struct schedule_task *task)
{
	int first = task->number * 3;

	write_record(first, RING_ALLOC, NONE);
	write_record(first + 1, RING_FREE, first);
	write_record(first + 2, RING_ALLOC, first + 1);
}

static void write_one(struct schedule_task *task)
{
	write_record(task->number * 3, RING_FREE, NONE);
}

static void write_two(struct schedule_task *task)
{
	write_record(task->number * 3, RING_FREE, NONE);
	write_record(task->number * 3 + 1, RING_FREE, task->number * 3);
}

static const struct {
	const char *name;
	struct schedule_task task[SCHEDULE_TASKS];
	uint32_t overflow;
	int preemptions;
} cases[] = {
	{ "an address that is used anew",
	  { { life_of_address, 0, 0, false, 0 },
	    { life_of_address, 1, 1, false, 0 },
	    { life_of_address, 2, 0, false, 0 } },
	  RING_OVERFLOW_DROP,
	  2 },
	{ "behind a slot that does not say what it is",
	  { { write_behind, 0, 0, false, 0 },
	    { write_behind, 1, 0, false, 0 },
	    { write_behind, 2, 1, false, 0 } },
	  RING_OVERFLOW_DROP,
	  2 },
	{ "one ring for two, that is too small",
	  { { write_three, 0, 0, false, 0 }, { write_two, 1, 0, false, 0 } },
	  RING_OVERFLOW_DROP,
	  2 },
	{ "room that is waited for",
	  { { write_three, 0, 0, false, 0 }, { write_two, 1, 0, false, 0 } },
	  RING_OVERFLOW_BLOCK,
	  2 },
	{ "a writer that dies",
	  { { write_three, 0, 0, true, 0 }, { write_two, 1, 1, false, 0 } },
	  RING_OVERFLOW_DROP,
	  1 },
	{ "a handler in the middle of a record",
	  { { write_one, 0, 0, false, 0 }, { write_three, 1, 0, false, 1 } },
	  RING_OVERFLOW_BLOCK,
	  2 },
	{ "a handler, room is waited for by another, too",
	  { { write_one, 0, 0, false, 0 },
	    { write_two, 1, 0, false, 1 },
	    { write_three, 2, 1, false, 0 } },
	  RING_OVERFLOW_BLOCK,
	  1 },
};

static void make_control(void)
{
	control_bytes = RING_CONTROL_BYTES + RINGS * LINES * RING_LINE;
	control = aligned_alloc(4096, (control_bytes + 4095) & ~4095ul);
	if (!control)
		abort();
	memset(control, 0, control_bytes);
	control->magic = RING_MAGIC;
	control->version = RING_VERSION;
	control->control_bytes = RING_CONTROL_BYTES;
	control->total_bytes = control_bytes;
	control->rings_offset = RING_CONTROL_BYTES;
	control->ring_bytes = LINES * RING_LINE;
	control->ring_lines = LINES;
	control->ring_count = RINGS;
	control->mode = RING_MODE_ALL;
	control->epoch = 1;
	control->deadline = UINT64_MAX;
	control->entry_count = 1;
	race_arm(control);
}

int main(void)
{
	const char *more = getenv("RACE_PREEMPTIONS");

	(void)setvbuf(stdout, NULL, _IOLBF, 0);
	make_control();
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct schedule schedule = { .preemptions = cases[i].preemptions,
					     .begin = begin,
					     .end = end,
					     .stalled = let_time_pass };
		unsigned long runs;

		case_name = cases[i].name;
		control->overflow = cases[i].overflow;
		memcpy(schedule.task, cases[i].task, sizeof(schedule.task));
		for (writers = 0; cases[i].task[writers].run; writers++)
			;
		schedule.task[writers] =
			(struct schedule_task){ .run = read_all, .number = writers };
		schedule.tasks = writers + 1;
		schedule.preemptions += more ? atoi(more) : 0;
		handed = lost = 0;
		runs = schedule_explore(&schedule);
		printf("%s: %lu orders, %llu records handed over, %llu lost and counted\n",
		       case_name, runs, handed, lost);
	}
	return 0;
}
