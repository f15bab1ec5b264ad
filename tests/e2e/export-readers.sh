#!/bin/sh
# SPDX-License-Identifier: MIT
# Every export is opened by its real reader, whose figures equal ours: one exact recording of a
# victim of known truth. A reader that is not installed is left out, and said.
. "$(dirname "$0")/lib.sh"
needs jq python3
. "$E2E/exports.sh"

snapshots_in() { [ "$(sqlite3 "$1" 'SELECT count(*) FROM snapshots')" -ge "$2" ]; }

victim truth truth_c
pristine_take "$VICTIM"
attach_begin -p "$VICTIM" $EXACT --json --interval=0.05 -o "$WORK/recording"
attach_await "$VICTIM"
truth truth
pprof_built	# while the victim is watched
if has sqlite3; then
	await 20 snapshots_in "$WORK/recording" 4 || fail "too few snapshots"
fi
attach_end INT
expect "$STATUS" 0 "exit status"
pristine_check "$VICTIM"
ended truth
attach report --json "$WORK/recording"
truth_holds truth truth_c

exported json
cmp -s "$WORK/json" "$REPORT" || fail "json is not the report's document"
exported folded
same folded folded
exported csv
same csv csv

exported speedscope
same speedscope speedscope
schema_valid "$E2E/speedscope.schema.json" "$WORK/speedscope"

exported svg
exported svg-timeline
if has xmllint; then
	xmllint --noout "$WORK/svg" "$WORK/svg-timeline" || fail "the pictures are not XML"
	expect "$(xmllint --xpath 'count(//*[local-name()="script"])' "$WORK/svg")" 0 scripts
	xmllint --xpath '//*[local-name()="title"]/text()' "$WORK/svg" | grep -q '^case_malloc ' ||
		fail "the flame graph has no case_malloc"
fi

exported massif
if has ms_print; then
	ms_print --threshold=0 "$WORK/massif" >"$WORK/massif.out" || fail "ms_print"
	same massif massif.out
fi
exported callgrind
if has callgrind_annotate; then
	callgrind_annotate --threshold=100 --auto=no "$WORK/callgrind" >"$WORK/callgrind.out" ||
		fail "callgrind_annotate"
	same callgrind callgrind.out
fi

heaptrack_suffixes=
case $("$MEMATTACH" --version) in *zstd*) heaptrack_suffixes=.zst ;; esac
case $("$MEMATTACH" --version) in *zlib*) heaptrack_suffixes="$heaptrack_suffixes .gz" ;; esac
if has heaptrack_print; then
	for suffix in '' $heaptrack_suffixes; do
		exported heaptrack "heap$suffix"
		heaptrack_print "$WORK/heap$suffix" >"$WORK/heap.out" 2>"$WORK/heap.err" ||
			fail "heaptrack_print"
		[ ! -s "$WORK/heap.err" ] || fail "heaptrack_print: $(cat "$WORK/heap.err")"
		same heaptrack heap.out
	done
	for cost in leaked:live_bytes allocations:alloc_count temporary:temporary_count; do
		heaptrack_print "$WORK/heap" -F "$WORK/heap.out" \
			--flamegraph-cost-type "${cost%:*}" >"$WORK/heap.err" 2>&1
		same heaptrack_stacks heap.out "${cost#*:}"
	done
fi

exported gperftools
if has google-pprof; then
	google-pprof --text --show_bytes "$VICTIMS/truth_c" "$WORK/gperftools" \
		>"$WORK/google.out" 2>"$WORK/google.err" || fail "google-pprof"
	same google google.out live_bytes
	google-pprof --text --alloc_objects "$VICTIMS/truth_c" "$WORK/gperftools" \
		>"$WORK/google.out" 2>"$WORK/google.err" || fail "google-pprof --alloc_objects"
	same google google.out alloc_count
fi

# Go's pprof on this file says 200 to whoever asks.
pprof_answers() {
	port=$(python3 -c 'import socket; s = socket.socket(); s.bind(("127.0.0.1", 0))
print(s.getsockname()[1])')
	background pprof_http "$PPROF" -symbolize=none -no_browser -http="127.0.0.1:$port" \
		"$WORK/pprof.gz"
	await 30 python3 -c "import urllib.request as r
assert b'case_malloc' in r.urlopen('http://127.0.0.1:$port/ui/top').read()" ||
		fail "pprof -http does not show the functions"
	for page in flamegraph peek; do
		expect "$(python3 -c "import urllib.request as r
print(r.urlopen('http://127.0.0.1:$port/ui/$page').status)")" 200 "answer of pprof's $page"
	done
	kill "$LAST"
}

case $("$MEMATTACH" --version) in
*protobuf-c*)
	exported pprof pprof.gz
	if pprof_built; then
		top live_bytes "$WORK/pprof.gz"
		top live_bytes -tagfocus=kind=malloc "$WORK/pprof.gz"
		top alloc_bytes -sample_index=alloc_space "$WORK/pprof.gz"
		top live_count -sample_index=inuse_objects "$WORK/pprof.gz"
		"$PPROF" -symbolize=none -raw "$WORK/pprof.gz" >"$WORK/pprof.out" ||
			fail "pprof -raw"
		same pprof pprof.out
		top '' -diff_base="$WORK/pprof.gz" "$WORK/pprof.gz"
		grep -q 'accounting for 0, 0%' "$WORK/pprof.out" || fail "a difference to itself"
		# The other format that it reads, with names that it looks up by our mappings.
		"$PPROF" -top -unit=B -nodefraction=0 -nodecount=0 "$WORK/gperftools" \
			>"$WORK/pprof.out" 2>"$WORK/pprof.err" || fail "pprof of gperftools"
		grep -q ' case_malloc$' "$WORK/pprof.out" || fail "no names by our mappings"
		pprof_answers
	fi ;;
*) attach export "$WORK/recording" --to=pprof
	expect "$STATUS" 2 "status of an export that was left out"
	said_one_line 'built without protobuf-c' ;;
esac

# Names made to break a reader's syntax and figures that no session has: whatever can be read of
# such a recording is still a document that readers take.
forged() {
	cp "$WORK/recording" "$WORK/forged"
	sqlite3 "$WORK/forged" "UPDATE symbols SET function = char(10, 27, 60, 38, 59, 40, 34) ||
			function || '<&\";) {' || char(13, 10) || 'n0: 1 fn=(1)', file = '(2)' ||
			char(10) || ']]>', inlined = 1, offset = -1;
		UPDATE sites SET live_bytes = -1, alloc_bytes = -1, live_count = -1 WHERE id % 2;
		UPDATE snapshots SET time = 9e999, overhead_bytes = -1 WHERE id % 2;
		UPDATE timeline SET time = -9e999, rss_bytes = -1;
		UPDATE modules SET low = -1, high = 0, bias = -1;
		UPDATE target SET cmdline = char(10) || '</svg>' || char(10) || 'events: x';
		UPDATE session SET duration = 9e999"
	mv "$WORK/forged" "$WORK/recording"
	for format in folded csv json speedscope svg svg-timeline massif callgrind heaptrack \
		gperftools; do
		exported "$format"
	done
	jq -e . "$WORK/json" "$WORK/speedscope" >"$WORK/out" || fail "forged JSON"
	! command -v xmllint >/dev/null || xmllint --noout "$WORK/svg" "$WORK/svg-timeline" ||
		fail "forged SVG"
	for reader in ms_print:massif callgrind_annotate:callgrind heaptrack_print:heaptrack; do
		command -v "${reader%:*}" >/dev/null || continue
		"${reader%:*}" "$WORK/${reader#*:}" >"$WORK/out" 2>"$WORK/err" ||
			fail "forged: $reader: $(cat "$WORK/err")"
		[ ! -s "$WORK/err" ] || fail "forged: $reader: $(head -n 3 "$WORK/err")"
	done
	if [ -x "$PPROF" ] && [ -e "$WORK/pprof.gz" ]; then
		exported pprof pprof.gz
		"$PPROF" -symbolize=none -raw "$WORK/pprof.gz" >"$WORK/out" 2>"$ERRORS" ||
			fail "forged: pprof"
	fi
}
! command -v sqlite3 >/dev/null || forged

say_left_out
