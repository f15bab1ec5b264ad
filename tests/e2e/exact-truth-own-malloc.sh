#!/bin/sh
# SPDX-License-Identifier: MIT
# An executable with an allocator of its own, in the file that calls it, whose callers know which
# registers it changes: every event is seen, and no register that they count on is another.
. "$(dirname "$0")/lib.sh"
needs jq python3

# Where its locks are held can't be told: no dlopen.
for loader in auto map; do
	victim own own_malloc
	exact_session own own_malloc --loader=$loader
	json_expect .session.loader map
	json_expect '.target.allocators[0].name' other
	checked own
	ended own
done

for way in "$EXACT" --exact --sample=4096 --sample=64 --overhead=1 \
	--counts=totals --counts=sites; do
	dealt 2 || continue
	note "$way"
	victim own own_malloc
	pristine_take "$VICTIM"
	# shellcheck disable=SC2086
	attach_begin -p "$VICTIM" $way --json
	attach_await "$VICTIM"
	for _ in 1 2 3; do
		checked own
	done
	attach_end INT
	expect "$STATUS" 0 "exit status"
	json_valid
	json_expect .session.detached pristine
	json_expect '(.totals.alloc_count + .session.lost.alloc) > 100000' true
	checked own
	pristine_check "$VICTIM"
	ended own
done
