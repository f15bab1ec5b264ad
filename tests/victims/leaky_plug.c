/* SPDX-License-Identifier: MIT */
/* leaky_plug.c - a library that leaky opens: its data and thread-local storage hold blocks. */
void leaky_plug_keep(void *p, void *q);

static void *in_data;
static __thread void *in_thread[200];

void leaky_plug_keep(void *p, void *q)
{
	if (p)
		in_data = p;
	in_thread[100] = q;
	__asm__ volatile("" : : "r"(in_data), "r"(in_thread) : "memory");
}
