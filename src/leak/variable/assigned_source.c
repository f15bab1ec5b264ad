/* SPDX-License-Identifier: MIT */
/*
 * assigned_source.c - see assigned_source.h.
 *
 * The way goes from the call outwards, to the left: casts, groups, conditions and
 * arithmetic are passed, an = or a return or the call around it is the answer.
 * Rejected: regular expressions over the line (the prototype): they read the wrong = of
 * every second multi-line statement.
 */
#include "src/leak/variable/assigned_source.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "src/leak/variable/assigned_call.h"
#include "src/leak/variable/assigned_expr.h"

#define MAX_STEPS	512u	/* from a call outwards */

/* ---- from the call outwards ---- */

struct walk {
	const struct tokens *tokens;
	size_t i;		/* where what is assigned begins */
	size_t call;		/* name of the call */
	bool container;
	bool done;
	struct source_answer *answer;
};

static void finish(struct walk *walk, enum source_kind kind)
{
	walk->answer->kind = kind;
	walk->done = true;
}

static void found(struct walk *walk, const struct expr_target *target, const char *suffix)
{
	struct source_answer *answer = walk->answer;

	snprintf(answer->text, sizeof(answer->text), "%s%s", target->text, suffix);
	if (target->type[0] && !*suffix)
		snprintf(answer->type, sizeof(answer->type), "%s", target->type);
	else if (*suffix)
		answer->type[0] = '\0';
	answer->plain = target->plain && !*suffix;
	finish(walk, answer->text[0] ? SOURCE_VARIABLE : SOURCE_UNUSED);
}

static void found_argument(struct walk *walk, size_t name)
{
	struct source_answer *answer = walk->answer;

	expr_text(walk->tokens, name, name + 1, answer->text, sizeof(answer->text));
	finish(walk, SOURCE_ARGUMENT);
}

/* Functions that give back what they get, and types that own it. */
static bool is_transparent(const struct tokens *tokens, size_t name)
{
	static const char *const names[] = {
		"static_cast", "reinterpret_cast", "const_cast", "dynamic_cast", "likely",
		"unlikely",
		"__builtin_expect", "move", "forward", "unique_ptr", "shared_ptr", "scoped_ptr",
		"auto_ptr", "scoped_refptr", "RefPtr", "UniquePtr", "QScopedPointer",
		"QSharedPointer", "__builtin_assume_aligned", "assert", "ASSERT", NULL
	};

	return expr_is_one_of(tokens, name, names);
}

/* Functions that return their first argument. */
static bool returns_first(const struct tokens *tokens, size_t name)
{
	static const char *const names[] = {
		"strcpy", "strncpy", "strcat", "memcpy", "memmove", "memset", "wcscpy",
		"__builtin_memcpy", "__builtin_strcpy", "__builtin_memset", NULL
	};

	return expr_is_one_of(tokens, name, names);
}

/* The cast's type, unless something nearer to the target said it. */
static void take_type(struct walk *walk, size_t begin, size_t end)
{
	char *type = walk->answer->type;
	size_t bytes = sizeof(walk->answer->type), stars = end;

	if (type[0])
		return;
	while (stars > begin && expr_mark(walk->tokens, stars - 1) == '*')
		stars--;
	expr_text(walk->tokens, begin, stars, type, bytes);
	if (stars < end && stars > begin && strlen(type) + 2 < bytes) {
		strcat(type, " ");
		expr_text(walk->tokens, stars, end, type + strlen(type), bytes - strlen(type));
	}
}

/* "a.reset(": the object before the method's name, or EXPR_NONE. */
static size_t object_end(const struct tokens *tokens, size_t name)
{
	if (name < 2 || (expr_mark(tokens, name - 1) != '.' &&
			 !assigned_token_is(tokens, name - 1, "->")))
		return EXPR_NONE;
	return name - 2;
}

static void found_object(struct walk *walk, size_t last)
{
	struct expr_target target = { .type = "" };

	target.begin = expr_begin(walk->tokens, last);
	target.plain = target.begin == last;
	expr_text(walk->tokens, target.begin, last + 1, target.text, sizeof(target.text));
	found(walk, &target, "");
}

/* name( of a constructor's list: "T(int n) : a(f()), b(g())". */
static bool is_member_init(const struct tokens *tokens, size_t name, size_t open)
{
	size_t i = name;
	int32_t close = tokens->token[open].mate;

	if (close >= 0 && !expr_is_mark(tokens, (size_t)close + 1, ",{"))
		return false;
	for (unsigned int steps = 0; i > 1 && steps < MAX_STEPS; steps++) {
		if (expr_mark(tokens, i - 1) == ':')
			return expr_mark(tokens, i - 2) == ')' ||
			       assigned_token_is(tokens, i - 2, "noexcept");
		if (expr_mark(tokens, i - 1) != ',' || !expr_is_mark(tokens, i - 2, ")}") ||
		    tokens->token[i - 2].mate < 1)
			return false;
		i = (size_t)tokens->token[i - 2].mate - 1;
		if (expr_mark(tokens, i) == '>' && expr_template_open(tokens, i) != EXPR_NONE)
			i = expr_template_open(tokens, i) - 1;
		if (!expr_is_word(tokens, i))
			return false;
	}
	return false;
}

/* An argument of the call whose name is at name and whose ( is at open. */
static void at_call(struct walk *walk, size_t name, size_t open)
{
	const struct tokens *tokens = walk->tokens;
	struct expr_target target;

	if (is_transparent(tokens, name) ||
	    (walk->i == open + 1 && returns_first(tokens, name))) {
		walk->i = expr_begin(tokens, name);
		/* "unique_ptr<T> p(f())" declares p; it is met as a name below. */
	} else if (assigned_token_is(tokens, name, "reset") &&
		   object_end(tokens, name) != EXPR_NONE) {
		found_object(walk, object_end(tokens, name));
	} else if (is_member_init(tokens, name, open)) {
		found_object(walk, name);
	} else if (expr_declared(tokens, name, &target)) {
		found(walk, &target, "");
	} else if (walk->container && object_end(tokens, name) != EXPR_NONE) {
		found_object(walk, object_end(tokens, name));
	} else {
		found_argument(walk, name);
	}
}

static void at_parenthesis(struct walk *walk, size_t open)
{
	const struct tokens *tokens = walk->tokens;
	size_t name;

	if (open > 0 && expr_is_statement_word(tokens, open - 1)) {
		if (assigned_token_is(tokens, open - 1, "return"))
			finish(walk, SOURCE_RETURN);
		else
			finish(walk, SOURCE_UNUSED);
		return;
	}
	name = assigned_call_name(tokens, open);
	if (name != EXPR_NONE) {
		at_call(walk, name, open);
		return;
	}
	walk->i = open;
	if (open > 0 && expr_is_mark(tokens, open - 1, ")]") &&
	    !expr_is_cast(tokens, open - 1))
		finish(walk, SOURCE_UNUSED);	/* (*function)(...) */
}

static bool declares_array(const struct tokens *tokens, size_t assign)
{
	return assign > 0 && expr_mark(tokens, assign - 1) == ']';
}

/* How many commas of the list that is open at brace stand before i. */
static unsigned int position_in_list(const struct tokens *tokens, size_t brace, size_t i)
{
	unsigned int commas = 0;

	for (size_t at = brace + 1; at < i; at++) {
		if (expr_is_mark(tokens, at, "([{") && tokens->token[at].mate > 0)
			at = (size_t)tokens->token[at].mate;
		commas += expr_mark(tokens, at) == ',';
	}
	return commas;
}

/*
 * The variable that the braces at brace initialize. field: ".name" of the part, "" for one by
 * position, which is at i.
 */
static void at_brace(struct walk *walk, size_t brace, size_t i, const char *field)
{
	const struct tokens *tokens = walk->tokens;
	struct expr_target target = { .text = "" };
	size_t before = brace == 0 ? EXPR_NONE : brace - 1;
	char suffix[64];

	snprintf(suffix, sizeof(suffix), "%s", field);
	if (before == EXPR_NONE) {
		finish(walk, SOURCE_UNUSED);
		return;
	}
	if (expr_mark(tokens, before) == ')' && expr_is_cast(tokens, before) &&
	    tokens->token[before].mate > 0)
		before = (size_t)tokens->token[before].mate - 1;	/* (T){ ... } */
	if (expr_target(tokens, before, &target)) {
		if (!*field && target.declared && declares_array(tokens, before))
			snprintf(suffix, sizeof(suffix), "[%u]",
				 position_in_list(tokens, brace, i));
		found(walk, &target, suffix);
	} else if (expr_declared(tokens, before, &target)) {
		found(walk, &target, suffix);
	} else if (expr_is_word(tokens, before) && is_member_init(tokens, before, brace)) {
		found_object(walk, before);
	} else if (assigned_token_is(tokens, before, "return")) {
		finish(walk, SOURCE_RETURN);
	} else if (*field) {
		snprintf(target.text, sizeof(target.text), "%s", field + (*field == '.'));
		found(walk, &target, "");
	} else {
		finish(walk, SOURCE_UNUSED);
	}
}

static void at_assignment(struct walk *walk, size_t assign)
{
	const struct tokens *tokens = walk->tokens;
	struct expr_target target, outer;
	size_t brace;

	if (!expr_target(tokens, assign, &target)) {
		finish(walk, SOURCE_UNUSED);
		return;
	}
	brace = target.begin > 0 ? expr_enclosing(tokens, target.begin) : EXPR_NONE;
	if ((target.text[0] == '.' || (target.text[0] == '[' && !target.declared)) &&
	    expr_mark(tokens, brace) == '{') {
		at_brace(walk, brace, target.begin, target.text);
		return;
	}
	found(walk, &target, "");
	if (target.begin > 0 && !target.declared &&
	    expr_target(tokens, target.begin - 1, &outer))
		snprintf(walk->answer->outer, sizeof(walk->answer->outer), "%s", outer.text);
}

/*
 * After a comma: the bracket around it says whose list this is. walk->i stays, which tells
 * the first argument from others.
 */
static void at_comma(struct walk *walk, size_t comma)
{
	size_t open = expr_enclosing(walk->tokens, comma);

	if (expr_mark(walk->tokens, open) == '(')
		at_parenthesis(walk, open);
	else if (expr_mark(walk->tokens, open) == '{')
		at_brace(walk, open, walk->i, "");
	else
		finish(walk, SOURCE_UNUSED);
}

/* To the left over the operand of an operator that keeps the value: + - ? : */
static void skip_operand(struct walk *walk)
{
	const struct tokens *tokens = walk->tokens;
	size_t i = walk->i - 1;

	while (i > 0) {
		static const char *const stops[] = {
			"=", "+=", "-=", "(", "[", "{", ";", "}", ",", "return", "case", "<<", NULL
		};
		size_t at = i - 1;

		if (expr_is_mark(tokens, at, ")]}") && tokens->token[at].mate >= 0)
			at = (size_t)tokens->token[at].mate;
		else if (expr_is_one_of(tokens, at, stops))
			break;
		i = at;
	}
	walk->i = i;
}

static void at_word(struct walk *walk, size_t word)
{
	const struct tokens *tokens = walk->tokens;
	struct expr_target target;

	if (assigned_token_is(tokens, word, "return") ||
	    assigned_token_is(tokens, word, "co_return"))
		finish(walk, SOURCE_RETURN);
	else if (assigned_token_is(tokens, word, "throw"))
		found_argument(walk, word);
	else if (assigned_token_is(tokens, word, "co_await"))
		walk->i = word;
	else if (walk->call != EXPR_NONE && expr_declared(tokens, walk->call, &target))
		found(walk, &target, "");
	else
		finish(walk, SOURCE_UNUSED);
}

/* One step: what stands left of walk->i. */
static void step(struct walk *walk)
{
	static const char *const assignments[] = { "=", "+=", "-=", "|=", NULL };
	const struct tokens *tokens = walk->tokens;
	size_t before = walk->i - 1;

	if (expr_mark(tokens, before) == ')' && expr_is_cast(tokens, before)) {
		walk->i = (size_t)tokens->token[before].mate;
		take_type(walk, walk->i + 1, before);
	} else if (expr_mark(tokens, before) == '(') {
		at_parenthesis(walk, before);
	} else if (expr_mark(tokens, before) == '{') {
		at_brace(walk, before, walk->i, "");
	} else if (expr_is_one_of(tokens, before, assignments)) {
		at_assignment(walk, before);
	} else if (expr_mark(tokens, before) == ',') {
		at_comma(walk, before);
	} else if (expr_is_mark(tokens, before, "?:+-*&/")) {
		skip_operand(walk);
	} else if (assigned_token_is(tokens, before, "::") ||
		   assigned_token_is(tokens, before, "...")) {
		walk->i = before;
	} else if (assigned_token_is(tokens, before, "<<")) {
		snprintf(walk->answer->text, sizeof(walk->answer->text), "operator<<");
		finish(walk, SOURCE_ARGUMENT);
	} else if (expr_is_word(tokens, before) || expr_mark(tokens, before) == '>') {
		at_word(walk, before);
	} else {
		finish(walk, SOURCE_UNUSED);
	}
}

/* "new T(...)" is a T *, make_unique<T> a std::unique_ptr<T>. */
static void type_of_call(struct walk *walk)
{
	const struct tokens *tokens = walk->tokens;
	size_t end = walk->call + 1, bytes = sizeof(walk->answer->type);
	char *type = walk->answer->type;

	if (!expr_is_new(tokens, walk->call))
		return;
	if (expr_mark(tokens, end) == '(' && tokens->token[end].mate > 0)
		end = (size_t)tokens->token[end].mate + 1;	/* placement, nothrow */
	for (size_t i = end; i < tokens->count && i < end + 32; i++) {
		if (expr_mark(tokens, i) == '<' && expr_template_close(tokens, i) != EXPR_NONE) {
			i = expr_template_close(tokens, i);
			continue;
		}
		if (!expr_is_word(tokens, i) && !assigned_token_is(tokens, i, "::") &&
		    expr_mark(tokens, i) != '*') {
			expr_text(tokens, end, i, type, bytes - 3);
			strcat(type, expr_mark(tokens, i - 1) == '*' ? "*" : " *");
			return;
		}
	}
}

/* A method of a library's container was called, or an operator of it: its object. */
static bool find_container(struct walk *walk, const struct source_place *place)
{
	const struct tokens *tokens = walk->tokens;
	static const char *const makers[] = { "substr", "str", "string", "clone", "get", NULL };
	static const char *const assignments[] = { "=", "+=", NULL };
	size_t at = assigned_call_token(tokens, place->line, place->column);

	if (walk->call != EXPR_NONE && object_end(tokens, walk->call) != EXPR_NONE &&
	    !expr_is_one_of(tokens, walk->call, makers)) {
		found_object(walk, object_end(tokens, walk->call));
		return true;
	}
	if (at != EXPR_NONE && expr_mark(tokens, at) == ']' && tokens->token[at].mate > 0)
		at = (size_t)tokens->token[at].mate;
	if (at != EXPR_NONE && at > 0 && expr_mark(tokens, at) == '[') {
		found_object(walk, at - 1);
		return true;
	}
	if (at != EXPR_NONE && expr_is_one_of(tokens, at, assignments)) {
		at_assignment(walk, at);
		return true;
	}
	return false;
}

/* Where to begin: at the call, or at an operator of a container. */
static bool begin(struct walk *walk, const struct source_place *place)
{
	const struct tokens *tokens = walk->tokens;
	size_t at = assigned_call_token(tokens, place->line, place->column), open;

	if (walk->call == EXPR_NONE) {
		if (!place->container || at == EXPR_NONE || at == 0)
			return false;
		walk->i = at;
		skip_operand(walk);
		return true;
	}
	type_of_call(walk);
	walk->i = expr_begin(tokens, walk->call);
	open = walk->call + 1;
	if (expr_is_mark(tokens, open, "({") && is_member_init(tokens, walk->call, open))
		found_object(walk, walk->call);
	return true;
}

int assigned_source_read(const struct tokens *tokens, const struct source_place *place,
			 struct source_answer *ret)
{
	struct source_answer answer = { .kind = SOURCE_UNUSED };
	struct walk walk = { .tokens = tokens, .answer = &answer, .container = place->container };

	walk.call = assigned_call_find(tokens, place, &answer.by_place);
	if (!place->container || !find_container(&walk, place)) {
		if (!begin(&walk, place))
			return -ENOENT;
		for (unsigned int steps = 0; !walk.done && steps < MAX_STEPS; steps++) {
			if (walk.i == 0)
				finish(&walk, SOURCE_UNUSED);
			else
				step(&walk);
		}
	}
	answer.by_name = walk.call != EXPR_NONE &&
			 assigned_call_is(tokens, walk.call, place->callee);
	*ret = answer;
	return 0;
}

/* ---- the function around ---- */

/* The { of the function that begins at line first and holds token i. */
static size_t body_of(const struct tokens *tokens, uint32_t first, size_t i)
{
	for (size_t at = assigned_call_line(tokens, first); at < i; at++) {
		if (expr_mark(tokens, at) != '{')
			continue;
		if (tokens->token[at].mate < 0 || (size_t)tokens->token[at].mate > i)
			return at;
		at = (size_t)tokens->token[at].mate;
	}
	return EXPR_NONE;
}

bool assigned_source_returns(const struct tokens *tokens, uint32_t first, uint32_t line,
			     const char *name)
{
	size_t i = assigned_call_line(tokens, line), body = body_of(tokens, first, i);
	size_t end = tokens->count;

	if (body == EXPR_NONE)
		return false;
	if (tokens->token[body].mate > 0)
		end = (size_t)tokens->token[body].mate;
	for (; i < end; i++) {
		size_t at = i + 1;

		if (!assigned_token_is(tokens, i, "return"))
			continue;
		while (expr_mark(tokens, at) == '(' ||
		       (expr_mark(tokens, at) == ')' && at > i + 1))
			at++;
		if (!assigned_token_is(tokens, at, name))
			continue;
		while (expr_mark(tokens, at + 1) == ')')
			at++;
		if (expr_mark(tokens, at + 1) == ';')
			return true;
	}
	return false;
}

bool assigned_source_has_word(const struct tokens *tokens, uint32_t line, const char *name)
{
	for (size_t i = assigned_call_line(tokens, line);
	     i < tokens->count && tokens->token[i].line == line; i++) {
		if (assigned_token_is(tokens, i, name))
			return true;
	}
	return false;
}
