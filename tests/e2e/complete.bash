# SPDX-License-Identifier: MIT
# complete.bash FILE LINE: what bash-completion offers behind LINE with the completions in FILE.
# shellcheck shell=bash disable=SC2034
. /usr/share/bash-completion/bash_completion
. "$1"
compopt() { :; }	# is for completions that readline asked for
COMP_LINE=$2 COMP_POINT=${#2} COMP_TYPE=9 COMP_KEY=9
# as readline breaks words: at white space, "=" and "@" are words of their own
read -r -a COMP_WORDS <<<"$(sed 's/[=@]/ & /g' <<<"$COMP_LINE")"
[[ $COMP_LINE != *[[:space:]=@] || $COMP_LINE == *[=@] ]] || COMP_WORDS+=("")
COMP_CWORD=$((${#COMP_WORDS[@]} - 1))
cd "${3:-.}" || exit 1
_memattach memattach "${COMP_WORDS[COMP_CWORD]}" "${COMP_WORDS[COMP_CWORD - 1]}"
printf '%s\n' "${COMPREPLY[@]}"
