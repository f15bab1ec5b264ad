// SPDX-License-Identifier: MIT
// leak_assigned_cxx.cc - as leak_assigned.c, in C++: new, smart pointers, containers.
#include <cstdlib>
#include <map>
#include <memory>
#include <string>
#include <vector>

#ifdef __clang__
#define NOINLINE __attribute__((noinline))
#else
#define NOINLINE __attribute__((noinline, noclone))
#endif

NOINLINE void keep(const void *pointer)
{
	__asm__ volatile("" : : "r"(pointer) : "memory");
}

namespace shop {

struct Item {
	explicit Item(int n);
	~Item();
	int number;
	char *label;
};

NOINLINE Item::Item(int n) : number(n),
	label(new char[64]) //= label : char *
{
	label[0] = 0;
}

NOINLINE Item::~Item()
{
	delete[] label;
}

struct Base {
	virtual ~Base() = default;
	Item *first = nullptr;
};

class Store : public Base {
public:
	explicit Store(int n);
	void fill(int n);
	Item *make(int n);
	static Item *shared;
private:
	Item *item_;
	int *numbers_;
	std::unique_ptr<Item> owned_;
	std::vector<Item *> items_;
	std::map<int, std::string> names_;
	Item *by_kind_[4];
};

Item *Store::shared;
Item *g_item;

NOINLINE Store::Store(int n) :
	item_(new Item(n)), //= item_ : Item *
	numbers_(new int[32]) //= numbers_ : int *
{
	keep(item_);
}

NOINLINE Item *Store::make(int n)
{
	return new Item(n); //= ^
}

NOINLINE void Store::fill(int n)
{
	item_ = new Item(n); //= item_
	keep(item_);
	first = new Item(n + 1); //= first
	keep(first);
	shared = new Item(n + 2); //= shared
	keep(shared);
	g_item = new Item(n + 3); //= g_item
	keep(g_item);
	by_kind_[2] = new Item(n + 4); //= by_kind_[2]
	keep(by_kind_);
	by_kind_[n] = make(n + 5); //= by_kind_[n]
	keep(by_kind_);
	owned_.reset(new Item(n + 6)); //= owned_
	keep(owned_.get());
	owned_ = std::make_unique<Item>(n + 7); //= owned_
	keep(owned_.get());
	items_.push_back(new Item(n + 8)); //= argument of push_back
	keep(items_.data());
}

} // namespace shop

NOINLINE int locals(shop::Store &store, int n)
{
	auto *item = new shop::Item(n); //= item
	keep(item);
	auto owned = std::make_unique<shop::Item>(n + 1); //= owned
	keep(owned.get());
	std::unique_ptr<shop::Item> other(new shop::Item(n + 2)); //= other
	keep(other.get());
	shop::Item *made = store.make(n + 3); //= made
	keep(made);
	char *bytes = static_cast<char *>(malloc(10)); //= bytes
	keep(bytes);
	auto **table = new shop::Item *[16]; //= table
	keep(table);
	table[3] = new shop::Item(n + 4); //= table[3]
	keep(table);
	return made->number;
}

int main(int argc, char **)
{
	auto *store = new shop::Store(argc); //= store
	keep(store);
	store->fill(argc);
	return locals(*store, argc);
}
