# Checks that the host can restore a database. It needs: needed (KiB of free space).
command -v etcdutl >/dev/null || {
	echo "there is no etcdutl; install it, of the same version as etcd" >&2
	exit 1
}
help=$(etcdutl snapshot restore --help 2>&1) || :
for flag in --bump-revision --mark-compacted; do
	case $help in
	*"$flag"*) ;;
	*)
		echo "its etcdutl ($(etcdutl version 2>&1 | head -n 1)) has no $flag, without which clients do not notice a restore; install a newer one" >&2
		exit 1
		;;
	esac
done
enter_folder "$parent"
free=$(df -Pk . | awk 'NR == 2 { print $4 }')
[ "$free" -ge "$needed" ] || {
	echo "$parent has only $free KiB free, and the restore needs $needed" >&2
	exit 1
}
