#!/bin/sh
# SPDX-License-Identifier: MIT
# --just-function-name, --shorten-templates and --inline=no hold wherever names are shown: reports,
# leaks, views, exports, the log of calls; where there are no names they are refused.
. "$(dirname "$0")/lib.sh"
needs jq python3
SHORT='--just-function-name --shorten-templates'

names_hold() {
	python3 "$E2E/check_names.py" "$WORK/full.json" "$WORK/short.json" "$@" ||
		fail "names are as they were"
}

# refused WORDS ARGUMENTS: with a line that says them
refused() {
	refused_words=$1
	shift
	attach "$@"
	expect "$STATUS" 2 "exit status of $*"
	said_one_line "$refused_words"
}

# no_inlined FILE: a JSON document
no_inlined() {
	expect "$(jq '[.. | objects | select(.inlined == true)] | length' "$1")" 0 \
		"inlined frames in $1"
}

victim leaky leaky_cxx
attach_begin -p "$VICTIM" $EXACT --leaks -o "$WORK/recording" --json $SHORT
attach_await "$VICTIM"
tell leaky b
answer leaky built
attach_end INT
cp "$REPORT" "$WORK/short.json"
tell leaky q
"$MEMATTACH" report "$WORK/recording" --json >"$WORK/full.json" || fail "report --json"
names_hold '*.json' "$WORK/short.json"
mkdir "$WORK/shown" "$WORK/inline"

# shellcheck disable=SC2086
for format in folded speedscope massif callgrind heaptrack json csv html svg pprof; do
	"$MEMATTACH" export "$WORK/recording" --to=$format $SHORT -o "$WORK/shown/$format" \
		2>"$ERRORS" || grep -q 'built without' "$ERRORS" || fail "$format"
done
# shellcheck disable=SC2086
for view in hotspots tree flame peak lifetimes blocks filter source temporary realloc; do
	"$MEMATTACH" report "$WORK/recording" $view --top=100 $SHORT >"$WORK/shown/$view" ||
		fail "$view"
	"$MEMATTACH" report "$WORK/recording" $view --json $SHORT --inline=no \
		>"$WORK/inline/$view.json" || fail "$view --json"
	no_inlined "$WORK/inline/$view.json"
done
# shellcheck disable=SC2086
{
	"$MEMATTACH" report "$WORK/recording" $SHORT --top=100 >"$WORK/shown/text" || fail text
	"$MEMATTACH" report "$WORK/recording" leaks $SHORT --top=100 >"$WORK/shown/leaks" ||
		fail leaks
	"$MEMATTACH" report "$WORK/recording" --json $SHORT --inline=no >"$WORK/inline/json" ||
		fail "--inline=no"
	"$MEMATTACH" export "$WORK/recording" --to=json $SHORT --inline=no \
		>"$WORK/inline/export" || fail "--inline=no"
}
cmp "$WORK/inline/json" "$WORK/inline/export" || fail "the export is another document"
no_inlined "$WORK/inline/json"
# These show callers alone, lines, or nothing of this program.
for view in blocks source temporary realloc; do
	mv "$WORK/shown/$view" "$WORK/inline/"
done
names_hold '*' "$WORK"/shown/*
names_hold - "$WORK"/inline/*
# Titles of leaks: types.
grep -q 'of type `vector<>`' "$WORK/shown/leaks" || fail "types are as they were"
expect "$(jq -r '[.leaks.groups[].type // "" | select(test("<[^>]"))] | length' \
	"$WORK/inline/json")" 0 "types in full"
# What was recorded has all of them.
"$MEMATTACH" report "$WORK/recording" leaks | grep -q 'vector<std::vector<long' ||
	fail "the recording has short names only"

# shellcheck disable=SC2086
for json in '' --json; do
	victim traced truth_cxx
	attach_begin trace -p "$VICTIM" $json $SHORT --inline=no
	attach_await "$VICTIM"
	truth traced
	attach_end INT
	expect "$STATUS" 0 "exit status of trace"
	ended traced
	names_hold - "$REPORT"
	grep -qE '(operator new|case_[a-z_]*)["+]' "$REPORT" || fail "trace: no names"
	! grep -qE '"function":"[^"]*(operator new|case_[a-z_]*)\(' "$REPORT" ||
		fail "trace: names in full"
	! grep -qE '"inlined":true|\(inlined' "$REPORT" || fail "trace: inlined functions"
done

refused 'no functions' report "$WORK/recording" timeline --just-function-name
refused 'no functions' report "$WORK/recording" regions --inline=no
refused 'readers name' export "$WORK/recording" --to=gperftools --shorten-templates
refused 'no functions' export "$WORK/recording" --to=svg-timeline --inline=no
refused 'takes no --inline' diff "$WORK/recording" "$WORK/recording" --inline=no
