/* SPDX-License-Identifier: MIT */
/*
 * assigned_macro.c - see assigned_macro.h.
 *
 * GROW(s->buf, n) says what is assigned, and its definition where. Only the one macro at the
 * place is expanded, then those that its text calls, until a text holds the call that is
 * looked for: a handful of texts with a limit each. No conditional definitions are weighed (the
 * first definition found counts), nothing is evaluated; # makes no strings, ## glues words.
 * Rejected: .debug_macro, which only -g3 writes.
 */
#include "src/leak/variable/assigned_macro.h"

#include <errno.h>
#include <string.h>

#include "src/leak/variable/assigned_call.h"

#define MAX_TEXTS	12u	/* expansions for one question */
#define MAX_LOOKUPS	24u	/* names whose definition is searched */
#define MAX_TEXT	16384u	/* bytes of one */
#define MAX_TOKENS	4096u
#define MAX_PARAMETERS	24u

struct part {
	size_t begin, end;	/* tokens */
};
/* NAME(parameters) body, and the arguments it is called with. */
struct macro {
	struct tokens definition;
	struct part parameter[MAX_PARAMETERS], argument[MAX_PARAMETERS];
	unsigned int parameter_count, argument_count;
	size_t body;
};
struct buffer {
	char *text;
	size_t bytes;
};
struct expansion {
	char *text;
	char name[64];		/* of the macro */
	unsigned int parent;	/* index of the expansion that calls it; its own: the place does */
};
/* The texts that were made, in order; those from first on wait to be looked through. */
struct queue {
	struct expansion expansion[MAX_TEXTS];
	unsigned int first, count;
	unsigned int lookups;
};

static void queue_done(struct queue *queue)
{
	for (unsigned int i = 0; i < queue->count; i++)
		free(queue->expansion[i].text);
}

static void macro_done(struct macro *macro)
{
	assigned_tokens_done(&macro->definition);
}

static int lex(const char *text, size_t bytes, struct tokens *ret)
{
	struct lexer_input input = { .text = text, .bytes = bytes, .line = 1, .wanted = 1,
				     .most = MAX_TOKENS };

	return assigned_lex(&input, ret);
}

/* The parts between the commas of the parentheses at open. */
static unsigned int split(const struct tokens *tokens, size_t open,
			  struct part part[MAX_PARAMETERS])
{
	size_t close = (size_t)tokens->token[open].mate, begin = open + 1;
	unsigned int count = 0;

	for (size_t i = begin; i <= close && count < MAX_PARAMETERS; i++) {
		if (i < close && expr_is_mark(tokens, i, "([{") && tokens->token[i].mate > 0) {
			i = (size_t)tokens->token[i].mate;
			continue;
		}
		if (i < close && expr_mark(tokens, i) != ',')
			continue;
		if (i > begin || count > 0)
			part[count++] = (struct part){ begin, i };
		begin = i + 1;
	}
	return count;
}

static bool opens_call(const struct tokens *tokens, size_t i)
{
	return expr_mark(tokens, i) == '(' && tokens->token[i].mate > 0;
}

/* Reads the definition and the arguments at the call; false: they don't fit. */
static bool macro_read(const struct tokens *tokens, size_t call, struct macro *macro)
{
	const struct tokens *definition = &macro->definition;
	const struct token *name = definition->token;

	if (!opens_call(tokens, call + 1))
		return false;
	macro->argument_count = split(tokens, call + 1, macro->argument);
	macro->body = 1;
	/* The ( of parameters follows the name at once; any other is of the body. */
	if (!opens_call(definition, 1) || name[1].text != name->text + name->bytes)
		return macro->argument_count == 0;
	macro->parameter_count = split(definition, 1, macro->parameter);
	macro->body = (size_t)name[1].mate + 1;
	return true;
}

/* ---- expanding ---- */

static void put(struct buffer *buffer, const char *text, size_t bytes)
{
	if (bytes >= MAX_TEXT - buffer->bytes)
		return;
	memcpy(buffer->text + buffer->bytes, text, bytes);
	buffer->bytes += bytes;
	buffer->text[buffer->bytes] = '\0';
}

static void put_token(struct buffer *buffer, const struct tokens *tokens, size_t i, bool glued)
{
	if (!glued && buffer->bytes > 0)
		put(buffer, " ", 1);
	put(buffer, tokens->token[i].text, tokens->token[i].bytes);
}

static void put_part(struct buffer *buffer, const struct tokens *tokens, const struct part *part,
		     bool glued)
{
	for (size_t i = part->begin; i < part->end; i++)
		put_token(buffer, tokens, i, glued && i == part->begin);
}

static bool same_word(const struct token *a, const struct token *b)
{
	return a->bytes == b->bytes && memcmp(a->text, b->text, a->bytes) == 0;
}

/* The parameter that word i of the body is, or MAX_PARAMETERS. */
static unsigned int parameter_at(const struct macro *macro, size_t i)
{
	const struct token *token = macro->definition.token;

	for (unsigned int p = 0; p < macro->parameter_count; p++) {
		if (macro->parameter[p].end == macro->parameter[p].begin + 1 &&
		    same_word(&token[macro->parameter[p].begin], &token[i]))
			return p;
	}
	return MAX_PARAMETERS;
}

static void put_rest(struct buffer *buffer, const struct macro *macro, const struct tokens *tokens)
{
	unsigned int first = macro->parameter_count ? macro->parameter_count - 1 : 0;

	for (unsigned int i = first; i < macro->argument_count; i++) {
		if (i > first)
			put(buffer, ",", 1);
		put_part(buffer, tokens, &macro->argument[i], false);
	}
}

static void expand(const struct macro *macro, const struct tokens *tokens, struct buffer *buffer)
{
	const struct tokens *definition = &macro->definition;
	bool glued = false;

	for (size_t i = macro->body; i < definition->count; i++) {
		unsigned int parameter = parameter_at(macro, i);

		if (assigned_token_is(definition, i, "##")) {
			glued = true;
			continue;
		}
		if (assigned_token_is(definition, i, "__VA_ARGS__"))
			put_rest(buffer, macro, tokens);
		else if (parameter < macro->argument_count)
			put_part(buffer, tokens, &macro->argument[parameter], glued);
		else if (parameter == MAX_PARAMETERS)
			put_token(buffer, definition, i, glued);
		glued = false;
	}
}

/*
 * Adds what the call at token i expands to, if it is a macro's; the tokens are those of the
 * expansion parent. 0 or -ENOMEM.
 */
static int add_expansion(const struct tokens *tokens, size_t i, const struct macro_source *source,
			 struct queue *queue, unsigned int parent)
{
	struct expansion *new = &queue->expansion[queue->count];
	_cleanup_(macro_done) struct macro macro = { .parameter_count = 0 };
	struct buffer buffer = { NULL, 0 };
	size_t bytes;
	const char *text;
	int r;

	if (queue->count == MAX_TEXTS || queue->lookups == MAX_LOOKUPS)
		return 0;
	queue->lookups++;
	text = source->find(source->context, tokens->token[i].text, tokens->token[i].bytes,
			    &bytes);
	if (!text)
		return 0;
	r = lex(text, bytes, &macro.definition);
	if (r < 0 || macro.definition.count == 0 || !macro_read(tokens, i, &macro))
		return r;
	buffer.text = calloc(1, MAX_TEXT);
	if (!buffer.text)
		return -ENOMEM;
	expand(&macro, tokens, &buffer);
	*new = (struct expansion){ .text = buffer.text, .parent = parent };
	if (tokens->token[i].bytes < sizeof(new->name))
		memcpy(new->name, tokens->token[i].text, tokens->token[i].bytes);
	queue->count++;
	return 0;
}

/* ---- looking through the texts ---- */

static int add_calls(const struct tokens *tokens, const struct macro_source *source,
		     struct queue *queue, unsigned int parent)
{
	int r = 0;

	for (size_t i = 0; r == 0 && i < tokens->count; i++) {
		if (expr_is_word(tokens, i) && !expr_is_statement_word(tokens, i) &&
		    opens_call(tokens, i + 1))
			r = add_expansion(tokens, i, source, queue, parent);
	}
	return r;
}

/* What text does with what callee gives it: 0, -ENOENT nothing, -ENOMEM. */
static int read_text(const char *text, const char *callee, struct tokens *tokens,
		     struct source_answer *ret)
{
	const struct source_place place = { .callee = callee, .anywhere = true };
	int r = lex(text, strlen(text), tokens);

	return r < 0 ? r : assigned_source_read(tokens, &place, ret);
}

/*
 * The next text: 0 and an answer, -ENOENT, -ENOMEM. Where the call is the value of the
 * whole text, what the texts around do with that macro's value counts.
 */
static int look(struct queue *queue, const struct source_place *place,
		const struct macro_source *source, struct source_answer *ret)
{
	_cleanup_(assigned_tokens_done) struct tokens tokens = { 0 };
	unsigned int at = queue->first++;
	int r = read_text(queue->expansion[at].text, place->callee, &tokens, ret);

	if (r == -ENOENT) {
		r = add_calls(&tokens, source, queue, at);
		return r < 0 ? r : -ENOENT;
	}
	while (r == 0 && ret->kind == SOURCE_UNUSED && queue->expansion[at].parent != at) {
		const char *name = queue->expansion[at].name;

		at = queue->expansion[at].parent;
		r = read_text(queue->expansion[at].text, name, &tokens, ret);
	}
	return r == 0 && ret->kind == SOURCE_UNUSED ? -ENOENT : r;
}

int assigned_macro_read(const struct tokens *tokens, const struct source_place *place,
			const struct macro_source *source, struct source_answer *ret)
{
	_cleanup_(queue_done) struct queue queue = { .first = 0 };
	size_t call = assigned_call_exact(tokens, place);
	int r;

	if (call == EXPR_NONE)
		return -ENOENT;
	r = add_expansion(tokens, call, source, &queue, 0);
	if (r < 0)
		return r;
	r = -ENOENT;
	while (r == -ENOENT && queue.first < queue.count)
		r = look(&queue, place, source, ret);
	return r;
}
