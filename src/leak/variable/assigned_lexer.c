/* SPDX-License-Identifier: MIT */
/*
 * assigned_lexer.c - see assigned_lexer.h.
 *
 * Not a preprocessor: macros stay words, and of conditional text the branch that
 * holds the line asked for is kept, since that is the one that was compiled.
 * Raw strings end where they should; an unterminated string ends with its line, so
 * that an apostrophe in text that is no code costs one line only. Trigraphs and
 * lines continued inside a word are not understood (they give odd words).
 * Rejected: libclang, which needs the compiler's own options and headers to say anything.
 */
#include "src/leak/variable/assigned_lexer.h"

#include <errno.h>
#include <string.h>

#define MAX_CONDITIONS	64u
#define MAX_RAW_MARK	16u

struct lexer {
	const struct lexer_input *input;
	const char *at, *end;
	const char *line_start;
	uint32_t line;
	bool fresh;		/* only white space so far on this line */
	struct tokens *out;
	size_t branch[MAX_CONDITIONS];	/* where the tokens of each open #if's branch begin */
	unsigned int conditions;
};

static bool is_word_start(char c)
{
	return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_' || c == '$' ||
	       (unsigned char)c >= 0x80;
}

static bool is_digit(char c)
{
	return c >= '0' && c <= '9';
}

static bool is_word(char c)
{
	return is_word_start(c) || is_digit(c);
}

static char peek(const struct lexer *lexer, size_t ahead)
{
	return ahead < (size_t)(lexer->end - lexer->at) ? lexer->at[ahead] : '\0';
}

static void next_line(struct lexer *lexer, const char *start)
{
	lexer->line++;
	lexer->line_start = start;
}

/* Moves to p and counts the lines on the way. */
static void advance(struct lexer *lexer, const char *p)
{
	while (lexer->at < p) {
		const char *newline = memchr(lexer->at, '\n', (size_t)(p - lexer->at));

		if (!newline)
			break;
		lexer->at = newline + 1;
		next_line(lexer, lexer->at);
	}
	lexer->at = p;
}

/* ---- tokens ---- */

static int assigned_lexer_add(struct lexer *lexer, enum token_kind kind, size_t bytes)
{
	struct tokens *out = lexer->out;

	if (out->count == out->room) {
		size_t room = out->room ? out->room * 2 : 256;
		struct token *grown = reallocarray(out->token, room, sizeof(*grown));

		if (!grown)
			return -ENOMEM;
		out->token = grown;
		out->room = room;
	}
	out->token[out->count++] = (struct token){
		.text = lexer->at, .bytes = (uint32_t)bytes, .line = lexer->line,
		.column = (uint32_t)(lexer->at - lexer->line_start) + 1, .kind = kind, .mate = -1,
	};
	return 0;
}

/* The end of "..." or '...' whose quote is at p; at the end of the line if it has none. */
static const char *string_end(const char *p, const char *end)
{
	char quote = *p++;

	for (; p < end && *p != quote && *p != '\n'; p++) {
		if (*p == '\\' && p + 1 < end)
			p++;
	}
	return p < end && *p == quote ? p + 1 : p;
}

/* The end of R"mark(...)mark" whose quote is at p, or of the line if it is none. */
static const char *raw_string_end(const char *p, const char *end)
{
	const char *mark = p + 1, *open = memchr(mark, '(', (size_t)(end - mark));
	size_t bytes = open ? (size_t)(open - mark) : 0;

	if (!open || bytes > MAX_RAW_MARK)
		return string_end(p, end);
	for (p = open + 1; p < end; p++) {
		p = memchr(p, ')', (size_t)(end - p));
		if (!p)
			break;
		if ((size_t)(end - p) > bytes + 1 && memcmp(p + 1, mark, bytes) == 0 &&
		    p[bytes + 1] == '"')
			return p + bytes + 2;
	}
	return end;
}

static const char *number_end(const char *p, const char *end)
{
	for (; p < end; p++) {
		bool exponent = (*p == '+' || *p == '-') && strchr("eEpP", p[-1]);
		bool separator = *p == '\'' && p + 1 < end && is_word(p[1]);

		if (!is_word(*p) && *p != '.' && !exponent && !separator)
			break;
	}
	return p;
}

/* L, u8, R and the like before a quote. */
static bool is_string_prefix(const char *word, size_t bytes)
{
	static const char *const prefix[] = { "L", "u", "U", "u8", "R", "LR", "uR", "UR", "u8R" };

	for (size_t i = 0; i < ARRAY_SIZE(prefix); i++) {
		if (strlen(prefix[i]) == bytes && memcmp(prefix[i], word, bytes) == 0)
			return true;
	}
	return false;
}

static int lex_string(struct lexer *lexer, size_t prefix)
{
	const char *quote = lexer->at + prefix, *end;
	bool raw = prefix > 0 && quote[-1] == 'R' && *quote == '"';
	int r;

	end = raw ? raw_string_end(quote, lexer->end) : string_end(quote, lexer->end);
	r = assigned_lexer_add(lexer, TOKEN_STRING, (size_t)(end - lexer->at));
	advance(lexer, end);
	return r;
}

static int lex_word(struct lexer *lexer)
{
	const char *end = lexer->at;
	size_t bytes;
	int r;

	while (end < lexer->end && is_word(*end))
		end++;
	bytes = (size_t)(end - lexer->at);
	if (end < lexer->end && (*end == '"' || *end == '\'') &&
	    is_string_prefix(lexer->at, bytes))
		return lex_string(lexer, bytes);
	r = assigned_lexer_add(lexer, TOKEN_WORD, bytes);
	lexer->at = end;
	return r;
}

static size_t mark_bytes(const struct lexer *lexer)
{
	/* Without >> and its kin: they end templates too, and nothing here needs them whole. */
	static const char *const marks[] = {
		"<<=", "...", "->", "++", "--", "<<", "<=", ">=", "==", "!=", "&&", "||",
		"+=", "-=", "*=", "/=", "%=", "&=", "|=", "^=", "::", "##",
	};

	for (size_t i = 0; i < ARRAY_SIZE(marks); i++) {
		size_t bytes = strlen(marks[i]);

		if ((size_t)(lexer->end - lexer->at) >= bytes &&
		    memcmp(lexer->at, marks[i], bytes) == 0)
			return bytes;
	}
	return 1;
}

static int lex_token(struct lexer *lexer)
{
	char c = *lexer->at;
	const char *end;
	size_t bytes;
	int r;

	lexer->fresh = false;
	if (is_word_start(c))
		return lex_word(lexer);
	if (c == '"' || c == '\'')
		return lex_string(lexer, 0);
	if (is_digit(c) || (c == '.' && is_digit(peek(lexer, 1)))) {
		end = number_end(lexer->at + 1, lexer->end);
		r = assigned_lexer_add(lexer, TOKEN_NUMBER, (size_t)(end - lexer->at));
		lexer->at = end;
		return r;
	}
	bytes = mark_bytes(lexer);
	r = assigned_lexer_add(lexer, TOKEN_MARK, bytes);
	lexer->at += bytes;
	return r;
}

/* ---- what is no code ---- */

static const char *line_end(const char *p, const char *end)
{
	const char *newline = memchr(p, '\n', (size_t)(end - p));

	return newline ? newline : end;
}

/* The same, past lines that end in a backslash. */
static const char *logical_line_end(const char *p, const char *end)
{
	for (;;) {
		const char *newline = line_end(p, end), *last = newline;

		if (last > p && last[-1] == '\r')
			last--;
		if (newline == end || last == p || last[-1] != '\\')
			return newline;
		p = newline + 1;
	}
}

static void skip_comment(struct lexer *lexer)
{
	const char *p = lexer->at + 2;

	if (lexer->at[1] == '/') {
		advance(lexer, logical_line_end(p, lexer->end));
		return;
	}
	for (; p < lexer->end; p++) {
		p = memchr(p, '*', (size_t)(lexer->end - p));
		if (!p || p + 1 >= lexer->end)
			break;
		if (p[1] == '/') {
			advance(lexer, p + 2);
			return;
		}
	}
	advance(lexer, lexer->end);
}

/* The word of the directive whose # is at p: "if", "else", ... */
static size_t directive(const char *p, const char *end, const char **ret)
{
	size_t bytes = 0;

	for (p++; p < end && (*p == ' ' || *p == '\t'); p++)
		;
	while (p + bytes < end && is_word(p[bytes]))
		bytes++;
	*ret = p;
	return bytes;
}

static bool starts(const char *word, size_t bytes, const char *with)
{
	return bytes >= strlen(with) && memcmp(word, with, strlen(with)) == 0;
}

/* The line of the #endif that ends the condition in which p lies (start of a line); its start. */
static const char *find_endif(const char *p, const char *end, uint32_t *line)
{
	unsigned int open = 1;

	while (p < end) {
		const char *hash = p, *word;
		size_t bytes;

		while (hash < end && (*hash == ' ' || *hash == '\t'))
			hash++;
		bytes = hash < end && *hash == '#' ? directive(hash, end, &word) : 0;
		if (bytes && starts(word, bytes, "if"))
			open++;
		else if (bytes && starts(word, bytes, "endif") && --open == 0)
			return p;
		p = line_end(p, end);
		if (p < end)
			p++;
		(*line)++;
	}
	return end;
}

/* At #else or #elif: keeps what came before or what follows. */
static void choose_branch(struct lexer *lexer, const char *next)
{
	uint32_t line = lexer->line + 1, wanted = lexer->input->wanted;
	const char *endif = find_endif(next, lexer->end, &line);

	if (wanted <= lexer->line || wanted >= line)
		advance(lexer, endif);
	else	/* an #if that is not in the input: all before it is the other branch */
		lexer->out->count = lexer->conditions ? lexer->branch[lexer->conditions - 1] : 0;
}

static void skip_directive(struct lexer *lexer)
{
	const char *word, *end = logical_line_end(lexer->at, lexer->end);
	size_t bytes = directive(lexer->at, lexer->end, &word);

	if (starts(word, bytes, "if")) {
		if (lexer->conditions < MAX_CONDITIONS)
			lexer->branch[lexer->conditions++] = lexer->out->count;
	} else if (starts(word, bytes, "el")) {
		choose_branch(lexer, end < lexer->end ? end + 1 : end);
	} else if (starts(word, bytes, "endif") && lexer->conditions > 0) {
		lexer->conditions--;
	}
	if (end > lexer->at)
		advance(lexer, end);
}

/* One token, comment, directive or stretch of white space. */
static int step(struct lexer *lexer)
{
	char c = *lexer->at;

	if (c == '\n') {
		lexer->at++;
		next_line(lexer, lexer->at);
		lexer->fresh = true;
	} else if (c == ' ' || c == '\\' || (c >= '\t' && c <= '\r') || c == '\0') {
		lexer->at++;
	} else if (c == '/' && (peek(lexer, 1) == '/' || peek(lexer, 1) == '*')) {
		skip_comment(lexer);
	} else if (c == '#' && lexer->fresh) {
		skip_directive(lexer);
	} else {
		return lex_token(lexer);
	}
	return 0;
}

/* ---- brackets ---- */

static char opener_of(char close)
{
	return (char)(close == ')' ? '(' : close == ']' ? '[' : close == '}' ? '{' : '\0');
}

/*
 * Openers that wait are chained through their own mate fields. A } closes everything up to
 * its {: a parenthesis left open (by a macro, say) must not take the rest of the file with it.
 */
static void match_brackets(struct tokens *tokens)
{
	int32_t open = -1;

	for (size_t i = 0; i < tokens->count; i++) {
		struct token *token = &tokens->token[i];
		char c = token->kind == TOKEN_MARK && token->bytes == 1 ? *token->text : '\0';

		if (c == '(' || c == '[' || c == '{') {
			token->mate = open;
			open = (int32_t)i;
		} else if (opener_of(c)) {
			int32_t at = open;

			while (at >= 0 && c == '}' && *tokens->token[at].text != '{')
				at = tokens->token[at].mate;
			if (at < 0 || *tokens->token[at].text != opener_of(c))
				continue;
			while (open != at) {
				int32_t next = tokens->token[open].mate;

				tokens->token[open].mate = -1;
				open = next;
			}
			open = tokens->token[at].mate;
			tokens->token[at].mate = (int32_t)i;
			token->mate = at;
		}
	}
	while (open >= 0) {
		int32_t next = tokens->token[open].mate;

		tokens->token[open].mate = -1;
		open = next;
	}
}

int assigned_lex(const struct lexer_input *input, struct tokens *ret)
{
	struct lexer lexer = {
		.input = input, .at = input->text, .end = input->text + input->bytes,
		.line_start = input->text, .line = input->line, .fresh = true, .out = ret,
	};
	size_t most = input->most < INT32_MAX ? input->most : INT32_MAX;
	int r = 0;

	ret->count = 0;
	while (r == 0 && lexer.at < lexer.end && ret->count < most)
		r = step(&lexer);
	match_brackets(ret);
	return r;
}

void assigned_tokens_done(struct tokens *tokens)
{
	free(tokens->token);
	*tokens = (struct tokens){ NULL, 0, 0 };
}

bool assigned_token_is(const struct tokens *tokens, size_t i, const char *text)
{
	return i < tokens->count && tokens->token[i].bytes == strlen(text) &&
	       memcmp(tokens->token[i].text, text, tokens->token[i].bytes) == 0;
}

enum lexer_state assigned_lex_line(enum lexer_state state, const char *line, size_t bytes)
{
	const char *p = line, *end = line + bytes;
	bool comment = state == LEXER_COMMENT;

	if (state == LEXER_CONTINUED)
		return bytes > 0 && end[-1] == '\\' ? LEXER_CONTINUED : LEXER_CODE;
	while (p < end) {
		size_t left = (size_t)(end - p);

		if (comment && left > 1 && p[0] == '*' && p[1] == '/') {
			comment = false;
			p += 2;
		} else if (!comment && left > 1 && p[0] == '/' && p[1] == '*') {
			comment = true;
			p += 2;
		} else if (!comment && left > 1 && p[0] == '/' && p[1] == '/') {
			p = end;
		} else if (!comment && (*p == '"' || *p == '\'')) {
			p = string_end(p, end);
		} else {
			p++;
		}
	}
	if (comment)
		return LEXER_COMMENT;
	return bytes > 0 && end[-1] == '\\' ? LEXER_CONTINUED : LEXER_CODE;
}
