# Prints the version of the etcd of the unit. This etcd runs as nobody, without a network
# and without other processes in sight. The script prints nothing if the unit runs another
# program, such as podman. It needs: unit, and askversion.sh.
set -f
path=''
for word in $(systemctl show --property=ExecStart "$unit"); do
	case $word in
	path=/*/etcd) path=${word#path=} ;;
	esac
done
[ -n "$path" ] && [ -x "$path" ] || exit 0
ask_version setpriv --no-new-privs --reuid=65534 --regid=65534 --clear-groups "$path" --version || :
