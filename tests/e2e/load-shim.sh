#!/bin/sh
# SPDX-License-Identifier: MIT
# Both loaders on demand; auto takes dlopen where it is proven safe.
. "$(dirname "$0")/lib.sh"
needs jq python3
for loader in map dlopen auto; do
	victim truth truth_threads --threads=3 --rounds=300
	exact_session truth truth_threads --loader="$loader"
	case $loader in
	auto)	json_expect .session.loader dlopen ;;
	*)	json_expect .session.loader "$loader" ;;
	esac
	ended truth
done
