#!/bin/sh
# SPDX-License-Identifier: MIT
# Every option with every command: one that the command's help does not list is refused with one
# line that names it, the command and the commands that take it; one that is listed is not
# refused for that. Nothing is attached to: no process has the id that is named.
. "$(dirname "$0")/lib.sh"
NOBODY=4194304
"$MEMATTACH" help --table >"$WORK/table" || fail "no table"
COMMANDS=$(awk -F '\t' '$1 == "command" { print $2 }' "$WORK/table")

# A line an option: name, letter, kind of its value, the first choice, who takes it.
awk -F '\t' '$1 == "option" {
	if (!($3 in who))
		order[count++] = $3
	split($7, choice, " ")
	row[$3] = $3 " " $4 " " $5 " " choice[1]
	who[$3] = who[$3] " " $2
}
END { for (i = 0; i < count; i++) print row[order[i]] who[order[i]] }' "$WORK/table" \
	>"$WORK/options"

# value_of OPTION KIND CHOICE: sets VALUE to what could stand behind "=".
value_of() {
	case $2 in
	pid) VALUE=$NOBODY ;;
	file) VALUE=/nonexistent/file ;;
	folder) VALUE=/nonexistent ;;
	choice | list) VALUE=$3 ;;
	*) VALUE=1 ;;
	esac
	case $1 in
	max-memory | max-recording) VALUE=1G ;;
	name | unit) VALUE=no-such-process ;;
	esac
}

# called COMMAND WORD...: STATUS and SAID; whatever the command takes, it finds nothing to do.
called() {
	called_as=$1
	shift
	case $called_as in
	run) set -- "$@" -- /nonexistent/command ;;
	report | symbolize) set -- "$@" /nonexistent/recording ;;
	diff) set -- "$@" /nonexistent/one /nonexistent/two ;;
	status | ps | watch | top) set -- "$@" --control=/nonexistent/socket ;;
	export) set -- "$@" --to=folded /nonexistent/recording ;;
	*) case $* in -p* | --pid*) ;; *) set -- "$@" -p $NOBODY ;; esac ;;
	esac
	SAID=$("$MEMATTACH" "$called_as" "$@" 2>&1 </dev/null)
	STATUS=$?
}

# refused COMMAND "NAME[ (-LETTER)]" "TAKERS, ..." WORD...
refused() {
	refused_by=$1
	wanted="memattach: \`memattach $1\` takes no --$2: that is for $3;"
	wanted="$wanted see \`memattach help $1\`"
	shift 3
	called "$refused_by" "$@"
	expect "$STATUS" 2 "exit status of $refused_by $*"
	expect "$SAID" "$wanted" "what is said of $refused_by $*"
}

taken() {
	called "$@"
	case $SAID in *'takes no'* | *'no such option'*) fail "$*: $SAID" ;; esac
	[ "$STATUS" -ne 0 ] || fail "$* has found something to do"
}

# each_command NAME LETTER KIND CHOICE TAKERS...
each_command() {
	value_of "$1" "$3" "$4"
	name=$1 letter=$2 word=--$1
	[ "$3" = none ] || word=$word=$VALUE
	shift 4
	list=$(echo "$*" | sed 's/ /, /g; s/\(.*\), /\1 and /')
	[ "$letter" = - ] && as_named=$name || as_named="$name (-$letter)"
	for command in $COMMANDS; do
		pairs=$((pairs + 1))
		dealt 3 || continue
		case " $* " in *" $command "*)
			taken "$command" "$word"
			continue ;;
		esac
		refused "$command" "$as_named" "$list" "$word"
		[ "$letter" = - ] || refused "$command" "$as_named" "$list" "-$letter" "$VALUE"
	done
}

pairs=0
while read -r row; do
	# shellcheck disable=SC2086 # words
	each_command $row
done <"$WORK/options"
[ "$pairs" -ge 450 ] || fail "only $pairs pairs of a command and an option"

# A shortened name, a value that is missing, the short form of attach.
refused check exact "attach, run, trace and leaks" --exa
refused report search symbolize --search
timeout 20 "$MEMATTACH" -p $NOBODY --to=folded 2>"$ERRORS" && fail "--to is taken by attach"
said_one_line '`memattach attach` takes no --to: that is for export;'
timeout 20 "$MEMATTACH" -p $NOBODY --exact=1 2>"$ERRORS" && fail "--exact takes a value"
said_one_line '^memattach: --exact=1: takes no value'

# What shapes some views only. unheeded VIEW OPTION WHOSE
unheeded() {
	for where in "report /nonexistent/recording $1" "-p $NOBODY --view=$1"; do
		# shellcheck disable=SC2086 # words
		timeout 20 "$MEMATTACH" $where "$2" >"$REPORT" 2>"$ERRORS"
		expect "$?" 2 "exit status of $where $2"
		said_one_line "the view $1 takes no $3\$"
	done
}
unheeded hotspots --reverse '--reverse: that is for tree and flame'
unheeded flame --threshold=1 '--threshold: that is for tree and source'
unheeded tree --flame-use-size '--flame-use-size: that is for flame'
unheeded tree --time-unit=B '--time-unit=B: that is for timeline'
unheeded timeline --sizes=exact '--sizes=exact: that is for histogram'
