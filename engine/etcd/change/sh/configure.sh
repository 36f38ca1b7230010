# Writes other settings and restarts etcd. It first keeps the old files, and makes the file
# $unread. If etcd does not start with the new settings, it gets the old ones again. If the
# start takes too long, the script ends, and etcd continues to start. It needs: logdir
# (folder of the log outside of the data directory; '': none), and putsettings.sh.
if [ -e "$tuning" ] && [ ! -e "$tuned" ]; then
	echo "the file $tuned is gone; write it again, with the variables that etcd runs with (/proc/PID/environ)" >&2
	exit 1
fi
# Without its log, etcd would begin an empty one after a restart: a voter that has lost its
# log forgets its votes.
if [ -n "$logdir" ]; then
	set -- "$logdir"/*.wal
	[ -e "$1" ] || {
		echo "${1%/*} has no log of etcd; is its disk mounted?" >&2
		exit 1
	}
fi
if [ ! -e "$unread" ]; then # else they are kept already
	for file in "$tuned" "$tuning"; do
		rm -f "$file.old"
		if [ -e "$file" ]; then
			ln -P "$file" "$file.old"
			sync "${file%/*}"
		fi
	done
	: >"$unread"
	sync "$state"
fi
write_settings
systemctl daemon-reload 9>&-
systemctl reset-failed "$unit" 2>/dev/null 9>&- || :
status=0
timeout 80 systemctl restart "$unit" 2>/dev/null 9>&- || status=$?
if [ "$status" != 0 ] && [ "$status" != 124 ]; then
	if [ -e "$tuning.old" ]; then
		for file in "$tuned" "$tuning"; do
			[ -e "$file.old" ] || continue
			ln -fP "$file.old" "$file.new" # needs no space
			mv -fT "$file.new" "$file"
		done
	else
		rm -f "$tuning" "$tuned"
	fi
	systemctl daemon-reload 9>&-
	systemctl reset-failed "$unit" 2>/dev/null 9>&- || :
	systemctl restart --no-block "$unit" 9>&-
fi
rm -f "$unread" "$tuned.old" "$tuning.old"
sync "$state"
if [ "$status" != 0 ] && [ "$status" != 124 ]; then
	echo "$unit does not start with these settings, and was started with the old ones: journalctl -u $unit" >&2
	exit 1
fi
