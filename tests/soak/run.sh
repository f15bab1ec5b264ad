#!/bin/sh
# SPDX-License-Identifier: MIT
# `make soak`: what `make check` does in its short form, at the length of the contract: 200 cycles,
# 100 seeded runs, and every step of attach and detach killed 50 times. Takes hours; tells
# each result as it comes; status 1 if any failed.
#
#	soak/run.sh [NAME...]	only those: attaches (ROUNDS times 49), builds, coverage, cycles,
#				hour, kill, kill-alone (ROUNDS, 50), leaks, libcs, races, refused
set -u
: "${SRCDIR:=$(cd "$(dirname "$0")/../.." && pwd)}"
export SRCDIR
wanted=${*:-builds races refused attaches cycles coverage hour leaks libcs kill kill-alone}
: "${BUILDDIR:=$SRCDIR}"
: "${SOAK_RESULTS:=$BUILDDIR/soak-results.tsv}"
FULL=1
export BUILDDIR FULL
results=$SOAK_RESULTS
. "$SRCDIR/tests/results.sh"

# The end-to-end tests of what is exact, and of leaks.
tests_of_numbers() {
	(cd "$SRCDIR/tests/e2e" && ls) | sed -nE 's/^((exact|leaks)-.*)\.sh$/\1/p'
}

# All with the other compiler; every unit test under sanitizers, fuzzers for a minute each, and so
# the tests of what is exact and of leaks, with a sanitized keeper and analyst.
soak_builds() {
	LEFT_OUT='' FUZZ_SECONDS=60 TEST_LIMIT=14400
	SANITIZED="attach-redis record-and-report report-target-exit refuse-states run-command
survive-keeper-death $(tests_of_numbers)"
	export LEFT_OUT FUZZ_SECONDS TEST_LIMIT SANITIZED
	one "the other compiler" ../lint/clang_build.sh
	one "without what is optional" ../lint/minimum_build.sh
	one "the command line under valgrind" valgrind-cli.sh
	one "sanitizers, nothing left out" sanitized.sh
	unset LEFT_OUT FUZZ_SECONDS SANITIZED
}

# Seven programs under load, in seven ways each; ROUNDS adds up to thousands over some runs.
soak_attaches() {
	TEST_LIMIT=7200 ROUNDS=${ROUNDS:-40}
	export TEST_LIMIT ROUNDS
	one "$((49 * ROUNDS)) attaches of seven programs" ../soak/attaches.sh
	cat "$log"
}

# Each system call of the keeper refused, once and from then on, in four ways of attaching.
soak_refused() {
	TEST_LIMIT=7200 PER_CALL=${PER_CALL:-1000} FORMS=both SEED=$$
	WAYS="sampled mapped exact leaks" THREADS=${THREADS:-6}
	export TEST_LIMIT PER_CALL FORMS WAYS SEED THREADS
	one "refused system calls" survive-refused-calls.sh
	unset PER_CALL FORMS WAYS SEED THREADS
}

# Ring and quiescence in all orders of their accesses, with one more preemption than in make check.
soak_races() {
	TEST_LIMIT=7200 RACE_PREEMPTIONS=${RACE_PREEMPTIONS:-1}
	export TEST_LIMIT RACE_PREEMPTIONS
	for race in ring_races quiesce_races; do
		one_program "$race" "$BUILDDIR/tests/race/$race"
	done
	unset RACE_PREEMPTIONS
}

soak_cycles() {
	CYCLES=200 TEST_LIMIT=3600
	export CYCLES TEST_LIMIT
	one "200 cycles on redis" cycle-redis.sh
	one "200 cycles on 64 busy threads" cycle-busy-threads.sh
	one "200 cycles under signals" keep-timeouts.sh
	unset CYCLES
}

soak_coverage() {
	RUNS=100 TEST_LIMIT=3600
	export RUNS TEST_LIMIT
	one "100 seeded runs" sample-coverage.sh
	unset RUNS
}

# 1,000 leak reports in a row, and a slow leak watched for two minutes.
soak_leaks() {
	CYCLES=1000 TEST_LIMIT=7200 SECONDS_WATCHED=120
	export CYCLES TEST_LIMIT SECONDS_WATCHED
	one "a slow leak, two minutes" leaks-slow-server.sh
	one "1000 leak reports on redis" leaks-cycle-redis.sh
	one "1000 leak reports on PostgreSQL" leaks-cycle-postgres.sh
	unset CYCLES SECONDS_WATCHED
}

# A recording of an hour each.
soak_hour() {
	SECONDS_WATCHED=3600
	export SECONDS_WATCHED SERVER
	for SERVER in redis postgres; do
		one "an hour's recording of $SERVER" record-long.sh
	done
	unset SECONDS_WATCHED
}

# The walk of glibc's heap, in the libcs of many releases; they come from the network.
soak_libcs() {
	one "heaps of glibc's releases" ../leak/libc_versions.sh
}

# Every step killed 50 times with each loader, all kinds of threads at once.
soak_kill() {
	TEST_LIMIT=3600 KIND=mix THREADS=12 FIRST_STEP=1 STEP_STRIDE=1
	export TEST_LIMIT LOADER KIND THREADS FIRST_STEP STEP_STRIDE
	round=1
	while [ "$round" -le "${ROUNDS:-50}" ]; do
		for LOADER in map dlopen; do
			one "kill round, $LOADER, mix" kill-steps.sh
		done
		round=$((round + 1))
	done
}

# The hard kinds with a single thread, which then is the one that is borrowed.
soak_kill_alone() {
	TEST_LIMIT=3600 LOADER=auto THREADS=1 FIRST_STEP=1 STEP_STRIDE=1
	export TEST_LIMIT LOADER KIND THREADS FIRST_STEP STEP_STRIDE
	round=1
	while [ "$round" -le "${ROUNDS:-50}" ]; do
		for KIND in malloc-loop regs epoll futex signals siglongjmp; do
			STEP_STRIDE=1
			one "kill round, one thread: $KIND" kill-steps.sh
			STEP_STRIDE=20 MOST=100
			export MOST
			one "kill round, one thread on a fiber: $KIND" kill-steps-fiber.sh
			unset MOST
		done
		round=$((round + 1))
	done
}

for name in $wanted; do
	case $name in
	attaches) soak_attaches ;;
	builds)	soak_builds ;;
	cycles)	soak_cycles ;;
	coverage) soak_coverage ;;
	hour)	soak_hour ;;
	leaks)	soak_leaks ;;
	libcs)	soak_libcs ;;
	races)	soak_races ;;
	refused) soak_refused ;;
	kill)	soak_kill ;;
	kill-alone) soak_kill_alone ;;
	*)	echo "no such soak: $name"; exit 99 ;;
	esac
done
results_end
