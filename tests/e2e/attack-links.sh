#!/bin/sh
# SPDX-License-Identifier: MIT
# The attacker owns a process that root watches. Its debug information names source files: one that
# is a link of his to a file of root's, one of root's by its own name. Neither the views of a
# session nor those of its recording, nor a leak report, may show what is in them.
. "$(dirname "$0")/lib.sh"
needs jq setpriv "${CC%% *}"
is_root || skip "only root can read what the owner of a process may not"
may_trace_others || skip "no CAP_SYS_PTRACE"
USER=61006

mkdir -m 711 "$WORK/secret"
mkdir -m 755 "$WORK/open"
# Each file has one function, whose line names the file where it may be read.
cat >"$WORK/open/shown.c" <<'END'
#include <stdlib.h>
void *volatile shown_kept;
void shown(void) { shown_kept = malloc(1000); }	/* the owner's own text */
END
cat >"$WORK/open/linked.c" <<'END'
#include <stdlib.h>
void *volatile linked_kept;
void linked(void) { linked_kept = malloc(2000); }
END
cat >"$WORK/open/named.c" <<END
#include <stdlib.h>
void *volatile named_kept;
# 3 "$WORK/secret/named.c"
void named(void) { named_kept = malloc(3000); }
END
cat >"$WORK/open/main.c" <<'END'
#include <unistd.h>
void shown(void), linked(void), named(void);
int main(void)
{
	for (;;) {
		shown();
		linked();
		named();
		usleep(1000);
	}
}
END
$CC -g -O0 -w -o "$WORK/open/loses" "$WORK/open"/*.c || fail "no program"
for file in linked named; do
	printf 'SECRET 1\nSECRET 2\nvoid *secret = SECRET(3000);\n' >"$WORK/secret/$file.c"
	chmod 600 "$WORK/secret/$file.c"
done
rm "$WORK/open/linked.c"
ln -s ../secret/linked.c "$WORK/open/linked.c"

setpriv --reuid=$USER --regid=$USER --clear-groups "$WORK/open/loses" &
VICTIM=$!
own "$VICTIM"
runs_as_user() {
	[ "$(readlink "/proc/$VICTIM/exe")" = "$WORK/open/loses" ] &&
		[ "$(stat -c %u "/proc/$VICTIM")" = $USER ]
}
await 30 runs_as_user || fail "the victim does not run"
pristine_take "$VICTIM"

# kept_secret NAME FILE: it has the text that may be shown, and not the other.
kept_secret() {
	grep -q "the owner's own text" "$2" || [ "$1" = leaks ] || fail "$1: $(cat "$2" "$ERRORS")"
	! grep -i SECRET "$2" | grep -v "$WORK/secret/named.c" || fail "$1: $(cat "$2")"
}

# shows NAME COMMAND...
shows() {
	shows_name=$1
	shift
	"$@" >"$WORK/$shows_name" 2>"$ERRORS"
	case $? in 0 | 1) ;; *) fail "$*: $(cat "$ERRORS")" ;; esac
	kept_secret "$shows_name" "$WORK/$shows_name"
}

record=$WORK/session.mem
shows session "$MEMATTACH" -p "$VICTIM" -d 2 --exact --output="$record" --view=source
pristine_check "$VICTIM"
shows recording "$MEMATTACH" report "$record" source
shows document "$MEMATTACH" report "$record" source --json
shows leaks "$MEMATTACH" -p "$VICTIM" -d 1 --exact --leaks
pristine_check "$VICTIM"
grep -q 'named.c:3' "$WORK/leaks" || fail "the leaks have no places: $(cat "$WORK/leaks")"

# The control: the same file is shown once its owner lets the attacker read it.
chmod 644 "$WORK/secret/linked.c"
"$MEMATTACH" report "$record" source >"$WORK/control" || fail "report"
grep -q 'SECRET(3000)' "$WORK/control" ||
	fail "the text is not there at all: $(cat "$WORK/control")"
