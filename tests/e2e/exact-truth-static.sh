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

# With its heap right behind it there is no room beside the program: not randomised, as here, or by
# chance.
setarch -R true 2>/dev/null || { note "setarch -R is not allowed"; exit 0; }
printf '#!/bin/sh\nexec setarch -R "%s"\n' "$VICTIMS/truth_static" >"$WORK/fixed"
chmod +x "$WORK/fixed"
VICTIMS=$WORK victim fixed fixed
exact_session fixed truth_static
ended fixed
