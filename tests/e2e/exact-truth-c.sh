#!/bin/sh
# SPDX-License-Identifier: MIT
# Exact mode equals the truth: every allocator call of C, those that fail too, to the byte.
. "$(dirname "$0")/lib.sh"
needs jq python3
victim truth truth_c
exact_session truth truth_c
ended truth
