/* SPDX-License-Identifier: MIT */
/*
 * assigned_file.c - see assigned_file.h.
 *
 * The path comes from hostile debug information: only regular files with a name that
 * source files have are opened, looked at before they are (opening a device or a FIFO may
 * do things), and read whole into memory up to a limit. For every line it is kept whether it
 * begins outside of comments, so that any place can be lexed without what comes before.
 * Whether the text is what was compiled is the caller's question: nothing in the file can
 * answer it (DWARF 5 knows an MD5 of it; libdw 0.188 does not give it out).
 */
#include "src/leak/variable/assigned_file.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>

#define MAX_BYTES	(32u << 20)	/* one file; the longest known amalgamations have 9 MB */
#define MAX_TOTAL	(96u << 20)	/* all that are kept */
#define MAX_KEPT	512u
#define MAX_LINES	(4u << 20)
#define MAX_WINDOW	(1u << 20)	/* bytes that are lexed at once */
#define MAX_TOKENS	60000u
#define MAX_SHORTER	16u	/* ends of a path that are tried in the root folder */
#define IN_CODE		0x80000000u	/* in line[]: begins outside of comments */

struct source_file {
	char *path;
	uint64_t hash;		/* of path */
	char *text;		/* NULL: can't be had */
	size_t bytes;
	uint32_t *line;		/* offset of each, | IN_CODE */
	uint32_t line_count;
	int64_t time;
	uint64_t used;
};

struct source_files {
	struct source_file *file[MAX_KEPT];
	unsigned int count;
	size_t bytes;
	uint64_t clock;
	const struct source_file *kept;	/* see assigned_files_keep() */
	char *root;
	const struct file_reader *reader;	/* NULL: no more is asked */
};

int assigned_files_new(const char *root, const struct file_reader *reader,
		       struct source_files **ret)
{
	struct source_files *files = calloc(1, sizeof(*files));

	if (!files)
		return -ENOMEM;
	files->reader = reader;
	if (root) {
		files->root = strdup(root);
		if (!files->root) {
			free(files);
			return -ENOMEM;
		}
	}
	*ret = files;
	return 0;
}

static void file_free(struct source_file *file)
{
	if (!file)
		return;
	free(file->path);
	free(file->text);
	free(file->line);
	free(file);
}

void assigned_files_free(struct source_files *files)
{
	if (!files)
		return;
	for (unsigned int i = 0; i < files->count; i++)
		file_free(files->file[i]);
	free(files->root);
	free(files);
}

/* ---- reading ---- */

bool assigned_file_is_source(const char *path)
{
	static const char *const ends[] = {
		"c", "h", "cc", "hh", "cpp", "hpp", "cxx", "hxx", "C", "H", "c++", "h++", "inc",
		"inl",
		"ipp", "tcc", "tpp", "def", "y", "l", "yy", "ll", "gperf", "re", "m", "mm", "cu",
		"cuh",
		"x", "h.in", "i", "ii",
	};
	const char *slash = strrchr(path, '/'), *dot = strrchr(slash ? slash : path, '.');

	for (size_t i = 0; dot && i < ARRAY_SIZE(ends); i++) {
		if (strcmp(dot + 1, ends[i]) == 0)
			return true;
	}
	/* The C++ library's headers have none: <vector>, in .../c++/12/. */
	return !dot && strstr(path, "/c++/");
}

/* Its own name counts, too: else a link called x.c shows what is none. */
static int open_readable(const struct file_reader *reader, const char *path)
{
	char place[PATH_MAX];
	int fd = file_reader_open(reader, path, place);

	if (fd < 0 || assigned_file_is_source(place))
		return fd;
	close(fd);
	return -1;
}

/* A descriptor of the regular file at path, or -1. */
static int open_regular(const struct source_files *files, const char *path, struct stat *ret)
{
	int fd;

	if (!assigned_file_is_source(path) || stat(path, ret) < 0 || !S_ISREG(ret->st_mode))
		return -1;
	fd = files->reader ? open_readable(files->reader, path) :
			     open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
	if (fd >= 0 && (fstat(fd, ret) < 0 || !S_ISREG(ret->st_mode) || ret->st_size <= 0 ||
			ret->st_size > (off_t)MAX_BYTES)) {
		close(fd);
		return -1;
	}
	return fd;
}

/* The same, in the root folder too, under the ends of path. */
static int open_somewhere(const struct source_files *files, const char *path, struct stat *ret)
{
	int fd = *path == '/' ? open_regular(files, path, ret) : -1;
	const char *end = path;

	for (unsigned int i = 0; fd < 0 && files->root && end && i < MAX_SHORTER; i++) {
		_cleanup_free_ char *full = NULL;

		while (*end == '/')
			end++;
		if (asprintf(&full, "%s/%s", files->root, end) < 0) {
			full = NULL;
			return -1;
		}
		fd = open_regular(files, full, ret);
		end = strchr(end, '/');
	}
	return fd;
}

/* All bytes that there are, up to bytes. */
static size_t read_all(int fd, char *text, size_t bytes)
{
	size_t done = 0;

	while (done < bytes) {
		ssize_t n = read(fd, text + done, bytes - done);

		if (n < 0 && errno == EINTR)
			continue;
		if (n <= 0)
			break;
		done += (size_t)n;
	}
	return done;
}

static bool add_line(struct source_file *file, uint32_t *room, size_t offset,
		     enum lexer_state state)
{
	uint32_t more = *room ? *room * 2 : 1024, *grown;

	if (file->line_count == *room) {
		grown = reallocarray(file->line, more, sizeof(*grown));
		if (!grown)
			return false;
		file->line = grown;
		*room = more;
	}
	file->line[file->line_count++] = (uint32_t)offset | (state == LEXER_CODE ? IN_CODE : 0);
	return true;
}

static bool index_lines(struct source_file *file)
{
	enum lexer_state state = LEXER_CODE;
	uint32_t room = 0;
	size_t at = 0;

	while (at < file->bytes && file->line_count < MAX_LINES) {
		const char *newline = memchr(file->text + at, '\n', file->bytes - at);
		size_t bytes = newline ? (size_t)(newline - file->text) - at : file->bytes - at;

		if (!add_line(file, &room, at, state))
			return false;
		state = assigned_lex_line(state, file->text + at, bytes);
		at += bytes + 1;
	}
	return true;
}

/* The table of lines is made when it is first needed: most headers are only searched. */
static int get_lines(struct source_file *file)
{
	if (file->line_count > 0 || file->bytes == 0)
		return 0;
	if (index_lines(file))
		return 0;
	file->line_count = 0;
	return -ENOMEM;
}

/* Leaves text NULL where the file can't be had: that is an answer, too, and kept. */
static void load(struct source_file *file, int fd, const struct stat *stat)
{
	size_t bytes = (size_t)stat->st_size;

	file->text = malloc(bytes);
	if (!file->text)
		return;
	file->bytes = read_all(fd, file->text, bytes);
	file->time = stat->st_mtime;
	/* A file with a zero byte is no text. */
	if (memchr(file->text, '\0', file->bytes)) {
		free(file->text);
		file->text = NULL;
		file->bytes = 0;
	}
}

/* ---- the files that are kept ---- */

/* But for the one that is kept. False: there is no other. */
static bool drop_oldest(struct source_files *files)
{
	unsigned int oldest = files->count;

	for (unsigned int i = 0; i < files->count; i++)
		if (files->file[i] != files->kept &&
		    (oldest == files->count || files->file[i]->used < files->file[oldest]->used))
			oldest = i;
	if (oldest == files->count)
		return false;
	files->bytes -= files->file[oldest]->bytes;
	file_free(files->file[oldest]);
	files->file[oldest] = files->file[--files->count];
	return true;
}

/* FNV-1a: paths of one program begin alike, comparing hundreds of them is slow. */
static uint64_t hash_of(const char *path)
{
	uint64_t hash = 14695981039346656037ull;

	for (; *path; path++)
		hash = (hash ^ (unsigned char)*path) * 1099511628211ull;
	return hash;
}

static struct source_file *open_new(struct source_files *files, const char *path)
{
	struct source_file *file = calloc(1, sizeof(*file));
	struct stat stat;
	int fd;

	if (!file)
		return NULL;
	file->path = strdup(path);
	if (!file->path) {
		free(file);
		return NULL;
	}
	file->hash = hash_of(path);
	fd = open_somewhere(files, path, &stat);
	if (fd >= 0) {
		load(file, fd, &stat);
		close(fd);
	}
	while ((files->count == MAX_KEPT || files->bytes + file->bytes > MAX_TOTAL) &&
	       drop_oldest(files))
		;
	files->file[files->count++] = file;
	files->bytes += file->bytes;
	return file;
}

struct source_file *assigned_file_get(struct source_files *files, const char *path)
{
	uint64_t hash = hash_of(path);
	struct source_file *file = NULL;

	for (unsigned int i = 0; !file && i < files->count; i++) {
		if (files->file[i]->hash == hash && strcmp(files->file[i]->path, path) == 0)
			file = files->file[i];
	}
	if (!file)
		file = open_new(files, path);
	if (!file)
		return NULL;
	file->used = ++files->clock;
	return file->text ? file : NULL;
}

const char *assigned_file_line(struct source_file *file, uint32_t number, size_t *ret_bytes)
{
	size_t at, end;

	if (number == 0 || get_lines(file) < 0 || number > file->line_count)
		return NULL;
	at = file->line[number - 1] & ~IN_CODE;
	end = number < file->line_count ? (file->line[number] & ~IN_CODE) - 1 : file->bytes;
	if (end > at && file->text[end - 1] == '\n')
		end--;
	*ret_bytes = end - at;
	return file->text + at;
}

void assigned_files_keep(struct source_files *files, const struct source_file *file)
{
	files->kept = file;
}

int64_t assigned_file_time(const struct source_file *file)
{
	return file->time;
}

static size_t line_start(const struct source_file *file, uint32_t line)
{
	return line <= file->line_count ? file->line[line - 1] & ~IN_CODE : file->bytes;
}

/* The # of a "#define" that ends before at, at the start of its line. */
static bool is_after_define(const char *text, const char *at)
{
	static const char word[] = "define";
	const size_t bytes = sizeof(word) - 1;
	const char *p = at;

	while (p > text && (p[-1] == ' ' || p[-1] == '\t'))
		p--;
	if (p == at || (size_t)(p - text) <= bytes || memcmp(p - bytes, word, bytes) != 0)
		return false;
	p -= bytes;
	while (p > text && (p[-1] == ' ' || p[-1] == '\t'))
		p--;
	return p > text && p[-1] == '#';
}

static bool continues_word(char c)
{
	return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
	       c == '_';
}

static size_t definition_bytes(const char *at, const char *end)
{
	const char *p = at;

	while (p < end) {
		const char *newline = memchr(p, '\n', (size_t)(end - p));

		if (!newline)
			return (size_t)(end - at);
		p = newline;
		if (newline > at && newline[-1] == '\r')
			newline--;
		if (newline == at || newline[-1] != '\\')
			break;
		p++;
	}
	return (size_t)(p - at);
}

const char *assigned_file_define(const struct source_file *file, const char *name, size_t bytes,
				 size_t *ret_bytes)
{
	const char *at = file->text, *end = file->text + file->bytes;

	while (bytes > 0 && (at = memmem(at, (size_t)(end - at), name, bytes))) {
		const char *after = at + bytes;

		if (is_after_define(file->text, at) && (after == end || !continues_word(*after))) {
			*ret_bytes = definition_bytes(at, end);
			return at;
		}
		at = after;
	}
	return NULL;
}

int assigned_file_lex(struct source_file *file, const struct source_window *window,
		      struct tokens *ret)
{
	struct lexer_input input = { .line = window->first, .wanted = window->wanted,
				     .most = MAX_TOKENS };
	size_t start, end;

	if (get_lines(file) < 0)
		return -ENOMEM;
	if (window->wanted == 0 || window->wanted > file->line_count)
		return -ENOENT;
	if (input.line == 0 || input.line > window->wanted)
		input.line = 1;
	while (input.line > 1 && !(file->line[input.line - 1] & IN_CODE))
		input.line--;
	start = line_start(file, input.line);
	/* Lines so long that the window holds little else are generated: begin at wanted. */
	if (line_start(file, window->wanted) - start > MAX_WINDOW / 2) {
		input.line = window->wanted;
		start = line_start(file, input.line);
	}
	end = window->last < UINT32_MAX ? line_start(file, window->last + 1) : file->bytes;
	if (end < start)
		end = start;
	input.text = file->text + start;
	input.bytes = end - start < MAX_WINDOW ? end - start : MAX_WINDOW;
	return assigned_lex(&input, ret);
}
