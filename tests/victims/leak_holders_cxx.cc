/* SPDX-License-Identifier: MIT */
/*
 * leak_holders_cxx.cc - blocks held by C++ objects and containers; see leak_holders.c.
 */
#include <array>
#include <deque>
#include <forward_list>
#include <list>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <unordered_map>
#include <vector>

#include "leak_holders.h"

/* Not held by the victim's own containers of names. */
template <typename T> static T *told(const char *name, T *object)
{
	tell(name, (void *)object);
	return object;
}

struct Item {
	long number = 0;
	char *text = nullptr;
};

namespace shop {
class Base {
public:
	virtual ~Base() = default;
	char *base_text = nullptr;
};
class Second {
public:
	virtual ~Second() = default;
	long padding = 1;
	char *second_text = nullptr;
};
class Session : public Base, public Second {
public:
	struct User {
		std::string name;
		Item *item = nullptr;
	} user;
	static Session *last;
};
Session *Session::last;
template <typename T, unsigned long N> class Pool : public Base {
public:
	T *slot[N] = {};
};
Item *g_item;
std::map<int, Item *> g_map;
} // namespace shop

namespace {
class Hidden : public shop::Base {
public:
	Item *hidden_item = nullptr;
};
Item *anonymous_item;
} // namespace

std::vector<Item *> g_vector;
std::vector<Item> g_values;
std::unique_ptr<Item> g_unique;
std::shared_ptr<Item> g_shared, g_made;
std::map<std::string, Item> g_by_name;
std::set<Item *> g_set;
std::unordered_map<int, Item> g_hash;
std::list<Item *> g_item_list;
std::forward_list<Item> g_forward;
std::deque<Item *> g_deque;
std::array<Item *, 4> g_fixed;
std::vector<std::unique_ptr<shop::Session>> g_sessions;
std::string g_string;
shop::Base *g_base;
shop::Second *g_second;
void *g_void;

static char *text(const char *name)
{
	return (char *)make(name, 45);
}

static Item *item(const char *name)
{
	Item *item = told(name, new Item);

	item->text = text((std::string(name) + "_text").c_str());
	return item;
}

static void fill_containers()
{
	for (int i = 0; i < 5; i++)
		g_vector.push_back(new Item);
	g_vector[3] = item("vector");
	tell("vector_buffer", g_vector.data());
	g_values.resize(7);
	tell("values_buffer", g_values.data());
	g_values[4].text = text("values");
	g_unique.reset(item("unique"));
	g_shared.reset(item("shared"));
	g_made = std::make_shared<Item>();
	tell("made_block", (char *)g_made.get() - 16);
	g_made->text = text("made");
	for (int i = 0; i < 20; i++)
		g_by_name["a rather long name for a key " + std::to_string(i)].number = i;
	for (auto &pair : g_by_name)
		tell("by_name_node", (char *)&pair - 32);
	g_by_name["a rather long name for a key 7"].text = text("by_name");
	for (int i = 0; i < 20; i++)
		shop::g_map[i] = nullptr;
	for (auto &pair : shop::g_map)
		tell("map_node", (char *)&pair - 32);
	shop::g_map[11] = item("map");
	g_set.insert(item("set"));
	tell("set_node", (char *)&*g_set.begin() - 32);
	for (int i = 0; i < 20; i++)
		g_hash[i].number = i;
	for (auto &pair : g_hash)
		tell("hash_node", (char *)&pair - 8);
	g_hash[13].text = text("hash");
}

static void fill_lists()
{
	for (int i = 0; i < 9; i++)
		g_item_list.push_back(nullptr);
	g_item_list.push_back(item("list"));
	for (auto &each : g_item_list)
		tell("list_node", (char *)&each - 16);
	g_forward.emplace_front();
	g_forward.front().text = text("forward");
	tell("forward_node", (char *)&g_forward.front() - 8);
	g_forward.emplace_front();
	tell("forward_node", (char *)&g_forward.front() - 8);
	g_deque.push_back(item("deque"));
	tell("deque_buffer", &g_deque.front());
	g_fixed[2] = item("fixed");
	g_string = "a string that is too long to be kept in the object";
	tell("string", (void *)g_string.data());
}

static void fill_objects()
{
	for (int i = 0; i < 3; i++)
		g_sessions.emplace_back(new shop::Session);
	tell("sessions_buffer", g_sessions.data());
	for (auto &session : g_sessions)
		tell("session", session.get());
	g_sessions[1]->user.item = item("session_item");
	g_sessions[2]->second_text = text("session_second");
	g_sessions[0]->user.name = "another one that needs a block of its own";
	tell("session_name", (void *)g_sessions[0]->user.name.data());
	shop::Session::last = told("last", new shop::Session);
	auto *derived = told("derived", new shop::Session);
	g_base = derived;
	derived->user.item = item("by_base");
	derived = told("derived", new shop::Session);
	g_second = derived;
	derived->user.item = item("by_second");
	auto *pool = told("pool", new shop::Pool<const char *, 5ul>);
	g_void = pool;
	pool->slot[3] = told("pool_slot", new const char *(nullptr));
	*pool->slot[3] = text("pool_text");
	auto *hidden = told("hidden", new Hidden);
	shop::g_item = (Item *)told("hidden_holder", new void *[3]());
	((void **)shop::g_item)[2] = hidden;
	hidden->hidden_item = item("hidden_item");
	anonymous_item = item("anonymous");
}

int main()
{
	setvbuf(stdout, NULL, _IOLBF, 4096);
	fill_containers();
	fill_lists();
	fill_objects();
	static std::vector<Item *> *kept = told("kept", new std::vector<Item *>);
	kept->push_back(item("kept_item"));
	tell("kept_buffer", kept->data());
	wait_for_test();
}
