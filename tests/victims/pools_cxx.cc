// SPDX-License-Identifier: MIT
// pools_cxx.cc - a pool of C++ whose functions are left by exceptions, some of them.
//
// Command 'r': "truth use_pool ALLOC_COUNT ALLOC_BYTES LIVE_COUNT LIVE_BYTES" and "ran ok";
// 'q' ends.
#include <cstddef>
#include <new>

#include "tests/victims/victim.h"

namespace {

constexpr std::size_t kBlock = 64;

class Pool {
public:
	void *get(std::size_t bytes);
	void put(void *block);

private:
	alignas(16) char chunk_[100 * kBlock];
	void *free_ = nullptr;
	std::size_t used_ = 0;
};

Pool pool;
unsigned long alloc_count, alloc_bytes, live_count, live_bytes;

} // namespace

VICTIM_FRAME void *Pool::get(std::size_t bytes)
{
	void *block = free_;

	if (bytes > kBlock || (!block && used_ == sizeof(chunk_)))
		throw std::bad_alloc();
	if (block) {
		free_ = *static_cast<void **>(block);
	} else {
		block = chunk_ + used_;
		used_ += kBlock;
	}
	return block;
}

VICTIM_FRAME void Pool::put(void *block)
{
	if (!block)
		throw 1;
	*static_cast<void **>(block) = free_;
	free_ = block;
}

VICTIM_FRAME static int use_pool()
{
	int caught = 0;

	for (int i = 0; i < 50; i++) {
		try {
			void *block = pool.get(victim_size(i % 3 ? 40 : 65));

			alloc_count++;
			alloc_bytes += 40;
			if (i % 2) {
				live_count++;
				live_bytes += 40;
			} else {
				pool.put(block);
				pool.put(nullptr);
			}
		} catch (const std::bad_alloc &) {
			caught++;
		} catch (int) {
			caught++;
		}
	}
	return caught;
}

int main()
{
	char command;

	victim_setup();
	victim_ready();
	while ((command = victim_await()) == 'r') {
		if (use_pool() != 33)
			victim_fail("an exception was not caught, or one too many");
		victim_say("truth use_pool %lu %lu %lu %lu\n", alloc_count, alloc_bytes,
			   live_count, live_bytes);
		victim_say("ran ok\n");
	}
	return command == 'q' ? 0 : 3;
}
