#!/bin/sh
# SPDX-License-Identifier: MIT
# Small thread stacks, coroutines, alternate signal stacks: right figures, no fault.
. "$(dirname "$0")/lib.sh"
needs jq python3
victim truth oddstacks
exact_session truth oddstacks
ended truth
