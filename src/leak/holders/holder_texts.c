/* SPDX-License-Identifier: MIT */
/*
 * holder_texts.c - see holder_texts.h.
 *
 * The child is made for one search and has all that was found so far, as it was forked from
 * here. Should it die, the search is made once more without what it died of.
 */
#include "src/leak/holders/holder_texts.h"

#include <errno.h>
#include <string.h>

#include "src/base/apart.h"

#define SEARCH_SECONDS 120u	/* of processor time; searches have limits of their own */

struct search {
	const struct holders_input *input;
	const uint64_t *address;
	size_t count;
	bool trace;
};

static int put_chains(const struct holder_chains *chains, struct apart_answer *ret)
{
	uint32_t head[2] = { (uint32_t)chains->count, chains->cut };
	int error;

	if (head[0] > HOLDER_TEXTS_MAX) {
		head[0] = HOLDER_TEXTS_MAX;
		head[1] = true;
	}
	error = apart_put(ret, head, sizeof(head));
	for (uint32_t i = 0; !error && i < head[0]; i++)
		error = apart_put_text(ret, chains->chain[i].count ? chains->chain[i].text : NULL);
	return error;
}

static int answer(void *context, const void *question, size_t bytes, struct apart_answer *ret)
{
	const struct search *search = context;
	struct holder_chains chains = { .count = 0 };
	struct holders *holders = NULL;
	int error = holders_new(search->input, &holders);

	(void)question;
	(void)bytes;
	if (!error)
		error = search->trace ?
			holders_trace(holders, search->address[0], 0, 0, &chains) :
			holders_find(holders, search->address, search->count, &chains);
	if (!error)
		error = put_chains(&chains, ret);
	holder_chains_done(&chains);
	holders_free(holders);
	return error;
}

static bool blame(void *context, const char *how)
{
	const struct search *search = context;

	return modules_blame(search->input->modules, how);
}

static int holder_texts_take(struct apart_reader *reader, struct holder_texts *ret)
{
	uint32_t head[2];

	if (apart_get(reader, head, sizeof(head)) || head[0] > HOLDER_TEXTS_MAX)
		return -EBADMSG;
	ret->cut = head[1] != 0;
	for (; ret->count < head[0]; ret->count++) {
		const char *text;

		if (apart_get_text(reader, &text))
			return -EBADMSG;
		ret->text[ret->count] = text ? strdup(text) : NULL;
	}
	return 0;
}

static int run(struct search *search, struct holder_texts *ret)
{
	const struct apart_work work = { .answer = answer, .blame = blame, .context = search,
					 .seconds = SEARCH_SECONDS };
	struct apart_reader reader;
	struct apart *apart;
	int error = apart_new(&work, &apart);

	memset(ret, 0, sizeof(*ret));
	if (error)
		return error;
	error = apart_ask(apart, "", 1, &reader);
	if (!error)
		error = holder_texts_take(&reader, ret);
	apart_free(apart);
	return error == -ENOMEM || error == -ENOENT ? error : 0;
}

int holder_texts_find(const struct holders_input *input, const uint64_t *address, size_t count,
		      struct holder_texts *ret)
{
	struct search search = { .input = input, .address = address,
				 .count = count < HOLDER_TEXTS_MAX ? count : HOLDER_TEXTS_MAX };

	return run(&search, ret);
}

int holder_texts_trace(const struct holders_input *input, uint64_t address,
		       struct holder_texts *ret)
{
	struct search search = { .input = input, .address = &address, .count = 1, .trace = true };

	return run(&search, ret);
}

void holder_texts_done(struct holder_texts *texts)
{
	for (size_t i = 0; i < texts->count; i++)
		free(texts->text[i]);
	texts->count = 0;
}
