// SPDX-License-Identifier: MIT
// leaky_cxx.cc - shapes of memory that C++ makes: strings, containers, new[] with destructors,
// multiple and virtual inheritance, shared and unique pointers, exceptions (leaky.h).
//
// What operator new is asked for by the library is booked by replacing operator new: the
// line that the builder named last is that of the block.
#include "tests/victims/leaky.h"

#include <cstdlib>
#include <cstring>
#include <exception>
#include <functional>
#include <list>
#include <map>
#include <memory>
#include <new>
#include <string>
#include <unordered_map>
#include <vector>

namespace {

// What the next blocks are: the builder says it before each expression that allocates.
struct Next {
	leaky_expected expected;
	const char *function;
	int line;
	bool on;
};
Next next;

// e: allocates; each block that it makes is booked as expected, by the line.
#define BOOKED(expected, e) (next = Next{ (expected), __func__, __LINE__, true }, (e))
#define DONE() (next.on = false)

} // namespace

// In a function of its own, which reports show as the innermost frame: not so when inlined.
VICTIM_FRAME void *operator new(size_t size)
{
	void *p = malloc(size ? size : 1);

	return next.on ? leaky_book(p, size, next.expected, next.function, next.line) : p;
}

void *operator new[](size_t size)
{
	return operator new(size);
}

void operator delete(void *p) noexcept
{
	leaky_free(p);
}

void operator delete[](void *p) noexcept
{
	leaky_free(p);
}

void operator delete(void *p, size_t) noexcept
{
	leaky_free(p);
}

void operator delete[](void *p, size_t) noexcept
{
	leaky_free(p);
}

namespace {

const std::string long_text(300, 'x');

struct Text {
	std::string text;
	char more[1900];
};
Text *volatile kept_text;
std::string global_text;

VICTIM_FRAME void build_string()
{
	BOOKED(LEAKY_REACHED, kept_text = new Text());
	BOOKED(LEAKY_REACHED, kept_text->text.assign(1500, 'a'));
	BOOKED(LEAKY_REACHED, global_text.assign(1520, 'b'));
	Text *lost = BOOKED(LEAKY_LOST, new Text());
	BOOKED(LEAKY_BELOW, lost->text.assign(1540, 'c'));
	DONE();
}

std::vector<std::vector<long>> global_vector;

VICTIM_FRAME void build_vector()
{
	auto *lost = BOOKED(LEAKY_LOST, new std::vector<std::vector<long>>());
	BOOKED(LEAKY_BELOW, lost->resize(70));
	for (auto &inner : *lost)
		BOOKED(LEAKY_BELOW, inner.resize(20));
	BOOKED(LEAKY_REACHED, global_vector.resize(40));
	for (auto &inner : global_vector)
		BOOKED(LEAKY_REACHED, inner.resize(21));
	DONE();
}

struct Counted {
	long number[5];
	~Counted() { victim_seen(this); }
};
Counted *volatile kept_array;

// The program's pointer is 8 after the block's begin, where the number of elements stands.
// 51 of them are 2048 bytes with it: no allocator rounds that up by much.
VICTIM_FRAME void build_new_array()
{
	Counted *lost = BOOKED(LEAKY_LOST, new Counted[30]);
	victim_seen(lost);
	BOOKED(LEAKY_REACHED, kept_array = new Counted[51]);
	DONE();
}

struct First {
	virtual ~First() {}
	long first[30];
};
struct Second {
	virtual ~Second() {}
	long second[30];
};
struct Both : First, Second {
	long both[30];
	Both *peer = nullptr;
};
Second *volatile kept_second;

// Only a pointer to the second base is kept.
VICTIM_FRAME void build_multiple()
{
	BOOKED(LEAKY_REACHED, kept_second = new Both());
	Both *lost = BOOKED(LEAKY_LOST, new Both());
	BOOKED(LEAKY_BELOW, lost->peer = new Both());
	DONE();
}

struct Base {
	virtual ~Base() {}
	long base[30];
};
struct Left : virtual Base {
	long left[10];
};
struct Right : virtual Base {
	long right[10];
};
struct Bottom : Left, Right {
	long bottom[40];
};
Base *volatile kept_base;
Right *volatile kept_right;

VICTIM_FRAME void build_virtual()
{
	BOOKED(LEAKY_REACHED, kept_base = new Bottom());
	BOOKED(LEAKY_REACHED, kept_right = new Bottom());
	BOOKED(LEAKY_LOST, victim_seen(new Bottom()));
	DONE();
}

struct Link {
	std::shared_ptr<Link> next;
	char more[2000];
};
std::shared_ptr<Link> global_link;
std::weak_ptr<Text> global_weak;

VICTIM_FRAME void build_shared_pointer()
{
	// Two that own each other; one that owns itself, by a block and a control block.
	auto expected = LEAKY_CYCLE(1);
	std::shared_ptr<Link> link[2];
	for (auto &one : link)
		one = BOOKED(expected, std::make_shared<Link>());
	link[0]->next = link[1];
	link[1]->next = link[0];
	BOOKED(LEAKY_REACHED, global_link = std::make_shared<Link>());
	BOOKED(LEAKY_REACHED, global_link->next = std::make_shared<Link>());
	// The object is gone, its memory is not: the weak pointer keeps it.
	auto gone = BOOKED(LEAKY_REACHED, std::make_shared<Text>());
	global_weak = gone;
	DONE();
}

struct Owner {
	std::unique_ptr<Text> text;
	std::unique_ptr<long[]> numbers;
	char more[2100];
};

VICTIM_FRAME void build_unique_pointer()
{
	auto owner = BOOKED(LEAKY_LOST, std::make_unique<Owner>());
	BOOKED(LEAKY_BELOW, owner->text = std::make_unique<Text>());
	BOOKED(LEAKY_BELOW, owner->numbers = std::make_unique<long[]>(270));
	BOOKED(LEAKY_LOST, victim_seen(std::make_unique<Text>().release()));
	victim_seen(owner.release());
	DONE();
}

std::map<int, std::string> global_map;
std::unordered_map<int, int> global_hash;
std::list<std::string> global_list;

struct Tables {
	std::map<int, std::string> map;
	std::unordered_map<int, int> hash;
	std::list<int> list;
	char more[2200];
};

VICTIM_FRAME void fill(Tables &tables, leaky_expected expected)
{
	for (int i = 0; i < 20; i++) {
		BOOKED(expected, tables.map[i] = long_text);
		BOOKED(expected, tables.hash[i] = i);
		BOOKED(expected, tables.list.push_back(i));
	}
	DONE();
}

Tables *volatile kept_tables;

VICTIM_FRAME void build_containers()
{
	// Some of its nodes point back into it: a cycle, of which it is the first.
	auto expected = LEAKY_EXPECT(LEAKY_DEFINITE, LEAKY_SAME, LEAKY_INDIRECT);
	Tables *lost = BOOKED(expected, new Tables());
	fill(*lost, LEAKY_BELOW);
	BOOKED(LEAKY_REACHED, kept_tables = new Tables());
	fill(*kept_tables, LEAKY_REACHED);
	for (int i = 0; i < 10; i++) {
		BOOKED(LEAKY_REACHED, global_map[i] = long_text);
		BOOKED(LEAKY_REACHED, global_hash[i] = i);
		BOOKED(LEAKY_REACHED, global_list.push_back(long_text));
	}
	DONE();
}

// A list that links its nodes by a member in their midst.
struct Hook {
	Hook *next;
};
struct Member {
	long before[100];
	Hook hook;
	long after[180];
};
Hook hooks;

VICTIM_FRAME void build_intrusive()
{
	for (int i = 0; i < 5; i++) {
		Member *member = BOOKED(LEAKY_MAYBE, new Member());
		member->hook.next = hooks.next;
		hooks.next = &member->hook;
	}
	DONE();
}

thread_local std::vector<long> of_thread;
std::function<void()> global_function;

VICTIM_FRAME void build_objects()
{
	struct { char text[2300]; } captured = {};
	leaky_others(1);	// to run the destructor at the end of the thread
	BOOKED(LEAKY_REACHED, of_thread.resize(300));
	BOOKED(LEAKY_REACHED, global_function = [captured] { (void)captured; });
	DONE();
}

std::exception_ptr kept_exception;
struct Thrown {
	Text *text;
	char more[2400];
};

// The runtime allocates its header and the object in one, and keeps a pointer to the object.
VICTIM_FRAME void build_exception()
{
	const size_t header = 128;
	int line = 0;
	Thrown thrown = {};
	thrown.text = BOOKED(LEAKY_MAYBE, new Text());
	DONE();
	try {
		line = __LINE__ + 1;
		throw thrown;
	} catch (Thrown &caught) {
		leaky_note((char *)&caught - header, sizeof(caught) + header, LEAKY_MAYBE,
			   __func__, line);
		kept_exception = std::current_exception();
	}
}

const leaky_kind kinds[] = {
	{ "string", build_string, 0 },
	{ "vector", build_vector, 0 },
	{ "new_array", build_new_array, 0 },
	{ "multiple", build_multiple, 0 },
	{ "virtual", build_virtual, 0 },
	{ "shared_pointer", build_shared_pointer, 0 },
	{ "unique_pointer", build_unique_pointer, 0 },
	{ "containers", build_containers, 0 },
	{ "intrusive", build_intrusive, 0 },
	{ "objects", build_objects, 0 },
	{ "exception", build_exception, 0 },
	{ nullptr, nullptr, 0 },
};

} // namespace

int main(int, char *argv[])
{
	return leaky_main(argv, kinds, nullptr);
}
