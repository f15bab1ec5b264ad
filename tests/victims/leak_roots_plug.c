/* SPDX-License-Identifier: MIT */
/* leak_roots_plug.c - a library with thread-local storage that leak_roots opens. */
static __thread long plug_value[40];

long *plug_tls(void);

long *plug_tls(void)
{
	return &plug_value[7];
}
