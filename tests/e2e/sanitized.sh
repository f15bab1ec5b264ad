#!/bin/sh
# SPDX-License-Identifier: MIT
# A build with AddressSanitizer and UBSan: unit tests, fuzzers (with clang), end-to-end
# tests with its keeper and analyst, leaks of the command line. Any report of a
# sanitizer, of whichever process, fails the test. The victims are the ordinary
# ones: preflight refuses a target that has a sanitizer itself.
# With clang it is also the proof that clang builds all of it without a warning.
# Some of the unit tests and fuzzers are built and run; with FULL all.
# FUZZ_SECONDS: for each fuzzer (1). SANITIZED: end-to-end tests. LEFT_OUT: unit tests that take
# minutes so; make soak SOAK=builds leaves none out.
: "${TEST_LIMIT:=980}" "${LEFT_OUT=test_leak_mark test_leak_mark_random test_leak_picture \
test_leak_heap_glibc test_leak_heap_jemalloc test_leak_heap_mimalloc test_leak_heap_musl \
test_leak_assigned test_leak_holders test_procmaps test_recording_forged test_recording_limit \
test_recording_sites test_recording_unnamed test_report_json test_screen_feed test_several \
test_shim_interval test_shim_paths test_views}"
. "$(dirname "$0")/lib.sh"
TMPDIR=$WORK
export TMPDIR
. "$SRCDIR/tests/lint/build.sh"
trap 'build_done; tidy_up' EXIT
said=$WORK/sanitizer	# .PID is added; descriptors may be closed, and targets print too
# The limits of memory that the program sets itself do not go with AddressSanitizer's own.
common=log_path=$said:allocator_may_return_null=1:max_allocation_size_mb=512
# Locals stay on the stack, where tests look for them (clang 15 and later move them).
common=$common:detect_stack_use_after_return=0
leaks=detect_leaks=1:$common
UBSAN_OPTIONS=print_stacktrace=1:log_path=$said
ASAN_OPTIONS=detect_leaks=0:$common	# it would have to ptrace the analyst, which forbids that
export UBSAN_OPTIONS ASAN_OPTIONS
: "${SANITIZED:=exact-truth-c exact-truth-threads attach-redis record-and-report}"

nothing_said() {
	for report in "$said".*; do
		! grep -qE 'ERROR: |runtime error:' "$report" 2>/dev/null ||
			fail "$1: $(head -n 60 "$report")"
	done
}

# made_of FOLDER VARIABLE: the words that its Makefile has for VARIABLE.
made_of() {
	make -s -C "$1" -f - print-words <<-END
	include Makefile
	print-words: ; @echo \$($2)
	END
}

# Those that are taken, but for those that are left out: they take long to build, too.
taken_of() {
	for taken_word in "$@"; do
		case " $LEFT_OUT " in *" $taken_word "*) continue ;; esac
		! dealt 8 || echo "$taken_word"
	done
}

# The build, clang's if there is one: only clang has libFuzzer.
build() {
	compiler=$CC
	! echo 'int main(void) { return 0; }' | clang -x c -fsanitize=address,fuzzer-no-link \
		-o "$WORK/probe" - 2>/dev/null || compiler=clang
	echo 'int main(void) { return 0; }' | $compiler -x c -fsanitize=address,undefined \
		-o "$WORK/probe" - 2>/dev/null || skip "$compiler has no sanitizers"
	# Some releases die at times of where the kernel puts their mappings (vm.mmap_rnd_bits).
	for _ in 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 19 20; do
		"$WORK/probe" 2>/dev/null || skip "$compiler's sanitizers do not start here"
	done
	# optimised, clang takes twice as long; reports name functions without -g, too
	configure_private CC="$compiler" CFLAGS="$(in_full '-O1 -g1' '-O0 -g0')" \
		--enable-sanitizers --enable-werror --disable-dependency-tracking
	step make -j2
	! grep -q '^UNIT = unit' tests/Makefile || step make -j2 -C tests/unit check TESTS= \
		check_PROGRAMS="$(taken_of $(made_of tests/unit TESTS) | tr '\n' ' ')"
	# shellcheck disable=SC2046 # words
	[ "$compiler" != clang ] || step make -j2 -C tests/fuzz subject4.so subject5.so \
		$(taken_of $(made_of tests/fuzz EXTRA_PROGRAMS))
}

# Status 77 of cmocka's programs does not exist: they skip inside.
unit_tests() {
	for program in tests/unit/test_*; do
		[ -f "$program" ] && [ -x "$program" ] || continue
		case " $LEFT_OUT " in *" ${program##*/} "*) continue ;; esac
		options=$leaks
		case ${program##*/} in	# LeakSanitizer does not work in a child that is traced
		test_ending) options=$ASAN_OPTIONS ;;
		esac
		ASAN_OPTIONS=$options SHIM=$scratch/build/inject/shim/memattach-shim.so \
			timeout 300 "$program" >"$WORK/unit" 2>&1 </dev/null ||
			{ tail -n 40 "$WORK/unit"; echo "FAIL: $program"; return 1; }
	done
}

# The shim has no sanitizer: it is as this compiler makes it. What takes minutes with one, as the
# ordinary build has it.
shim_of_this_compiler() {
	program=$BUILDDIR/tests/unit/test_shim_paths
	[ -x "$program" ] || { note "$program is not built: left out"; return 0; }
	SHIM=$scratch/build/inject/shim/memattach-shim.so \
		timeout 300 "$program" >"$WORK/unit" 2>&1 </dev/null ||
		{ tail -n 40 "$WORK/unit"; echo "FAIL: $program"; return 1; }
}

fuzzers() {
	for program in tests/fuzz/fuzz_*; do
		[ -f "$program" ] && [ -x "$program" ] || continue
		mkdir -p "$WORK/corpus"
		timeout 300 "$program" -max_total_time="${FUZZ_SECONDS:-1}" -print_final_stats=0 \
			-artifact_prefix="$WORK/found-" "$WORK/corpus" \
			>"$WORK/fuzz" 2>&1 </dev/null ||
			{ grep -vE '^#[0-9]' "$WORK/fuzz"; echo "FAIL: $program"; return 1; }
		rm -rf "$WORK/corpus"
		grep '^Done' "$WORK/fuzz" | sed "s|^|$program: |"
	done
}

end_to_end() {
	for name in $SANITIZED; do
		dealt 2 || continue
		env -u TEST_GUARD -u TEST_LIMIT MEMATTACH="$scratch/build/cli/memattach" \
			/bin/sh "$E2E/$name.sh" >"$WORK/e2e" 2>&1 </dev/null
		status=$?
		nothing_said "$name"
		case $status in
		0) ;;
		77) note "$name: $(tail -n 1 "$WORK/e2e")" ;;
		*) fail "$name: $(tail -n 40 "$WORK/e2e")" ;;
		esac
	done
}

# call STATUS ARGUMENTS...: some of them, as the unit tests.
call() {
	wanted=$1
	shift
	dealt 3 || return 0
	ASAN_OPTIONS=$leaks timeout 60 "$scratch/build/cli/memattach" "$@" \
		>"$WORK/out" 2>"$WORK/err" </dev/null
	status=$?
	nothing_said "memattach $*"
	expect "$status" "$wanted" "exit status of: $* ($(head -n 3 "$WORK/err"))"
}

build
(unit_tests && shim_of_this_compiler && fuzzers) >"$WORK/beside" 2>&1 &
beside=$!
end_to_end
. "$E2E/cli_calls.sh"
cli_recording
cli_calls call
call 3 -p 4194304
call 3 check -p 4194304
wait "$beside"
status=$?
cat "$WORK/beside"
nothing_said "unit tests and fuzzers"
expect "$status" 0 "unit tests and fuzzers"
