#!/bin/sh
# SPDX-License-Identifier: MIT
# memattach builds with every optional library switched off, from what a
# release contains and outside its source tree, without a warning where the
# tree under test was configured so; --version shows the difference.
. "$(dirname "$0")/build.sh"
case ${WARN_CFLAGS:-} in *-Werror*) werror=--enable-werror ;; *) werror= ;; esac

# shellcheck disable=SC2086 # none or one
configure_private CC="${CC:-cc}" CFLAGS=-O0 --without-libiberty --without-ncurses \
	--without-memattachd --without-protobuf-c --without-zlib --without-zstd $werror
step make
step ./cli/memattach --version
if grep -q 'define HAVE_LIBIBERTY' "$BUILDDIR/config.h" &&
	"$BUILDDIR/cli/memattach" --version | cmp -s - "$scratch/log"; then
	echo "FAIL: --version says the same with and without libiberty"
	exit 1
fi
step make install DESTDIR="$scratch/root" prefix=/usr
for file in bin/memattach lib/memattach/memattach-shim.so share/man/man1/memattach.1 \
	share/man/man1/memattach-report.1 share/bash-completion/completions/memattach \
	lib/systemd/system/memattach@.service; do
	[ -s "$scratch/root/usr/$file" ] || { echo "FAIL: /usr/$file was not installed"; exit 1; }
done
