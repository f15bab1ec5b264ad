# SPDX-License-Identifier: MIT
"""big_program.py FOLDER UNITS [CXX FLAGS...]: a large C++ program with much that is inlined.

Writes UNITS sources into FOLDER, compiles each (two at a time) and links them to FOLDER/big. The
sources differ in their types, so that the linker can leave out little of the templates.
"""
import os
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor

UNIT = """\
#include <algorithm>
#include <functional>
#include <map>
#include <memory>
#include <numeric>
#include <set>
#include <sstream>
#include <stdexcept>
#include <string>
#include <unordered_map>
#include <variant>
#include <vector>

namespace unit_%(u)d {
namespace {
int hidden_%(u)d(int x) { return x %% 7 ? x / 3 : hidden_%(u)d(x / 7) + 1; }
struct Local_%(u)d {
	std::string text;
	int value;
	bool operator<(const Local_%(u)d &other) const { return value < other.value; }
};
}
template <typename T, int N> struct Ring {
	T item[N];
	int at = 0;
	void put(const T &x) { item[at++ %% N] = x; }
	T sum() const { T all{}; for (const T &x : item) all = all + x; return all; }
};
%(types)s
int run(int argc)
{
	int all = hidden_%(u)d(argc);
	std::set<Local_%(u)d> locals;
	locals.insert({ std::to_string(argc), argc });
	for (const auto &local : locals)
		all += local.value + (int)local.text.size();
%(calls)s
	return all;
}
}
"""

TYPE = """\
struct Type_%(t)d {
	std::string name;
	std::vector<int> numbers;
	double weight = 0;
	explicit Type_%(t)d(int n) : name(std::to_string(n)), numbers((size_t)(n & 15), n) {}
	int total() const { return std::accumulate(numbers.begin(), numbers.end(), 0); }
	bool operator<(const Type_%(t)d &o) const { return total() < o.total() || name < o.name; }
};
struct Hash_%(t)d {
	size_t operator()(const Type_%(t)d &x) const { return std::hash<std::string>()(x.name); }
};
inline bool operator==(const Type_%(t)d &a, const Type_%(t)d &b) { return a.name == b.name; }
class Shape_%(t)d {
public:
	virtual ~Shape_%(t)d() = default;
	virtual int area(int scale) const { return scale * (int)sizeof(Type_%(t)d); }
	static Shape_%(t)d *make(int kind);
};
class Square_%(t)d : public Shape_%(t)d {
	Type_%(t)d type;
public:
	explicit Square_%(t)d(int n) : type(n) {}
	int area(int scale) const override { return type.total() * scale; }
};
Shape_%(t)d *Shape_%(t)d::make(int kind)
{
	if (kind < 0)
		throw std::runtime_error("no kind " + std::to_string(kind));
	return kind & 1 ? new Square_%(t)d(kind) : new Shape_%(t)d();
}
__attribute__((noinline)) static int use_%(t)d(int n)
{
	std::map<Type_%(t)d, std::vector<Type_%(t)d>> tree;
	std::unordered_map<Type_%(t)d, std::unique_ptr<Type_%(t)d>, Hash_%(t)d> table;
	std::vector<Type_%(t)d> list;
	std::variant<int, std::string, Type_%(t)d> either = Type_%(t)d(n);
	Ring<double, %(ring)d> ring;
	for (int i = 0; i < n; i++) {
		list.emplace_back(i * %(t)d);
		tree[list.back()].push_back(list.front());
		table.emplace(list.back(), std::make_unique<Type_%(t)d>(i));
		ring.put(i);
	}
	std::stable_sort(list.begin(), list.end());
	std::sort(list.begin(), list.end(), [n](const Type_%(t)d &a, const Type_%(t)d &b) {
		return a.total() * n < b.total() * n;
	});
	std::function<int(int)> deep = [&](int x) {
		return x ? deep(x - 1) + (int)list.size() : n;
	};
	std::shared_ptr<Shape_%(t)d> shape(Shape_%(t)d::make(n));
	std::ostringstream out;
	out << ring.sum() << deep(n & 3) << shape->area(n) << tree.size() << table.size();
	return std::visit([](const auto &x) { return (int)sizeof(x); }, either) +
	       (int)out.str().size();
}
"""

MAIN = """\
#include <cstdlib>
%(declarations)s
int main(int argc, char **)
{
	return (%(calls)s) == 1 ? EXIT_FAILURE : EXIT_SUCCESS;
}
"""


def unit(number, types):
    names = [number * types + t for t in range(types)]
    return UNIT % {
        "u": number,
        "types": "".join(TYPE % {"t": t, "ring": 3 + t % 11} for t in names),
        "calls": "\n".join(f"\tall += use_{t}(argc + {t % 5});" for t in names)}


def write(path, text):
    with open(path, "w", encoding="utf-8") as file:
        file.write(text)


def compile_unit(folder, name, compiler):
    subprocess.run([*compiler, "-c", f"{name}.cc", "-o", f"{name}.o"], cwd=folder, check=True)


def make(folder, units, types, compiler):
    """The program's path. compiler: command and flags."""
    names = [f"unit_{i}" for i in range(units)]
    for i, name in enumerate(names):
        write(os.path.join(folder, f"{name}.cc"), unit(i, types))
    write(os.path.join(folder, "main.cc"), MAIN % {
        "declarations": "\n".join(f"namespace {name} {{ int run(int); }}" for name in names),
        "calls": " + ".join(f"{name}::run(argc)" for name in names)})
    with ThreadPoolExecutor(2) as pool:
        list(pool.map(lambda name: compile_unit(folder, name, compiler), names + ["main"]))
    subprocess.run([*compiler, *(f"{name}.o" for name in names), "main.o", "-o", "big"],
                   cwd=folder, check=True)
    for name in names:
        os.unlink(os.path.join(folder, f"{name}.o"))
    return os.path.join(folder, "big")


if __name__ == "__main__":
    make(sys.argv[1], int(sys.argv[2]), 24, sys.argv[3:] or ["c++", "-std=c++17", "-O2", "-g"])
