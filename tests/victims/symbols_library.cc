/* SPDX-License-Identifier: MIT */
/*
 * symbols_library.cc - code as C++ compilers make it, for docs/SYMBOLS.md: templates, inlined and
 * static functions, lambdas, virtual and cold ones, members of local classes, recursion.
 *
 * CALL notes function and line before it calls, so that the bottom of each stack knows the truth,
 * inlined functions included, from the source and from no debug information. What follows
 * each call keeps it from becoming a jump.
 */
#include "tests/victims/symbols_library.h"

#include <algorithm>
#include <array>
#include <functional>
#include <map>
#include <memory>
#include <numeric>
#include <string>
#include <vector>

#define MAX_DEPTH 64
#define CALL(statement) do { \
	calls[depth].function = __func__; \
	calls[depth++].line = __LINE__; \
	statement; \
	depth--; \
} while (0)

static struct symbols_call calls[MAX_DEPTH];
static size_t depth;
static symbols_visitor *visitor;
static volatile int opaque;	/* 0, which no compiler knows */

static inline void visit()
{
	CALL(visitor(calls, depth));
}

/* ---- static functions: inlined, cloned for a constant, split into hot and cold ---- */

static int small(int value)
{
	CALL(visit());
	return value + 1;
}

static __attribute__((noinline)) int scaled(int value, int factor)
{
	int result = 0;

	CALL(result = small(value * factor));
	return result + factor;
}

static __attribute__((noinline, cold)) void complain(const char *why)
{
	CALL(visit());
	opaque = why[0] ? 0 : 1;
}

static __attribute__((noinline)) int checked(int value)
{
	if (__builtin_expect(value > 1000, 0))
		CALL(complain("too large"));
	CALL(visit());
	return value;
}

static __attribute__((noinline)) int recursive(int left)
{
	int result = 0;

	if (left == 0)
		CALL(visit());
	else
		CALL(result = recursive(left - 1));
	return result + left;
}

/* ---- templates ---- */

namespace shop {

template <typename Number, int Factor>
struct Price {
	Number amount;

	Price(Number value) : amount(value)
	{
		CALL(visit());
	}
	Number times() const
	{
		CALL(visit());
		return amount * Factor;
	}
	template <typename Other>
	__attribute__((noinline)) Number plus(const Other &other) const
	{
		Number sum{};

		CALL(sum = amount + static_cast<Number>(other.times()));
		return sum;
	}
	bool operator<(const Price &other) const
	{
		if (opaque)
			CALL(visit());
		return amount < other.amount;
	}
};

template <typename... Parts>
__attribute__((noinline)) int total(const Parts &...parts)
{
	int sum = 0;

	CALL(sum = (0 + ... + static_cast<int>(parts.times())));
	return sum;
}

template <typename Key, typename Value>
class Stock {
public:
	void put(const Key &key, Value value)
	{
		CALL(store(key, std::move(value)));
	}
	template <typename Function>
	void each(Function function) const
	{
		for (const auto &entry : items)
			CALL(function(entry.first, entry.second));
	}

private:
	__attribute__((noinline)) void store(const Key &key, Value value)
	{
		CALL(visit());
		items[key] = std::move(value);
	}
	std::map<Key, Value> items;
};

} // namespace shop

/* ---- virtual functions, and an unnamed namespace ---- */

namespace {

class Shape {
public:
	virtual ~Shape() = default;
	virtual double area() const = 0;
	double twice() const
	{
		double result = 0;

		CALL(result = area());
		return 2 * result;
	}
};

class Square final : public Shape {
public:
	explicit Square(double length) : side(length) {}
	double area() const override
	{
		CALL(visit());
		return side * side;
	}

private:
	double side;
};

class Circle final : public Shape {
public:
	explicit Circle(double length) : radius(length) {}
	double area() const override
	{
		CALL(checked(opaque + static_cast<int>(radius)));
		return 3.14159 * radius * radius;
	}

private:
	double radius;
};

} // namespace

/* ---- what calls them ---- */

static __attribute__((noinline)) void use_functions()
{
	CALL(small(1));
	CALL(opaque = scaled(2, 7) * 0);
	CALL(opaque = scaled(3, 7) * 0);
	CALL(checked(opaque));
	CALL(checked(opaque + 2000));
	CALL(recursive(5));
}

static __attribute__((noinline)) void use_templates()
{
	std::unique_ptr<shop::Price<int, 3>> cheap;

	CALL((cheap.reset(new shop::Price<int, 3>(2))));
	CALL(opaque = cheap->times() * 0);
	const shop::Price<double, 5> dear(2.5);
	CALL(opaque = cheap->plus(dear) * 0);
	CALL(opaque = static_cast<int>(dear.plus(*cheap)) * 0);
	CALL(opaque = shop::total(*cheap, dear, *cheap) * 0);
}

static __attribute__((noinline)) void use_lambdas()
{
	shop::Stock<std::string, std::vector<int>> stock;
	int sum = 0;
	const std::function<int(int)> boxed = [&sum](int value) {
		CALL(visit());
		return sum + value;
	};
	auto generic = [&](const auto &name, const auto &values) {
		CALL(opaque = boxed(static_cast<int>(name.size() + values.size())) * 0);
	};
	auto adding = [&](const std::string &name, const std::vector<int> &values) {
		sum += std::accumulate(values.begin(), values.end(), static_cast<int>(name.size()));
		CALL(visit());
	};

	CALL(stock.put("apples", { 3, 1, 2 }));
	CALL(stock.put("pears and plums of all kinds", { 9 }));
	CALL(stock.each(generic));
	CALL(stock.each(adding));
}

static __attribute__((noinline)) void use_classes()
{
	struct Local {
		int value;

		__attribute__((noinline)) int method() const
		{
			CALL(visit());
			return value;
		}
		static int unbound(int argument)
		{
			CALL(visit());
			return argument;
		}
	};
	std::array<std::unique_ptr<Shape>, 2> shapes = { std::make_unique<Square>(2),
							 std::make_unique<Circle>(3) };
	Local local = { 4 };

	for (const auto &shape : shapes)
		CALL(shape->twice());
	CALL(local.method());
	CALL(Local::unbound(opaque));
}

/* Code of the standard library, for addresses in it; its stacks have frames that note nothing. */
static __attribute__((noinline)) void use_library()
{
	std::vector<shop::Price<int, 3>> prices;
	std::map<std::string, int> counts;

	for (int value : { 5, 3, 9, 1 })
		CALL(prices.emplace_back(value + opaque));
	std::sort(prices.begin(), prices.end());
	for (const auto &price : prices)
		counts[std::to_string(price.amount)]++;
	opaque = static_cast<int>(counts.size()) * 0;
}

void symbols_run(symbols_visitor *visit_stack)
{
	visitor = visit_stack;
	CALL(use_functions());
	CALL(use_templates());
	CALL(use_lambdas());
	CALL(use_classes());
	CALL(use_library());
}
