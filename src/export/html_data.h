/* SPDX-License-Identifier: MIT */
/* html_data.h - the sites of an HTML report, as arrays (docs/HTML.md). */
#ifndef MEMATTACH_EXPORT_HTML_DATA_H
#define MEMATTACH_EXPORT_HTML_DATA_H

#include "src/export/export.h"

/* One JSON object and the end of the line. 0, -errno of the stream, -ENOMEM, -EBADMSG. */
int html_data_put(FILE *out, const struct export_input *input);

#endif
