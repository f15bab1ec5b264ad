#!/bin/sh
# SPDX-License-Identifier: MIT
# A target without /proc in its view, as in a bare chroot or container: its dlopen would not find
# the hooks, which only a descriptor names, so they come by the map loader; who wants dlopen is told
# before anything is touched.
. "$(dirname "$0")/lib.sh"
needs jq python3 unshare
is_root || skip "only root can take /proc away"
unshare --mount sh -c 'umount -l /proc' 2>/dev/null || skip "/proc can't be taken away here"
printf '#!/bin/sh\numount -l /proc && exec "%s"\n' "$VICTIMS/truth_c" >"$WORK/inside"
printf '#!/bin/sh\nexec unshare --mount sh "%s"\n' "$WORK/inside" >"$WORK/no_proc"
chmod +x "$WORK/no_proc"

DIRECTORY=$VICTIMS
VICTIMS=$WORK
victim truth no_proc
VICTIMS=$DIRECTORY
[ ! -e "/proc/$VICTIM/root/proc/thread-self" ] || fail "the victim sees a /proc"
pristine_take "$VICTIM"
attach -p "$VICTIM" -d 1 --loader=dlopen
expect "$STATUS" 3 "exit status with --loader=dlopen"
said_one_line "the target sees no /proc.*--loader=map"
pristine_check "$VICTIM" --quiet
exact_session truth truth_c
json_expect .session.loader map
ended truth

# What only dlopen could do is refused when it turns out, and taken back.
printf '#!/bin/sh\numount -l /proc && exec "%s"\n' "$VICTIMS/pools_cxx" >"$WORK/inside"
VICTIMS=$WORK
victim pools no_proc
pristine_take "$VICTIM"
attach -p "$VICTIM" -d 1 --alloc-fn=_ZN12_GLOBAL__N_14Pool3getEm:2
expect "$STATUS" 3 "exit status with a function that throws"
said_one_line "may throw; needs the dlopen loader"
pristine_check "$VICTIM" --quiet
ended pools
