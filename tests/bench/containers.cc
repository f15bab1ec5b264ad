/* SPDX-License-Identifier: MIT */
/*
 * containers.cc - a program of C++ containers: a log of made-up requests is split into
 * strings, counted in a hash map, kept in an ordered map of vectors, and evicted again.
 *
 * Between its allocations it hashes, compares and copies, as programs do; slots.c does
 * nothing else than allocate. operator new and delete are its own only to count the calls.
 * Units are requests.
 */
#include "tests/bench/bench.h"

#include <cstdlib>
#include <list>
#include <map>
#include <new>
#include <string>
#include <unordered_map>
#include <vector>

static uint64_t allocs, frees;

/* Not inlined, as the library's are not: gcc takes an inlined malloc for a mismatch. */
#define NOINLINE __attribute__((noinline))

NOINLINE void *operator new(std::size_t size)
{
	void *block = std::malloc(size);

	if (!block)
		throw std::bad_alloc();
	allocs++;
	return block;
}

NOINLINE void operator delete(void *block) noexcept
{
	frees += block != nullptr;
	std::free(block);
}

NOINLINE void operator delete(void *block, std::size_t) noexcept
{
	operator delete(block);
}

namespace
{
constexpr std::size_t sessions_kept = 4000;

struct session {
	std::vector<std::string> words;
	std::map<std::string, std::string> headers;
};

std::string request_make(uint64_t *state)
{
	std::string text = "GET /catalogue/item-" + std::to_string(bench_random(state) % 5000);

	for (unsigned int i = 0; i < 4; i++)
		text += "?field" + std::to_string(i) + "=" + std::to_string(bench_random(state));
	return text;
}

std::vector<std::string> words_of(const std::string &text)
{
	std::vector<std::string> words;
	std::size_t at = 0;

	while (at < text.size()) {
		std::size_t end = text.find_first_of(" ?", at);

		if (end == std::string::npos)
			end = text.size();
		words.push_back(text.substr(at, end - at));
		at = end + 1;
	}
	return words;
}

class server
{
public:
	void handle(uint64_t *state)
	{
		session s = { words_of(request_make(state)), {} };

		hits[s.words[1]]++;
		for (const std::string &word : s.words)
			s.headers.emplace("header-of-" + word.substr(0, 12), word);
		order.push_back(next);
		sessions.emplace(next++, std::move(s));
		if (sessions.size() > sessions_kept)
			evict();
	}

private:
	void evict()
	{
		sessions.erase(order.front());
		order.pop_front();
	}

	std::unordered_map<std::string, unsigned int> hits;
	std::map<uint64_t, session> sessions;
	std::list<uint64_t> order;
	uint64_t next = 0;
};
} // namespace

int main(int argc, char **argv)
{
	struct bench b = bench_begin(argc, argv);
	uint64_t state = 1;
	/* Never deleted: what happens after the work is not measured. */
	server *s = new server;

	bench_start(&b);
	for (uint64_t i = 0; i < b.units; i++)
		s->handle(&state);
	return bench_finish(&b, allocs, frees);
}
