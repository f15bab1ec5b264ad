/* SPDX-License-Identifier: MIT */
/*
 * html.c - the HTML report: a page that is the same for all recordings (packaging/html), and behind
 * it the data, as JSON in elements that are not run. The page reads them when they have all come,
 * so nothing has to be put into its middle.
 *
 * Two blocks: the document that `report --json` prints, without its sites; and those, with stacks
 * and snapshots, as arrays. A page that memattachd serves has a third one, which says how often it
 * is to ask for itself again (live.js), and a policy that lets it ask there; one in a file can ask
 * nobody.
 */
#include "src/export/export.h"
#include "src/export/html_data.h"
#include "src/export/html_escape.h"
#include "src/export/html_image.h"

#include <errno.h>
#include <string.h>

/* In the page, where its policy begins. */
#define POLICY "default-src 'none'; "

static int put_bytes(FILE *out, const char *from, const char *to)
{
	size_t length = (size_t)(to - from);

	if (fwrite(from, 1, length, out) == length)
		return 0;
	return errno ? -errno : -EIO;
}

static int put_page(FILE *out, const struct export_input *input)
{
	const char *policy = memmem(html_image_start, (size_t)(html_image_end - html_image_start),
				    POLICY, strlen(POLICY));
	int err;

	if (!input->live_seconds)
		return put_bytes(out, html_image_start, html_image_end);
	if (!policy)
		return -EINVAL;
	policy += strlen(POLICY);
	err = put_bytes(out, html_image_start, policy);
	fputs("connect-src 'self'; ", out);
	return err < 0 ? err : put_bytes(out, policy, html_image_end);
}

static int put_live(FILE *out, const struct export_input *input)
{
	return fprintf(out, "{\"seconds\":%u}\n", input->live_seconds) < 0 ? -EIO : 0;
}

static int put_document(FILE *out, const struct export_input *input)
{
	const struct recording_content *content = input->content;

	return report_find("json")->write(out, &(struct report_input){
		.snapshot = content->snapshot, .options.no_sites = true,
		.stacks = content->stacks, .names = content->names, .leaks = content->leaks,
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
	int err = put_page(out, input);

	if (err == 0 && input->live_seconds)
		err = put_block(out, "live-block", input, put_live);
	if (err == 0)
		err = put_block(out, "document", input, put_document);
	return err < 0 ? err : put_block(out, "sites", input, html_data_put);
}
