/* SPDX-License-Identifier: MIT */
/*
 * cmd_export.c - memattach export FILE[@MOMENT] --to=FORMAT [-o OUT]: a recording, or what it knew
 * at a moment, for other tools.
 *
 * OUT appears when it is whole: it is written under another name beside it first.
 */
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>

#include "cli/cmd/commands.h"
#include "cli/cmd/open_recording.h"
#include "cli/options/options.h"
#include "src/base/log.h"
#include "src/base/why.h"
#include "src/export/compress.h"
#include "src/export/export.h"

struct request {
	const char *path, *output;	/* output: NULL, stdout */
	const struct export_format *format;
	enum view_metric metric;
	struct view_filter filter;
	struct cli_options options;
	bool list;		/* only name the formats */
};

/* What is written to, and what becomes of it. */
struct output {
	FILE *file;
	char *temporary;	/* NULL: written to directly */
	FILE *compressed;	/* in front of file; NULL: none */
};

static int usage(void)
{
	log_error("usage: memattach export FILE[@MOMENT] --to=FORMAT [-o OUT]; --to=help lists "
		  "the formats");
	return SESSION_USAGE;
}

static int list_formats(void)
{
	for (const struct export_format *format = export_table(); format->name; format++)
		printf("%-13s %s%s%s\n", format->name, format->help,
		       format->missing ? "; not here: built without " : "",
		       format->missing ? format->missing : "");
	return fflush(stdout) ? SESSION_FAILED : SESSION_OK;
}

static int choose_format(struct request *request, const char *name)
{
	request->format = export_find(name);
	if (!request->format) {
		log_error("--to: '%s' is not a format; --to=help lists them", name);
		return SESSION_USAGE;
	}
	if (request->format->missing) {
		log_error("--to=%s: this memattach was built without %s", name,
			  request->format->missing);
		return SESSION_USAGE;
	}
	return SESSION_OK;
}

static int check_names(const struct request *request)
{
	if (!request->format->nameless || !name_shape_any(&request->options.session.names))
		return SESSION_OK;
	log_error("--to=%s goes without --inline, --just-function-name and --shorten-templates: "
		  "%s", request->format->name, request->format->nameless);
	return SESSION_USAGE;
}

/* Blocks only, unless mappings are asked for: with both, an allocator's memory counts twice. */
static void take_options(struct request *request)
{
	const struct cli_options *options = &request->options;

	request->path = options->operands[0];
	request->output = options->session.output;
	request->filter = options->session.view_options.filter;
	request->filter.depth = options->session.view_options.depth;
	request->metric = options->session.view_options.metric;
	if (!options->track_given)
		request->filter.kind = VIEW_KIND_MALLOC;
}

static int parse_request(int argc, char **argv, struct request *ret)
{
	struct cli_options *options = &ret->options;
	int status = options_parse_mixed(argc, argv, options);

	ret->list = options->export_to && strcmp(options->export_to, "help") == 0;
	if (status != SESSION_OK || ret->list)
		return status;
	if (!options->export_to || !options->operands[0] || options->operands[1])
		return usage();
	take_options(ret);
	status = choose_format(ret, options->export_to);
	return status == SESSION_OK ? check_names(ret) : status;
}

/* --- where it goes ----------------------------------------------------------------- */

/* A recording is nothing that one means to replace by its export. */
static bool is_database(const char *path)
{
	_cleanup_fd_ int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
	char magic[16] = "";

	return fd >= 0 && read(fd, magic, sizeof(magic)) == sizeof(magic) &&
	       memcmp(magic, "SQLite format 3", sizeof(magic)) == 0;
}

/* Beside path, so that it can be renamed. 0 or -errno. */
static int open_temporary(const char *path, mode_t mode, struct output *output)
{
	int fd, err;

	if (asprintf(&output->temporary, "%s.XXXXXX", path) < 0) {
		output->temporary = NULL;
		return -ENOMEM;
	}
	fd = mkostemp(output->temporary, O_CLOEXEC);
	if (fd < 0) {
		err = -errno;
		free(output->temporary);
		output->temporary = NULL;
		return err;
	}
	(void)fchmod(fd, mode);
	output->file = fdopen(fd, "w");
	if (output->file)
		return 0;
	err = -errno;
	close(fd);
	return err;
}

static mode_t mode_of_new_files(void)
{
	mode_t mask = umask(0);

	(void)umask(mask);
	return 0666 & ~mask;
}

/* Pipes and devices are written to as they are. 0 or -errno. */
static int open_file(const char *path, struct output *output)
{
	struct stat status;

	if (stat(path, &status) < 0)
		return open_temporary(path, mode_of_new_files(), output);
	if (S_ISREG(status.st_mode))
		return open_temporary(path, status.st_mode & 0777, output);
	output->file = fopen(path, "we");
	return output->file ? 0 : -errno;
}

static bool ends_with(const char *text, const char *suffix)
{
	size_t length = strlen(text), end = strlen(suffix);

	return length > end && strcmp(text + length - end, suffix) == 0;
}

/* NAME.gz and NAME.zst are what they say. pprof's is gzip in any case. */
static int compress(const struct request *request, struct output *output)
{
	bool gzip = ends_with(request->output, ".gz"), zstd = ends_with(request->output, ".zst");
	int err;

	if (request->format->binary || (!gzip && !zstd))
		return SESSION_OK;
	err = compress_open(output->file, gzip ? COMPRESS_GZIP : COMPRESS_ZSTD,
			    &output->compressed);
	if (err == -ENOTSUP)
		log_error("%s: this memattach was built without %s; choose another name",
			  request->output, gzip ? "zlib" : "zstd");
	else if (err < 0)
		log_error("can't write %s: %s", request->output, why_file(err).text);
	return err < 0 ? SESSION_USAGE : SESSION_OK;
}

static int output_open(const struct request *request, struct output *output)
{
	int err;

	if (!request->output && request->format->binary && isatty(STDOUT_FILENO)) {
		log_error("%s is not for a terminal: name a file with -o", request->format->name);
		return SESSION_USAGE;
	}
	if (!request->output) {
		output->file = stdout;
		return SESSION_OK;
	}
	if (is_database(request->output)) {
		log_error("%s is a recording or another database; choose another file",
			  request->output);
		return SESSION_USAGE;
	}
	err = open_file(request->output, output);
	if (err < 0) {
		log_error("can't write %s: %s; choose another place", request->output,
			  strerror(-err));
		return SESSION_USAGE;
	}
	return compress(request, output);
}

/* 0 or -errno. good: all of it was written. */
static int output_close(const struct request *request, struct output *output, bool good)
{
	int err = 0;

	errno = 0;
	if (output->compressed && fclose(output->compressed) != 0)
		err = errno ? -errno : -EIO;
	if (output->file && (fflush(output->file) != 0 || ferror(output->file)))
		err = errno ? -errno : -EIO;
	if (output->file && output->file != stdout && fclose(output->file) != 0 && err == 0)
		err = -errno;
	if (!output->temporary)
		return err;
	if (err == 0 && good && rename(output->temporary, request->output) < 0)
		err = -errno;
	if (err < 0 || !good)
		(void)unlink(output->temporary);
	free(output->temporary);
	return err;
}

/* --- what is written ----------------------------------------------------------------- */

/* An empty picture or file is explained: by another figure it may not be. */
static void explain_nothing(const struct request *request, const struct recording_content *content,
			    const struct view_sites *sites)
{
	_cleanup_free_ char *text = NULL;

	if (request->format->of != EXPORT_OF_FIGURE || sites->sum[request->metric])
		return;
	text = view_metric_nothing(content->snapshot, sites->sum, request->metric);
	if (text)
		log_warning("%s: nothing to export: %s", request->path, text);
}

/* 0 or -errno. */
static int write_export(FILE *out, const struct request *request,
			const struct recording_content *content)
{
	const struct report_input report = {
		.snapshot = content->snapshot, .stacks = content->stacks, .names = content->names,
		.leaks = content->leaks,
	};
	struct export_input input = {
		.content = content, .metric = request->metric,
	};
	struct view_sites *sites;
	int err = view_sites_new(&report, &request->filter, &sites);

	if (err < 0)
		return err;
	input.sites = sites;
	explain_nothing(request, content, sites);
	err = request->format->write(out, &input);
	view_sites_free(sites);
	return err;
}

static int export_content(const struct request *request, const struct recording_content *content)
{
	struct output output = { .file = NULL };
	int status = output_open(request, &output), err = 0, close_err;

	if (status == SESSION_OK)
		err = write_export(output.compressed ? output.compressed : output.file, request,
				   content);
	close_err = output_close(request, &output, status == SESSION_OK && err == 0);
	if (status != SESSION_OK)
		return status;
	if (err == -EBADMSG)
		return open_recording_failed(request->path, err);
	err = err ? err : close_err;
	if (err < 0)
		log_error("can't write %s: %s", request->output ? request->output :
			  "the export to the standard output", why_file(err).text);
	return err < 0 ? SESSION_FAILED : SESSION_OK;
}

/* What a recording, or its moment, does not know would be drawn as nothing. */
static int check_figure(const struct request *request, const struct recording_content *content)
{
	const char *missing = view_metric_missing(content->snapshot, request->metric);

	if (content->snapshot->session.mode == SNAPSHOT_COUNTS) {
		if (request->format->of == EXPORT_OF_ANY)
			return SESSION_OK;
		if (request->format->of == EXPORT_OF_BLOCKS)
			return open_recording_blocks(request->path, content, "this format");
	}
	if (!missing)
		return SESSION_OK;
	log_error("%s: --by=%s can't be exported: %s", request->path,
		  view_metric_name(request->metric), missing);
	return SESSION_USAGE;
}

int cmd_export(int argc, char **argv)
{
	_cleanup_(name_shaper_cleanup) struct name_shaper *shaper = NULL;
	struct request request = { .path = NULL };
	struct recording_content content;
	int status = parse_request(argc, argv, &request);

	if (status != SESSION_OK || request.list)
		return status == SESSION_OK ? list_formats() : status;
	status = open_recording(request.path, &content);
	if (status != SESSION_OK)
		return status;
	status = open_recording_names(&content, &request.options.session.names, &shaper);
	if (status == SESSION_OK)
		status = check_figure(&request, &content);
	if (status == SESSION_OK)
		status = export_content(&request, &content);
	recording_content_done(&content);
	return status;
}
