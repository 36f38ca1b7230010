# Makes the reboot of rebootjob.sh a kexec: into the staged deployment or, without a digest, into the running one. It loads
# the kernel, the initramfs and the options of the entry of the boot loader that belongs to this deployment. If that
# fails, the host reboots in full instead, and the reason is in $notkexec. If these files are not those of the deployment, it
# does not reboot: the boot loader would start the same files.
notkexec=$work/not-kexec
entries=/boot/loader/entries
bootdir=${entries%/loader/*}
loadfile=/sys/kernel/kexec_loaded
kexec=yes ours='' problem='' damaged=''

# read_running sets staged to COMMIT.SERIAL of the running deployment.
read_running() {
	staged=''
	read_status note_running && [ -n "$staged" ]
}

note_running() {
	[ -n "$running" ] || return 0
	staged=$id
	return 1
}

# finalize_now makes the staged deployment the default of the boot loader. From here on a power cut boots the new OS.
finalize_now() {
	systemctl stop ostree-finalize-staged.service || :
	[ ! -e "$deployment" ]
}

# read_entry reads an entry of the boot loader. It sets version, linux, initrd and options, and other to a
# key that a kexec cannot follow. Argument: file.
read_entry() {
	version='' linux='' initrd='' options='' other=''
	while read -r key value || [ -n "$key" ]; do
		case $key in
		version) version=$value ;;
		linux) linux=$value ;;
		initrd)
			[ -z "$initrd" ] || other='a second initrd'
			initrd=$value
			;;
		options) options=${options:+$options }$value ;;
		devicetree* | efi | uki*) other=$key ;;
		esac
	done <"$1"
	case $version in '' | *[!0-9]*) version=0 ;; esac
	case $options in *'$'*) other='a variable of the boot loader' ;; esac
}

# find_entry sets entry to the newest entry of the deployment, and root to the folder of the deployment. A new
# deployment must also be the default, which has the highest version.
find_entry() {
	entry='' root='' highest=0 best=-1
	for file in "$entries"/*.conf; do
		[ -f "$file" ] || continue
		read_entry "$file"
		case " $options" in *' ostree='*) ;; *) continue ;; esac
		link=${options##*ostree=}
		link=$(readlink -f -- "${link%% *}") || continue
		[ "$version" -le "$highest" ] || highest=$version
		[ "${link##*/deploy/}" = "$staged" ] && [ "$version" -gt "$best" ] || continue
		best=$version entry=$file root=$link
	done
	problem="no entry of the boot loader belongs to $staged"
	[ -n "$entry" ] || return 1
	problem="${entry##*/} is not the default of the boot loader"
	[ -z "$digest" ] || [ "$best" -eq "$highest" ] || return 1
	read_entry "$entry"
	problem="${entry##*/} has $other"
	[ -z "$other" ] || return 1
	problem="${entry##*/} has no kernel, or no initramfs"
	[ -n "$linux" ] && [ -n "$initrd" ]
}

# is_copy reports whether two files have the same content. A kernel that is cut off would load, and reset the host.
is_copy() { # FILE FILE
	[ -s "$1" ] && [ -s "$2" ] && [ "$(sha256sum <"$1")" = "$(sha256sum <"$2")" ]
}

# is_whole_file reports whether a file in /boot is that of the deployment. If not, it sets damaged to the command that
# mends it, or to nothing if the deployment has no such file. Arguments: file, file of the deployment, name for messages.
is_whole_file() {
	problem="$staged has no $3 in /usr/lib/modules"
	[ -s "$2" ] || return 1
	problem="$1 is not the $3 of $staged"
	is_copy "$1" "$2" || {
		damaged="cp $2 $1"
		return 1
	}
}

is_whole() {
	for kernel in "$root"/usr/lib/modules/*/vmlinuz; do :; done
	is_whole_file "$bootdir$linux" "$kernel" kernel &&
		is_whole_file "$bootdir$initrd" "${kernel%/vmlinuz}/initramfs.img" initramfs
}

is_loaded() { read -r loaded <"$loadfile" && [ "$loaded" = 1 ]; }

load_kernel() {
	problem="somebody has loaded a kernel, which kexec --unload undoes"
	if is_loaded; then return 1; fi
	ours=yes
	problem=$(timeout -k 5 60 kexec -s -l "$bootdir$linux" --initrd="$bootdir$initrd" --command-line="$options" 2>&1) || {
		problem="kexec does not load ${entry##*/}: $problem"
		return 1
	}
	problem="kexec has loaded nothing"
	is_loaded
}

prepare_kexec() {
	if [ -n "$digest" ]; then
		problem="ostree has not finalized $staged"
		finalize_now || return 1
	else
		problem='ostree does not name the running deployment'
		read_running || return 1
	fi
	find_entry && is_whole && load_kernel
}

prepare_kind() {
	rm -f "$notkexec"
	if prepare_kexec; then return 0; fi
	if [ -n "$damaged" ]; then
		say "reboot: the host would not come up from any reboot, and does not reboot: $problem; mend it: $damaged" >&2
		return 1
	fi
	undo_kind
	say "it reboots in full instead: it cannot kexec: $problem" >"$notkexec"
	kexec=no
}

# order_reboot lets a unit of its own order the kexec, which nothing that refuses the reboots of others refuses.
order_reboot() {
	if [ "$kexec" = no ]; then
		systemctl reboot
	else
		systemd-run --quiet --collect --property=SuccessAction=kexec true
	fi
}

undo_kind() {
	[ "$kexec" = yes ] || return 0
	[ -z "$ours" ] || kexec --unload || :
	[ ! -e "$deployment" ] || systemctl start ostree-finalize-staged.service || :
}
