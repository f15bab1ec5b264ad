#!/bin/sh
# SPDX-License-Identifier: MIT
# vm.memfd_noexec at 1 and 2: the kernel makes files in memory no programs, and refuses those that
# would be some. The shim is a library, whose code may be mapped all the same.
. "$(dirname "$0")/lib.sh"
needs jq unshare
[ -e /proc/sys/vm/memfd_noexec ] || skip "the kernel has no vm.memfd_noexec (Linux 6.3)"
is_root || skip "only root can set vm.memfd_noexec"
# It belongs to a namespace of processes.
cat >"$WORK/inside" <<'END'
echo "$1" >/proc/sys/vm/memfd_noexec || exit 77
"$VICTIMS/selfcheck" --kind=mix --threads=3 <"$WORK/commands" >"$WORK/said" 2>&1 &
exec 3>"$WORK/commands"
until grep -q '^ready' "$WORK/said"; do sleep 0.05; done
"$MEMATTACH" check -p $! >"$WORK/check.$1" || exit
for loader in dlopen map; do
	"$MEMATTACH" -p $! -d 0.2 --exact --json --loader=$loader >"$WORK/$loader.$1" || exit
done
"$MEMATTACH" leaks -p $! >"$WORK/leaks.$1" || exit
"$MEMATTACH" run --exact -- /bin/true >"$WORK/run.$1" || exit
printf q >&3
wait $!
END
export MEMATTACH VICTIMS WORK
mkfifo "$WORK/commands"
unshare --pid --fork --mount-proc true 2>/dev/null || skip "no namespace of processes here"
for value in 1 2; do
	status=0
	timeout -k 10 $((120 * PATIENCE)) unshare --pid --fork --mount-proc \
		sh "$WORK/inside" "$value" >"$WORK/out" 2>&1 </dev/null || status=$?
	[ "$status" -ne 77 ] || skip "vm.memfd_noexec can't be set here"
	expect "$status" 0 "exit status at $value ($(tail -n 3 "$WORK/out"))"
	for loader in dlopen map; do
		expect "$(jq -r .session.detached "$WORK/$loader.$value")" pristine "$loader"
	done
	grep -q '^verdict ok' "$WORK/said" || fail "the victim: $(cat "$WORK/said")"
done
