#!/bin/sh
# SPDX-License-Identifier: MIT
# Each view of an exact session equals the victim's own books: sites, sums, paths, lines, sizes,
# what lived at the peak. --view in a session prints what report prints of its recording.
. "$(dirname "$0")/lib.sh"
needs jq python3

views='overview hotspots tree flame histogram timeline temporary peak lifetimes blocks filter
	source'

# recorded NAME PROGRAM [ARGUMENTS]: an exact session that prints the tree, kept in $WORK/NAME.db.
recorded() {
	name=$1 program=$2
	shift 2
	victim "$name" "$program" "$@"
	pristine_take "$VICTIM"
	attach_begin -p "$VICTIM" $EXACT --track=malloc -o "$WORK/$name.db" --view=tree --json
	attach_await "$VICTIM"
	truth "$name"
	attach_end INT
	expect "$STATUS" 0 "exit status"
	pristine_check "$VICTIM"
	ended "$name"
}

# shown FILE ARGUMENTS: report on $WORK/$name.db, to a file in $WORK/$name.views.
shown() {
	shown_to=$WORK/$name.views/$1
	shift
	"$MEMATTACH" report "$WORK/$name.db" "$@" >"$shown_to" 2>"$ERRORS" ||
		fail "report $*: status $?"
}

# compared MODULES [SOURCE]: every view of the recording against the truth.
compared() {
	mkdir "$WORK/$name.views"
	for view in $views; do
		shown "$view.json" "$view" --json
	done
	cat "$WORK/$name.views"/*.json >"$WORK/documents"
	schema_valid views "$WORK/documents"
	for metric in calls bytes peak; do
		shown "hotspots-$metric.json" hotspots --json "--by=$metric"
	done
	shown flame.txt flame
	shown tree-reverse.json tree --reverse --json
	shown histogram-exact.json histogram --sizes=exact --json
	python3 "$E2E/check_views.py" "$WORK/$name.truth" "$1" "$WORK/$name.views" \
		${2:+"$2"} || fail "$name: the truth is another"
}

cd "$SRCDIR" || exit 99	# where the view source looks for files
recorded c truth_c
compared truth_c truth_c.c
cmp "$REPORT" "$WORK/c.views/tree.json" || fail "--view=tree is not report FILE tree"
recorded cxx truth_cxx
compared truth_cxx
recorded sites truth_sites 90 3
compared truth_sites truth_sites.c

# A filter leaves what it says, and each site in all its views.
name=sites
id=$(jq '.sites[3].id' "$WORK/sites.views/hotspots.json")
shown one.json filter --json "--site=$id"
expect "$(jq -c '[.sites[].id]' "$WORK/sites.views/one.json")" "[$id]" "sites with --site"
jq --argjson id "$id" '.sites[] | select(.id == $id)' "$WORK/sites.views/filter.json" \
	>"$WORK/wanted"
jq '.sites[0]' "$WORK/sites.views/one.json" | cmp - "$WORK/wanted" || fail "another site"
size=$(jq '.sites[3].size_low' "$WORK/sites.views/hotspots.json")
shown size.json filter --json "--size=$size"
expect "$(jq -c '[.sites[].id] | sort' "$WORK/sites.views/size.json")" \
	"$(jq -c --argjson size "$size" '[.sites[] | select(.size_low <= $size and
		.size_high >= $size) | .id] | sort' "$WORK/sites.views/filter.json")" \
	"sites with --size=$size"
shown none.json filter --json --module=libnothing
expect "$(jq .site_count "$WORK/sites.views/none.json")" 0 "sites in a module that is not there"
shown module.json filter --json --module=truth_sites
expect "$(jq .site_count "$WORK/sites.views/module.json")" \
	"$(jq .site_count "$WORK/sites.views/filter.json")" "sites in the program"
