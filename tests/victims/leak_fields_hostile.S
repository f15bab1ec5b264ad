/* SPDX-License-Identifier: MIT */
/*
 * leak_fields_hostile.S - debug information that lies: types that contain themselves, absurd
 * sizes, members outside of their structures. One variable of 64 bytes for each kind.
 */
	.text
	.globl	main
	.type	main, @function
main:
	subq	$8, %rsp
	leaq	ready(%rip), %rdi
	call	puts@PLT
	movq	stdout@GOTPCREL(%rip), %rax
	movq	(%rax), %rdi
	call	fflush@PLT
1:	call	pause@PLT
	jmp	1b
	.size	main, . - main
	.section .rodata
ready:	.asciz	"ready"

	.macro	object name
	.data
	.globl	\name
	.balign	64
	.type	\name, @object
	.size	\name, 64
\name:	.zero	64
	.section .debug_info
	.uleb128 2			/* a variable: name, type, place */
	.asciz	"\name"
	.long	type_\name - info
	.byte	9, 3			/* DW_OP_addr */
	.quad	\name
	.endm

	.section .debug_info
info:	.long	info_end - info_version
info_version:
	.value	4
	.long	abbrev
	.byte	8
	.uleb128 1
	.asciz	"hostile"
	/* typedef of itself; typedefs of each other */
type_circle: .uleb128 3
	.asciz	"circle_t"
	.long	type_circle - info
type_two:
	.uleb128 3
	.asciz	"two_t"
	.long	type_three - info
type_three:
	.uleb128 3
	.asciz	"three_t"
	.long	type_two - info
	/* a structure that holds itself twice, at its start */
type_itself: .uleb128 4
	.asciz	"itself"
	.quad	64
	.uleb128 5
	.asciz	"a"
	.long	type_itself - info
	.quad	0
	.uleb128 5
	.asciz	"b"
	.long	type_itself - info
	.quad	0
	.byte	0
	/* members far outside, and at the end of the address space */
type_outside: .uleb128 4
	.asciz	"outside"
	.quad	64
	.uleb128 5
	.asciz	"far"
	.long	type_pointer - info
	.quad	0x7fffffffffffffff
	.uleb128 5
	.asciz	"last"
	.long	type_pointer - info
	.quad	-8
	.uleb128 5
	.asciz	"huge"
	.long	type_huge - info
	.quad	8
	.uleb128 5
	.asciz	"good"
	.long	type_pointer - info
	.quad	48
	.byte	0
	/* larger than everything */
type_huge: .uleb128 4
	.asciz	"huge"
	.quad	-1
	.byte	0
	/* an array of arrays of arrays whose size overflows, of itself in the end */
type_array: .uleb128 6
	.long	type_array_2 - info
	.uleb128 7
	.quad	0xffffffffffff
	.byte	0
type_array_2: .uleb128 6
	.long	type_array - info
	.uleb128 7
	.quad	0xffffffffffff
	.byte	0
	/* empty elements */
type_empty: .uleb128 4
	.asciz	"empty"
	.quad	0
	.byte	0
type_empties: .uleb128 6
	.long	type_empty - info
	.uleb128 7
	.quad	64
	.byte	0
	/* its own base class */
type_base: .uleb128 4
	.asciz	"base"
	.quad	64
	.uleb128 8
	.long	type_base - info
	.quad	0
	.byte	0
	/* pointers to a circle, to themselves, and beyond the unit */
type_pointer: .uleb128 9
	.long	type_pointer - info
type_to_circle: .uleb128 9
	.long	type_circle - info
type_nowhere: .uleb128 9
	.long	0x7ffffff0
type_missing: .uleb128 3
	.asciz	"missing_t"
	.long	0x7ffffff0
	object	circle
	object	two
	object	itself
	object	outside
	object	huge
	object	array
	object	empties
	object	base
	object	pointer
	object	to_circle
	object	nowhere
	object	missing
	.section .debug_info
	/* namespaces in each other, deeper than anyone looks */
	.rept	5000
	.uleb128 10
	.asciz	"n"
	.endr
	.uleb128 4
	.asciz	"deep"
	.quad	8
	.byte	0
	.rept	5000
	.byte	0
	.endr
	.byte	0
info_end:

	.section .debug_abbrev
abbrev:
	.macro	abbreviation code, tag, children, attributes:vararg
	.uleb128 \code, \tag
	.byte	\children
	.uleb128 \attributes
	.byte	0, 0
	.endm
	/* names 3, bytes 0xb, type 0x49, place 2, member at 0x38, count 0x37 */
	abbreviation 1, 0x11, 1, 3, 8
	abbreviation 2, 0x34, 0, 3, 8, 0x49, 0x13, 2, 0x18
	abbreviation 3, 0x16, 0, 3, 8, 0x49, 0x13
	abbreviation 4, 0x13, 1, 3, 8, 0xb, 7
	abbreviation 5, 0x0d, 0, 3, 8, 0x49, 0x13, 0x38, 7
	abbreviation 6, 0x01, 1, 0x49, 0x13
	abbreviation 7, 0x21, 0, 0x37, 7
	abbreviation 8, 0x1c, 0, 0x49, 0x13, 0x38, 7
	abbreviation 9, 0x0f, 0, 0x49, 0x13
	abbreviation 10, 0x39, 1, 3, 8
	.byte	0
	.section .note.GNU-stack, "", @progbits
