# Prints the version of the etcd in the staged deployment, if a unit runs the etcd of
# the OS. That etcd runs as nobody, inside the deployment, without a network and
# without other processes in sight, so that it reaches no data of the host.
[ -e /run/ostree/staged-deployment ] || exit 0
set -f
path=''
for word in $(systemctl show --property=ExecStart 'etcd*.service'); do
	case $word in
	path=/usr/local/*) ;;
	path=/usr/*/etcd | path=/bin/etcd | path=/sbin/etcd) path=${word#path=} ;;
	esac
done
[ -n "$path" ] || exit 0
root=''
note_root() {
	is_staged || return 0
	root=/ostree/deploy/$osname/deploy/$id
	return 1
}
read_status note_root
[ -n "$root" ] && [ -x "$root$path" ] || exit 0
ask_version setpriv --no-new-privs chroot --userspec=65534:65534 --groups=65534 "$root" "$path" --version
