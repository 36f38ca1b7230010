# note_time writes the time into a set that has none, because a run was cut short. The uptime
# counts from the boot of the kernel, also after soft reboots.
note_time() {
	if [ -f "$1/placed" ]; then return 0; fi
	read -r up _ </proc/uptime
	echo "$(cat /proc/sys/kernel/random/boot_id) ${up%.*}${up#*.}" >"$1/placed.new"
	sync "$1/placed.new"
	mv -fT "$1/placed.new" "$1/placed"
}

# place_set completes the set of files in the current folder, $at/next, and makes it the one
# that etcd uses, by the rename of one link. The sets before are kept, but only some.
#
# The set has the history of its file of CAs: since when, in hundredths of a second since
# which boot, which CAs were in it. So it can be told which of them an etcd has read that
# has started at some time. The time is taken after the rename, so that an etcd that
# started before may be taken for one that has not read the new file, never the other way.
place_set() {
	printf '%s' "$ca" | base64 -d >ca.crt
	printf '%s' "$cas" >cas
	: >trusted
	if [ -f ../current/cas ]; then
		tail -n 99 ../current/trusted 2>/dev/null >trusted || :
		if [ "$(cat ../current/cas)" = "$cas" ]; then
			if [ -f ../current/placed ]; then cp ../current/placed placed; fi
		elif [ -f ../current/placed ]; then
			echo "$(cat ../current/placed) $(cat ../current/cas)" >>trusted
		fi
	fi
	chmod 0644 ca.crt server.crt peer.crt client.crt
	chmod 0600 server.key peer.key client.key
	# shellcheck disable=SC2086 # names without blanks
	sha256sum $kept cas trusted >sums
	chmod 0755 .
	# shellcheck disable=SC2046 # names without blanks
	sync $(ls) .
	cd ..
	set=set-$(date -u +%Y%m%dT%H%M%SZ)-$(print_random)
	mv -nT ./next "./$set"
	[ ! -e ./next ] || fail "$at/next cannot be renamed to $set"
	new=new-$(print_random)
	ln -s "$set" "./$new"
	mv -fT "./$new" ./current
	note_time "./$set"
	for name in $kept; do
		if [ -L "./$name" ]; then continue; fi
		ln -s "current/$name" "./$new"
		mv -nT "./$new" "./$name"
	done
	sync .
	rm -f ./new-*
	set -- set-*
	while [ $# -gt 4 ]; do # the names are in the order of time
		[ "$1" = "$set" ] || rm -rf "./$1"
		shift
	done
}
