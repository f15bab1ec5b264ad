/* SPDX-License-Identifier: MIT */
/*
 * leak_types.cc - an object of each kind of class, for test_leak_types.c.
 *
 * Prints "name address bytes" for each and then "ready"; see leak_holders.h.
 */
#include <memory>
#include <sstream>
#include <stdexcept>

#include "leak_holders.h"

class Plain {
public:
	long number = 1;
};
class Single {
public:
	virtual ~Single() = default;
	long number = 1;
};
class Derived : public Single {
public:
	long more = 2;
};
class Other {
public:
	virtual ~Other() = default;
	long other = 3;
};
class Multiple : public Derived, public Other {
};
class Shared : public virtual Single {
public:
	long shared = 4;
};
class Shared2 : public virtual Single {
};
class Diamond : public Shared, public Shared2 {
};
namespace outer {
namespace inner {
template <typename T, int N> class Template : public Single {
public:
	T value[N];
};
class Nesting {
public:
	class Nested : public Single {
	};
};
} // namespace inner
} // namespace outer
namespace {
class Hidden : public Single {
};
} // namespace
class Abstract {
public:
	virtual ~Abstract() = default;
	virtual int answer() = 0;
};
class Concrete final : public Abstract {
public:
	int answer() override { return 42; }
};

template <typename T> static T *told(const char *name, T *object)
{
	tell(name, (void *)object);
	return object;
}

int main()
{
	class Local : public Single {
	};
	told("plain", new Plain);
	told("single", new Single);
	told("derived", new Derived);
	auto *multiple = told("multiple", new Multiple);
	told("shared", new Shared);
	told("diamond", new Diamond);
	told("template", new outer::inner::Template<const char *, 5>);
	told("template_of_template",
	     new outer::inner::Template<std::pair<int, std::shared_ptr<Single>>, 2>);
	told("nested", new outer::inner::Nesting::Nested);
	told("hidden", new Hidden);
	told("local", new Local);
	told("concrete", (Concrete *)new Concrete);
	told("library", new std::ostringstream);
	told("exception", new std::runtime_error("a"));
	/* A block that begins with what only a part of an object begins with. */
	void **part = (void **)make("part", 48);
	part[0] = *(void **)static_cast<Other *>(multiple);
	void **typeinfo = (void **)make("typeinfo", 48);
	typeinfo[0] = ((void **)part[0])[-1];
	void **function = (void **)make("function", 48);
	function[0] = **(void ***)multiple;
	told("array", new Single *[3]());
	wait_for_test();
}
