# Prints signs that etcd runs on the host, one a line: the manifest of a static pod, or a listener on a port of etcd. The probe of
# units finds services of etcd. The kernel takes milliseconds to list its connections, so the script reads them once. Then it prints, after
# the word server, where each server of etcd runs. Two servers with the same place are two processes of one member.

# find_place sets place to the pod in a path of control groups, else to the outermost service or scope, else to the last group. Each
# engine of containers has other groups below these, and podman and CRI-O give those of all containers the same name. Argument: path.
find_place() {
	rest=${1#/}/ place='' kube=''
	while [ -n "$rest" ]; do
		group=${rest%%/*} rest=${rest#*/}
		case $group in *kubepods*) kube=yes ;; esac
		case $kube$group in
		yes*-pod[0-9a-f]* | yespod[0-9a-f]*)
			place=${group%%:*} # a runtime may add itself and the container
			return
			;;
		esac
		case $place in *.service | *.scope) ;; *) place=$group ;; esac
	done
}

# print_place prints where a process runs, from the lines of its file cgroup.
print_place() {
	while IFS= read -r line; do
		case $line in
		0::/?* | *:name=systemd:/?*) ;;
		*) continue ;;
		esac
		find_place "${line#*:*:}"
		printf 'server %s\n' "$place"
		return
	done
}

# is_server tells from the arguments of etcd, one a line, whether it runs as a server.
is_server() {
	[ -n "$1" ] || return 1
	case ${1#*"$newline"} in
	gateway | gateway"$newline"* | grpc-proxy | grpc-proxy"$newline"* | -version* | --version* | -h | -help* | --help*) return 1 ;;
	esac
}

newline='
'
for f in /etc/kubernetes/manifests/etcd*; do if [ -f "$f" ]; then echo "static pod $f"; fi; done
listeners=$(grep -ohsE "^ *[0-9]+: [0-9A-F]+:094[BC] [0-9A-F]+:0000 0A " /proc/net/tcp /proc/net/tcp6)
for p in "2379 094B" "2380 094C"; do
	case $listeners in *":${p#* } "*) echo "a listener on port ${p% *}" ;; esac
done
found=0
grep -lsx etcd /proc/[0-9]*/comm | while IFS= read -r file; do
	folder=${file%/comm}
	of_system "$folder" && of_host_network "$folder" || continue
	found=$((found + 1))
	[ "$found" -le 16 ] || break
	arguments=$(head -c 65536 2>/dev/null <"$folder/cmdline" | tr '\000\n' '\n ') || continue # it may end at any moment
	if is_server "$arguments"; then print_place 2>/dev/null <"$folder/cgroup"; fi
done
:
