/* SPDX-License-Identifier: MIT */
/*
 * load.h - the shim, its islands and the ring: into the target and out again.
 *
 * Both loaders stand behind this interface. Everything of one direction
 * happens in one stop of one borrowed thread.
 */
#ifndef MEMATTACH_LOAD_H
#define MEMATTACH_LOAD_H

#include "inject/attach/attachment.h"
#include "inject/attach/remote_memfd.h"
#include "inject/quiesce/stop.h"

struct load_options {
	enum attachment_loader loader;		/* DLOPEN or MAP, decided before */
	struct stop_sample *proven; /* DLOPEN: the thread proven safe for it; else NULL */
	uint64_t deadline_ns;			/* for finding a thread and for the call */
	bool ask_tsc;	/* on the way in: may its threads read the time stamp counter? */
};

/*
 * Brings everything in. pre: a->plan has gadgets and islands, a->geometry and
 * a->layout are set. 0; -EAGAIN/-ESTALE: nothing is in, try again (another
 * thread, or the map loader); -ENOTSUP: no thread (the proven one not) can do it, nothing is in;
 * -ENODEV: see tsc_allowed.h; -EMFILE, -ENOMEM, ... what the target's own call returned, nothing
 * is in; -ESRCH; -ETIME: dlopen did not return, it may still be loading.
 */
int load_shim(struct attachment *a, const struct load_options *options) _must_check_;
/*
 * Takes out whatever is in (also half of it). pre: quiescent. options->proven is
 * needed when the shim came in by dlopen. 0 or -errno; what is gone is marked so. -ETXTBSY: some
 * executable memory leads into an island still, so all is left.
 */
int unload_shim(struct attachment *a, const struct load_options *options) _must_check_;
/*
 * Looks for what leads into an island already. pre: all is reverted. The dlopen loader's proof of a
 * thread holds for a moment only: what can be done before it is asked for is.
 */
void load_look_ahead(struct attachment *a);

/* 0: `syscall; ret` and a restorer of signal frames lie there; else as remote_expect. */
int load_gadgets_check(const struct target *target, uint64_t syscall_ret, uint64_t restorer)
	_must_check_;
/* True when nothing of ours is mapped or open in the target, as far as a knows. */
bool load_is_out(const struct attachment *a);

#endif
