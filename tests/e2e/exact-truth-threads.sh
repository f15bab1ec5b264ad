#!/bin/sh
# SPDX-License-Identifier: MIT
# Exact mode equals the truth with threads that free each other's blocks.
. "$(dirname "$0")/lib.sh"
needs jq python3
victim truth truth_threads --threads=6 --rounds=3000
exact_session truth truth_threads
ended truth
