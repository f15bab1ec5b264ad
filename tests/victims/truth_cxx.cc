/* SPDX-License-Identifier: MIT */
/*
 * truth_cxx.cc - the operators of C++, and exceptions through watched frames.
 *
 * Sizes are those that operator new is asked for (an array of objects with a
 * destructor has 8 bytes of cookie), plus the objects of the throws themselves:
 * libstdc++ allocates each by malloc with a 128-byte header in front. One case lets the
 * exception start inside operator new and pass everything that may stand there.
 * Commands: 'g' runs the cases and prints the truth, 'q' ends.
 */
#include "tests/victims/truth.h"
#include "tests/victims/victim.h"

#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <new>

namespace {

/* sizeof(__cxa_refcounted_exception) of libstdc++ on 64-bit targets. */
constexpr size_t kExceptionHeader = 128;

truth_block kept[64];
int kept_count;

truth_block *keep()
{
	return &kept[kept_count++];
}

void expect(bool truth, const char *what)
{
	if (!truth)
		victim_fail(what);
}

struct Plain {
	char bytes[40];
};

struct WithDestructor {
	char bytes[24];
	~WithDestructor() { victim_seen(bytes); }
};

struct alignas(64) Aligned {
	char bytes[192];
};

struct Failure {
	long code;
};

void release_plain(void *p) { delete static_cast<Plain *>(p); }
void release_destructor(void *p) { delete static_cast<WithDestructor *>(p); }
void release_array(void *p) { delete[] static_cast<char *>(p); }
void release_aligned(void *p) { delete static_cast<Aligned *>(p); }
void release_nothrow(void *p) { ::operator delete(p, std::nothrow); }

VICTIM_FRAME void case_new()
{
	truth_block block = {};
	TRUTH_FUNCTION();

	TRUTH_ALLOC(keep(), sizeof(Plain), new Plain);
	TRUTH_ALLOC(&block, sizeof(Plain), new Plain);
	TRUTH_FREE(&block, release_plain);
	TRUTH_ALLOC(&block, sizeof(WithDestructor), new WithDestructor);
	TRUTH_FREE(&block, release_destructor);
}

VICTIM_FRAME void case_new_array()
{
	truth_block block = {};
	TRUTH_FUNCTION();

	TRUTH_ALLOC(&block, 777, new char[victim_size(777)]);
	TRUTH_FREE(&block, release_array);
	TRUTH_ALLOC(keep(), 10 * sizeof(WithDestructor) + 8, new WithDestructor[victim_size(10)]);
}

VICTIM_FRAME void case_new_aligned()
{
	truth_block block = {};
	TRUTH_FUNCTION();

	TRUTH_ALLOC(keep(), sizeof(Aligned), new Aligned);
	TRUTH_ALLOC(&block, sizeof(Aligned), new Aligned);
	TRUTH_FREE(&block, release_aligned);
	TRUTH_ALLOC(keep(), 3 * sizeof(Aligned), new Aligned[victim_size(3)]);
}

VICTIM_FRAME void case_nothrow()
{
	truth_block block = {};
	TRUTH_FUNCTION();

	TRUTH_ALLOC(&block, 61, ::operator new(victim_size(61), std::nothrow));
	TRUTH_FREE(&block, release_nothrow);
	TRUTH_ALLOC(keep(), 62, new (std::nothrow) char[victim_size(62)]);
}

/* libstdc++ implements the failing nothrow form by a bad_alloc that it catches itself. */
VICTIM_FRAME void case_nothrow_fails()
{
	truth_block thrown = {};
	TRUTH_FUNCTION();

	truth_implied(&thrown, __LINE__ + 1, sizeof(std::bad_alloc) + kExceptionHeader);
	void *none = ::operator new(victim_size(PTRDIFF_MAX / 2), std::nothrow);
	truth_freed(&thrown);
	expect(!victim_seen(none), "nothrow new of a huge size");
}

VICTIM_FRAME void allocate_too_much(truth_block *thrown)
{
	TRUTH_FUNCTION();

	truth_implied(thrown, __LINE__ + 1, sizeof(std::bad_alloc) + kExceptionHeader);
	victim_seen(new char[victim_size(PTRDIFF_MAX / 2)]);
}

/* bad_alloc starts under operator new. */
VICTIM_FRAME void case_bad_alloc()
{
	truth_block thrown = {};
	bool caught = false;
	TRUTH_FUNCTION();

	try {
		TRUTH_CALL(allocate_too_much(&thrown));
	} catch (const std::bad_alloc &) {
		caught = true;
	}
	truth_freed(&thrown);
	expect(caught, "bad_alloc");
}

/* Owns a block through the frames that an exception passes. */
struct Owner {
	truth_block block = {};
	explicit Owner(size_t size);
	~Owner();
};

VICTIM_FRAME Owner::Owner(size_t size)
{
	TRUTH_FUNCTION();

	TRUTH_ALLOC(&block, size, new char[size]);
}

VICTIM_FRAME Owner::~Owner()
{
	TRUTH_FREE(&block, release_array);
}

VICTIM_FRAME void thrower(truth_block *thrown, long code)
{
	TRUTH_FUNCTION();

	Owner owner((TRUTH_CALL(victim_size(1500))));
	truth_implied(thrown, __LINE__ + 1, sizeof(Failure) + kExceptionHeader);
	throw Failure{code};
}

VICTIM_FRAME void through(truth_block *thrown, long code)
{
	TRUTH_FUNCTION();

	truth_at(__LINE__ + 1);
	Owner owner(victim_size(500));
	TRUTH_CALL(thrower(thrown, code));
}

VICTIM_FRAME void case_exceptions()
{
	truth_block thrown = {};
	long sum = 0;
	TRUTH_FUNCTION();

	for (long code = 1; code <= 25; code++) {
		try {
			TRUTH_CALL(through(&thrown, code));
		} catch (const Failure &failure) {
			sum += failure.code;
			TRUTH_ALLOC(keep(), 33, malloc(victim_size(33)));
		}
		truth_freed(&thrown);
	}
	expect(sum == 25 * 26 / 2, "exceptions");
}

/* A constructor that throws: the language frees the block of the half-built object. */
struct Unbuildable {
	char bytes[300];
	explicit Unbuildable(truth_block *thrown);
};

VICTIM_FRAME Unbuildable::Unbuildable(truth_block *thrown)
{
	TRUTH_FUNCTION();

	victim_seen(bytes);
	truth_implied(thrown, __LINE__ + 1, sizeof(Failure) + kExceptionHeader);
	throw Failure{7};
}

VICTIM_FRAME void case_constructor_throws()
{
	truth_block object = {}, thrown = {};
	bool caught = false;
	TRUTH_FUNCTION();

	try {
		truth_implied(&object, __LINE__ + 1, sizeof(Unbuildable));
		victim_seen(new Unbuildable(&thrown));
	} catch (const Failure &) {
		caught = true;
		truth_freed(&object);
	}
	truth_freed(&thrown);
	expect(caught, "constructor that throws");
}

template <typename T> struct Pool {
	static VICTIM_INLINED void fill(truth_block *block)
	{
		TRUTH_FUNCTION();

		TRUTH_ALLOC(block, sizeof(T), new T);
	}
};

VICTIM_FRAME void case_inlined()
{
	TRUTH_FUNCTION();

	TRUTH_CALL(Pool<Plain>::fill(keep()));
	TRUTH_CALL(Pool<Aligned>::fill(keep()));
}

struct Virtual {
	virtual ~Virtual() {}
	virtual void allocate(truth_block *block) = 0;
};

struct Concrete : Virtual {
	VICTIM_FRAME void allocate(truth_block *block) override
	{
		TRUTH_FUNCTION();

		TRUTH_ALLOC(block, 1234, ::operator new(victim_size(1234)));
	}
};

VICTIM_FRAME void case_virtual()
{
	static Concrete concrete;
	Virtual *object = static_cast<Virtual *>(victim_seen(&concrete));
	TRUTH_FUNCTION();

	TRUTH_CALL(object->allocate(keep()));
}

VICTIM_FRAME void run()
{
	TRUTH_FUNCTION();

	TRUTH_CALL(case_new());
	TRUTH_CALL(case_new_array());
	TRUTH_CALL(case_new_aligned());
	TRUTH_CALL(case_nothrow());
	TRUTH_CALL(case_nothrow_fails());
	TRUTH_CALL(case_bad_alloc());
	TRUTH_CALL(case_exceptions());
	TRUTH_CALL(case_constructor_throws());
	TRUTH_CALL(case_inlined());
	TRUTH_CALL(case_virtual());
}

} /* namespace */

int main()
{
	truth_claims claims = { .totals = 1, .peaks = 1 };
	TRUTH_FUNCTION();

	victim_setup();
	victim_ready();
	if (victim_await() != 'g')
		return 0;
	TRUTH_CALL(run());
	truth_print(claims);
	while (victim_await() != 'q')
		;
	return 0;
}
