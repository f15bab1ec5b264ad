// SPDX-License-Identifier: MIT
/*
 * hazards_cxx.cc - exceptions through frames that allocate while they are left.
 */
#include <alloca.h>
#include <stdexcept>
#include <string>

#include "tests/victims/hazards.h"

enum { THROWS = 150, DEPTHS = 6 };

extern "C" {

VICTIM_FRAME static void hazard_in_destructor()
{
	HAZARD_ALLOC(70);
	hazard_sink = hazard_sink + 1;
}

VICTIM_FRAME static void hazard_after_catch()
{
	HAZARD_ALLOC(71);
	hazard_sink = hazard_sink + 1;
}

VICTIM_FRAME static void hazard_before_throw()
{
	HAZARD_ALLOC(72);
	hazard_sink = hazard_sink + 1;
}
}

namespace {

struct Noisy {
	~Noisy() { hazard_in_destructor(); }
};

}

extern "C" VICTIM_FRAME int hazard_thrower(int depth)
{
	Noisy noisy;
	char *room = static_cast<char *>(victim_seen(alloca(static_cast<size_t>(depth) * 16 + 16)));
	int r = 0;

	room[0] = 1;
	if (depth == 0) {
		hazard_before_throw();
		throw std::runtime_error(std::string(100, 'x'));
	}
	try {
		r = hazard_thrower(depth - 1);
	} catch (const std::logic_error &) {	// not this one: only looked at
		r = 1;
	}
	return r + room[0];
}

extern "C" void hazard_throws(void)
{
	unsigned long destroyed = 0;

	for (int i = 0; i < THROWS; i++) {
		try {
			hazard_thrower(i % DEPTHS);
		} catch (const std::runtime_error &error) {
			hazard_after_catch();
			hazard_sink = hazard_sink + (error.what()[0] == 'x');
		}
		destroyed += static_cast<unsigned long>(i % DEPTHS) + 1;
	}
	hazard_did("hazard_in_destructor", destroyed);
	hazard_did("hazard_after_catch", THROWS);
	hazard_did("hazard_before_throw", THROWS);
}
