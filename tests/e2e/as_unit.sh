#!/bin/sh
# SPDX-License-Identifier: MIT
# as_unit.sh UNIT COMMAND...: as that unit of packaging/systemd would run it (User=,
# AmbientCapabilities=, NoNewPrivileges=): another user than its targets', with these capabilities
# and no others, now or ever. Only root can do it.
caps=$(sed -n 's/^AmbientCapabilities=CAP_//p' "$SRCDIR/packaging/systemd/$1.service.in" |
	sed 's/ CAP_/,+/g' | tr '[:upper:]' '[:lower:]')
user=61001	# nobody's
shift
exec setpriv --reuid=$user --regid=$user --clear-groups --no-new-privs \
	--bounding-set="-all,+$caps" --inh-caps="-all,+$caps" --ambient-caps="-all,+$caps" -- "$@"
