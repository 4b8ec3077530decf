# UTFEED_TRY_CFLAGS(FLAGS, [IF-YES], [IF-NO]): adds FLAGS to UTFEED_CFLAGS where the compiler takes them without a warning.
AC_DEFUN([UTFEED_TRY_CFLAGS], [
	AC_MSG_CHECKING([whether $CC takes $1])
	utfeed_saved=$CFLAGS
	CFLAGS="$CFLAGS -Werror $1"
	AC_COMPILE_IFELSE([AC_LANG_PROGRAM([[#include <string.h>]])],
		[CFLAGS=$utfeed_saved; UTFEED_CFLAGS="$UTFEED_CFLAGS $1"; AC_MSG_RESULT([yes]); $2],
		[CFLAGS=$utfeed_saved; AC_MSG_RESULT([no]); $3])
])
# UTFEED_TRY_LDFLAGS(FLAGS, [IF-YES], [IF-NO]): the same for linking, after the compile flags found so far.
AC_DEFUN([UTFEED_TRY_LDFLAGS], [
	AC_MSG_CHECKING([whether $CC links with $1])
	utfeed_saved=$LDFLAGS
	utfeed_saved_cflags=$CFLAGS
	CFLAGS="$CFLAGS $UTFEED_CFLAGS"
	LDFLAGS="$LDFLAGS $1"
	AC_LINK_IFELSE([AC_LANG_PROGRAM()],
		[LDFLAGS=$utfeed_saved; CFLAGS=$utfeed_saved_cflags; UTFEED_LDFLAGS="$UTFEED_LDFLAGS $1"; AC_MSG_RESULT([yes]); $2],
		[LDFLAGS=$utfeed_saved; CFLAGS=$utfeed_saved_cflags; AC_MSG_RESULT([no]); $3])
])
