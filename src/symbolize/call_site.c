/* SPDX-License-Identifier: MIT */
/*
 * call_site.c - from a return address back to the call instruction.
 *
 * x86 can't be decoded backwards: the bytes before a return address often make
 * several valid calls. Forwards from the function's entry there is one way,
 * unless data lies between the instructions; then the decoder comes out beside
 * the return address, or at something that is no call, and we say we don't know.
 * Done once per place in the program, on the copy of the file.
 */
#include "src/symbolize/call_site.h"

#include <Zydis/Zydis.h>

#define MAX_FUNCTION	(256u << 10)	/* longer ones are generated code; a ms each is enough */

uint64_t call_site_find(const struct module *module, uint64_t function, uint64_t return_address)
{
	uint64_t bytes = return_address - function, at = 0;
	ZydisDecodedInstruction instruction;
	ZydisDecoder decoder;
	const uint8_t *code;

	if (function >= return_address || bytes > MAX_FUNCTION)
		return return_address - 1;
	code = module_bytes(module, function, bytes, NULL);
	if (!code || ZYAN_FAILED(ZydisDecoderInit(&decoder, ZYDIS_MACHINE_MODE_LONG_64,
						  ZYDIS_STACK_WIDTH_64)))
		return return_address - 1;
	while (ZYAN_SUCCESS(ZydisDecoderDecodeInstruction(&decoder, NULL, code + at, bytes - at,
							  &instruction))) {
		at += instruction.length;
		if (at == bytes)
			break;
	}
	if (at != bytes || instruction.mnemonic != ZYDIS_MNEMONIC_CALL)
		return return_address - 1;
	return return_address - instruction.length;
}

bool call_site_may_end_at(const struct module *module, uint64_t address)
{
	const uint8_t *at = module_bytes(module, address - 7, 7, NULL);

	if (!at)
		return false;
	if (at[2] == 0xe8)			/* call rel32 */
		return true;
	for (unsigned int bytes = 2; bytes <= 7; bytes++) {
		const uint8_t *call = at + 7 - bytes;

		if (call[0] == 0xff && (call[1] & 0x38) == 0x10)	/* call r/m64 */
			return true;
	}
	return false;
}
