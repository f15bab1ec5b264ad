# SPDX-License-Identifier: MIT
# The project's own configure macros.

# MEMATTACH_CC_FLAGS(VARIABLE, FLAGS)
# Those of FLAGS that the C compiler takes without a warning, in VARIABLE, substituted.
AC_DEFUN([MEMATTACH_CC_FLAGS], [
	$1=
	for memattach_flag in $2; do
		AC_MSG_CHECKING([whether $CC takes $memattach_flag])
		memattach_save_CFLAGS=$CFLAGS
		CFLAGS="-Werror $memattach_flag"
		AC_LINK_IFELSE([AC_LANG_PROGRAM()],
			[AC_MSG_RESULT([yes]); $1="$$1 $memattach_flag"],
			[AC_MSG_RESULT([no])])
		CFLAGS=$memattach_save_CFLAGS
	done
	AC_SUBST([$1])
])

# MEMATTACH_REQUIRE_ZYDIS
# Debian 12's Zydis has no pkg-config file. Version 4: ZydisDecoderDecodeFull with 5 arguments.
AC_DEFUN([MEMATTACH_REQUIRE_ZYDIS], [
	AC_CHECK_HEADER([Zydis/Zydis.h], [],
		[AC_MSG_ERROR([Zydis 4 is needed (package libzydis-dev)])])
	AC_CHECK_LIB([Zydis], [ZydisDecoderDecodeFull], [ZYDIS_LIBS=-lZydis],
		[AC_MSG_ERROR([Zydis 4 is needed (package libzydis-dev)])])
	AC_SUBST([ZYDIS_LIBS])
])

# MEMATTACH_WITH_LIBIBERTY
# Demangling of C++, Rust and D names: HAVE_LIBIBERTY, LIBIBERTY_LIBS, $have_libiberty.
AC_DEFUN([MEMATTACH_WITH_LIBIBERTY], [
	AC_ARG_WITH([libiberty],
		[AS_HELP_STRING([--with-libiberty],
			[demangle C++, Rust and D names @<:@auto@:>@])],
		[], [with_libiberty=auto])
	have_libiberty=no
	AS_IF([test "$with_libiberty" != no], [
		AC_CHECK_HEADER([libiberty/demangle.h],
			[AC_CHECK_LIB([iberty], [cplus_demangle], [have_libiberty=yes])])
	])
	AS_IF([test "$have_libiberty" = yes], [
		LIBIBERTY_LIBS=-liberty
		AC_DEFINE([HAVE_LIBIBERTY], [1], [libiberty demangles names])
	])
	AS_IF([test "$with_libiberty$have_libiberty" = yesno],
		[AC_MSG_ERROR([--with-libiberty: libiberty is missing (package libiberty-dev)])])
	AC_SUBST([LIBIBERTY_LIBS])
])

# MEMATTACH_WITH_LIBRARY(NAME, OPTION, MODULE, WHAT FOR, PACKAGE)
# An optional library that pkg-config knows: HAVE_NAME, $have_OPTION, its flags in OPTIONAL_CFLAGS
# and OPTIONAL_LIBS. --with-OPTION requires it, --without-OPTION leaves it out.
AC_DEFUN([MEMATTACH_WITH_LIBRARY], [
	m4_pushdef([memattach_name], m4_translit([$2], [-], [_]))
	AC_ARG_WITH([$2], [AS_HELP_STRING([--with-$2], [$4 @<:@auto@:>@])],
		[], [with_[]memattach_name=auto])
	have_[]memattach_name=no
	AS_IF([test "$with_[]memattach_name" != no], [
		PKG_CHECK_MODULES([$1], [$3],
			[have_[]memattach_name=yes], [have_[]memattach_name=no])
	])
	AS_IF([test "$have_[]memattach_name" = yes], [
		OPTIONAL_CFLAGS="$OPTIONAL_CFLAGS $$1_CFLAGS"
		OPTIONAL_LIBS="$OPTIONAL_LIBS $$1_LIBS"
		optional_modules="$optional_modules $3"
		AC_DEFINE([HAVE_$1], [1], [$3 is there])
	])
	AS_IF([test "$with_[]memattach_name$have_[]memattach_name" = yesno],
		[AC_MSG_ERROR([--with-$2: $3 is missing (package $5)])])
	m4_popdef([memattach_name])
])

# MEMATTACH_WITH_PPROF
# Exports for pprof: HAVE_PPROF, $have_pprof. Takes protobuf-c and its compiler, and zlib.
AC_DEFUN([MEMATTACH_WITH_PPROF], [
	MEMATTACH_WITH_LIBRARY([PROTOBUF_C], [protobuf-c], [libprotobuf-c],
		[export for pprof], [libprotobuf-c-dev])
	AC_CHECK_PROG([PROTOC_C], [protoc-c], [protoc-c])
	have_pprof=no
	AS_IF([test "$have_protobuf_c$have_zlib" = yesyes && test -n "$PROTOC_C"], [have_pprof=yes])
	AS_IF([test "$have_pprof" = yes], [AC_DEFINE([HAVE_PPROF], [1], [export writes pprof])])
	AS_IF([test "$with_protobuf_c$have_pprof" = yesno], [AC_MSG_ERROR([--with-protobuf-c: \
protoc-c or zlib is missing (packages protobuf-c-compiler, zlib1g-dev)])])
	AM_CONDITIONAL([HAVE_PPROF], [test "$have_pprof" = yes])
])

# MEMATTACH_WITH_NCURSES
# The live screen: HAVE_NCURSES (conditional), NCURSES_CFLAGS, NCURSES_LIBS, $have_ncurses.
AC_DEFUN([MEMATTACH_WITH_NCURSES], [
	AC_ARG_WITH([ncurses],
		[AS_HELP_STRING([--with-ncurses],
			[a live screen on terminals @<:@auto@:>@])],
		[], [with_ncurses=auto])
	have_ncurses=no
	AS_IF([test "$with_ncurses" != no],
		[PKG_CHECK_MODULES([NCURSES], [ncursesw >= 6.1], [have_ncurses=yes], [:])])
	AS_IF([test "$with_ncurses$have_ncurses" = yesno],
		[AC_MSG_ERROR([--with-ncurses: ncursesw is missing (package libncurses-dev)])])
	AM_CONDITIONAL([HAVE_NCURSES], [test "$have_ncurses" = yes])
])

# MEMATTACH_WITH_DAEMON
# memattachd: HAVE_DAEMON (conditional), INIH_CFLAGS, INIH_LIBS, $have_daemon. Where libsystemd is,
# it tells the service manager and the journal: HAVE_SYSTEMD, SYSTEMD_LIBS, $have_systemd.
AC_DEFUN([MEMATTACH_WITH_DAEMON], [
	AC_ARG_WITH([memattachd],
		[AS_HELP_STRING([--with-memattachd],
			[background sampling by systemd @<:@auto@:>@])],
		[], [with_memattachd=auto])
	have_daemon=no
	AS_IF([test "$with_memattachd" != no],
		[PKG_CHECK_MODULES([INIH], [inih >= 53], [have_daemon=yes], [:])])
	AS_IF([test "$with_memattachd$have_daemon" = yesno],
		[AC_MSG_ERROR([--with-memattachd: inih is missing (package libinih-dev)])])
	AM_CONDITIONAL([HAVE_DAEMON], [test "$have_daemon" = yes])
	AC_ARG_WITH([libsystemd],
		[AS_HELP_STRING([--with-libsystemd],
			[memattachd tells systemd and its journal @<:@auto@:>@])],
		[], [with_libsystemd=auto])
	have_systemd=no
	AS_IF([test "$with_libsystemd" != no && test "$have_daemon" = yes],
		[PKG_CHECK_MODULES([SYSTEMD], [libsystemd >= 246], [have_systemd=yes], [:])])
	AS_IF([test "$with_libsystemd$have_systemd" = yesno],
		[AC_MSG_ERROR([--with-libsystemd: it is missing (package libsystemd-dev)])])
	AS_IF([test "$have_systemd" = yes],
		[AC_DEFINE([HAVE_SYSTEMD], [1], [memattachd tells systemd and its journal])])
])

# MEMATTACH_WITH_MICROHTTPD
# memattachd serves HTTP: HAVE_MICROHTTPD (conditional), MICROHTTPD_LIBS, $have_microhttpd.
AC_DEFUN([MEMATTACH_WITH_MICROHTTPD], [
	AC_ARG_WITH([microhttpd],
		[AS_HELP_STRING([--with-microhttpd],
			[memattachd serves HTTP @<:@auto@:>@])],
		[], [with_microhttpd=auto])
	have_microhttpd=no
	AS_IF([test "$with_microhttpd" != no && test "$have_daemon" = yes],
		[PKG_CHECK_MODULES([MICROHTTPD], [libmicrohttpd >= 0.9.71],
			[have_microhttpd=yes], [:])])
	AS_IF([test "$with_microhttpd$have_microhttpd" = yesno],
		[AC_MSG_ERROR([--with-microhttpd: it is missing (package libmicrohttpd-dev)])])
	AM_CONDITIONAL([HAVE_MICROHTTPD], [test "$have_microhttpd" = yes])
])

# MEMATTACH_LIST_LIBRARIES
# One line that names the libraries and their versions, for the summary and for --version.
AC_DEFUN([MEMATTACH_LIST_LIBRARIES], [
	built_with=
	for memattach_module in libunwind libdw jansson libseccomp sqlite3 $optional_modules; do
		memattach_version=`$PKG_CONFIG --modversion $memattach_module`
		built_with="$built_with$memattach_module $memattach_version, "
	done
	built_with="${built_with}Zydis"
	AS_IF([test "$have_libiberty" = yes], [built_with="$built_with, libiberty"])
	AS_IF([test "$have_ncurses" = yes],
		[built_with="$built_with, ncursesw `$PKG_CONFIG --modversion ncursesw`"])
	AS_IF([test "$have_daemon" = yes],
		[built_with="$built_with, inih `$PKG_CONFIG --modversion inih`"])
	AS_IF([test "$have_systemd" = yes],
		[built_with="$built_with, libsystemd `$PKG_CONFIG --modversion libsystemd`"])
	AS_IF([test "$have_microhttpd" = yes],
		[built_with="$built_with, libmicrohttpd `$PKG_CONFIG --modversion libmicrohttpd`"])
	AC_DEFINE_UNQUOTED([MEMATTACH_BUILT_WITH], ["$built_with"], [libraries, for --version])
])

# MEMATTACH_COMPLETION_DIR(SHELL, VARIABLE, PC-FILE, PC-VARIABLE, DEFAULT)
# Where SHELL looks for completions, in VARIABLE: as its pkg-config file says, but below datadir,
# because nothing may be installed outside of the prefix.
AC_DEFUN([MEMATTACH_COMPLETION_DIR], [
	AC_ARG_WITH([$1-completions],
		[AS_HELP_STRING([--with-$1-completions=DIR], [completions of $1 @<:@$5@:>@])],
		[$2=$withval],
		[$2=`$PKG_CONFIG --define-variable=datadir='${datadir}' \
			--variable=$4 $3 2>/dev/null`])
	AS_IF([test -z "$$2"], [$2='$5'])
	AC_SUBST([$2])
])

# MEMATTACH_LTO_FLAGS
# LTO_CFLAGS: objects that are ordinary ones, and can be compiled together at the link as well;
# LTO_LDFLAGS: a link that does. Both empty where the compiler has no such objects.
AC_DEFUN([MEMATTACH_LTO_FLAGS], [
	AC_MSG_CHECKING([whether $CC makes objects for link-time optimization, too])
	memattach_save_CFLAGS=$CFLAGS
	CFLAGS="-Werror -O2 -flto=auto -ffat-lto-objects"
	AC_LINK_IFELSE([AC_LANG_PROGRAM()], [
		AC_MSG_RESULT([yes])
		LTO_CFLAGS="-flto=auto -ffat-lto-objects"
		LTO_LDFLAGS="-flto=auto"
	], [AC_MSG_RESULT([no])])
	CFLAGS=$memattach_save_CFLAGS
	AC_SUBST([LTO_CFLAGS])
	AC_SUBST([LTO_LDFLAGS])
])
