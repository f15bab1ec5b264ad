/* SPDX-License-Identifier: MIT */
/* leak_holders_other.c - the half of the victim that knows what a struct secret is. */
#include "leak_holders.h"

struct secret {
	long key;
	char *words[3];
};

struct secret *secret_new(void)
{
	struct secret *secret = make("secret", sizeof(*secret));

	secret->words[2] = make("secret_word", 30);
	return secret;
}
