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

# MEMATTACH_LIST_LIBRARIES
# One line that names the libraries and their versions, for the summary and for --version.
AC_DEFUN([MEMATTACH_LIST_LIBRARIES], [
	built_with=
	for memattach_module in libunwind libdw jansson libseccomp sqlite3; do
		memattach_version=`$PKG_CONFIG --modversion $memattach_module`
		built_with="$built_with$memattach_module $memattach_version, "
	done
	built_with="${built_with}Zydis"
	AS_IF([test "$have_libiberty" = yes], [built_with="$built_with, libiberty"])
	AS_IF([test "$have_ncurses" = yes],
		[built_with="$built_with, ncursesw `$PKG_CONFIG --modversion ncursesw`"])
	AC_DEFINE_UNQUOTED([MEMATTACH_BUILT_WITH], ["$built_with"], [libraries, for --version])
])
