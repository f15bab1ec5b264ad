# SPDX-License-Identifier: MIT
# What memattachd serves over HTTP. Sourced after daemon_lib.sh.
# shellcheck shell=sh disable=SC2034,SC2154
CURL="--unix-socket $WORK/http"
URL=http://localhost

# gets_soon STATUS PATH [OPTIONS]: true if that is its answer's status; what it got is in body.
gets_soon() {
	gets_status=$1 gets_path=$2
	shift 2
	[ "$(curl -s --max-time 60 $CURL -o "$WORK/body" -w '%{http_code}' "$@" "$URL$gets_path")" \
		= "$gets_status" ]
}
gets() { gets_soon "$@" || fail "$2: not $1: $(head -c 300 "$WORK/body"; cat "$log")"; }

has_figures() {
	gets_soon 200 /metrics && grep -q "^memattach_target_live_bytes{pid=\"$ONE\"" "$WORK/body"
}

# From the names of figures in status to ours.
FIGURES='live_bytes:live_bytes live_bytes_low:live_low_bytes live_bytes_high:live_high_bytes
	live_count:live_blocks peak_live_bytes:peak_live_bytes rss_bytes:resident_memory_bytes
	alloc_count:allocations_total alloc_bytes:allocated_bytes_total free_count:frees_total
	alloc_count_low:allocations_low alloc_bytes_high:allocated_high_bytes
	alloc_bytes_low:allocated_low_bytes free_count_high:frees_high
	sites:sites growing_sites:growing_sites sample_interval_bytes:sample_interval_bytes'

status_figures() {
	"$MEMATTACH" status --control="$control" --json |
		jq -c ".processes[] | select(.pid == $ONE) | .figures | del(.age)"
}

# value NAME: in $WORK/body, of ONE.
value() { sed -n "s/^memattach_target_$1{pid=\"$ONE\",.*} //p" "$WORK/body"; }

# The metrics are what status says before and after; no snapshot came between.
equal_status() {
	before=$(status_figures)
	gets_soon 200 /metrics || return 1
	[ "$(status_figures)" = "$before" ] || return 1
	for pair in $FIGURES; do
		wanted=$(echo "$before" | jq ".${pair%:*}")
		[ "$(value "${pair#*:}")" = "$wanted" ] || {
			echo "$pair: $(value "${pair#*:}"), not $wanted" >"$WORK/differs"
			return 1
		}
	done
}
