/* SPDX-License-Identifier: MIT */
/*
 * names.c - see names.h.
 *
 * One child for all names, since what it has read once it knows: the files stay open in it.
 * It knows the modules that there were when it was made; a frame in a later one gets a new child.
 * What it says is checked like everything that comes from outside.
 */
#include "src/names/names.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>

#include "src/base/data_limit.h"

#include "src/base/apart.h"
#include "src/debuginfo/debug_missing.h"
#include "src/debuginfo/dwarf_files.h"
#include "src/modules/debug_image.h"
#include "src/sandbox/opener.h"
#include "src/sandbox/opener_rules.h"

#define QUESTION_SECONDS 20u

enum kind { ASK_FRAMES = 1, ASK_ASSIGNED };
struct question {
	uint32_t kind, count;
	struct frame frame[STACKS_MAX_FRAMES];
};
_Static_assert(SYMBOLIZER_FORESEEN <= STACKS_MAX_FRAMES, "one question has them all");

struct session_names {
	struct modules *modules;
	struct symbolizer *symbolizer;
	struct apart *apart;
	uint32_t known;			/* modules, when the child was made */
	bool is_child, confine;
	struct file_reader reader;	/* of files that the child opens, confined */
	bool asked;			/* since session_names_rest() */
	struct assigned_finder *finder;	/* the child's */
	struct symbol_frame told[SYMBOLIZER_MAX_FRAMES];
	uint8_t *missing;		/* [module id]: what is logged of enum debug_missing */
	uint32_t missing_count;
	struct question question;
};

/* What crosses of a struct symbol_frame, before its two texts. */
struct plain_frame {
	uint64_t function_offset, offset;
	uint32_t line, column, inlined, reserved;
};

/* The head of an answer, before its frames. */
struct answer_head {
	uint32_t count;
	uint32_t missing;	/* enum debug_missing, of the module */
};

/* ---- in the child ---- */

static int put_frame(const struct symbol_frame *frame, struct apart_answer *ret)
{
	const struct plain_frame plain = {
		.function_offset = frame->function_offset, .offset = frame->offset,
		.line = frame->line, .column = frame->column, .inlined = frame->inlined,
	};

	return apart_put(ret, &plain, sizeof(plain)) ?: apart_put_text(ret, frame->function) ?:
	       apart_put_text(ret, frame->file);
}

static uint32_t missing_of(struct session_names *names, uint32_t id)
{
	const struct module *module = modules_get(names->modules, id);
	const struct dwarf_file *file = NULL;

	if (module)
		file = dwarf_files_get(symbolizer_files(names->symbolizer), module);
	return file ? dwarf_file_missing(file) : 0;
}

static int answer_frame(struct session_names *names, const struct frame *asked,
			struct apart_answer *ret)
{
	size_t count;
	const struct symbol_frame *frame = symbolizer_frame(names->symbolizer, asked, &count);
	const struct answer_head head = { (uint32_t)count, missing_of(names, asked->module) };
	int error = apart_put(ret, &head, sizeof(head));

	for (size_t i = 0; !error && i < count; i++)
		error = put_frame(&frame[i], ret);
	return error;
}

static int answer_frames(struct session_names *names, const struct question *question,
			 struct apart_answer *ret)
{
	int error = 0;

	for (uint32_t i = 0; !error && i < question->count; i++)
		error = answer_frame(names, &question->frame[i], ret);
	return error;
}

static int answer_assigned(struct session_names *names, const struct question *question,
			   struct apart_answer *ret)
{
	struct assigned assigned;
	int error = names->finder ? 0 : assigned_finder_new(names->modules, names->symbolizer, NULL,
							    &names->finder);

	memset(&assigned, 0, sizeof(assigned));
	if (!error)
		error = assigned_find(names->finder, question->frame, question->count, &assigned);
	return error ? error : apart_put(ret, &assigned, sizeof(assigned));
}

/* What libraries make of a file is limited as the copies of files are. */
static void limit_growth(const struct session_names *names)
{
	_cleanup_fd_ int statm = open("/proc/self/statm", O_RDONLY | O_CLOEXEC);
	struct rlimit before;

	if (statm >= 0)
		(void)data_limit_begin(statm, modules_room(names->modules)->left, &before);
}

static int answer(void *context, const void *bytes, size_t count, struct apart_answer *ret)
{
	static const struct opener_needs names_alone;
	struct session_names *names = context;
	const struct question *question = bytes;

	if (!names->is_child) {
		symbolizer_set_remote(names->symbolizer, NULL);
		limit_growth(names);
		if (names->confine && opener_confine(&names_alone, &names->reader) != 0)
			return -EPERM;
	}
	names->is_child = true;
	if (count < offsetof(struct question, frame))
		return -EINVAL;
	return question->kind == ASK_FRAMES ? answer_frames(names, question, ret) :
					      answer_assigned(names, question, ret);
}

/* ---- in the analyst ---- */

static bool blame(void *context, const char *how)
{
	const struct session_names *names = context;

	return modules_blame(names->modules, how);
}

static int names_ask(struct session_names *names, enum kind kind, const struct frame *frame,
		     uint32_t count, struct apart_reader *ret)
{
	struct question *question = &names->question;

	names->asked = true;
	question->kind = kind;
	question->count = count < STACKS_MAX_FRAMES ? count : STACKS_MAX_FRAMES;
	memcpy(question->frame, frame, question->count * sizeof(*frame));
	for (uint32_t i = 0; i < question->count; i++)
		if (frame[i].module > names->known) {
			apart_renew(names->apart);
			names->known = modules_count(names->modules);
		}
	return apart_ask(names->apart, question, offsetof(struct question, frame) +
			 question->count * sizeof(*frame), ret);
}

void session_names_rest(struct session_names *names)
{
	if (!names->asked)
		apart_renew(names->apart);
	names->asked = false;
}

static int get_frame(struct apart_reader *reader, struct symbol_frame *ret)
{
	struct plain_frame plain;
	const char *function, *file;

	if (apart_get(reader, &plain, sizeof(plain)) || apart_get_text(reader, &function) ||
	    apart_get_text(reader, &file))
		return -EBADMSG;
	*ret = (struct symbol_frame){
		.function = function, .file = file, .line = plain.line, .column = plain.column,
		.function_offset = plain.function_offset, .offset = plain.offset,
		.inlined = plain.inlined != 0,
	};
	return 0;
}

/* Once for each module: the child has no log. */
static void log_missing(struct session_names *names, uint32_t id, uint32_t missing)
{
	const struct module *module = modules_get(names->modules, id);

	missing &= DEBUG_MISSING_ALL;
	if (!missing || !module)
		return;
	if (id >= names->missing_count) {
		uint32_t count = id + 64;
		uint8_t *grown = realloc(names->missing, count);

		if (!grown)
			return;
		memset(grown + names->missing_count, 0, count - names->missing_count);
		names->missing = grown;
		names->missing_count = count;
	}
	debug_missing_log(module->path, missing & ~(uint32_t)names->missing[id]);
	names->missing[id] |= (uint8_t)missing;
}

static int get_answer(struct session_names *names, uint32_t module, struct apart_reader *reader,
		      struct symbol_frame ret[SYMBOLIZER_MAX_FRAMES], size_t *ret_count)
{
	struct answer_head head = { 0, 0 };
	int error = apart_get(reader, &head, sizeof(head));

	if (!error && (head.count < 1 || head.count > SYMBOLIZER_MAX_FRAMES))
		error = -EBADMSG;
	for (uint32_t i = 0; !error && i < head.count; i++)
		error = get_frame(reader, &ret[i]);
	if (error)
		return error;
	log_missing(names, module, head.missing);
	ret[head.count - 1].inlined = false;
	*ret_count = head.count;
	return 0;
}

static int ask_frame(void *context, const struct frame *frame,
		     struct symbol_frame ret[SYMBOLIZER_MAX_FRAMES], size_t *ret_count)
{
	struct apart_reader reader;
	int error = names_ask(context, ASK_FRAMES, frame, 1, &reader);

	return error ? error : get_answer(context, frame->module, &reader, ret, ret_count);
}

static int ask_frames(void *context, const struct frame *frame, uint32_t count,
		      symbolizer_tell *tell, void *told)
{
	struct session_names *names = context;
	struct apart_reader reader;
	size_t found = 0;
	int error = names_ask(names, ASK_FRAMES, frame, count, &reader);

	for (uint32_t i = 0; !error && i < count; i++) {
		error = get_answer(names, frame[i].module, &reader, names->told, &found);
		if (!error)
			tell(told, &frame[i], names->told, found);
	}
	return error;
}

static bool is_sane(const struct assigned *assigned, uint32_t count)
{
	return (unsigned int)assigned->how <= ASSIGNED_BY_SYMBOL &&
	       (unsigned int)assigned->kind <= ASSIGNED_ARGUMENT && assigned->frame < count &&
	       memchr(assigned->variable, '\0', sizeof(assigned->variable)) &&
	       memchr(assigned->type, '\0', sizeof(assigned->type));
}

int session_names_assigned(struct session_names *names, const struct frame *frame, uint32_t count,
			   struct assigned *ret)
{
	struct apart_reader reader;
	struct assigned assigned;
	int error = names_ask(names, ASK_ASSIGNED, frame, count, &reader);

	memset(ret, 0, sizeof(*ret));
	if (!error)
		error = apart_get(&reader, &assigned, sizeof(assigned));
	if (!error && is_sane(&assigned, count))
		*ret = assigned;
	return error == -ENOMEM ? error : 0;
}

int session_names_new(struct modules *modules, struct symbolizer *symbolizer,
		      struct session_names **ret)
{
	struct session_names *names = calloc(1, sizeof(*names));
	const struct apart_work work = { .answer = answer, .blame = blame, .context = names,
					 .seconds = QUESTION_SECONDS };
	const struct symbolizer_remote remote = { .ask = ask_frame, .ask_many = ask_frames,
						   .context = names };

	if (!names || apart_new(&work, &names->apart) < 0) {
		free(names);
		return -ENOMEM;
	}
	names->modules = modules;
	names->symbolizer = symbolizer;
	symbolizer_set_remote(symbolizer, &remote);
	*ret = names;
	return 0;
}

void session_names_confine(struct session_names *names, const struct file_reader *reader)
{
	names->confine = true;
	names->reader = *reader;
}

void session_names_until(struct session_names *names, double time)
{
	apart_until(names->apart, time);
}

static int ask_nobody(void *context, const struct frame *frame,
		      struct symbol_frame ret[SYMBOLIZER_MAX_FRAMES], size_t *ret_count)
{
	(void)context;
	(void)frame;
	(void)ret;
	(void)ret_count;
	return -ECHILD;
}

void session_names_free(struct session_names *names)
{
	static const struct symbolizer_remote nobody = { .ask = ask_nobody };

	if (!names)
		return;
	symbolizer_set_remote(names->symbolizer, &nobody);
	apart_free(names->apart);
	free(names->missing);
	free(names);
}
