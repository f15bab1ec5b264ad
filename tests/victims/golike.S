/* SPDX-License-Identifier: MIT */
/*
 * golike.S - a program without libc and without any allocator that we know.
 *
 * Static, entered at _start, system calls only, as a Go program is: says
 * "ready PID", then reads command bytes until 'q' or the end of the input.
 */
#define SYS_read	0
#define SYS_write	1
#define SYS_getpid	39
#define SYS_exit	60

	.text
	.globl	_start
_start:
	mov	$SYS_getpid, %eax
	syscall
	lea	digits_end(%rip), %rdi	/* the number is written backwards from here */
	mov	$10, %ecx
1:	xor	%edx, %edx
	div	%rcx
	add	$'0', %dl
	dec	%rdi
	mov	%dl, (%rdi)
	test	%rax, %rax
	jnz	1b
	lea	ready(%rip), %rsi	/* "ready ", into the room before the digits */
	sub	$6, %rdi
	mov	(%rsi), %eax
	mov	%eax, (%rdi)
	mov	4(%rsi), %ax
	mov	%ax, 4(%rdi)
	mov	%rdi, %rsi
	lea	line_end(%rip), %rdx
	sub	%rsi, %rdx
	mov	$1, %edi
	mov	$SYS_write, %eax
	syscall
2:	xor	%edi, %edi
	lea	command(%rip), %rsi
	mov	$1, %edx
	mov	$SYS_read, %eax
	syscall
	cmp	$1, %rax
	jne	3f
	cmpb	$'q', command(%rip)
	jne	2b
3:	xor	%edi, %edi
	mov	$SYS_exit, %eax
	syscall

	.section .rodata
ready:	.ascii	"ready "
	.data
	.skip	32
digits_end:
	.byte	'\n'
line_end:
command: .byte	0

	.section .note.GNU-stack, "", @progbits
