#!/bin/sh
# SPDX-License-Identifier: MIT
# One table of options: what is parsed (cli/options/options.c, options_view.h), what help and
# completions show (`memattach help --table`) and what each command's page describes are the same.
# Pages are clean for mandoc and groff, and name each other.
. "$(dirname "$0")/lib.sh"
: "${BUILDDIR:=$SRCDIR}"
memattach=$BUILDDIR/cli/memattach
pages=$BUILDDIR/docs
scratch=$(mktemp -d) || exit 99
trap 'rm -rf "$scratch"' EXIT
[ -x "$memattach" ] || { echo "SKIP: $memattach is not built"; exit 77; }
"$memattach" help --table >"$scratch/table" || exit 99

# --- parsed and shown --------------------------------------------------------
grep -hE '^	*[{] "[a-z-]+", (no|required|optional)_argument' \
	cli/options/options.c cli/options/options_view.h |
	sed 's/.*{ "\([a-z-]*\)", \([a-z]*\)_argument.*/\1 \2/' | sort >"$scratch/parsed"
awk -F '\t' '$1 == "option" {
	print $3, $5 == "none" ? "no" : $5 == "optional" ? $5 : "required" }' "$scratch/table" |
	sort -u >"$scratch/shown"
comm -3 "$scratch/parsed" "$scratch/shown" >"$scratch/differ"
while read -r name rest; do
	problem "cli/options/help_table.c: --$name ($rest argument) is not as it is parsed"
done <"$scratch/differ"
[ -s "$scratch/parsed" ] || problem "cli/options/options.c: no options found"

# --- commands ----------------------------------------------------------------
sed -n 's/^	{ "\([a-z]*\)", cmd_.*/\1/p' cli/memattach.c | sort >"$scratch/run"
awk -F '\t' '$1 == "command" { print $2 }' "$scratch/table" | sort >"$scratch/commands"
for name in $(comm -3 "$scratch/run" "$scratch/commands"); do
	problem "cli/options/help_table.c: the command $name is not as in cli/memattach.c"
done

# --- pages -------------------------------------------------------------------
# Names of options that page $1 has paragraphs of.
described() {
	grep '^[.]It .*Fl -' "$1" | grep -o 'Fl -[a-z][a-z-]*' | sed 's/Fl -//' | sort -u
}

for command in $(cat "$scratch/commands"); do
	page=$pages/memattach-$command.1
	if [ ! -s "$page" ]; then
		problem "docs/man/memattach-$command.1.in: no such page"
		continue
	fi
	described "$page" >"$scratch/described"
	awk -F '\t' -v c="$command" '$1 == "option" && $2 == c { print $3 }' "$scratch/table" |
		sort -u >"$scratch/taken"
	for name in $(comm -13 "$scratch/described" "$scratch/taken"); do
		problem "docs/man/memattach-$command.1.in: --$name is not described"
	done
	for name in $(comm -23 "$scratch/described" "$scratch/taken"); do
		problem "docs/man/memattach-$command.1.in: $command takes no --$name"
	done
	for section in SYNOPSIS DESCRIPTION OPTIONS 'EXIT STATUS' EXAMPLES 'SEE ALSO'; do
		grep -q "^[.]Sh $section" "$page" ||
			problem "docs/man/memattach-$command.1.in: no $section"
	done
	grep -q "^[.]Xr memattach-$command 1" "$pages/memattach.1" ||
		problem "docs/man/memattach.1.in: does not name memattach-$command"
done

# What stands behind a page's option or command: each has an entry.
named() {
	for word in $(awk -F '\t' -v k="$1" '$1 == k { print $2 }' "$scratch/table"); do
		[ "$word" = help ] || grep -q "^[.]It Cm $word\$" "$pages/$2" ||
			problem "docs/man/$2.in: does not describe $word"
	done
}
named views memattach-report.1
named formats memattach-export.1

# Words behind an option on its line would be set as options, too: "-for -all -blocks".
grep -nE 'Fl -[a-z-]+ [a-z]' docs/man/*.in docs/man/options.mdoc >"$scratch/said"
while read -r line; do
	problem "$line: words are set as options; Po, Fl, Pc on lines of their own"
done <"$scratch/said"

for page in "$pages"/memattach*.1 "$pages"/memattach*.5 "$pages"/memattach*.7 \
	"$pages"/memattach*.8; do
	[ -f "$page" ] || continue		# memattachd may not be built
	# "referenced manual not found" is about what this machine has
	! command -v mandoc >/dev/null 2>&1 ||
		mandoc -T lint -W warning "$page" | grep -v 'referenced manual not found' \
			>"$scratch/said"
	[ ! -s "$scratch/said" ] || problem "$(cat "$scratch/said")"
	if command -v groff >/dev/null 2>&1; then
		# AD: a column with one word a line can't be adjusted to both sides
		groff -ww -b -mdoc -dAD=l -Tascii -z "$page" 2>"$scratch/said"
		[ ! -s "$scratch/said" ] || problem "$(cat "$scratch/said")"
	fi
	: >"$scratch/said"
done
verdict
