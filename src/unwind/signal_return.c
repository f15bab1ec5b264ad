/* SPDX-License-Identifier: MIT */
/* signal_return.c - the code through which a signal handler returns, known by its bytes. */
#include "src/unwind/signal_return.h"

#include <string.h>

/* mov $__NR_rt_sigreturn, %rax; syscall */
static const uint8_t code[] = { 0x48, 0xc7, 0xc0, 0x0f, 0, 0, 0, 0x0f, 0x05 };

bool signal_return_at(const struct module *module, uint64_t address)
{
	const uint8_t *at = module_bytes(module, address, sizeof(code), NULL);

	return at && memcmp(at, code, sizeof(code)) == 0;
}

/* Segments may overlap: each is looked at for what starts in it. */
bool signal_return_within(const struct module *module, uint64_t from, uint64_t to)
{
	for (uint32_t i = 0; i < module->segment_count; i++) {
		const struct module_segment *segment = &module->segment[i];
		uint64_t end = segment->address + segment->file_bytes;
		uint64_t low = from > segment->address ? from : segment->address;
		uint64_t high = to + sizeof(code) - 1 < end ? to + sizeof(code) - 1 : end;
		const uint8_t *at;

		if (low >= high)
			continue;
		at = module_bytes(module, low, high - low, NULL);
		if (!at || memmem(at, high - low, code, sizeof(code)))
			return true;
	}
	return false;
}
