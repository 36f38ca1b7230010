# Prints signs that etcd runs on the host, one a line: the manifest of a static pod, or a listener on a port of etcd. The probe of
# units finds services of etcd. The kernel takes milliseconds to list its connections, so the script reads them once. Then it prints, after
# the word server, where each server of etcd runs. Two servers with the same place are two processes of one member.

# print_place prints the service or pod of a process, or its own control group, from the lines of its file cgroup.
print_place() {
	while IFS= read -r line; do
		case $line in
		0::/?* | *:name=systemd:/?*) ;;
		*) continue ;;
		esac
		path=${line#*:*:}
		case $path in
		*.service | *.service/*) path=${path%%.service*}.service ;;
		*kubepods*/*) path=${path%/*} ;;
		esac
		printf 'server %s\n' "${path##*/}"
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
