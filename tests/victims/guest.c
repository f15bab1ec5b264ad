/* SPDX-License-Identifier: MIT */
/*
 * guest.c - a virtual machine: one thread is in its guest without a pause, another allocates; and
 * the kernel has a worker of its own among our threads (since Linux 6.14).
 *
 *	guest
 *
 * Commands: 'c' "check ok|failed", whether guest and allocations go on; 'q' ends and prints
 * "verdict ok|failed". Status 77 where there is no KVM.
 */
#include "tests/victims/victim.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/kvm.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

#define GUEST_BYTES 4096u
#define COUNTER_AT  0x800u	/* in the guest's one page */

/* Real mode: counts down, then adds one to the word that we look at, for ever. */
static const uint8_t guest_code[] = {
	0xb9, 0xff, 0xff,		/* mov cx, 65535 */
	0xe2, 0xfe,			/* loop to itself */
	0xff, 0x06, 0x00, 0x08,		/* inc word [0x800] */
	0xeb, 0xf5,			/* jmp to the begin */
};

static uint8_t *guest_memory;
static atomic_int failures, stop;
static atomic_ulong allocations;

static void without_kvm(void)
{
	_exit(77);
}

static int make_vcpu(void)
{
	struct kvm_userspace_memory_region region = { .memory_size = GUEST_BYTES };
	struct kvm_regs regs = { .rflags = 2 };
	struct kvm_sregs sregs;
	int kvm = open("/dev/kvm", O_RDWR | O_CLOEXEC);
	int vm = kvm >= 0 ? ioctl(kvm, KVM_CREATE_VM, 0) : -1;
	int vcpu = vm >= 0 ? ioctl(vm, KVM_CREATE_VCPU, 0) : -1;
	int bytes = vcpu >= 0 ? ioctl(kvm, KVM_GET_VCPU_MMAP_SIZE, 0) : -1;

	if (bytes < 0)
		without_kvm();
	guest_memory = mmap(NULL, GUEST_BYTES, PROT_READ | PROT_WRITE,
			    MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (guest_memory == MAP_FAILED)
		victim_fail("mmap");
	memcpy(guest_memory, guest_code, sizeof(guest_code));
	region.userspace_addr = (uint64_t)(uintptr_t)guest_memory;
	if (ioctl(vm, KVM_SET_USER_MEMORY_REGION, &region) < 0 ||
	    ioctl(vcpu, KVM_GET_SREGS, &sregs) < 0)
		without_kvm();
	sregs.cs.base = sregs.cs.selector = 0;
	if (ioctl(vcpu, KVM_SET_SREGS, &sregs) < 0 || ioctl(vcpu, KVM_SET_REGS, &regs) < 0)
		without_kvm();
	return vcpu;
}

/* A stop ends the call as a signal does; who runs guests goes on then, as QEMU does. */
static void *run_guest(void *vcpu)
{
	while (!atomic_load(&stop)) {
		if (ioctl(*(int *)vcpu, KVM_RUN, 0) < 0 && (errno == EINTR || errno == EAGAIN))
			continue;
		atomic_fetch_add(&failures, 1);	/* this guest asks for nothing */
		break;
	}
	return NULL;
}

static void *allocate(void *unused)
{
	const struct timespec pause = { .tv_nsec = 1000000 };

	(void)unused;
	while (!atomic_load(&stop)) {
		free(victim_seen(malloc(victim_size(300))));
		atomic_fetch_add(&allocations, 1);
		(void)nanosleep(&pause, NULL);
	}
	return NULL;
}

static uint16_t guest_count(void)
{
	return *(volatile uint16_t *)(guest_memory + COUNTER_AT);
}

static bool goes_on(void)
{
	const struct timespec pause = { .tv_nsec = 10000000 };
	unsigned long before = atomic_load(&allocations);
	uint16_t guest_before = guest_count();
	int tries = 0;

	while ((guest_count() == guest_before || atomic_load(&allocations) == before) &&
	       tries++ < 1000)
		(void)nanosleep(&pause, NULL);
	return tries <= 1000 && !atomic_load(&failures);
}

int main(void)
{
	pthread_t guest, allocator;
	int vcpu = make_vcpu();
	char command;

	victim_setup();
	if (pthread_create(&guest, NULL, run_guest, &vcpu) != 0 ||
	    pthread_create(&allocator, NULL, allocate, NULL) != 0)
		victim_fail("pthread_create");
	if (!goes_on())
		without_kvm();
	victim_ready();
	while ((command = victim_await()) != 'q') {
		if (command == 'c')
			victim_say("check %s\n", goes_on() ? "ok" : "failed");
	}
	victim_say("verdict %s\n", goes_on() ? "ok" : "failed");
	_exit(atomic_load(&failures) ? 1 : 0);	/* the guest never ends */
}
