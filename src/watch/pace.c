/* SPDX-License-Identifier: MIT */
/*
 * pace.c - see pace.h.
 *
 * Paid is: the time in which threads of the target make records (the shim adds it up, ring by
 * ring), and what rare ones displace; calls that record nothing times what a hook costs (they are
 * not counted where they are made: the samples' weights say how many there were); the processor
 * time of keeper and analyst; and what the analyst's awakenings take of the target. It is compared
 * with the target's own time, that of all its threads less our part of it. What attaching and
 * detaching take is no part of it: it does not depend on how long one watches.
 *
 * A process's clock can be read by anybody who knows its id; who has got the id of an ended target
 * is not met, since the keeper, which holds the process itself, says that it has ended.
 * The target may forge what the shim counts: at the most it is all of the target's time.
 */
#include "src/watch/pace.h"

#include <math.h>
#include <unistd.h>

#include "src/ring/ring_threads.h"

#define STEP		0.1	/* seconds from one look at the costs to the next */
#define SHORT_STEP	0.01	/* at the least, for who has spent a step's budget before its end */
#define FIRST_STEP	0.001	/* the same, as long as all is sampled */
#define CROWDED_STEP	0.005	/* what was recorded before is still coming */
#define CROWDED		0.5	/* a ring is so full: the reader has fallen behind, */
#define CROWDED_WOKEN	0.75	/* or, if it sleeps until one is half full, here */
#define LEAST_TARGET	0.001	/* seconds of its own: below, a percentage says nothing */
/*
 * What a rare record costs of the target, for each second that the shim counts: the program fetches
 * again what the record pushed out of caches and predictors. Measured with three servers: 1.5 to
 * 2.9 in user mode, up to 4 with the kernel's part (docs/BENCHMARKS.md, Servers under load).
 */
#define DISPLACING	3.0

/*
 * What an awakening of ours takes of a target that runs all the time, in seconds. Measured with
 * nginx and redis beside a process that does nothing else (same place): 0.15 to 0.22 ms.
 */
#define AWAKENING	2e-4

static double clock_seconds(clockid_t clock)
{
	struct timespec t;

	if (clock_gettime(clock, &t) < 0)
		return -1;
	return (double)t.tv_sec + (double)t.tv_nsec * 1e-9;
}

/* As clock_getcpuclockid(), which asks for the clock once before. */
static clockid_t process_clock(pid_t pid)
{
	return (clockid_t)(~(unsigned int)pid << 3 | 2u);
}

static void read_calls(const struct pace *p, struct pace_costs *to)
{
	const struct estimate *alloc = &sites_totals(p->in.sites, SITE_MALLOC)->alloc;
	const struct estimate *custom = &sites_totals(p->in.sites, SITE_CUSTOM)->alloc;

	to->calls = (double)estimate_count(alloc);
	to->bytes = (double)estimate_bytes(alloc);
	to->calls_cost = to->calls * p->in.pair_cost +
			 (double)estimate_count(custom) * p->in.custom_cost;
}

/* False: the target has ended, the last costs stay. */
static bool read_costs(const struct pace *p, struct pace_costs *to)
{
	double keeper = clock_seconds(p->keeper_clock);
	struct pace_costs c = { .target = clock_seconds(p->target_clock) };
	struct reader_losses losses;

	if (c.target < 0)
		return false;
	reader_losses(p->in.reader, &losses);
	c.wall = clock_seconds(CLOCK_MONOTONIC);
	c.own = clock_seconds(CLOCK_PROCESS_CPUTIME_ID) + fmax(keeper, 0) + p->woken;
	c.booked = p->booked;
	c.shim = ticks_span(p->in.ticks, losses.spent_ticks) * (p->in.sampled ? DISPLACING : 1);
	read_calls(p, &c);
	*to = c;
	return true;
}

/* Before the interval moves: what passed is the present one's. */
static void note_passed(struct pace *p)
{
	uint64_t passed;

	if (!p->in.control)
		return;		/* not begun */
	passed = ring_threads_passed(p->in.control, p->in.control_bytes);
	if (passed <= p->passed)
		return;
	budget_note_passed(&p->budget, (double)(passed - p->passed));
	p->passed = passed;
}

static bool look(struct pace *p)
{
	note_passed(p);
	p->running = p->running && read_costs(p, &p->now);
	return p->running;
}

void pace_begin(struct pace *p, const struct pace_input *input)
{
	*p = (struct pace){
		.in = *input,
		.target_clock = process_clock(input->target),
		.keeper_clock = process_clock(getppid()),
		.running = true,
	};
	budget_begin(&p->budget, input->percent);
	if (!look(p))
		return;
	p->base = p->step = p->now;
	p->next_step = p->now.wall + STEP;
}

void pace_drain_begin(struct pace *p)
{
	p->booking = p->running ? clock_seconds(CLOCK_THREAD_CPUTIME_ID) : 0;
}

/* The more of the time the target runs, the more likely it is that it runs just then. */
void pace_awake(struct pace *p)
{
	p->woken += AWAKENING * p->use;
}

static uint64_t records_count(const struct pace_records *records)
{
	return records->alloc + records->free + records->certain;
}

void pace_drain_end(struct pace *p, const struct pace_records *booked)
{
	if (!p->running || records_count(booked) == 0)
		return;
	p->booked += clock_seconds(CLOCK_THREAD_CPUTIME_ID) - p->booking;
	p->records.alloc += booked->alloc;
	p->records.free += booked->free;
	p->records.certain += booked->certain;
	p->records.intervals += booked->intervals;
}

/* Our part of the target's time, never more than all of it. */
static double inside(const struct pace_costs *from, const struct pace_costs *to)
{
	double part = to->shim - from->shim + to->calls_cost - from->calls_cost;

	return fmin(fmax(part, 0), to->target - from->target);
}

static bool is_behind(const struct pace *p)
{
	return reader_backlog(p->in.reader) >= (p->in.woken ? CROWDED_WOKEN : CROWDED);
}

static struct budget_input input_of(const struct pace *p)
{
	const struct pace_costs *from = &p->step, *to = &p->now;
	double booked = to->booked - from->booked;
	double calls_cost = to->calls_cost - from->calls_cost;
	double allocs = (double)p->records.alloc, intervals = (double)p->records.intervals;

	return (struct budget_input){
		.wall = to->wall - from->wall,
		.target = to->target - from->target - inside(from, to),
		.fixed = calls_cost + fmax(to->own - from->own - booked, 0),
		.records = to->shim - from->shim + booked,
		.drawn = p->records.alloc + p->records.free,
		.allocs = p->records.alloc,
		.certain = p->records.certain,
		.interval = allocs > 0 ? intervals / allocs : 0,
		.calls = to->calls - from->calls, .bytes = to->bytes - from->bytes,
		.crowded = is_behind(p),
	};
}

static void move_interval(struct pace *p)
{
	struct budget_input input = input_of(p);
	uint64_t before = p->budget.interval, interval = budget_step(&p->budget, &input);

	if (interval == before)
		return;
	live_set_sampled(p->in.live);
	__atomic_store_n(&p->in.control->interval, interval, __ATOMIC_RELAXED);
}

/* Only what is known without asking for the target's clock. */
static bool is_overspent(const struct pace *p, double since)
{
	double each = p->budget.cost / p->budget.costed;
	double spent = each * (double)records_count(&p->records);

	return spent > budget_quota(&p->budget, STEP, STEP) &&
	       since >= (p->budget.interval > 1 ? SHORT_STEP : FIRST_STEP);
}

static bool is_crowded(struct pace *p, double now)
{
	if (now < p->next_crowded || !is_behind(p))
		return false;
	p->next_crowded = now + CROWDED_STEP;
	return true;
}

void pace_set_percent(struct pace *p, double percent)
{
	if (p->in.percent <= 0)
		return;
	p->in.percent = percent;
	budget_set(&p->budget, percent);
}

void pace_turn(struct pace *p)
{
	double now;

	if (!p->running)
		return;
	now = clock_seconds(CLOCK_MONOTONIC);
	if (now < p->next_step && (p->in.percent <= 0 || (!is_overspent(p, now - p->step.wall) &&
							   !is_crowded(p, now))))
		return;
	if (!look(p))
		return;
	if (p->in.percent > 0)
		move_interval(p);
	if (p->now.wall > p->step.wall)
		p->use = fmin((p->now.target - p->step.target) / (p->now.wall - p->step.wall), 1);
	p->step = p->now;
	p->records = (struct pace_records){ 0 };
	p->next_step = p->now.wall + STEP;
}

void pace_end(struct pace *p)
{
	(void)look(p);
	p->running = false;
}

uint64_t pace_passed(const struct pace *p)
{
	return p->passed;
}

struct estimate_unseen pace_unseen(const struct pace *p)
{
	bool fixed = p->in.percent <= 0;

	return budget_unseen(&p->budget, fixed ? p->in.control->interval : 0);
}

double pace_overhead(struct pace *p)
{
	const struct pace_costs *from = &p->base, *to = &p->now;
	double part, target;

	(void)look(p);
	part = inside(from, to);
	target = to->target - from->target - part;
	if (target < LEAST_TARGET)
		return -1;
	return 100.0 * (part + to->own - from->own) / target;
}
