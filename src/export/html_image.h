/* SPDX-License-Identifier: MIT */
/* html_image.h - packaging/html/report.html: a page without its data, which go behind it. */
#ifndef MEMATTACH_EXPORT_HTML_IMAGE_H
#define MEMATTACH_EXPORT_HTML_IMAGE_H

extern const char html_image_start[];	/* UTF-8 */
extern const char html_image_end[];	/* exclusive */

#endif
