/* SPDX-License-Identifier: MIT */
/*
 * html_image.S - the page of the HTML report as bytes inside the program (html_image.h).
 *
 * The path is found through the -I of the source tree, as that of any included file.
 */
	.section .rodata.html_image, "a", @progbits
	.globl html_image_start
	.globl html_image_end
	.hidden html_image_start
	.hidden html_image_end
	.type html_image_start, @object
	.type html_image_end, @object
html_image_start:
	.incbin "packaging/html/report.html"
html_image_end:
	.byte 0		/* so that the end is an address of this section */
	.size html_image_start, html_image_end - html_image_start
	.size html_image_end, 1

	.section .note.GNU-stack, "", @progbits
