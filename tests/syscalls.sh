#!/bin/sh
# How the list of system calls (proxy/sandbox/syscalls.def) was made: the end-to-end tests with each utfeed under strace and nothing given
# up; what it calls once it is ready is counted. Prints each row with how often it was called (0: for another version or machine, or for
# what no test does), then what is called and not listed, which fails. Some tests fail because strace is slow. Half an hour.
# usage: syscalls.sh BUILD-FOLDER [PYTEST-ARGUMENT...]     make syscalls, PYTEST_ARGUMENTS='test_cache.py'
set -eu
here=$(cd "$(dirname "$0")" && pwd)
build=$(cd "$1" && pwd)
shift
command -v strace >/dev/null || { echo "syscalls: needs strace"; exit 77; }
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
mkdir "$work/seen"
export LC_ALL=C

cat >"$work/count.awk" <<'END'
/write\(2, "utfeed [^ ]* ready / { begun = 1 }
begun && match($2, /^[a-z0-9_]+\(/) { seen[substr($2, 1, RLENGTH - 1)]++ }
END { for (name in seen) print name, seen[name] }
END
# In the place of utfeed; -D keeps its number for the tests. What tests preload is for utfeed alone
cat >"$work/utfeed" <<END
#!/bin/sh
[ "\${1:-}" = serve ] || exec "$build/utfeed" "\$@"
set -- "$build/utfeed" "\$@"
if [ -n "\${LD_PRELOAD:-}" ]; then
	set -- -E "LD_PRELOAD=\$LD_PRELOAD" "\$@"
	unset LD_PRELOAD
fi
exec strace -D -f -qqq -s 40 -e signal=none -o "|exec awk -f '$work/count.awk' >'$work/seen/\$\$'" "\$@"
END
chmod +x "$work/utfeed"

(cd "$here/e2e" && UTFEED="$work/utfeed" UTFEED_SERVE_ARGS="--sandbox off" PYTHONDONTWRITEBYTECODE=1 "${PYTHON:-python3}" -m pytest -q \
	-p no:cacheprovider -p side_by_side --deselect test_sandbox.py "$@") >"$work/log" 2>&1 || :
tail -n 1 "$work/log"
cat "$work/seen"/* 2>/dev/null | awk -v list="$here/../proxy/sandbox/syscalls.def" '
	{ seen[$1] += $2; total += $2 }
	END {
		while ((getline line < list) > 0)
			if (line ~ /^(CALL|LIMITED|ABSENT)\(/) {
				name = line
				gsub(/^[A-Z]+\(|,.*/, "", name)
				listed[name] = 1
				printf "%-18s %d\n", name, seen[name]
			}
		for (name in seen) if (!(name in listed)) { printf "%-18s %d is not listed\n", name, seen[name]; missing++ }
		printf "syscalls: %d calls of utfeeds that were ready; %d are not listed\n", total, missing
		exit missing > 0 || total == 0
	}'
