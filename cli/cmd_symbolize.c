/* SPDX-License-Identifier: MIT */
/*
 * cmd_symbolize.c - memattach symbolize FILE [--search=FOLDER]...: names for frames of a recording
 * that have none. Says of each module what it got, and where its file was looked for in vain.
 */
#include <errno.h>
#include <string.h>

#include "cli/commands.h"
#include "cli/options.h"
#include "src/base/log.h"
#include "src/recording/symbolize.h"
#include "src/report/human.h"
#include "src/report/text_put.h"

static int usage(void)
{
	log_error("usage: memattach symbolize FILE [--search=FOLDER]...");
	return SESSION_USAGE;
}

struct request {
	const char *path;
	const char *folder[CLI_MAX_SEARCH];
	size_t folders;
};

static int parse_request(int argc, char **argv, struct request *ret)
{
	struct cli_options options;

	/* Each round reads the options in front of one operand. */
	for (;;) {
		int status = options_parse(argc, argv, &options);

		if (status == SESSION_OK)
			status = options_check_leaks(&options, false);
		if (status != SESSION_OK)
			return status;
		for (size_t i = 0; i < options.searches; i++) {
			if (ret->folders == CLI_MAX_SEARCH)
				return usage();
			ret->folder[ret->folders++] = options.search[i];
		}
		if (!options.operands[0])
			break;
		if (ret->path)
			return usage();
		ret->path = options.operands[0];
		argc -= (int)(options.operands - argv);
		argv = options.operands;
	}
	return ret->path ? SESSION_OK : usage();
}

static int failed(const char *path, int error)
{
	char text[512];

	if (error == -EBUSY)
		log_error("%s is being written; symbolize it when its session has ended", path);
	else if (error == -ESTALE)
		log_error("%s was replaced meanwhile; try again", path);
	else if (error == -EROFS || error == -EACCES || error == -EPERM || error == -ENOSPC)
		log_error("can't write %s: %s; it is as it was", path, strerror(-error));
	else {
		recording_explain(path, error, text, sizeof(text));
		log_error("%s", text);
		return SESSION_USAGE;
	}
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
	struct request request = { .path = NULL };
	struct symbolized symbolized;
	int status = parse_request(argc, argv, &request), error;

	if (status != SESSION_OK)
		return status;
	error = recording_symbolize_file(request.path, request.folder, request.folders,
					 &symbolized);
	if (error)
		status = failed(request.path, error);
	else
		put_result(&symbolized);
	symbolized_done(&symbolized);
	if (fflush(stdout) == 0 && !ferror(stdout))
		return status;
	log_error("can't write what was found: %s", strerror(errno));
	return SESSION_FAILED;
}
