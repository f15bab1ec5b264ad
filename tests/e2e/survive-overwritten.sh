#!/bin/sh
# SPDX-License-Identifier: MIT
# A program's own memory errors write over the memory that it shares with memattach: with zeros,
# with ones, with text. No counter in there is believed beyond what can be; figures say that they
# are not certain; the program goes on and is left pristine.
. "$(dirname "$0")/lib.sh"
needs jq "${CC%% *}"
cat >"$WORK/overwrites.c" <<'END'
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
static void overwrite(int byte, unsigned long first, unsigned long bytes)
{
	FILE *maps = fopen("/proc/self/maps", "r");
	char line[512], rights[8];
	unsigned long low, high;
	while (fgets(line, sizeof(line), maps))
		if (strstr(line, "/memfd:memattach-ring") &&
		    sscanf(line, "%lx-%lx %7s", &low, &high, rights) == 3 &&
		    rights[1] == 'w' && high - low >= first + bytes) {
			/* no bytes: what begins at the offset that lies there, to the end */
			if (!bytes)
				first = *(unsigned long *)(low + first);
			memset((char *)low + first, byte, bytes ? bytes : high - low - first);
		}
	fclose(maps);
}
int main(void)
{
	char line[64], *volatile kept[100];
	int byte;
	unsigned long first, bytes;
	for (puts("ready"), fflush(stdout); fgets(line, sizeof(line), stdin); fflush(stdout)) {
		if (sscanf(line, "%i %li %li", &byte, &first, &bytes) == 3)
			overwrite(byte, first, bytes);
		for (int i = 0; i < 100; i++)
			kept[i] = malloc(200);
		for (int i = 0; i < 100; i++)
			free(kept[i]);
		puts("done");
	}
}
END
$CC -w -O1 -fno-builtin -o "$WORK/overwrites" "$WORK/overwrites.c" || fail "no program"
# Where what is in there lies.
cat >"$WORK/places.c" <<'END'
#include <stddef.h>
#include <stdio.h>
#include "inject/abi/ring_abi.h"
int main(void)
{
	printf("epoch %zu %zu\n", offsetof(struct ring_control, epoch), sizeof(uint64_t));
	printf("gaps %zu %zu\n", offsetof(struct ring_control, gap_cycles), sizeof(uint64_t));
	printf("heads %zu %zu\n", offsetof(struct ring_control, ring) +
	       offsetof(struct ring_head, lost_alloc), 8 * sizeof(uint64_t));
	printf("counts %zu 0\n", offsetof(struct ring_control, counts_offset));
	printf("lanes %zu %zu\n", offsetof(struct ring_control, lane), sizeof(struct ring_lane));
}
END
$CC -w -I"$SRCDIR" -I"$BUILDDIR" -o "$WORK/places" "$WORK/places.c" || fail "no places"
"$WORK/places" >"$WORK/list" || fail "no places"

# overwritten BYTE NAME FIRST BYTES
overwritten() {
	mkfifo "$WORK/in"
	"$WORK/overwrites" <>"$WORK/in" >"$WORK/out" &
	VICTIM=$!
	own "$VICTIM"
	await 30 grep -q '^ready' "$WORK/out" || fail "no victim"
	pristine_take "$VICTIM"
	mode=--exact
	[ "$2" != counts ] || mode=--counts=sites
	attach_begin -p "$VICTIM" $mode --json -d 60
	attach_await "$VICTIM"
	for round in "" "$1 $3 $4" ""; do
		before=$(grep -c '^done' "$WORK/out")
		echo "$round" >"$WORK/in"
		await 30 said_done || fail "$2: the program does not go on"
	done
	attach_end
	expect "$STATUS" 0 "exit status, $2"
	json_valid
	json_expect '[.. | numbers | select(. > 9007199254740992)] | length' 0
	json_expect '.session.lost | .gaps <= 600 and .gap_seconds < 600' true
	json_expect .session.detached pristine
	[ "$2" = lanes ] || json_expect '.session.lost | .corrupt + .gaps > 0' true
	pristine_check "$VICTIM"
	kill -KILL "$VICTIM"
	wait "$VICTIM" 2>/dev/null
	rm "$WORK/in"
}
said_done() { [ "$(grep -c '^done' "$WORK/out")" -gt "$before" ]; }

for byte in 0 255 65; do
	while read -r name first bytes; do
		case $byte-$name in	# as they are
		0-gaps | 0-heads | 0-lanes | 0-counts) continue ;;
		esac
		dealt 2 || continue
		note "$name, written over with $byte"
		overwritten "$byte" "$name" "$first" "$bytes"
	done <"$WORK/list"
done
