/* SPDX-License-Identifier: MIT */
/*
 * html.c - the HTML report: a page that is the same for all recordings (packaging/html), and behind
 * it the data, as JSON in elements that are not run. The page reads them when they have all come,
 * so nothing has to be put into its middle.
 *
 * Two blocks: the document that `report --json` prints, without its sites; and those, with stacks
 * and snapshots, as arrays.
 */
#include "src/export/export.h"
#include "src/export/html_data.h"
#include "src/export/html_escape.h"
#include "src/export/html_image.h"

#include <errno.h>

static int put_document(FILE *out, const struct export_input *input)
{
	const struct recording_content *content = input->content;
	struct snapshot snapshot = *content->snapshot;

	snapshot.site_count = 0;
	return report_find("json")->write(out, &(struct report_input){
		.snapshot = &snapshot, .stacks = content->stacks, .names = content->names,
		.leaks = content->leaks,
	});
}

static int put_block(FILE *out, const char *id, const struct export_input *input,
		     int (*put)(FILE *out, const struct export_input *input))
{
	FILE *escaped;
	int err;

	fprintf(out, "<script type=\"application/json\" id=\"%s\">\n", id);
	err = html_escape_open(out, &escaped);
	if (err < 0)
		return err;
	err = put(escaped, input);
	errno = 0;
	if (fclose(escaped) != 0 && err == 0)
		err = errno ? -errno : -EIO;
	fputs("</script>\n", out);
	return err;
}

int export_html(FILE *out, const struct export_input *input)
{
	size_t length = (size_t)(html_image_end - html_image_start);
	int err;

	if (fwrite(html_image_start, 1, length, out) != length)
		return errno ? -errno : -EIO;
	err = put_block(out, "document", input, put_document);
	return err < 0 ? err : put_block(out, "sites", input, html_data_put);
}
