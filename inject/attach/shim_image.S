/* SPDX-License-Identifier: MIT */
/*
 * shim_image.S - the shim as bytes inside the program (shim_image.h).
 *
 * The path is relative to the folder of the Makefile that compiles this file,
 * build tree or source tree alike. Page-aligned, so that it can be written to
 * the memfd a page at a time.
 */
	.section .rodata.shim_image, "a", @progbits
	.globl shim_image_start
	.globl shim_image_end
	.hidden shim_image_start
	.hidden shim_image_end
	.type shim_image_start, @object
	.type shim_image_end, @object
	.balign 4096
shim_image_start:
	.incbin "shim/memattach-shim.embedded"
shim_image_end:
	.byte 0		/* so that the end is an address of this section */
	.size shim_image_start, shim_image_end - shim_image_start
	.size shim_image_end, 1

	.section .note.GNU-stack, "", @progbits
