# Functions that tell processes of the system from those of people and pods, which may have any name.

# of_system tells whether a process belongs to root, to another account of the system, or to one that
# systemd has made for a service. The owner of the folder does not tell: a process can change it.
of_system() {
	[ -r "$1/status" ] || return 1
	while read -r key uid rest; do
		[ "$key" = Uid: ] || continue
		[ "$uid" -lt 1000 ] || { [ "$uid" -ge 61184 ] && [ "$uid" -le 65519 ]; }
		return
	done 2>/dev/null <"$1/status"
	return 1
}

# of_host_network tells whether a process is in the network of the host. In a pod with a network of its own,
# anybody may be root. A network that is not known counts: root hides none from root.
of_host_network() {
	own=$(readlink "$1/ns/net") || return 0
	[ "$own" = "$(readlink "${1%/*}/1/ns/net")" ]
}
