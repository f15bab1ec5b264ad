/* SPDX-License-Identifier: MIT */
/*
 * test_leak_holders.c - who holds a block, as people would write it.
 *
 * Two programs, in C and in C++, hold blocks in every way there is, and are built with
 * several kinds of debug information. What is said of each block is compared with what its
 * source says. What is no matter of one block (all chains, limits, order, files that lie)
 * has tests of its own.
 */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <cmocka.h>

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "src/leak/holders/chain_text.h"
#include "src/leak/holders/holders.h"
#include "tests/unit/leak_victim.h"

static struct victim victim;
static struct types *types;
static struct holders *holders;

struct expectation {
	const char *block, *text;
};

/* Numbers of threads are written as MAIN and OTHER. */
static const struct expectation expected_c[] = {
	{ "cache", "g_cache" },
	{ "buckets", "g_cache->buckets" },
	{ "bucket_first", "g_cache->buckets[17]" },
	{ "bucket_next", "g_cache->buckets[17]->next" },
	{ "bucket_data", "g_cache->buckets[17]->next->data" },
	{ "heap_name", "g_cache->user.name" },
	{ "heap_last", "g_cache->user.list.last" },
	{ "heap_other", "g_cache->choice.other" },
	{ "heap_grid", "g_cache->grid[2][1]" },
	{ "heap_plain", "g_cache->plain" },
	{ "static_name", "s_cache.user.name" },
	{ "static_last", "s_cache.user.list.last" },
	{ "static_other", "s_cache.choice.other" },
	{ "static_grid", "s_cache.grid[2][1]" },
	{ "static_plain", "s_cache.plain" },
	{ "table", "g_table[5]" },
	{ "list_tail", "g_list->next{999}" },
	{ "array_of_structs", "g_array_of_structs[2].data" },
	{ "opaque", "g_opaque" },
	{ "opaque_held", "g_opaque->+24" },
	{ "number", "g_number" },
	{ "flexible_item", "g_flexible->item[4]" },
	{ "old_flexible_item", "g_old_flexible->item[5]" },
	{ "aligned_inside", "g_aligned->item[1]" },
	{ "aligned_outside", "g_aligned->item[9]" },
	{ "secret", "g_secret" },
	{ "secret_word", "g_secret->words[2]" },
	{ "record", "g_records[6].next" },
	{ "typedefs", "g_typedefs[3]" },
	{ "payload", "g_outer->payload" },
	{ "around", "g_inside" },
	{ "around_next", "g_inside->next" },
	{ "tree_leaf", "g_tree->right->left" },
	{ "const_held", "g_const_table[2]" },
	{ "lost_top", "" },
	{ "static_local", "keep_static::kept" },
	{ "tls", "t_head (thread MAIN)" },
	{ "tls_struct", "t_cache.user.name (thread MAIN)" },
	{ "tls_of_thread", "t_head (thread OTHER)" },
	{ "thread_local_variable", "mine (run_thread, thread OTHER)" },
	{ "thread_stack", "here.grid[1][2] (run_thread, thread OTHER)" },
	{ "stack_struct", "on_stack.user.list.first (middle, thread MAIN)" },
	{ "argument", "argument (innermost, thread MAIN)" },
	{ "local_array", "local[2] (innermost, thread MAIN)" },
	{ "block_local", "block_local (innermost, thread MAIN)" },
};

static const struct expectation expected_cxx[] = {
	{ "vector", "g_vector[3]" },
	{ "vector_text", "g_vector[3]->text" },
	{ "vector_buffer", "g_vector" },
	{ "values", "g_values[4].text" },
	{ "unique", "g_unique" },
	{ "unique_text", "g_unique->text" },
	{ "shared_text", "g_shared->text" },
	{ "made_block", "g_made" },
	{ "made", "g_made->text" },
	{ "by_name_node", "g_by_name[...]" },
	{ "by_name", "g_by_name[...].second.text" },
	{ "map", "shop::g_map[...].second" },
	{ "map_text", "shop::g_map[...].second->text" },
	{ "set", "g_set[...]" },
	{ "set_text", "g_set[...]->text" },
	{ "hash_node", "g_hash[...]" },
	{ "hash", "g_hash[...].second.text" },
	{ "list", "g_item_list[...]" },
	{ "list_text", "g_item_list[...]->text" },
	{ "forward", "g_forward[...].text" },
	{ "deque", "g_deque[...]" },
	{ "deque_text", "g_deque[...]->text" },
	{ "fixed", "g_fixed[2]" },
	{ "fixed_text", "g_fixed[2]->text" },
	{ "string", "g_string" },
	{ "sessions_buffer", "g_sessions" },
	{ "session", "g_sessions[0]" },
	{ "session_item", "g_sessions[1]->user.item" },
	{ "session_item_text", "g_sessions[1]->user.item->text" },
	{ "session_second", "g_sessions[2]->second_text" },
	{ "session_name", "g_sessions[0]->user.name" },
	{ "last", "shop::Session::last" },
	{ "by_base", "g_base->user.item" },
	{ "by_base_text", "g_base->user.item->text" },
	{ "by_second_text", "g_second->user.item->text" },
	{ "pool", "g_void" },
	{ "pool_slot", "g_void->slot[3]" },
	{ "hidden", "shop::g_item->+16" },
	{ "hidden_item", "shop::g_item->+16->hidden_item" },
	{ "anonymous_text", "(anonymous namespace)::anonymous_item->text" },
	{ "kept", "main::kept" },
	{ "kept_item", "main::kept[0]" },
};

static const char *const debug_flags[] = {
	"-g -O0", "-g -O0 -gdwarf-4", "-g -O0 -fdebug-types-section", "-g -O0 -gsplit-dwarf",
};

static void begin(const char *path)
{
	struct holders_input input = { .seconds = 60 };

	victim_start(&victim, path);
	assert_int_equal(types_new(&victim.picture, victim.modules, &types), 0);
	input.picture = &victim.picture;
	input.modules = victim.modules;
	input.blocks = victim.blocks;
	input.roots = &victim.roots;
	input.types = types;
	assert_int_equal(holders_new(&input, &holders), 0);
}

static void end(void)
{
	holders_free(holders);
	types_free(types);
	victim_end(&victim);
}

/* text without the numbers that differ from run to run. */
static const char *shown(const char *text)
{
	static char ret[2048];
	const char *thread = strstr(text, "thread ");
	int tid, length;

	if (!thread || sscanf(thread, "thread %d%n", &tid, &length) != 1)
		return text;
	snprintf(ret, sizeof(ret), "%.*s%s%s", (int)(thread - text) + 7, text,
		 tid == victim.pid ? "MAIN" : "OTHER", thread + length);
	return ret;
}

static void check(const char *how, const struct expectation *expected, size_t count)
{
	uint64_t address[128] = { 0 };
	struct holder_chains chains;
	int wrong = 0;

	for (size_t i = 0; i < count; i++) {
		address[i] = victim_address(&victim, expected[i].block);
		assert_int_not_equal(address[i], 0);
	}
	assert_int_equal(holders_find(holders, address, count, &chains), 0);
	assert_int_equal(chains.count, count);
	for (size_t i = 0; i < count; i++) {
		const char *text = shown(chains.chain[i].text);

		assert_int_equal(chains.chain[i].target, address[i]);
		if (strcmp(text, expected[i].text) == 0)
			continue;
		print_error("%s: %s is held by \"%s\", not \"%s\"\n", how, expected[i].block, text,
			    expected[i].text);
		wrong++;
	}
	holder_chains_done(&chains);
	assert_int_equal(wrong, 0);
}

static void test_c_program(void **state)
{
	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(debug_flags); i++) {
		const char *path = victim_compile("c", "CC", "cc", debug_flags[i],
						  "leak_holders.c leak_holders_other.c");

		assert_non_null(path);
		begin(path);
		check(debug_flags[i], expected_c, ARRAY_SIZE(expected_c));
		end();
	}
}

static void test_cxx_program(void **state)
{
	const char *compiler = getenv("CXX");

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(debug_flags); i++) {
		char flags[128];
		const char *path;

		/* Else clang leaves std::string to the library's debug information. */
		snprintf(flags, sizeof(flags), "%s%s", debug_flags[i],
			 compiler && strstr(compiler, "clang") ? " -fstandalone-debug" : "");
		path = victim_compile("cxx", "CXX", "c++", flags, "leak_holders_cxx.cc");
		if (!path)
			skip();
		begin(path);
		check(debug_flags[i], expected_cxx, ARRAY_SIZE(expected_cxx));
		end();
	}
}

/* No debug information: symbols name the roots, numbers the rest. */
static void test_symbols_alone(void **state)
{
	static const struct expectation by_symbols[] = {
		{ "cache", "g_cache" },
		{ "bucket_next", "g_cache->+8->+136->+0" },
		{ "table", "g_table+40" },
		{ "list_tail", "g_list->+0{999}" },
		{ "tls", "t_head (thread MAIN)" },
		{ "tls_of_thread", "t_head (thread OTHER)" },
		{ "tls_struct", "t_cache+16 (thread MAIN)" },
		{ "local_array", "(stack of thread MAIN, in innermost)" },
		{ "thread_stack", "(stack of thread OTHER, in run_thread)" },
	};

	(void)state;
	begin(victim_compile("symbols", "CC", "cc", "-O0",
			     "leak_holders.c leak_holders_other.c"));
	check("no debug information", by_symbols, ARRAY_SIZE(by_symbols));
	end();
}

static void check_stripped(const char *block, const char *beginning, const char *ending)
{
	uint64_t address = victim_address(&victim, block);
	struct holder_chains chains;
	const char *text;

	assert_int_equal(holders_find(holders, &address, 1, &chains), 0);
	text = chains.chain[0].text;
	assert_int_equal(strncmp(text, beginning, strlen(beginning)), 0);
	assert_true(strlen(text) >= strlen(ending));
	assert_string_equal(text + strlen(text) - strlen(ending), ending);
	holder_chains_done(&chains);
}

static void test_stripped_program(void **state)
{
	(void)state;
	begin(victim_compile("stripped", "CC", "cc", "-O1 -s",
			     "leak_holders.c leak_holders_other.c"));
	check_stripped("bucket_next", "stripped+0x", "->+8->+136->+0");
	check_stripped("tls_struct", "(thread-local stripped+0x", ")");
	end();
}

/* Locals of optimised code live in registers, which callees save on the stack. */
static void test_variables_in_registers(void **state)
{
	static const struct expectation in_registers[] = {
		{ "kept_block", "kept (rbx in work, thread MAIN)" },
		{ "kept_next", "kept->next (rbx in work, thread MAIN)" },
	}, saved[] = {
		{ "kept_block", "kept (work, thread MAIN)" },
		{ "kept_next", "kept->next (work, thread MAIN)" },
	};

	(void)state;
	begin(victim_compile("registers", "CC", "cc", "-g -O2", "leak_registers.c"));
	check("registers", in_registers, ARRAY_SIZE(in_registers));
	end();
	begin(victim_compile("saved", "CC", "cc", "-g -O2 -DSAVED", "leak_registers.c"));
	check("saved registers", saved, ARRAY_SIZE(saved));
	end();
}

/* ---- all chains of one ---- */

static void trace(const char *block, size_t max_chains, unsigned int max_links,
		  struct holder_chains *ret)
{
	assert_int_equal(holders_trace(holders, victim_address(&victim, block), max_chains,
				       max_links, ret), 0);
}

static void test_trace_lists_every_chain_shortest_first(void **state)
{
	static const char *const by[] = {
		"g_shared_node", "g_pair.second", "g_pointer->next", "g_array[1]->next->next",
	};
	struct holder_chains chains;

	(void)state;
	begin(victim_compile("trace", "CC", "cc", "-g -O0", "leak_trace.c"));
	trace("shared", 0, 0, &chains);
	assert_int_equal(chains.count, ARRAY_SIZE(by));
	assert_false(chains.cut);
	for (size_t i = 0; i < chains.count; i++) {
		assert_string_equal(chains.chain[i].text, by[i]);
		assert_int_equal(chains.chain[i].end, HOLDER_ROOTED);
		assert_int_equal(chains.chain[i].link[0].kind, HOLDER_GLOBAL);
		assert_true(i == 0 || chains.chain[i].count >= chains.chain[i - 1].count);
	}
	/* The pointers themselves. */
	assert_int_equal(chains.chain[3].count, 3);
	assert_string_equal(chains.chain[3].link[0].name, "g_array");
	assert_string_equal(chains.chain[3].link[0].field, "[1]");
	assert_int_equal(chains.chain[3].link[1].kind, HOLDER_BLOCK);
	assert_int_equal(chains.chain[3].link[1].base, victim_address(&victim, "far"));
	assert_string_equal(chains.chain[3].link[1].field, "->next");
	assert_int_equal(chains.chain[3].link[2].pointer, victim_address(&victim, "shared"));
	holder_chains_done(&chains);

	trace("shared", 2, 0, &chains);
	assert_int_equal(chains.count, 2);
	assert_true(chains.cut);
	holder_chains_done(&chains);
	trace("shared", 0, 2, &chains);
	assert_int_equal(chains.count, 3);
	assert_true(chains.cut);
	holder_chains_done(&chains);
	assert_int_equal(holders_trace(holders, 4096, 0, 0, &chains), -ENOENT);
	end();
}

static void test_what_no_root_holds(void **state)
{
	struct holder_chains chains;

	(void)state;
	begin(victim_compile("c", "CC", "cc", "-g -O0", "leak_holders.c leak_holders_other.c"));
	trace("lost_top", 0, 0, &chains);
	assert_int_equal(chains.count, 0);
	holder_chains_done(&chains);

	trace("lost_below", 0, 0, &chains);
	assert_int_equal(chains.count, 1);
	assert_int_equal(chains.chain[0].end, HOLDER_UNHELD);
	assert_int_equal(chains.chain[0].link[0].base, victim_address(&victim, "lost_top"));
	assert_int_equal(strncmp(chains.chain[0].text, "(block of 24 bytes at 0x", 24), 0);
	holder_chains_done(&chains);

	trace("cycle_a", 0, 0, &chains);
	assert_int_equal(chains.count, 1);
	assert_int_equal(chains.chain[0].end, HOLDER_CYCLE);
	assert_int_equal(chains.chain[0].count, 1);
	assert_int_equal(chains.chain[0].link[0].base, victim_address(&victim, "cycle_b"));
	holder_chains_done(&chains);
	end();
}

/* A list of 200,000, of which the tail is asked for. */
static void test_long_list(void **state)
{
	struct holder_chains chains;
	uint64_t tail;

	(void)state;
	for (int upwards = 0; upwards < 2; upwards++) {
		begin(victim_compile("list", "CC", "cc", upwards ? "-g -O0 -DUPWARDS" : "-g -O0",
				     "leak_list.c"));
		tail = victim_address(&victim, "tail");
		assert_int_equal(holders_find(holders, &tail, 1, &chains), 0);
		assert_int_equal(chains.chain[0].end, HOLDER_ROOTED);
		assert_int_equal(chains.chain[0].count + chains.chain[0].left_out, 200000);
		assert_int_equal(chains.chain[0].count, HOLDERS_HEAD + HOLDERS_TAIL);
		assert_string_equal(chains.chain[0].text,
				    "g_head->next{4079}->...195904 more...->next{16}");
		assert_true(chains.passes <= 9);
		holder_chains_done(&chains);
		end();
	}
}

static void test_text_is_bounded(void **state)
{
	struct field_path path = { .count = 1, .step = { { .name = "member" } } };
	struct chain_text chain = { .length = 0 };
	char name[8][40];

	(void)state;
	chain_text_begin(&chain, "root");
	for (int i = 0; i < 1000; i++) {
		snprintf(name[i % 8], sizeof(name[0]), "a_member_with_the_number_%d", i);
		path.step[0].name = name[i % 8];
		chain_text_path(&chain, &path, NULL);
	}
	chain_text_end(&chain, "somewhere");
	assert_true(strlen(chain.text) < CHAIN_TEXT_BYTES);
	assert_non_null(strstr(chain.text, "..."));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_c_program),
		cmocka_unit_test(test_cxx_program),
		cmocka_unit_test(test_symbols_alone),
		cmocka_unit_test(test_stripped_program),
		cmocka_unit_test(test_variables_in_registers),
		cmocka_unit_test(test_trace_lists_every_chain_shortest_first),
		cmocka_unit_test(test_what_no_root_holds),
		cmocka_unit_test(test_long_list),
		cmocka_unit_test(test_text_is_bounded),
	};
	int failed = cmocka_run_group_tests(tests, NULL, NULL);

	victim_clean();
	return failed;
}
