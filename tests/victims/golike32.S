/* SPDX-License-Identifier: MIT */
/*
 * golike32.S - a 32-bit program: sends "ready\n" and reads until the end of its input.
 *
 * Built by the test that needs it with -m32 -nostdlib -static, which needs no 32-bit library.
 */
	.text
	.globl	_start
_start:
	mov	$4, %eax		/* write(1, ready, 6) */
	mov	$1, %ebx
	mov	$ready, %ecx
	mov	$6, %edx
	int	$0x80
1:	mov	$3, %eax		/* read(0, byte, 1) */
	xor	%ebx, %ebx
	mov	$byte, %ecx
	mov	$1, %edx
	int	$0x80
	cmp	$1, %eax
	je	1b
	mov	$1, %eax		/* exit(0) */
	xor	%ebx, %ebx
	int	$0x80

	.data
ready:	.ascii	"ready\n"
byte:	.byte	0

	.section .note.GNU-stack, "", @progbits
