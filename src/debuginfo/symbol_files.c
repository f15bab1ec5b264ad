/* SPDX-License-Identifier: MIT */
/*
 * symbol_files.c - see symbol_files.h.
 *
 * A file is what it is for its build id alone: names of another build would be wrong names, which
 * is worse than none. A debug file in a .build-id tree may stand for the file itself; so calls are
 * named without their exact place.
 * debuginfod's client is loaded when it is needed, as libdw does, and asked here, since the
 * child that reads debug information (apart.h) may not connect to anything.
 * Paths and build ids may be forged: nothing is opened but regular files, and a build id makes part
 * of a path only if it is hexadecimal.
 */
#include "src/debuginfo/symbol_files.h"

#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>

#define DEBUG_TREE "/usr/lib/debug"

/* <elfutils/debuginfod.h>; build_id_len 0: it is text. */
typedef int (*fetch_function)(void *client, const unsigned char *build_id, int build_id_len,
			      char **path);
struct symbol_files {
	const char *const *folder;
	size_t count;
	void *library, *client;
	fetch_function executable, debuginfo;
	void (*end)(void *client);
	const char *no_client;		/* why there is none; NULL: there is, or not yet tried */
};
struct search {
	const char *path, *build_id;
	struct modules *modules;
	FILE *tried;
	bool some;			/* something was tried already */
	uint32_t id;
};

int symbol_files_new(const char *const *folder, size_t count, struct symbol_files **ret)
{
	struct symbol_files *files = calloc(1, sizeof(*files));

	if (!files)
		return -ENOMEM;
	files->folder = folder;
	files->count = count;
	*ret = files;
	return 0;
}

void symbol_files_free(struct symbol_files *files)
{
	if (!files)
		return;
	if (files->client)
		files->end(files->client);
	if (files->library)
		(void)dlclose(files->library);
	free(files);
}

static bool is_hex(const char *build_id)
{
	size_t length = strspn(build_id, "0123456789abcdef");

	return length >= 4 && length % 2 == 0 && length <= 128 && build_id[length] == '\0';
}

static void say(struct search *s, const char *where, const char *why)
{
	fprintf(s->tried, "%s%s (%s)", s->some ? ", " : "", where, why);
	s->some = true;
}

/* ---- one candidate ---- */

/* A regular file, or -errno; nothing else is opened for reading. */
static int open_regular(const char *path)
{
	_cleanup_fd_ int place = open(path, O_PATH | O_CLOEXEC);
	struct stat file;
	int fd;

	if (place < 0 || fstat(place, &file) < 0)
		return -errno;
	if (!S_ISREG(file.st_mode))
		return -ENOEXEC;
	fd = open(path, O_RDONLY | O_CLOEXEC | O_NOCTTY | O_NONBLOCK);
	return fd < 0 ? -errno : fd;
}

static const char *reason(int err)
{
	return err == -ENOENT || err == -ENOTDIR ? "not there" :
	       err == -ENOEXEC || err == -EBADMSG ? "no ELF file" : strerror(-err);
}

/* Takes fd if it is the file, and is done with it otherwise. 1 it is, 0 it is not, -ENOMEM. */
static int symbol_files_take(struct search *s, const char *where, int fd, bool debug_only)
{
	const struct module *module;
	char why[200];
	int err = fd < 0 ? fd : modules_add_file(s->modules, where, fd, debug_only, &s->id);

	if (err == -ENOMEM)
		return err;
	if (err < 0) {
		say(s, where, reason(err));
		return 0;
	}
	module = modules_get(s->modules, s->id);
	/* some tools leave a debug file's notes where its headers do not say */
	if (strcmp(module->build_id, s->build_id) == 0 || (debug_only && !module->build_id[0]))
		return 1;
	snprintf(why, sizeof(why), module->build_id[0] ? "another build, %.40s" :
		 "no build id%.40s", module->build_id);
	say(s, where, why);
	return 0;
}

static int try(struct search *s, const char *path, bool debug_only)
{
	return symbol_files_take(s, path, open_regular(path), debug_only);
}

static int try_tree(struct search *s, const char *tree)
{
	_cleanup_free_ char *path = NULL;

	if (asprintf(&path, "%s/.build-id/%.2s/%s.debug", tree, s->build_id, s->build_id + 2) < 0)
		return -ENOMEM;
	return try(s, path, true);
}

static int try_folder(struct search *s, const char *folder)
{
	const char *last = strrchr(s->path, '/');
	_cleanup_free_ char *whole = NULL, *base = NULL;
	int err = try_tree(s, folder);

	if (err != 0)
		return err;
	if (asprintf(&whole, "%s/%s", folder, s->path[0] == '/' ? s->path + 1 : s->path) < 0 ||
	    asprintf(&base, "%s/%s", folder, last ? last + 1 : s->path) < 0)
		return -ENOMEM;
	err = try(s, whole, false);
	return err != 0 || strcmp(whole, base) == 0 ? err : try(s, base, false);
}

/* ---- debuginfod ---- */

/* NULL: files->no_client says why. */
static void *get_client(struct symbol_files *files)
{
	const char *urls = getenv("DEBUGINFOD_URLS");
	void *(*begin)(void);

	if (files->client || files->no_client)
		return files->client;
	files->no_client = "DEBUGINFOD_URLS is not set";
	if (!urls || !urls[0])
		return NULL;
	files->no_client = "libdebuginfod is not installed";
	files->library = dlopen("libdebuginfod.so.1", RTLD_NOW);
	if (!files->library)
		return NULL;
	*(void **)&begin = dlsym(files->library, "debuginfod_begin");
	*(void **)&files->end = dlsym(files->library, "debuginfod_end");
	*(void **)&files->executable = dlsym(files->library, "debuginfod_find_executable");
	*(void **)&files->debuginfo = dlsym(files->library, "debuginfod_find_debuginfo");
	if (begin && files->end && files->executable && files->debuginfo)
		files->client = begin();
	files->no_client = files->client ? NULL : "its client can't be used";
	return files->client;
}

static int fetch(struct symbol_files *files, const char *build_id, bool debug)
{
	const unsigned char *id = (const unsigned char *)build_id;
	void *client = get_client(files);

	if (!client)
		return -ENOTSUP;
	return (debug ? files->debuginfo : files->executable)(client, id, 0, NULL);
}

static int try_debuginfod(struct symbol_files *files, struct search *s)
{
	int err = 0;

	for (int debug = 0; err == 0 && debug < 2; debug++) {
		int fd = fetch(files, s->build_id, debug);

		if (fd >= 0)
			err = symbol_files_take(s, s->path, fd, debug);
		else if (debug)
			say(s, "debuginfod", files->no_client ? files->no_client : reason(fd));
	}
	return err;
}

bool symbol_files_fetch_debug(struct symbol_files *files, const char *build_id, FILE *tried)
{
	int fd = is_hex(build_id) ? fetch(files, build_id, true) : -ENOENT;

	if (fd >= 0)
		close(fd);
	else
		fprintf(tried, "debuginfod (%s)", files->no_client ? files->no_client : reason(fd));
	return fd >= 0;
}

/* As debuginfod_find_debuginfo(3) has it. NULL: none, or no memory. */
static char *cache_folder(void)
{
	const char *own = getenv("DEBUGINFOD_CACHE_PATH"), *cache = getenv("XDG_CACHE_HOME");
	const char *home = getenv("HOME");
	char *folder = NULL;

	if (own && own[0])
		return strdup(own);
	if (home && asprintf(&folder, "%s/.debuginfod_client_cache", home) < 0)
		return NULL;
	if (folder && access(folder, F_OK) == 0)	/* of old */
		return folder;
	free(folder);
	if (cache && cache[0])
		return asprintf(&folder, "%s/debuginfod_client", cache) < 0 ? NULL : folder;
	return !home || asprintf(&folder, "%s/.cache/debuginfod_client", home) < 0 ? NULL : folder;
}

int symbol_files_open_fetched(const char *build_id)
{
	const char *urls = getenv("DEBUGINFOD_URLS");
	_cleanup_free_ char *folder = NULL, *path = NULL;
	int fd;

	if (!urls || !urls[0] || !is_hex(build_id))
		return -ENOENT;
	folder = cache_folder();
	if (!folder || asprintf(&path, "%s/%s/debuginfo", folder, build_id) < 0)
		return -ENOENT;
	fd = open(path, O_RDONLY | O_CLOEXEC | O_NOCTTY | O_NONBLOCK);
	return fd < 0 ? -ENOENT : fd;
}

bool symbol_files_is_fetched(const char *path)
{
	_cleanup_free_ char *folder = cache_folder(), *build_id = NULL;
	size_t length = folder ? strlen(folder) : 0;
	const char *name, *end;

	if (!folder || strncmp(path, folder, length) != 0 || path[length] != '/')
		return false;
	name = path + length + 1;
	end = strchr(name, '/');
	if (!end || strcmp(end, "/debuginfo") != 0)
		return false;
	build_id = strndup(name, (size_t)(end - name));
	return build_id && is_hex(build_id);
}

/* ---- all of them ---- */

int symbol_files_find(struct symbol_files *files, const char *path, const char *build_id,
		      struct modules *modules, FILE *tried, uint32_t *ret_id)
{
	struct search s = { .path = path, .build_id = build_id, .modules = modules,
			    .tried = tried };
	int found = 0;

	if (!is_hex(build_id)) {
		fputs("it has no build id to find it by", tried);
		return -ENOENT;
	}
	for (size_t i = 0; found == 0 && i < files->count; i++)
		found = try_folder(&s, files->folder[i]);
	if (found == 0 && path[0] == '/')
		found = try(&s, path, false);
	if (found == 0)
		found = try_tree(&s, DEBUG_TREE);
	if (found == 0)
		found = try_debuginfod(files, &s);
	if (found <= 0)
		return found < 0 ? found : -ENOENT;
	*ret_id = s.id;
	return 0;
}
