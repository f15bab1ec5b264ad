#!/bin/sh
# SPDX-License-Identifier: MIT
# Every schema that is shipped is one that ajv takes, and real documents of each kind are valid by
# it: reports (of several processes, too), moments, views, comparisons, logs of calls. Other tests
# check theirs with python3-jsonschema.
. "$(dirname "$0")/lib.sh"
. "$E2E/npm.sh"
needs jq python3
. "$E2E/servers.sh"
readers_modules

# kept NAME ARGUMENTS: what memattach prints goes to $WORK/NAME.json.
kept() {
	kept_name=$1
	shift
	attach "$@"
	[ "$STATUS" -le 1 ] || fail "exit status $STATUS of: $*"	# 1: leaks
	mv "$REPORT" "$WORK/$kept_name.json"
}

# checked_by SCHEMA DOCUMENT...
checked_by() {
	schema=$1
	shift
	[ $# -gt 0 ] || fail "no document for $schema"
	node "$E2E/check_ajv.mjs" "$MODULES" "$schema" "$@" || fail "ajv"
}

demo_server_start
pristine_take "$VICTIM"
kept snapshot-exact -p "$VICTIM" -d 1 $EXACT --leaks --json --interval=0.2 -o "$WORK/recording"
kept snapshot-sampled -p "$VICTIM" -d 0.5 --sample=4096 --heaps --json -o "$WORK/sampled"
kept snapshot-leaks leaks -p "$VICTIM" --json
kept trace trace -p "$VICTIM" -d 0.3 --json
pristine_check "$VICTIM"
kill "$DEMO"
head -n 500 "$WORK/trace.json" >"$WORK/trace-some.json"
tail -n 200 "$WORK/trace.json" >>"$WORK/trace-some.json"

kept snapshot-again report --json "$WORK/recording"
kept snapshot-moment report --json "$WORK/recording@50%"
kept several report --json "$WORK/recording" "$WORK/sampled"
kept diff-moments diff --json "$WORK/recording@50%" "$WORK/recording"
kept diff-documents diff --json "$WORK/snapshot-leaks.json" "$WORK/snapshot-exact.json"
# Those that the program itself names.
attach report "$WORK/recording" no-such-view
views=$(sed -n 's/.*there are \(.*\), leaks$/\1/p' "$ERRORS" | tr -d ,)
[ "$(echo "$views" | wc -w)" -ge 10 ] || fail "views: $(cat "$ERRORS")"
for view in $views; do
	for recording in recording sampled; do
		attach report --json "$WORK/$recording" "$view"
		if [ "$STATUS" -eq 2 ]; then	# this session can't know it
			grep -q "can't be shown" "$ERRORS" || fail "$view: $(cat "$ERRORS")"
			continue
		fi
		expect "$STATUS" 0 "exit status of the view $view"
		mv "$REPORT" "$WORK/view-$view-$recording.json"
	done
	[ -e "$WORK/view-$view-recording.json" ] || fail "no document of the view $view"
done

checked_by "$SRCDIR/docs/snapshot.schema.json" "$WORK"/snapshot-*.json
checked_by "$SRCDIR/docs/views.schema.json" "$WORK"/view-*.json
checked_by "$SRCDIR/docs/diff.schema.json" "$WORK"/diff-*.json
checked_by "$SRCDIR/docs/several.schema.json" "$WORK/several.json"
checked_by "$SRCDIR/docs/trace.schema.json" "$WORK/trace-some.json"
"$MEMATTACH" export "$WORK/recording" --to=speedscope >"$WORK/speedscope.json" || fail "speedscope"
checked_by "$MODULES/node_modules/speedscope/dist/release/file-format-schema.json" \
	"$WORK/speedscope.json"
# Ours, for machines without npm, says besides where it is from.
jq -S 'del(."$comment")' "$E2E/speedscope.schema.json" >"$WORK/ours"
jq -S . "$MODULES/node_modules/speedscope/dist/release/file-format-schema.json" |
	cmp -s - "$WORK/ours" || fail "speedscope.schema.json is not speedscope's"
for schema in "$SRCDIR"/docs/*.schema.json; do
	case $schema in */snapshot.* | */views.* | */diff.* | */trace.* | */several.*) ;;
	*) fail "$schema has no document here" ;;
	esac
done
