/* SPDX-License-Identifier: MIT */
/*
 * cmd_symbolize.c - memattach symbolize FILE [--search=FOLDER]...: names for frames of a recording
 * that have none. Says of each module what it got, and where its file was looked for in vain.
 */
#include <errno.h>
#include <string.h>

#include "cli/cmd/commands.h"
#include "cli/cmd/open_recording.h"
#include "cli/options/options.h"
#include "src/base/log.h"
#include "src/base/why.h"
#include "src/names/symbolize_recording.h"
#include "src/report/human.h"
#include "src/report/text_put.h"

static int usage(void)
{
	log_error("usage: memattach symbolize FILE [--search=FOLDER]...");
	return SESSION_USAGE;
}

static int parse_request(int argc, char **argv, struct cli_options *ret)
{
	int status = options_parse_mixed(argc, argv, ret);

	if (status != SESSION_OK)
		return status;
	return ret->operands[0] && !ret->operands[1] ? SESSION_OK : usage();
}

static int failed(const char *path, int error)
{
	if (error == -EBUSY)
		log_error("%s is being written; symbolize it when its session has ended", path);
	else if (error == -ESTALE)
		log_error("%s was replaced meanwhile; try again", path);
	else if (error == -EROFS || error == -EACCES || error == -EPERM || error == -ENOSPC)
		log_error("can't write %s, which is as it was: %s", path, why_file(error).text);
	else
		return open_recording_failed(path, error);
	return SESSION_FAILED;
}

static void put_module(const struct symbolized_module *module)
{
	text_put_printable(stdout, module->path);
	printf(": %s frame%s without names or lines", human_exact(module->wanted).text,
	       text_plural(module->wanted));
	if (module->found) {
		printf("; %s named, %s with lines now, by ", human_exact(module->named).text,
		       human_exact(module->lined).text);
		text_put_printable(stdout, module->found);
	} else {
		fputs("; no file", stdout);
		if (module->build_id[0]) {
			fputs(" with build id ", stdout);
			text_put_printable(stdout, module->build_id);
		}
	}
	if (module->tried[0] && (!module->found || module->lined < module->wanted)) {
		fputs("\n    looked for in vain: ", stdout);
		text_put_printable(stdout, module->tried);
	}
	fputc('\n', stdout);
}

static void put_result(const struct symbolized *symbolized)
{
	for (size_t i = 0; i < symbolized->count; i++)
		put_module(&symbolized->module[i]);
	if (symbolized->elsewhere)
		printf("%s frames without names are in code of no file\n",
		       human_exact(symbolized->elsewhere).text);
	if (symbolized->written)
		printf("%s frames got names or lines\n", human_exact(symbolized->written).text);
	else
		puts(symbolized->count ? "nothing was found: the recording is as it was" :
					 "all frames have names and lines already");
}

int cmd_symbolize(int argc, char **argv)
{
	struct cli_options options;
	struct symbolized symbolized;
	int status = parse_request(argc, argv, &options), error;

	if (status != SESSION_OK)
		return status;
	error = recording_symbolize_file(options.operands[0], options.search, options.searches,
					 &symbolized);
	if (error)
		status = failed(options.operands[0], error);
	else
		put_result(&symbolized);
	symbolized_done(&symbolized);
	if (fflush(stdout) == 0 && !ferror(stdout))
		return status;
	log_error("can't write to the standard output: %s", why_file(-errno).text);
	return SESSION_FAILED;
}
