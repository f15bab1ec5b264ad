#!/bin/sh
# SPDX-License-Identifier: MIT
# Frees of what was freed already or is no block: each is reported with its stacks, also when
# the allocator ends the target for it; and nothing that is legal is.
. "$(dirname "$0")/lib.sh"
needs jq python3
. "$E2E/wrong_frees.sh"

begin() {
	victim wrong wrong_frees --plug="$VICTIMS/plug_a.so"
	attach_begin -p "$VICTIM" $EXACT --json "$@"
	attach_await "$VICTIM"
}

note "what is legal"
begin
survives l
wrong_frees
json_expect .totals.missed_free_count 0

note "noticed by tcache, the target aborts; only the caller of the first free is known"
begin
ends D
wrong_frees "double:freed-before:free:1:40:drop_again@again<double_caught@caught-again:\
drop_block@drop.:make_block@make<double_caught@caught-make"

note "the same with the stacks of all frees"
begin --frees=stacks
ends D
wrong_frees "double:freed-before:free:1:40:drop_again@again<double_caught@caught-again:\
drop_block@drop<double_caught@caught-drop:make_block@make<double_caught@caught-make"

note "not noticed: in a fastbin, across threads, by realloc, of an older block"
begin --frees=stacks
survives r x o f
wrong_frees \
	"double:freed-before:realloc:1:24:grow_dropped@grow<realloc_dropped@realloc-again:\
drop_block@drop<realloc_dropped@realloc-drop:make_block@make<realloc_dropped" \
	"double:freed-before:free:3:72:drop_again@again<double_across_threads@threads-again:\
drop_block@drop<drop_on_thread<other_thread:make_block@make<double_across_threads" \
	"double:freed-before:free:1:None:drop_again@again<double_older@older-again:\
drop_block@drop<drop_on_thread<other_thread:-" \
	"double:freed-before:free:1:56:drop_again@again<double_fastbin@fastbin-again:\
drop_block@drop<double_fastbin@fastbin-drop:make_block@make<double_fastbin@fastbin-make"
threads=$(json '.wrong_frees[] | select(.count == 3) |
	[.freed.thread == .allocated.thread, .freed.thread == .freed_first.thread] | @text')
expect "$threads" "[true,false]" "threads of the double free across threads"

note "after the block became part of another"
begin
ends C
wrong_frees \
	"double:freed-before:free:1:3000:drop_again@again<double_consolidated@consolidated-again:\
drop_block@drop.:make_block@make<double_consolidated"

note "inside a block, with what looks like a chunk"
begin
survives i
wrong_frees "illegal:inside-block:free:1:4096:drop_again@again<inside_accepted@inside-again:-:\
make_block@make<inside_accepted@inside-make"

note "inside a block, a stack, a global, a mapping, nothing: the target is ended"
# illegal CASE REASON FUNCTION MARK
illegal() {
	begin
	ends "$1"
	wrong_frees "illegal:$2:free:1:-:drop_again@again<$3@$4:-:-"
}
illegal S stack of_stack stack-again
illegal T stack of_stack stack-again
illegal G static-data of_global global-again
illegal U no-memory of_nothing nothing-again
illegal B misaligned of_garbage garbage-again
begin
ends I
wrong_frees "illegal:inside-block:free:1:640:drop_again@again<inside_caught@inside-caught-again:-:\
make_block@make<inside_caught"
begin
ends M
wrong_frees "illegal:not-allocated:free:1:65536:drop_again@again<of_mapping@mapping-again:-:\
of_mapping"

note "the report for people, and from a recording"
victim wrong wrong_frees
attach_begin -p "$VICTIM" $EXACT -o "$WORK/recording"
attach_await "$VICTIM"
tell wrong D
attach_wait
expect "$STATUS" 4 "exit status"
grep -q 'double free: free of 0x[0-9a-f]*, which was freed before (a block of 40 B)' "$REPORT" ||
	fail "no double free: $(cat "$REPORT")"
grep -q -- '--frees=stacks' "$REPORT" || fail "the option is not named"
"$MEMATTACH" report "$WORK/recording" >"$WORK/again" || fail "report of the recording"
cmp "$REPORT" "$WORK/again" || fail "the recording says something else"

note "sampled: not looked for"
victim wrong wrong_frees
attach -p "$VICTIM" -d 0.2 --json
json_valid
json_expect .wrong_frees null
ended wrong
