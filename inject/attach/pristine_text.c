/* SPDX-License-Identifier: MIT */
/*
 * pristine_text.c - a snapshot as text, for test scripts that keep it in a file.
 *
 *	pristine 1
 *	map START END PROT OFFSET MAJOR MINOR INODE WATCHED PRIVATE CONTENT PATH
 *	fd NUMBER LINK
 *	thread TID TRACER BLOCKED IGNORED CAUGHT
 *
 * Numbers are hexadecimal, PATH and LINK take the rest of the line with newline
 * and backslash escaped. JSON was rejected: the layer that attaches has no use
 * for a parser of it. The file is our own, yet whatever does not fit is refused.
 */
#include "inject/attach/pristine_data.h"

#include <errno.h>
#include <inttypes.h>
#include <string.h>

static const char header[] = "pristine 1\n";

static void write_escaped(const char *text, FILE *file)
{
	for (; *text; text++) {
		if (*text == '\n')
			fputs("\\n", file);
		else if (*text == '\\')
			fputs("\\\\", file);
		else
			fputc(*text, file);
	}
	fputc('\n', file);
}

static void write_map(const struct pristine_map *map, FILE *file)
{
	fprintf(file, "map %" PRIx64 " %" PRIx64 " %x %" PRIx64 " %x %x %" PRIx64, map->start,
		map->end, map->prot, map->offset, map->dev_major, map->dev_minor, map->inode);
	fprintf(file, " %x %" PRIx64 " %" PRIx64 " ", map->watched, map->private_pages,
		map->content);
	write_escaped(map->path, file);
}

static void write_thread(const struct pristine_thread *thread, FILE *file)
{
	fprintf(file, "thread %x %x %" PRIx64 " %" PRIx64 " %" PRIx64 "\n",
		(unsigned int)thread->tid, (unsigned int)thread->tracer, thread->blocked,
		thread->ignored, thread->caught);
}

int pristine_write(const struct pristine *pristine, FILE *file)
{
	fputs(header, file);
	for (size_t i = 0; i < pristine->map_count; i++)
		write_map(&pristine->map[i], file);
	for (size_t i = 0; i < pristine->fd_count; i++) {
		fprintf(file, "fd %x ", (unsigned int)pristine->fd[i].number);
		write_escaped(pristine->fd[i].link, file);
	}
	for (size_t i = 0; i < pristine->thread_count; i++)
		write_thread(&pristine->thread[i], file);
	return fflush(file) != 0 || ferror(file) ? -EIO : 0;
}

/* The rest of a line without its newline, unescaped; the caller's to free, or NULL. */
static char *take_escaped(const char *text)
{
	char *copy = malloc(strlen(text) + 1), *out = copy;

	for (; copy && *text && *text != '\n'; text++) {
		if (*text == '\\' && text[1])
			*out++ = *++text == 'n' ? '\n' : *text;
		else
			*out++ = *text;
	}
	if (out)
		*out = '\0';
	return copy;
}

/* One more element at the end of an array; NULL when there is no memory. */
static void *grow(void *array, size_t *count, size_t size)
{
	void *bigger = reallocarray(*(void **)array, *count + 1, size);

	if (!bigger)
		return NULL;
	*(void **)array = bigger;
	return (char *)bigger + (*count)++ * size;
}

static int read_map(struct pristine *p, const char *text)
{
	struct pristine_map map = { 0 }, *slot;
	unsigned int watched;
	int path = 0;

	if (sscanf(text,
		   "%" SCNx64 " %" SCNx64 " %x %" SCNx64 " %x %x %" SCNx64 " %x %" SCNx64
		   " %" SCNx64 "%n",
		   &map.start, &map.end, &map.prot, &map.offset, &map.dev_major, &map.dev_minor,
		   &map.inode, &watched, &map.private_pages, &map.content, &path) != 10 ||
	    text[path] != ' ')
		return -EBADMSG;
	if (map.start >= map.end || (p->map_count > 0 && map.start < p->map[p->map_count - 1].end))
		return -EBADMSG;
	slot = grow(&p->map, &p->map_count, sizeof(map));
	if (!slot)
		return -ENOMEM;
	map.watched = watched != 0;
	map.path = take_escaped(text + path + 1);
	*slot = map;
	return map.path ? 0 : -ENOMEM;
}

static int read_fd(struct pristine *p, const char *text)
{
	struct pristine_fd *slot;
	unsigned int number;
	int link = 0;

	if (sscanf(text, "%x%n", &number, &link) != 1 || text[link] != ' ')
		return -EBADMSG;
	slot = grow(&p->fd, &p->fd_count, sizeof(*slot));
	if (!slot)
		return -ENOMEM;
	*slot = (struct pristine_fd){ (int)number, take_escaped(text + link + 1) };
	return slot->link ? 0 : -ENOMEM;
}

static int read_thread(struct pristine *p, const char *text)
{
	struct pristine_thread thread = { 0 }, *slot;
	unsigned int tid, tracer;

	if (sscanf(text, "%x %x %" SCNx64 " %" SCNx64 " %" SCNx64, &tid, &tracer, &thread.blocked,
		   &thread.ignored, &thread.caught) != 5)
		return -EBADMSG;
	slot = grow(&p->thread, &p->thread_count, sizeof(*slot));
	if (!slot)
		return -ENOMEM;
	thread.tid = (pid_t)tid;
	thread.tracer = (pid_t)tracer;
	*slot = thread;
	return 0;
}

static int read_line(struct pristine *p, const char *line)
{
	if (strncmp(line, "map ", 4) == 0)
		return read_map(p, line + 4);
	if (strncmp(line, "fd ", 3) == 0)
		return read_fd(p, line + 3);
	if (strncmp(line, "thread ", 7) == 0)
		return read_thread(p, line + 7);
	return -EBADMSG;
}

static int read_all(struct pristine *p, FILE *file)
{
	_cleanup_free_ char *line = NULL;
	size_t room = 0;
	int r = 0;

	if (getline(&line, &room, file) < 0 || strcmp(line, header) != 0)
		return -EBADMSG;
	while (r == 0 && getline(&line, &room, file) >= 0)
		r = read_line(p, line);
	return r;
}

int pristine_read(FILE *file, struct pristine **ret)
{
	struct pristine *p = calloc(1, sizeof(*p));
	int r = p ? read_all(p, file) : -ENOMEM;

	if (r < 0) {
		pristine_free(p);
		return r;
	}
	*ret = p;
	return 0;
}
