/* SPDX-License-Identifier: MIT */
/*
 * fuzz_settings.c - any bytes as memattach.conf: problems stand at lines that there are, rules have
 * names of their own that may be a folder's, and what is read lies within what its key takes.
 */
#include <string.h>
#include <sys/mman.h>

#include "src/daemon/settings.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void check_problem(void *context, const struct settings_problem *problem)
{
	uint32_t lines = *(const uint32_t *)context;

	if (problem->line > lines || !problem->text[0] ||
	    !memchr(problem->text, '\0', sizeof(problem->text)))
		abort();
}

static void check_watch(const struct watch_settings *watch)
{
	if (!(watch->overhead_percent >= 0.01 && watch->overhead_percent <= 100) ||
	    watch->sample_bytes > 1ull << 46 ||
	    !(watch->snapshot_every >= 1) || !(watch->retry_after >= 1) ||
	    !(watch->attach_after >= 0) || !(watch->spread >= 0) || watch->ring_bytes < 1 << 20 ||
	    watch->keep_count == 0)
		abort();
}

static void check_rule(const struct settings *settings, size_t at)
{
	const struct watch_rule *rule = &settings->rule[at];

	if (!rule->name[0] || rule->name[0] == '.' || strpbrk(rule->name, "/ \t\r\n"))
		abort();
	for (size_t i = 0; i < at; i++)
		if (strcmp(settings->rule[i].name, rule->name) == 0)
			abort();
	for (size_t i = 0; i < RULE_FACTS; i++)
		for (size_t j = 0; j < rule->wanted[i].count; j++)
			if (!rule->wanted[i].text[j][0])
				abort();
	check_watch(&rule->watch);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	_cleanup_fd_ int fd = memfd_create("settings", MFD_CLOEXEC);
	struct settings settings;
	uint32_t lines = 1;
	char path[64];
	int read;

	if (fd < 0 || write(fd, data, size) != (ssize_t)size)
		return 0;
	for (size_t i = 0; i < size; i++)
		lines += data[i] == '\n';
	(void)snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
	settings_init(&settings);
	read = settings_read_file(&settings, path, check_problem, &lines);
	if (read >= 0 && settings_complete(&settings, check_problem, &lines) >= 0) {
		check_watch(&settings.defaults);
		for (size_t i = 0; i < settings.rules; i++)
			check_rule(&settings, i);
	}
	settings_done(&settings);
	return 0;
}
