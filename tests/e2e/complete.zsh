# SPDX-License-Identifier: MIT
# complete.zsh FOLDER LINE: what zsh offers behind LINE with the completions in FOLDER. An
# interactive shell on a pseudo terminal is asked, whose compadd prints instead.
zmodload zsh/zpty || exit 77
zpty shell zsh -f -i
inside=${TMPDIR:-/tmp}/complete.zsh.$$
trap 'rm -f $inside' EXIT
cat >$inside <<'END'
PROMPT=
fpath=($COMPLETE_FOLDER $fpath)
autoload -Uz compinit && compinit -u -D
bindkey '^I' complete-word
begin() { print -r - BEGINS }
finish() { print -r - ENDS; exit }
compprefuncs=(begin)
comppostfuncs=(finish)
zstyle ':completion:*' list-grouped no
compadd() {
	local -a hits
	if [[ ${@[1,(i)(-|--)]} == *-(O|A|D)\ * ]]; then
		builtin compadd "$@"
		return
	fi
	builtin compadd -A hits "$@"
	(( $#hits )) && print -rl - "HIT "${^hits}
	builtin compadd "$@"
}
print -r - READY
END
zpty -w shell "stty -echo; COMPLETE_FOLDER=${(q)1}; cd ${(q)3:-.}; . ${(q)inside}"
while zpty -r shell line; do
	[[ $line == READY* ]] && break
done
zpty -n -w shell "$2"$'\t'
while zpty -r shell line; do
	line=${line%%$'\r'*}
	[[ $line == *ENDS* ]] && break
	[[ $line == *"HIT "* ]] && print -r - "${line##*HIT }"
done
zpty -d shell
