/* SPDX-License-Identifier: MIT */
/* several_report.c - see several_report.h. */
#include "cli/front/several_report.h"

#include <errno.h>
#include <string.h>

#include "src/base/log.h"
#include "src/base/why.h"
#include "src/report/name_shape.h"
#include "src/several/several_write.h"

static int written(int error)
{
	if (fflush(stdout) == 0 && !error)
		return SESSION_OK;
	log_error("can't write the report to the standard output: %s",
		  why_file(error ? error : -errno).text);
	return SESSION_FAILED;
}

static int print_view(const struct several *several, const struct session_options *options,
		      const struct report_options *report)
{
	const char *missing = several_view_missing(options->view, &options->view_options, several);

	if (!missing)
		return written(several_view_write(options->view, stdout, several, report,
						  &options->view_options, options->json));
	log_error("the view %s can't be shown: %s", options->view->name, missing);
	return SESSION_USAGE;
}

static int print(const struct several *several, const struct session_options *options)
{
	const struct report_options report = { .top = options->top, .color = options->color };

	if (options->view && several->watched)
		return print_view(several, options, &report);
	if (options->json)
		return written(several_write_json(stdout, several, &report));
	return written(several_write_text(stdout, several, &report, options->leaks_alone));
}

int several_report(const struct several_input *input, size_t count, uint32_t missed,
		   const struct session_options *options)
{
	_cleanup_(name_shaper_cleanup) struct name_shaper *shaper = NULL;
	struct several *several;
	size_t twice = 0;
	int status, error = several_new(input, count, &several, &twice);

	if (error == -EEXIST) {
		log_error("two of the recordings are of the same session of process %d; name it "
			  "once", input[twice].content->snapshot->target.pid);
		return SESSION_USAGE;
	}
	if (error) {
		log_error("no report of %zu processes can be made: %s", count, why_of(error).text);
		return SESSION_FAILED;
	}
	several->missed = missed;
	error = report_names_shape(&several->names, &options->names, &shaper);
	status = error ? SESSION_FAILED : print(several, options);
	several_free(several);
	return status;
}
