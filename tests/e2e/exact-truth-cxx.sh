#!/bin/sh
# SPDX-License-Identifier: MIT
# Exact mode equals the truth: operators of C++, exceptions through watched frames, inlined callers.
. "$(dirname "$0")/lib.sh"
needs jq python3
victim truth truth_cxx
exact_session truth truth_cxx
ended truth
