#!/bin/sh
# SPDX-License-Identifier: MIT
# kill-steps.sh with a process whose only thread works on a fiber: the frame that insures it lies on
# its first stack, in what that has never used. There are some thousand steps, as it is waited for
# before all memory is searched, and more where time goes by: a few of them here (make soak: more).
: "${STEP_STRIDE:=97}" "${KIND:=siglongjmp}"
: "${FIRST_STEP:=$((1 + $$ % STEP_STRIDE))}"
STACK=fiber THREADS=1 MOST=${MOST:-12}
export MOST KIND THREADS STACK FIRST_STEP STEP_STRIDE
exec /bin/sh "$(dirname "$0")/kill-steps.sh"
