# The folder of the certificates of etcd on a host. It and all folders above it belong to
# root, and nobody else can write to them: so nothing in it can be swapped. Each of them is
# checked from within, from the top.
#
# It needs: root (prefix of all paths; empty on hosts), dir (the folder), and the functions
# of ground.sh, which follow it.
set -eu
export LC_ALL=C
umask 077
kept='ca.crt server.crt server.key peer.crt peer.key client.crt client.key'
most=65536 # bytes of a file

fail() {
	printf '%s\n' "$1" >&2
	exit 1
}

# enter_keys goes to the folder. It makes those that are missing if make is set, and
# returns 1 if one is missing and make is not. It sets at to the path of the folder.
enter_keys() {
	at=$root
	below=
	enter_dir "$below"
	wanted=${dir#/}/
	while [ -n "$wanted" ]; do
		name=${wanted%%/*}
		wanted=${wanted#*/}
		if [ ! -e "./$name" ] && [ ! -L "./$name" ]; then
			[ -n "$make" ] || return 1
			(umask 022 && mkdir "./$name")
		fi
		below=$below/$name
		at=$root$below
		code=0
		enter_dir "$below" || code=$?
		[ "$code" != 1 ] || fail "$at is not a folder that can be entered"
		# Links of the OS are refused, too.
		[ "$cwd" = "$at" ] || fail "the path $at is a link; name the folder that it leads to"
		stat -c '%f %u' . | grep -q "^4.[02468ace][014589cd] $uid\$" ||
			fail "$at can be changed by others than root; keys of etcd must be in a folder that is root's alone, all the way"
	done
	! has_acl . || fail "$at has an access control list, so that its mode does not say who may use it; remove it: setfacl -b -k $at"
	entered= # the callers go further
	for name in $kept; do
		if [ -L "./$name" ] && [ "$(readlink "./$name")" = "current/$name" ]; then continue; fi
		if [ -e "./$name" ] || [ -L "./$name" ]; then
			fail "$at/$name was not made by holdfast; move it away, or set another folder in the block ca"
		fi
	done
}

# print_random prints some random digits.
print_random() { od -An -v -N 8 -tx1 /dev/urandom | tr -d ' \n'; }
