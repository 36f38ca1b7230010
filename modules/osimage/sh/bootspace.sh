# Measures whether the kernel and the initramfs of the staged deployment fit into /boot.
# ostree copies them there during the shutdown, when nobody can be asked any more. It needs
# lib.sh, and kernels (the folder in /boot that has one folder for each kernel).
bootneeds=$work/boot-needs

# print_kib prints the size of files in KiB, each rounded up.
print_kib() {
	stat -L -c %s -- "$@" 2>/dev/null | {
		sum=0
		while read -r size; do sum=$((sum + (size + 1023) / 1024)); done
		say "$sum"
	}
}

print_sizes() { stat -L -c %s -- "$@" 2>/dev/null || :; }
print_sums() { sha256sum -- "$@" 2>/dev/null | cut -c1-64; }

# measure_boot sets need to the KiB that the staged deployment needs in /boot, and gain to the
# KiB there that ostree can free itself. A kernel that is there already needs nothing. need
# is nothing if it is not known.
measure_boot() {
	need='' gain=0
	[ -n "$staged" ] && [ -d "$kernels" ] || return 0
	for kernel in "$deploys"/*/deploy/"$staged"/usr/lib/modules/*/vmlinuz; do
		[ -f "$kernel" ] || return 0
		modules=${kernel%/vmlinuz}
	done
	sizes=$(print_sizes "$modules/vmlinuz" "$modules/initramfs.img")
	need=$(print_kib "$modules/vmlinuz" "$modules/initramfs.img" "$modules/devicetree")
	need=$((need + 1024)) # entries of the boot loader
	read -r cmdline </proc/cmdline || :
	booted=${cmdline##*ostree=/ostree/boot.}
	for dir in "$kernels"/*-*/; do
		[ -d "$dir" ] || continue
		if [ "$(print_sizes "$dir"vmlinuz-* "$dir"initramfs-*)" = "$sizes" ] &&
			[ "$(print_sums "$dir"vmlinuz-* "$dir"initramfs-*)" = "$(print_sums "$modules/vmlinuz" "$modules/initramfs.img")" ]; then
			need=0
		fi
		csum=${dir%/}
		case $booted in
		*"/${csum##*-}/"*) continue ;;
		esac
		gain=$((gain + $(print_kib "$dir"*)))
	done
	# From 2023.5 on, ostree frees the kernel of the rollback deployment before it writes
	# the new one. It keeps pinned deployments.
	version=$(ostree --version)
	version=${version#*"Version: '"}
	version=${version%%"'"*}
	case $version in
	20[01][0-9].* | 202[0-2].* | 2023.[1-4]) gain=0 ;;
	esac
	case $status in
	*'Pinned: yes'*) gain=0 ;;
	esac
}

# check_boot ends the script with 77 if the staged deployment does not fit into /boot. It
# notes the need for the probe.
check_boot() {
	sum=$(print_staged_sum) || return 0
	noted='' need='' gain=
	if [ -f "$bootneeds" ]; then read -r noted need gain <"$bootneeds" || :; fi
	if [ "$noted" != "$sum" ] || [ -z "$gain" ]; then
		measure_boot
		[ -n "$need" ] || return 0
		say "$sum $need $gain" >"$bootneeds"
	fi
	free=$(df -Pk "$kernels" | {
		read -r _
		read -r _ _ _ free _
		say "$free"
	})
	[ "$need" -gt $((free + gain)) ] || return 0
	say "$1: $((free / 1024)) MiB are free in /boot, and $((need / 1024 + 1)) MiB are needed for the kernel and the initramfs of $digest$(
		[ "$gain" -eq 0 ] || say " (ostree can free $((gain / 1024)) MiB there itself)"
	); remove old kernels and other files from /boot, or deployments with ostree admin undeploy; nothing was rebooted" >&2
	exit 77
}
