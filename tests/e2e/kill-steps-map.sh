#!/bin/sh
# SPDX-License-Identifier: MIT
# kill-steps.sh with the map loader.
LOADER=map
export LOADER
exec /bin/sh "$(dirname "$0")/kill-steps.sh"
