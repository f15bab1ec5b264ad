#!/bin/sh
# SPDX-License-Identifier: MIT
# A static program: no dynamic loader, so only the map loader can enter it.
. "$(dirname "$0")/lib.sh"
needs jq python3
[ -x "$VICTIMS/truth_static" ] || skip "no static libc to build the victim with"
victim truth truth_static
exact_session truth truth_static
json_expect .session.loader map
ended truth
