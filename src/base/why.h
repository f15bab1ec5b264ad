/* SPDX-License-Identifier: MIT */
/* why.h - what an errno means for a person, and what helps. */
#ifndef MEMATTACH_BASE_WHY_H
#define MEMATTACH_BASE_WHY_H

struct why {
	char text[192];
};

/*
 * error: -errno. "Reason; remedy" in words, for the end of a message that names its object: of work
 * on a process, of a file. An error that is not expected of a process keeps the words of
 * strerror(), and is to be reported.
 */
struct why why_of(int error);
struct why why_file(int error);

#endif
