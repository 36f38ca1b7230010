# Prints the sockets of the host that have a TCP port, as the kernel knows them, one a line;
# see readListeners. It needs: port, unit (of etcd; '': not known). It believes nothing that
# an account can write.
set -u
export LC_ALL=C
unset TIME_STYLE

# is_of_etcd UNIT GROUP reports whether a control group belongs to a system unit, or
# is below it, and root has made the unit for etcd, by its name or its command: the program
# etcd, or an image of this name. An account may own groups with the names of units
# elsewhere.
is_of_etcd() {
	own=$(systemctl show -p ControlGroup --value "$1" 2>/dev/null)
	case $2/ in
	"${own:-none}"/*) ;;
	*) return 1 ;;
	esac
	case $1 in
	"$unit" | etcd*.service) return 0 ;;
	esac
	systemctl show -p ExecStart --value "$1" 2>/dev/null | tr ' ' '\n' |
		grep -qE '^(path=/.*|[^/=-][^=]*)/etcd([:@].*)?$'
}

# A socket of another network namespace is not in these files, and no connection of sshd
# reaches it.
sockets=$(cat /proc/net/tcp /proc/net/tcp6 2>/dev/null | awk -v port="$(printf ':%04X' "$port")" '
	$1 == "sl" { read = 1; next }
	substr($2, length($2) - 4) != port { next }
	$4 != "0A" { other = 1; next }
	n++ < 20 { print "listener", $8, $10, substr($2, 1, length($2) - 5) }
	END { if (other) print "other"; if (read) print "read" }')

others=$(echo "$sockets" | awk '$1 == "listener" && $2 != 0 { print $3 }')
if [ -n "$others" ]; then
	for name in ${unit:+"$unit"} etcd.service; do
		pid=$(systemctl show -p MainPID --value "$name" 2>/dev/null)
		user=$(systemctl show -p User --value "$name" 2>/dev/null)
		uid=
		[ "${pid:-0}" = 0 ] || uid=$(awk '$1 == "Uid:" { print $5 }' "/proc/$pid/status" 2>/dev/null)
		[ -n "$uid" ] || [ -z "$user" ] || uid=$(id -u "$user" 2>/dev/null)
		[ -z "$uid" ] || echo "account $uid"
	done
	# An account chooses the names of the files that it opens: -q leaves no line break
	# in them.
	# shellcheck disable=SC2012 # a host need not have find
	holders=$(ls -lnq /proc/[0-9]*/fd 2>/dev/null | awk -v wanted="$(echo "$others" | tr '\n' ' ')" '
		BEGIN { split(wanted, list, " "); for (i in list) sockets["socket:[" list[i] "]"] = list[i] }
		$0 ~ "^/proc/[0-9]+/fd:$" { dir = substr($0, 1, length($0) - 4); next }
		$10 == "->" && $11 in sockets && !seen[$11]++ { print sockets[$11], dir }')
fi
echo "$sockets" | while read -r word uid inode address; do
	group=- kind=-
	if [ "$word" != listener ]; then
		echo "$word"
		continue
	fi
	if [ "$uid" != 0 ]; then
		dir=$(echo "$holders" | awk -v inode="$inode" '$1 == inode { print $2; exit }')
		[ -z "$dir" ] || group=$(head -c 4096 "$dir/cgroup" 2>/dev/null | sed -n -e 's/^0:://p' -e 's/^[0-9]*:name=systemd://p' | awk 'length($0) > 1 { print $1; exit }')
		service=$(printf '%s\n' "$group" | tr / '\n' | sed -n '/\.service$/{p;q;}')
		[ -z "$service" ] || ! is_of_etcd "$service" "$group" || kind=etcd
	fi
	printf '%s\n' "listener $uid $address $kind ${group:--}"
done
