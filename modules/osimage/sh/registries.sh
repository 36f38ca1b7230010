# Makes skopeo, which fetches images for rpm-ostree and bootc, find the image at the
# port of the bastion. The image keeps its name, because the deployment and the
# signature policy of the host know no other name. No file in /etc changes. A missing
# directory is made, because a mount needs a directory. An image from the bastion
# needs: port, and mirrored (name of the image).
registries=$work/registries
mirrored=${mirrored:-}

# write_registries copies the configuration of registries, and adds the port of the
# bastion, for the image and for its signatures.
write_registries() {
	rm -rf "$registries"
	for dir in registries.conf.d registries.d; do
		mkdir -p "/etc/containers/$dir" "$registries/$dir" || return 1
	done
	copy_registries || return 1
	printf "[[registry]]\nprefix = '%s'\nlocation = '127.0.0.1:%s/os'\ninsecure = true\n" \
		"$mirrored" "$port" >"$registries/registries.conf.d/zz-holdfast.conf"
	printf 'docker:\n  127.0.0.1:%s:\n    use-sigstore-attachments: true\n' \
		"$port" >"$registries/registries.d/zz-holdfast.yaml"
}

# copy_registries copies only files that skopeo reads: a link may lead to a device or to
# a whole disk, and the copy is in memory.
copy_registries() {
	most=2097152 # limit of the bytes of all files; usual are a few thousand
	left=$most
	for file in /etc/containers/registries.conf.d/* /etc/containers/registries.conf.d/.* \
		/etc/containers/registries.d/* /etc/containers/registries.d/.*; do
		case $file in
		*.conf | *.yaml) ;;
		*) continue ;;
		esac
		[ -f "$file" ] || {
			say "stage: $file is not a regular file, so the configuration of registries cannot be copied; remove it"
			return 1
		}
		copy=$registries${file#/etc/containers}
		head -c "$left" "$file" >"$copy" || return 1
		left=$((left - $(wc -c <"$copy")))
		[ "$left" -gt 0 ] || {
			say "stage: the files in /etc/containers/registries.conf.d and registries.d have more than $((most / 1048576)) MiB, which is too much to copy; remove some"
			return 1
		}
	done
}

# run_with_registries runs a command that sees this configuration in /etc, in a mount
# namespace that ends with the command.
run_with_registries() {
	write_registries || return 1 # errexit has no effect in a condition
	# shellcheck disable=SC2016 # the inner shell expands these
	unshare --mount sh -c '
		for dir in registries.conf.d registries.d; do
			mount --bind "$0/$dir" "/etc/containers/$dir" || exit
		done
		exec "$@"' "$registries" "$@"
}
