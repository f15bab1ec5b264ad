/* SPDX-License-Identifier: MIT */
/*
 * pristine_compare.c - two snapshots, and which of their differences count.
 *
 * Each kind of fact has its own comparison; each finding is either a difference
 * or a note, by the rule in pristine.h. What dlopen on a borrowed thread leaves
 * behind in libc itself is known and always a note, named as what it is: a malloc
 * arena for that thread, a heap that grew. Inode and device identify a file; its
 * path does not: a package upgrade renames it under a running program.
 */
#include "inject/attach/pristine_data.h"

#include <stdarg.h>
#include <string.h>
#include <unistd.h>

#include "inject/abi/memfd_names.h"
#include "inject/tracee/borrow_masks.h"
#include "src/base/array.h"
#include "src/base/procmaps.h"

#define ARENA_BYTES (64ull << 20) /* HEAP_MAX_SIZE of glibc on 64 bits, and its alignment */

struct comparison {
	const struct pristine *before, *after;
	bool quiet, shared;
	struct pristine_diff *diff;
};

/* Appends one finding; paths and links in it were chosen by the target. */
static void append(char *text, size_t room, const char *format, va_list arguments)
{
	size_t used = strlen(text);

	if (used + 3 >= room)
		return;
	if (used > 0) {
		memcpy(text + used, "; ", 3);
		used += 2;
	}
	(void)vsnprintf(text + used, room - used, format, arguments);
	for (char *c = text + used; *c; c++) {
		if ((unsigned char)*c < 0x20 || *c == 0x7f)
			*c = '?';
	}
}

static void _printf_(2, 3) differ(struct comparison *c, const char *format, ...)
{
	va_list arguments;

	c->diff->differences++;
	va_start(arguments, format);
	append(c->diff->text, sizeof(c->diff->text), format, arguments);
	va_end(arguments);
}

/* A difference if counts, else a note. */
static void _printf_(3, 4) find(struct comparison *c, bool counts, const char *format, ...)
{
	va_list arguments;

	va_start(arguments, format);
	if (counts) {
		c->diff->differences++;
		append(c->diff->text, sizeof(c->diff->text), format, arguments);
	} else {
		c->diff->notes++;
		append(c->diff->note_text, sizeof(c->diff->note_text), format, arguments);
	}
	va_end(arguments);
}

static const char *name_of(const struct pristine_map *map)
{
	return map->path[0] ? map->path : "anonymous memory";
}

/* "r-xp" */
static const char *prot_text(uint32_t prot, char text[5])
{
	text[0] = prot & PROCMAP_R ? 'r' : '-';
	text[1] = prot & PROCMAP_W ? 'w' : '-';
	text[2] = prot & PROCMAP_X ? 'x' : '-';
	text[3] = prot & PROCMAP_SHARED ? 's' : 'p';
	text[4] = '\0';
	return text;
}

static bool same_file(const struct pristine_map *a, const struct pristine_map *b)
{
	return a->inode == b->inode && a->dev_major == b->dev_major && a->dev_minor == b->dev_minor;
}

/* Anonymous memory has no offset, but a name by the kernel or by the program. */
static bool same_mapping(const struct pristine_map *a, const struct pristine_map *b)
{
	if (a->start != b->start || a->end != b->end || a->prot != b->prot || !same_file(a, b))
		return false;
	return a->inode ? a->offset == b->offset : strcmp(a->path, b->path) == 0;
}

/* The first mapping of p that ends behind address. */
static size_t lower_bound(const struct pristine *p, uint64_t address)
{
	return ARRAY_BISECT(p->map_count, i, p->map[i].end <= address);
}

/* The same mapping in p, or NULL. */
static const struct pristine_map *find_same(const struct pristine *p,
					    const struct pristine_map *map)
{
	size_t i = lower_bound(p, map->start);

	return i < p->map_count && same_mapping(&p->map[i], map) ? &p->map[i] : NULL;
}

/* What lies in p where map is and is of the same file, or also anonymous; NULL. */
static const struct pristine_map *find_overlap(const struct pristine *p,
					       const struct pristine_map *map)
{
	for (size_t i = lower_bound(p, map->start); i < p->map_count && p->map[i].start < map->end;
	     i++) {
		if (same_file(&p->map[i], map))
			return &p->map[i];
	}
	return NULL;
}

/* The first part of a library's data, which is read-only since the loader has relocated it. */
static bool is_relocated(const struct pristine *p, const struct pristine_map *map)
{
	const struct pristine_map *data = map + 1;

	return (size_t)(data - p->map) < p->map_count && map->prot == PROCMAP_R &&
	       data->prot == (PROCMAP_R | PROCMAP_W) && data->start == map->end &&
	       same_file(data, map) && data->offset == map->offset + (map->end - map->start);
}

/*
 * Was some of a file mapped there, without a gap in between, so that the program may write to what
 * it executes? Then it changes protections and bytes there itself (Lisp, SBCL: its collector moves
 * code, and has pages it wants to know of protected). memattach makes nothing of a file's writable.
 */
static bool is_own_writer(const struct pristine *before, const struct pristine_map *map)
{
	const uint32_t both = PROCMAP_W | PROCMAP_X;
	size_t next;

	for (size_t i = 0; map->inode && i < before->map_count; i = next) {
		bool writes = false;

		/* one after the other, of one file */
		for (next = i; next < before->map_count &&
			       same_file(&before->map[next], &before->map[i]) &&
			       (next == i || before->map[next].start == before->map[next - 1].end);
		     next++)
			writes = writes || (before->map[next].prot & both) == both;
		if (writes && same_file(&before->map[i], map) && before->map[i].start < map->end &&
		    before->map[next - 1].end > map->start)
			return true;
	}
	return false;
}

/*
 * Of a private mapping of a file in both: is every page what it was? Mappings and pages are looked
 * at one after the other: a library that is closed and loaded again in between has those of before,
 * and pages that are not relocated yet.
 */
static void compare_content(struct comparison *c, const struct pristine_map *before,
			    const struct pristine_map *after)
{
	const char *what = before->prot & PROCMAP_X ? "code" : "read-only data";

	if (!before->watched || !after->watched)
		return;
	if (before->private_pages != after->private_pages)
		find(c, c->quiet || (!c->shared && !is_relocated(c->after, after) &&
				     !is_own_writer(c->before, before)),
		     "%llu pages of %s of %s at %llx are private copies, %llu before",
		     (unsigned long long)after->private_pages, what, name_of(after),
		     (unsigned long long)after->start, (unsigned long long)before->private_pages);
	else if (before->content != after->content)
		find(c, c->quiet || (!c->shared && !is_own_writer(c->before, before)),
		     "bytes of %s of %s at %llx changed", what, name_of(after),
		     (unsigned long long)after->start);
}

/* A heap or main stack that only grew at its free end. */
static bool is_growth(const struct pristine_map *before, const struct pristine_map *after)
{
	if (strcmp(before->path, after->path) != 0 || before->prot != after->prot)
		return false;
	if (strcmp(after->path, "[heap]") == 0)
		return before->start == after->start;
	return strcmp(after->path, "[stack]") == 0 && before->end == after->end;
}

/*
 * A library that was being loaded before or after: the first part of its writable data becomes
 * read-only once the loader has relocated it.
 */
static bool is_relocation(const struct pristine_map *before, const struct pristine_map *after)
{
	const uint32_t writable = PROCMAP_R | PROCMAP_W;

	if ((before->prot | after->prot) != writable)
		return false;
	if (before->start == after->start)
		return before->end != after->end && before->prot != after->prot;
	return before->end == after->end && before->prot == writable && after->prot == writable;
}

/* Is the end of whole memory that can be written, at the other look? A library's data come last. */
static bool ends_in_data(const struct pristine *other, const struct pristine_map *whole)
{
	size_t i = lower_bound(other, whole->end - 1);
	const struct pristine_map *last = i < other->map_count ? &other->map[i] : NULL;

	return last && last->end == whole->end && last->start > whole->start &&
	       (last->prot & PROCMAP_W) && (last->inode == 0 || same_file(last, whole));
}

/*
 * Likewise: the loader maps all of a library as its first part, and the others over that. whole is
 * what it began with, or what is left of it behind the code; part lay there at the other look.
 */
static bool is_loading(const struct pristine_map *part, const struct pristine_map *whole,
		       const struct pristine *parts)
{
	return whole->inode != 0 && !(whole->prot & (PROCMAP_W | PROCMAP_SHARED)) &&
	       whole->start <= part->start && whole->end >= part->end &&
	       whole->end - whole->start > part->end - part->start &&
	       (ends_in_data(parts, whole) ||
		(whole->offset == 0 && part->start == whole->start && part->prot == whole->prot));
}

/* What a file mapping of before has become: may the loader have done it? */
static bool is_loaders(const struct comparison *c, const struct pristine_map *before,
		       const struct pristine_map *after)
{
	return is_relocation(before, after) || is_loading(before, after, c->before) ||
	       is_loading(after, before, c->after);
}

/*
 * Is the same of the same file there still, in one mapping or several, and private or shared as it
 * was? Then it is protections alone that are others: memattach changes none.
 */
static bool is_reprotected(const struct pristine *after, const struct pristine_map *map)
{
	uint64_t at = map->start;
	size_t i = lower_bound(after, at);

	for (; at < map->end; at = after->map[i++].end) {
		const struct pristine_map *part = i < after->map_count ? &after->map[i] : NULL;

		if (!part || part->start > at || !same_file(part, map) ||
		    part->offset - map->offset != part->start - map->start ||
		    ((part->prot ^ map->prot) & PROCMAP_SHARED))
			return false;
	}
	return map->inode != 0;
}

static void compare_lost(struct comparison *c, const struct pristine_map *before)
{
	const struct pristine_map *now = find_overlap(c->after, before);
	char was[5], is[5];

	if (!now)
		find(c, c->quiet, "%s at %llx-%llx is gone", name_of(before),
		     (unsigned long long)before->start, (unsigned long long)before->end);
	else if (is_growth(before, now))
		find(c, false, "%s grew by %lld bytes", name_of(now),
		     (long long)(now->end - now->start) - (long long)(before->end - before->start));
	else
		find(c, c->quiet || (before->inode != 0 && !is_loaders(c, before, now) &&
				     !is_own_writer(c->before, before) &&
				     !is_reprotected(c->after, before)),
		     "%s at %llx-%llx %s is now %llx-%llx %s",
		     name_of(before), (unsigned long long)before->start,
		     (unsigned long long)before->end, prot_text(before->prot, was),
		     (unsigned long long)now->start, (unsigned long long)now->end,
		     prot_text(now->prot, is));
}

/* malloc's heap for a further thread: 64 MiB aligned, some of it usable, the rest reserved. */
static bool is_arena(const struct pristine *p, const struct pristine_map *map)
{
	size_t i = (size_t)(map - p->map);
	const struct pristine_map *other;

	if (map->inode != 0 || map->path[0])
		return false;
	if (map->prot == (PROCMAP_R | PROCMAP_W)) {
		other = i + 1 < p->map_count ? map + 1 : NULL;
		return map->start % ARENA_BYTES == 0 && other && other->start == map->end &&
		       other->prot == 0 && other->end == map->start + ARENA_BYTES;
	}
	other = i > 0 ? map - 1 : NULL;
	return map->prot == 0 && map->end % ARENA_BYTES == 0 && other && other->end == map->start &&
	       other->start + ARENA_BYTES == map->end;
}

static void compare_new(struct comparison *c, const struct pristine_map *after)
{
	bool arena = is_arena(c->after, after);
	char prot[5];

	if (memfd_path_is_ours(after->path))
		differ(c, "memattach's %s is still mapped at %llx-%llx", after->path + 7,
		       (unsigned long long)after->start, (unsigned long long)after->end);
	else if (!find_overlap(c->before, after))
		find(c, c->quiet && !arena, "%s at %llx-%llx %s is new",
		     arena ? "a malloc arena" : name_of(after), (unsigned long long)after->start,
		     (unsigned long long)after->end, prot_text(after->prot, prot));
}

/* A busy program's anonymous memory comes and goes: not even worth a note. */
static bool is_compared(const struct comparison *c, const struct pristine_map *map)
{
	return map->inode != 0 || c->quiet;
}

static void compare_maps(struct comparison *c)
{
	for (size_t i = 0; i < c->before->map_count; i++) {
		const struct pristine_map *map = &c->before->map[i], *same;

		if (!is_compared(c, map) || memfd_path_is_ours(map->path))
			continue;
		same = find_same(c->after, map);
		if (same)
			compare_content(c, map, same);
		else
			compare_lost(c, map);
	}
	for (size_t i = 0; i < c->after->map_count; i++) {
		const struct pristine_map *map = &c->after->map[i];

		if (memfd_path_is_ours(map->path) ||
		    (is_compared(c, map) && !find_same(c->before, map)))
			compare_new(c, map);
	}
}

static const struct pristine_fd *find_fd(const struct pristine *p, int number)
{
	for (size_t low = 0, high = p->fd_count; low < high;) {
		size_t middle = low + (high - low) / 2;

		if (p->fd[middle].number == number)
			return &p->fd[middle];
		if (p->fd[middle].number < number)
			low = middle + 1;
		else
			high = middle;
	}
	return NULL;
}

static void compare_fds(struct comparison *c)
{
	for (size_t i = 0; i < c->before->fd_count; i++) {
		const struct pristine_fd *fd = &c->before->fd[i];
		const struct pristine_fd *now = find_fd(c->after, fd->number);

		if (!now || strcmp(now->link, fd->link) != 0)
			find(c, c->quiet, "descriptor %d (%s) is %s", fd->number, fd->link,
			     now ? now->link : "closed");
	}
	for (size_t i = 0; i < c->after->fd_count; i++) {
		const struct pristine_fd *fd = &c->after->fd[i];

		if (memfd_path_is_ours(fd->link))
			differ(c, "descriptor %d is memattach's %s", fd->number, fd->link + 7);
		else if (!find_fd(c->before, fd->number))
			find(c, c->quiet, "descriptor %d (%s) is new", fd->number, fd->link);
	}
}

static const struct pristine_thread *find_thread(const struct pristine *p, pid_t tid)
{
	for (size_t i = 0; i < p->thread_count; i++) {
		if (p->thread[i].tid == tid)
			return &p->thread[i];
	}
	return NULL;
}

/* What a thread blocks that makes calls for us (remote_call.c): it has not come back from them. */
static bool is_borrowed(const struct pristine_thread *before, const struct pristine_thread *after)
{
	return after->blocked != before->blocked &&
	       (after->blocked == borrow_mask_of_calls(before->blocked) ||
		after->blocked == borrow_mask_of_functions(before->blocked));
}

static void compare_masks(struct comparison *c, const struct pristine_thread *before,
			  const struct pristine_thread *after)
{
	if (before->blocked != after->blocked)
		find(c, c->quiet || is_borrowed(before, after),
		     "thread %d blocks signals %llx, %llx before", (int)after->tid,
		     (unsigned long long)after->blocked, (unsigned long long)before->blocked);
	if (before->ignored != after->ignored || before->caught != after->caught)
		find(c, c->quiet, "thread %d ignores %llx and catches %llx, %llx and %llx before",
		     (int)after->tid, (unsigned long long)after->ignored,
		     (unsigned long long)after->caught, (unsigned long long)before->ignored,
		     (unsigned long long)before->caught);
}

static void compare_threads(struct comparison *c)
{
	size_t known = 0;

	for (size_t i = 0; i < c->after->thread_count; i++) {
		const struct pristine_thread *thread = &c->after->thread[i];
		const struct pristine_thread *before = find_thread(c->before, thread->tid);

		if (thread->tracer)
			find(c, !c->shared || thread->tracer == getpid(),
			     "thread %d is traced by process %d", (int)thread->tid,
			     (int)thread->tracer);
		if (before)
			compare_masks(c, before, thread);
		known += before != NULL;
	}
	if (known != c->before->thread_count || known != c->after->thread_count)
		find(c, c->quiet, "%zu threads are new and %zu gone",
		     c->after->thread_count - known, c->before->thread_count - known);
}

int pristine_compare(const struct pristine *before, const struct pristine *after,
		     enum pristine_strictness strictness, struct pristine_diff *ret)
{
	struct comparison c = { before, after, strictness == PRISTINE_QUIET,
				strictness == PRISTINE_SHARED, ret };

	*ret = (struct pristine_diff){ 0 };
	compare_maps(&c);
	compare_fds(&c);
	compare_threads(&c);
	return ret->differences > 0;
}
