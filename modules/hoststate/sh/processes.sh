# Prints, one a line and each after its kind: the name of the host, the tools that update its OS, and
# each etcd and kubelet that runs, with its arguments. Of the environment of etcd it prints the variables
# that etcd reads. It starts no program for any other process. Processes of people and of pods do not count,
# whatever their names: root reads the files that an etcd names.

# print_lines prints the texts of standard input, which end with NUL, each after a word.
print_lines() {
	head -c 65536 | tr '\000\n' '\n ' | while IFS= read -r text || [ -n "$text" ]; do
		case $1$text in
		argument*) printf 'argument %s\n' "$text" ;;
		variableETCD_*) printf 'variable %s\n' "$text" ;;
		esac
	done
}

IFS= read -r text </proc/sys/kernel/hostname || :
printf 'hostname %s\n' "$text"
for tool in rpm-ostree bootc; do
	if command -v "$tool" >/dev/null; then printf 'tool %s\n' "$tool"; fi
done
found=0
for folder in /proc/[0-9]*; do
	text=''
	[ ! -r "$folder/comm" ] || IFS= read -r text 2>/dev/null <"$folder/comm" || continue
	case $text in etcd | kubelet) ;; *) continue ;; esac
	of_system "$folder" && of_host_network "$folder" || continue
	found=$((found + 1))
	[ "$found" -le 8 ] || break
	printf 'process %s\n' "$text"
	print_lines argument 2>/dev/null <"$folder/cmdline" || : # it may end at any moment
	[ "$text" != etcd ] || print_lines variable 2>/dev/null <"$folder/environ" || :
done
