// SPDX-License-Identifier: MIT

// allocates.go - a Go program that allocates in C. Says "ready", then reads command bytes in a
// system call, which waits on the goroutine's own stack; 'q' or the end of the input: 100 blocks
// more, "verdict ok", and it ends.
package main

// #include <stdlib.h>
import "C"

import (
	"syscall"
	"unsafe"
)

func say(text string) {
	syscall.Write(1, []byte(text))
}

func allocate(blocks int) {
	for i := 0; i < blocks; i++ {
		C.free(unsafe.Pointer(C.malloc(C.size_t(64 + i))))
	}
}

func main() {
	command := make([]byte, 1)

	allocate(100)
	say("ready\n")
	for {
		n, _ := syscall.Read(0, command)
		if n <= 0 || command[0] == 'q' {
			break
		}
	}
	allocate(100)
	say("verdict ok\n")
}
