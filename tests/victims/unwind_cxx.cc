// SPDX-License-Identifier: MIT
/*
 * unwind_cxx.cc - C++ frames for the tests of the unwinder and the symbolizer.
 *
 * Stops (a SIGWINCH to itself, as unwind_victim.c) below functions with clean-ups
 * and handlers, whose call frame information has a personality routine; templates,
 * closures, containers and inlined callers give the symbolizer something to name.
 */
#include <csignal>
#include <cstdlib>
#include <map>
#include <memory>
#include <numeric>
#include <stdexcept>
#include <string>
#include <algorithm>
#include <functional>
#include <vector>
#include <sys/syscall.h>
#include <unistd.h>

#include "tests/victims/frame.h"

static volatile int sink;

extern "C" FRAME void victim_stop()
{
	long pid = syscall(SYS_getpid), tid = syscall(SYS_gettid), r;

	__asm__ volatile("syscall" : "=a"(r)
			 : "0"(SYS_tgkill), "D"(pid), "S"(tid), "d"(SIGWINCH)
			 : "rcx", "r11", "memory");
	sink = (int)r;
}

namespace shop {

template <typename T> struct Guard {
	T value;
	explicit Guard(T v) : value(v) {}
	~Guard() { sink += (int)value; }
};

class Item {
public:
	explicit Item(std::string name) : name_(std::move(name)) {}
	virtual ~Item() { sink += (int)name_.size(); }
	virtual int price(int quantity) const;

private:
	std::string name_;
};

static inline int checked(int quantity)
{
	if (quantity > 1000)
		throw std::out_of_range("quantity");
	victim_stop();
	return quantity * 2;
}

FRAME int Item::price(int quantity) const
{
	Guard<long> guard(quantity);

	return checked(quantity) + (int)name_.size();
}

template <typename Function> FRAME int apply(Function function, int times)
{
	Guard<int> guard(times);
	int sum = 0;

	for (int i = 0; i < times; i++)
		sum += function(i);
	return sum;
}

FRAME int total(const std::vector<std::unique_ptr<Item>> &items)
{
	try {
		return apply([&](int i) { return items[(size_t)i]->price(i + 1); },
			     (int)items.size());
	} catch (const std::out_of_range &) {
		return -1;
	}
}

FRAME int caught(int quantity)
{
	Item item("thrown");

	try {
		return checked(quantity);
	} catch (const std::exception &error) {
		victim_stop();
		return (int)std::string(error.what()).size();
	}
}

FRAME std::map<std::string, int> table(int n)
{
	std::map<std::string, int> result;

	for (int i = 0; i < n; i++)
		result["key" + std::to_string(i)] += i;
	return result;
}

FRAME int sorted(int n)
{
	std::vector<int> values((size_t)n);
	std::function<bool(int, int)> less = [](int a, int b) { return a * 7 % 5 < b * 7 % 5; };

	std::iota(values.begin(), values.end(), 0);
	std::sort(values.begin(), values.end(), less);
	return values[0];
}

} // namespace shop

int main()
{
	std::vector<std::unique_ptr<shop::Item>> items;

	items.push_back(std::make_unique<shop::Item>("a thing with a long name, on the heap"));
	items.push_back(std::make_unique<shop::Item>("another"));
	sink += shop::total(items);
	sink += shop::caught(2000);
	sink += (int)shop::table(10).size() + shop::sorted(20);
	return 0;
}
