/* SPDX-License-Identifier: MIT */
/* human.h - numbers as people read them. */
#ifndef MEMATTACH_REPORT_HUMAN_H
#define MEMATTACH_REPORT_HUMAN_H

#include <stddef.h>
#include <stdint.h>

#define HUMAN_BYTES 32u
/* A short text by value: human_bytes(n).text lives as long as the full expression. */
struct human {
	char text[HUMAN_BYTES];
};
/* 0 B, 1023 B, 1.00 KiB, 12.3 MiB, 123 GiB. */
struct human human_bytes(double bytes);
/* The same with a sign: +1.2 MiB, -3 B, 0 B. */
struct human human_bytes_signed(double bytes);
/* 0, 9,999, 12.3 k, 4.56 M. */
struct human human_count(double count);
/* 950 ns, 12.3 us, 4.56 ms, 7.8 s, 2 min 3 s, 4 h 5 min, 6 d 7 h. */
struct human human_seconds(double seconds);
/* Thousands apart: 1,234,567. */
struct human human_exact(uint64_t value);

#endif
