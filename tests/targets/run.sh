#!/bin/sh
# SPDX-License-Identifier: MIT
# `make check-targets`: what the tests of exports and of the HTML report do with a small server of
# ours in seconds, with real programs for longer. Tells each result as it comes; status 1 if any
# failed. Results add up in targets-results.tsv, pictures of what was opened are in
# targets-pictures, both in the build folder.
#
#	targets/run.sh [NAME...]	only those: crowd, distros, faults, html, metrics, programs,
#					places, readers, recognition, many, redis, postgres,
#					tools, systemd (not without its name;
#					SECONDS_WATCHED=1800 is its full form)
set -u
: "${SRCDIR:=$(cd "$(dirname "$0")/../.." && pwd)}"
: "${BUILDDIR:=$SRCDIR}"
: "${TARGETS_RESULTS:=$BUILDDIR/targets-results.tsv}"
systemd_seconds=${SECONDS_WATCHED:-120}
: "${SECONDS_WATCHED:=20}"
FULL=1
export SRCDIR BUILDDIR SECONDS_WATCHED FULL
all="html metrics readers recognition programs places many crowd redis postgres tools faults"
wanted=${*:-$all}
results=$TARGETS_RESULTS
. "$SRCDIR/tests/results.sh"
# What tests need besides memattach itself.
make -C "$BUILDDIR" check-programs >"$log" 2>&1 || { cat "$log"; exit 99; }
TEST_LIMIT=900
BROWSER_LIMIT=600	# for the largest page on a machine with other work
export TEST_LIMIT BROWSER_LIMIT

# pictures NAME: of the tests to come.
pictures() {
	KEEP_PICTURES=$BUILDDIR/targets-pictures/$1
	export KEEP_PICTURES
	mkdir -p "$KEEP_PICTURES"
}

targets_html() {
	SITES=50000
	export SITES
	pictures html-50000
	one "HTML report, 50,000 sites" export-html-chromium.sh
	pictures html-postgres
	one "HTML report, PostgreSQL" export-html-postgres.sh
	unset SITES
	one "HTML report of a moment" export-html-moment.sh
	one "HTML report, live" daemon-http-live.sh
	one "speedscope, a small program" export-speedscope-chromium.sh
}

# Debuggers and tracers, each in each order.
targets_tools() {
	one "debuggers and tracers beside a session" attach-beside-tools.sh
}

targets_recognition() {
	VERIFY=1 WORK_FACTOR=20
	export VERIFY WORK_FACTOR
	one "every recognised stack compared" exact-recognised.sh
	unset VERIFY WORK_FACTOR
	TEST_LIMIT=3600 one "recognition in real programs" ../targets/recognition.sh
	TEST_LIMIT=900
	cat "$BUILDDIR/targets-recognition.txt"
}

targets_many() {
	one "memattachd and 200 processes" ../targets/many.sh
	cat "$log"
}

targets_crowd() {
	one "memattachd among 3,000 processes" ../targets/crowd.sh
	cat "$log"
}

targets_programs() {
	TEST_LIMIT=3600 one "real programs" ../targets/programs.sh
	cat "$log"
}

targets_places() {
	TEST_LIMIT=1800 one "other roots, libcs and namespaces" ../targets/places.sh
	cat "$log"
}

targets_distros() {
	TEST_LIMIT=14400 one "other releases" ../targets/distros.sh
	cat "$log"
}

targets_metrics() {
	one "Prometheus and pprof, by HTTP" ../targets/metrics.sh
}

# What `make check` does, with pictures.
targets_readers() {
	pictures demo
	one "viewers, demo server" export-viewers.sh
	one "text readers" export-readers.sh
	one "schemas" validate-documents.sh
	one "names, as llvm-symbolizer's" symbolize-large.sh
	one "counts, by allocator" counts-allocators.sh
	one "programs that know their calls" exact-truth-bench.sh
	one "a budget is kept" keep-budget.sh
	one "an idle target" watch-idle.sh
}

# Every export of a server under load, and of moments of it, by every reader.
targets_server() {
	TARGET=$1
	export TARGET
	pictures "$1"
	one "exports of moments, $1" export-moments.sh
	one "viewers, $1" export-viewers.sh
	one "speedscope, $1" export-speedscope-chromium.sh
	unset TARGET
}

# memattachd, keepers and analysts killed: FAULTS (500) times, by SEED.
targets_faults() {
	: "${FAULTS:=500}"
	export FAULTS
	TEST_LIMIT=$((600 + FAULTS * 20))
	one "faults of memattachd" daemon-faults.sh
	TEST_LIMIT=900
}

# The Debian packages in a booted systemd, with servers as units; 120 seconds unless given.
targets_systemd() {
	SECONDS_WATCHED=$systemd_seconds TEST_LIMIT=$((systemd_seconds + 1200)) \
		one "packages and units" ../targets/systemd.sh
}

for name in $wanted; do
	case $name in
	html)	targets_html ;;
	distros) targets_distros ;;
	faults)	targets_faults ;;
	metrics) targets_metrics ;;
	programs) targets_programs ;;
	places) targets_places ;;
	readers) targets_readers ;;
	recognition) targets_recognition ;;
	many)	targets_many ;;
	crowd)	targets_crowd ;;
	tools)	targets_tools ;;
	systemd) targets_systemd ;;
	redis | postgres) targets_server "$name" ;;
	*)	echo "no such targets: $name"; exit 99 ;;
	esac
done
results_end
