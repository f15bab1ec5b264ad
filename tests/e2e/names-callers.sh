#!/bin/sh
# SPDX-License-Identifier: MIT
# Where one function stands for a stack it is none that merely allocates for its caller: no form of
# operator new, nor strdup's kind. Whole stacks keep these frames. What is empty says so, and by
# what it would not be; --size names sites that asked for that size.
. "$(dirname "$0")/lib.sh"
needs jq python3
cat >"$WORK/program.cc" <<'END'
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <new>
#include <unistd.h>
struct alignas(64) wide { char bytes[128]; };
struct own {
	char bytes[211];
	static void *operator new(size_t size) { return malloc(size); }
};
static void *volatile kept[400];
static int count;
#define F __attribute__((noinline)) static void
F keep(void *block) { kept[count++] = block; }
F by_new() { keep(new int[25]); }
F by_array() { keep(new char[333]); }
F by_aligned() { keep(new wide); }
F by_nothrow() { keep(new (std::nothrow) char[77]); }
F by_class() { keep(new own); }
F by_strdup() { keep(strdup("twenty-five bytes of text")); }
F by_strndup() { keep(strndup("twenty bytes of text...", 20)); }
F by_asprintf()
{
	char *text = NULL;
	if (asprintf(&text, "%d %s", 1, "some thirty bytes of more text") > 0) keep(text);
}
F by_realpath() { keep(realpath("/usr/../usr/bin", NULL)); }
F by_getline(FILE *file)
{
	char *text = NULL;
	size_t room = 0;
	rewind(file);
	if (getline(&text, &room, file) > 0) keep(text);
}
/* Asks for what is smaller and what is larger than 777, and frees it. */
F around(int i) { free(malloc(i % 2 ? 700 : 900)); }
F asks_for_777() { free(malloc(777)); }
int main()
{
	FILE *file = fopen("/proc/self/status", "r");
	char command, *first = NULL;
	size_t room = 0;
	if (!file || getline(&first, &room, file) < 0 || write(1, "ready\n", 6) != 6) return 9;
	while (read(0, &command, 1) == 1 && command != 'q') {
		if (command == 'k')
			for (int i = 0; i < 5; i++) {
				by_new(); by_array(); by_aligned(); by_nothrow(); by_class();
				by_strdup(); by_strndup(); by_asprintf(); by_realpath();
				by_getline(file);
			}
		else
			for (int i = 0; i < 20; i++) { around(i); asks_for_777(); }
		if (write(1, "done ok\n", 8) != 8) return 9;
	}
	return 0;
}
END
# shellcheck disable=SC2086
$CXX -g -O1 -fno-builtin -fno-optimize-sibling-calls -o "$WORK/program" "$WORK/program.cc" ||
	fail "compiling"

# begun_program NAME: another process of it.
begun_program() {
	background "$1" "$WORK/program"
	VICTIM=$LAST VICTIM_SELF=$LAST
	await 20 grep -q ready "$WORK/$1.out" || fail "the program does not start"
}

# worked NAME COMMANDS ARGUMENTS: under memattach ARGUMENTS it does COMMANDS; SHOWS, if it is not
# empty, is in the output before that ends.
SHOWS=
worked() {
	worked_name=$1 worked_commands=$2
	shift 2
	begun_program "$worked_name"
	pristine_take "$VICTIM"
	attach_begin "$@" -p "$VICTIM"
	attach_await "$VICTIM"
	for command in $worked_commands; do
		tell "$worked_name" "$command"
		answer "$worked_name" "done"
	done
	[ -z "$SHOWS" ] || await 20 grep -q "$SHOWS" "$REPORT" || fail "$worked_name: no $SHOWS"
	attach_end INT
	expect "$STATUS" 0 "exit status of $worked_name"
	pristine_check "$VICTIM"
	ended "$worked_name"
	cp "$REPORT" "$WORK/$worked_name.report"
}

callers='by_new by_array by_aligned by_nothrow by_class by_strdup by_strndup by_asprintf by_realpath
	by_getline'
helper='operator new|strdup|strndup|asprintf|realpath_stk|getdelim|__GI_|libc\.so|libstdc'

# callers_are FILE WHAT: each of them is in it, no helper is.
callers_are() {
	for each in $callers; do
		grep -q "$each" "$1" || fail "$2: no $each: $(cat "$1")"
	done
	sed 's/by_[a-z]*//g' "$1" >"$WORK/bare"
	! grep -E "$helper" "$WORK/bare" || fail "$2: shows a function that allocates for another"
}

# --- a recording, and what is made of it ----------------------------------------------------

worked recorded k $EXACT -o "$WORK/recording"
attach report "$WORK/recording" blocks --json --top=50
jq -r '.blocks[].caller.function' "$REPORT" >"$WORK/callers"
callers_are "$WORK/callers" "blocks as JSON"
attach report "$WORK/recording" blocks --top=50
grep '^  0x' "$REPORT" | sed 's/  [^ ]*:[0-9:]*$//' >"$WORK/callers"
callers_are "$WORK/callers" blocks
attach report "$WORK/recording" overview
! grep -E "site [0-9]+, ($helper)" "$REPORT" || fail "overview"
attach export "$WORK/recording" --to=csv
python3 -c 'import csv, sys
for row in csv.DictReader(sys.stdin): print(row["function"])' <"$REPORT" >"$WORK/callers"
callers_are "$WORK/callers" csv
attach export "$WORK/recording" --to=massif
grep -E '^ n[0-9]+: [0-9]+ 0x' "$REPORT" | sed 's/^.*: \(by_\)/\1/; s/ (.*//' >"$WORK/callers"
grep -q by_array "$WORK/callers" || fail "massif has no tree"
sed 's/by_[a-z]*//g' "$WORK/callers" >"$WORK/bare"
! grep -E "$helper" "$WORK/bare" || fail "massif begins with what allocates for others"
attach export "$WORK/recording" --to=html -o "$WORK/page.html"
python3 - "$WORK/page.html" >"$WORK/callers" <<'END' || fail "the page"
import json, re, sys
page = open(sys.argv[1], encoding="utf-8").read()
texts = re.findall(r"<script[^>]*application/json[^>]*>(.*?)</script>", page, re.S)
data = [each for each in map(json.loads, texts) if each.get("schema") == "memattach-html-1"][0]
functions, frames, nodes = data["functions"], data["frames"], data["nodes"]
parent = [i - up for i, up in enumerate(data["nodes"]["up"])]
for node, up in zip(data["sites"]["node"], data["sites"]["caller"]):
    for _ in range(up):
        node = parent[node]
    print(data["texts"][functions["title"][frames["function"][nodes["frame"][node]]]])
END
callers_are "$WORK/callers" html
attach report "$WORK/recording" tree --reverse --json
jq -r '.nodes[] | select(.depth == 1) | .frame.function' "$REPORT" >"$WORK/callers"
callers_are "$WORK/callers" "tree --reverse"
attach report "$WORK/recording" flame --reverse
sed 's/;.*//' "$REPORT" >"$WORK/callers"
callers_are "$WORK/callers" "flame --reverse"
# Whole stacks have them.
attach report "$WORK/recording" hotspots
for each in 'operator new(unsigned long)' 'operator new\[\](unsigned long, std::nothrow_t' \
	by_class; do
	grep -q "$each" "$REPORT" || fail "stacks lack $each"
done
attach report "$WORK/recording" --json
python3 - "$REPORT" <<'END' || fail "stacks in the document"
import json, sys
stacks = [[frame["function"] or "" for frame in site["frames"]]
          for site in json.load(open(sys.argv[1]))["sites"]]
assert any(stack[0].startswith("operator new") and "by_array()" in stack for stack in stacks)
END

# --- the plain screen, the log of calls -----------------------------------------------------

SHOWS='by_[a-z]*()'
worked plain k $EXACT --interval=0.2 --plain --top=30
SHOWS=
sed -n '/allocated by/,$p' "$WORK/plain.report" | sed '/^Top/,$d' |
	grep -E '^ +[0-9.]+ (B|KiB) .*/s ' | sed 's/  [^ ]*:[0-9:]*$//' >"$WORK/callers"
# It does not wait for names.
grep -q 'by_[a-z]*()' "$WORK/callers" || fail "the plain screen: $(cat "$WORK/plain.report")"
! sed 's/by_[a-z]*//g' "$WORK/callers" | grep -E 'operator new|strn*dup|asprintf|getdelim' ||
	fail "the plain screen shows a function that allocates for another"
worked log k trace --json
jq -r 'select(.event == "call" and .address != null and .kind == "malloc") |
	.frames[-1].function' "$WORK/log.report" | grep -v '^_IO\|fopen' >"$WORK/callers"
callers_are "$WORK/callers" "the log of calls"
jq -r 'select(.event == "unfreed") | .frames[-1].function' "$WORK/log.report" >"$WORK/callers"
callers_are "$WORK/callers" "the log's unfreed blocks"

# --- what is empty, and sizes ----------------------------------------------------------------

worked empty w $EXACT -o "$WORK/recording"
attach report "$WORK/recording" hotspots
grep -q 'Nothing: no site has live bytes; there are .* by --by=bytes, 40 by --by=calls' \
	"$REPORT" || fail "hotspots: $(cat "$REPORT")"
attach report "$WORK/recording" tree
grep -q 'Nothing: no site has live bytes' "$REPORT" || fail "tree: $(cat "$REPORT")"
attach report "$WORK/recording" flame --by=live
grep -q '^# nothing: no site has live bytes; .* by --by=calls, ' "$REPORT" || fail "flame"
attach export "$WORK/recording" --to=folded
expect "$STATUS" 0 "exit status of an empty export"
[ ! -s "$REPORT" ] || fail "folded has something"
grep -q 'nothing to export: no site has live bytes; there are .* by --by=bytes' "$ERRORS" ||
	fail "folded: $(cat "$ERRORS")"
attach report "$WORK/recording" filter --size=777 --json
json_expect '[.sites[].frames[0].function] | join(" ")' "asks_for_777()"
attach report "$WORK/recording" filter --size=701-899 --json
json_expect '[.sites[].frames[0].function] | join(" ")' "asks_for_777()"
attach report "$WORK/recording" filter --size=700 --json
json_expect '[.sites[].frames[0].function] | join(" ")' "around(int)"
