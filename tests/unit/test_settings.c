/* SPDX-License-Identifier: MIT */
/* test_settings.c - memattach.conf as values: files, sections, keys, what is wrong with them. */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

#include "src/daemon/settings.h"

struct problems {
	unsigned int count;
	struct settings_problem last;
	char all[4096];
};

static void note(void *context, const struct settings_problem *problem)
{
	struct problems *problems = context;
	size_t used = strlen(problems->all);

	problems->count++;
	problems->last = *problem;
	(void)snprintf(problems->all + used, sizeof(problems->all) - used, "%u: %s\n",
		       problem->line, problem->text);
}

static char folder[] = "/tmp/memattach-settings.XXXXXX";

static const char *write_bytes(const char *name, const char *text, size_t size)
{
	static char path[200];
	FILE *file;

	(void)snprintf(path, sizeof(path), "%s/%s", folder, name);
	file = fopen(path, "w");
	assert_non_null(file);
	assert_int_equal(fwrite(text, 1, size, file), size);
	assert_int_equal(fclose(file), 0);
	return path;
}

static const char *write_file(const char *name, const char *text)
{
	return write_bytes(name, text, strlen(text));
}

/* Reads text as one file, completes. */
static int read_text(struct settings *settings, struct problems *problems, const char *text)
{
	int read, completed;

	*problems = (struct problems){ 0 };
	settings_init(settings);
	read = settings_read_file(settings, write_file("one.conf", text), note, problems);
	assert_true(read >= 0);
	completed = settings_complete(settings, note, problems);
	assert_true(completed >= 0);
	assert_int_equal(read + completed, problems->count);
	return read + completed;
}

static void read_what_is_given(void **state)
{
	struct problems problems;
	struct settings s;
	const struct watch_rule *rule;

	(void)state;
	assert_int_equal(read_text(&s, &problems,
				   "# all of it\n"
				   "[watch web]\n"
				   "unit = nginx.service\n"
				   "unit = php-fpm   ; and this one\n"
				   "exclude-user = root\n"
				   "overhead = 0.5 %\n"
				   "[daemon]\n"
				   "max-targets = 7\n"
				   "max-memory = 512M\n"
				   "[watch db]\n"
				   "exe = /usr/lib/postgresql/*/bin/postgres\n"
				   "sample = 256K\n"
				   "keep-for = 2d\n"
				   "[defaults]\n"
				   "snapshot-every = 5min\n"
				   "keep-for = 1w\n"), 0);
	assert_int_equal(s.max_targets, 7);
	assert_int_equal(s.max_memory, 512 << 20);
	assert_int_equal(s.rules, 2);
	rule = &s.rule[0];
	assert_string_equal(rule->name, "web");
	assert_int_equal(rule->line, 2);
	assert_int_equal(rule->wanted[RULE_UNIT].count, 2);
	assert_string_equal(rule->wanted[RULE_UNIT].text[1], "php-fpm");
	assert_string_equal(rule->excluded[RULE_USER].text[0], "root");
	assert_true(rule->watch.overhead_percent == 0.5);
	assert_true(rule->watch.snapshot_every == 300);	/* the defaults stand behind it */
	assert_true(rule->watch.keep_for == 7 * 86400);
	rule = &s.rule[1];
	assert_int_equal(rule->watch.sample_bytes, 256 << 10);
	assert_true(rule->watch.keep_for == 2 * 86400);
	assert_true(rule->watch.overhead_percent == 1);
	settings_done(&s);
}

/* One problem each, at its line; what stands beside it is read. */
static void tell_what_is_wrong(void **state)
{
	static const struct {
		const char *text;
		uint32_t line;
		const char *says;
	} row[] = {
		{ "[watch a]\nname = x\nringsize = 4M\n", 3, "ringsize: no such key in [watch" },
		{ "[watch a]\nname = x\noverhead = much\n", 3, "'much' is not a percentage" },
		{ "[watch a]\nname = x\nring = 4K\n", 3, "'4K' is not bytes from 1M" },
		{ "[watch a]\nname = x\nsample = 1\n", 3, "'1' is not auto" },
		{ "[watch a]\nname = x\nsnapshot-every = 0\n", 3, "'0' is not a time of 1s" },
		{ "[watch a]\nname =\nuser = x\n", 2, "name: the value is missing" },
		{ "[watch a]\noverhead = 1%\n", 1, "names nobody" },
		{ "[watch a]\n", 1, "this watch is empty" },
		{ "[watch a]\n[watch b]\nname = x\n", 1, "this watch is empty" },
		{ "[watch]\nname = x\n", 1, "a watch has a name" },
		{ "[watch ../x]\nname = x\n", 1, "not a name" },
		{ "[watch a]\nname = x\n[watch a]\nname = y\n", 3, "there is one of this name" },
		{ "[watches]\nname = x\n", 1, "no such section" },
		{ "name = x\n", 1, "this stands in no section" },
		{ "[watch a]\nname = x\nwhat\n", 3, "neither a [section] nor" },
		{ "[daemon]\nmax-targets = 0\n", 2, "'0' is not a number from 1" },
		{ "[daemon]\nname = x\n", 2, "name: no such key in [daemon]" },
		{ "[defaults]\nunit = x\n", 2, "unit: no such key in [defaults]" },
		{ "[demon]\n[defaults]\n", 1, "no such section" },
		{ "[watch a]\nname = x\n[watch b\nname = y\n", 3, "closing ] is missing" },
		{ "[watch b\nname = y\n[daemon]\n", 1, "closing ] is missing" },
		{ "[watch a]\nname = x\n  y\n", 3, "neither a [section] nor" },
		{ "[watch a]\nname = x\nexe = nginx\n", 3, "'nginx' is not a path from /" },
		{ "[watch a]\nname = x\nexclude-exe = */b\n", 3, "'*/b' is not a path from /" },
		{ "[watch a]\nname = x\ncgroup = a.slice\n", 3, "'a.slice' is not a path" },
		{ "[watch a]\npid-file = run/x\nname = x\n", 2, "'run/x' is not a path" },
		{ "[watch a]\nname = x\noverhead = 0.001%\n", 3, "not a percentage from 0.01" },
		{ "[watch a]\nname = x\nsample = 99999999G\n", 3, "is not auto" },
		{ "[daemon]\nmax-memory = 99999999G\n", 2, "is not bytes" },
		{ "[http]\nopen = no\nlisten = 0.0.0.0:80\n", 3, "no allow-remote = yes" },
	};
	struct problems problems;
	struct settings s;

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(row); i++) {
		int count = read_text(&s, &problems, row[i].text);

		if (count != 1 || problems.last.line != row[i].line ||
		    !strstr(problems.last.text, row[i].says))
			fail_msg("%s: %d problems\n%s", row[i].text, count, problems.all);
		settings_done(&s);
	}
}

/* Indented, after a byte order mark, with names as long as may be: the lines are the same ones. */
static void read_lines_as_they_are(void **state)
{
	static char text[400], name[2][70];
	struct problems problems;
	struct settings s;

	(void)state;
	assert_int_equal(read_text(&s, &problems, "\xef\xbb\xbf[watch a]\r\n  name = x\r\n"
				   "\tuser = y ; z\r\n  [watch b]\n   name = z\n"), 0);
	assert_int_equal(s.rules, 2);
	assert_int_equal(s.rule[0].wanted[RULE_NAME].count, 1);
	assert_string_equal(s.rule[0].wanted[RULE_USER].text[0], "y");
	assert_string_equal(s.rule[1].name, "b");
	settings_done(&s);
	for (int i = 0; i < 2; i++)
		(void)snprintf(name[i], sizeof(name[i]), "%063d%d", 0, i);
	(void)snprintf(text, sizeof(text), "[watch %s]\nname = x\n[watch %s]\nname = y\n",
		       name[0], name[1]);
	assert_int_equal(read_text(&s, &problems, text), 0);
	assert_string_equal(s.rule[0].name, name[0]);
	assert_string_equal(s.rule[1].name, name[1]);
	settings_done(&s);
	(void)snprintf(text, sizeof(text), "[watch x%s]\nname = x\n", name[0]);
	assert_int_equal(read_text(&s, &problems, text), 1);
	assert_non_null(strstr(problems.all, "not a name of at most 64"));
	settings_done(&s);
}

/* All of it may be a comment. */
static void take_empty_sections(void **state)
{
	struct problems problems;
	struct settings s;

	(void)state;
	assert_int_equal(read_text(&s, &problems, "[daemon]\n#max-targets = 1\n[defaults]\n"), 0);
	assert_int_equal(s.max_targets, 64);
	settings_done(&s);
	assert_int_equal(read_text(&s, &problems, ""), 0);
	settings_done(&s);
}

static void refuse_odd_lines(void **state)
{
	static const char zero[] = "[daemon]\n\0x = y\nx\0y\nmax-targets = 9";
	static char text[2000];
	struct problems problems;
	int count;
	struct settings s;

	(void)state;
	memset(text, 'x', 600);
	memcpy(text, "[watch a]\nname = ", 17);
	(void)strcpy(text + 600, "\nuser = y\n");
	assert_int_equal(read_text(&s, &problems, text), 1);
	assert_int_equal(problems.last.line, 2);
	assert_non_null(strstr(problems.last.text, "too long"));
	assert_string_equal(s.rule[0].wanted[RULE_USER].text[0], "y");
	assert_int_equal(s.rule[0].wanted[RULE_NAME].count, 0);
	settings_done(&s);

	problems = (struct problems){ 0 };
	settings_init(&s);
	count = settings_read_file(&s, write_bytes("one.conf", zero, sizeof(zero) - 1), note,
				   &problems);
	assert_int_equal(count, 2);
	assert_string_equal(problems.all, "2: there is a byte 0 in this line\n"
			    "3: there is a byte 0 in this line\n");
	assert_int_equal(s.max_targets, 9);
	settings_done(&s);
}

static void read_folders_by_name(void **state)
{
	struct problems problems = { 0 };
	struct settings s;
	char path[200];

	(void)state;
	settings_init(&s);
	(void)unlink(write_file("one.conf", ""));
	write_file("20-b.conf", "[daemon]\nmax-targets = 20\n[watch b]\nname = b\n");
	write_file("10-a.conf", "[daemon]\nmax-targets = 10\n[watch a]\nname = a\n");
	write_file("30-c.conf.old", "rubbish\n");
	assert_int_equal(settings_read_folder(&s, folder, note, &problems), 0);
	assert_int_equal(s.max_targets, 20);
	assert_int_equal(s.rules, 2);
	assert_string_equal(s.rule[0].name, "a");
	(void)snprintf(path, sizeof(path), "%s/40-d.conf", folder);
	assert_int_equal(mkdir(path, 0700), 0);
	assert_int_equal(settings_read_folder(&s, folder, note, &problems), 3);
	assert_non_null(strstr(problems.all, "0: Is a directory"));
	assert_int_equal(rmdir(path), 0);
	assert_int_equal(settings_read_folder(&s, "/nonexistent", note, &problems), 0);
	assert_int_equal(settings_read_file(&s, "/nonexistent", note, &problems), -ENOENT);
	assert_int_equal(settings_read_file(&s, "/dev/null", note, &problems), -EINVAL);
	settings_done(&s);
}

static int make_folder(void **state)
{
	(void)state;
	return mkdtemp(folder) ? 0 : -1;
}

static int remove_folder(void **state)
{
	char command[100];

	(void)state;
	(void)snprintf(command, sizeof(command), "rm -r %s", folder);
	return system(command);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(read_what_is_given),
		cmocka_unit_test(tell_what_is_wrong),
		cmocka_unit_test(read_lines_as_they_are),
		cmocka_unit_test(take_empty_sections),
		cmocka_unit_test(refuse_odd_lines),
		cmocka_unit_test(read_folders_by_name),
	};

	return cmocka_run_group_tests(tests, make_folder, remove_folder);
}
