# Lets skopeo, which fetches images for rpm-ostree and bootc, find the image at the port
# of the bastion, under the name that it has anyway: the deployment and the signature
# policy of the host know no other. Nothing in /etc changes. An image from the bastion
# needs: port, and mirrored (its name).
registries=$work/registries
mirrored=${mirrored:-}

# writeregistries copies the configuration of registries, and adds the port. Signatures
# are looked for where the image is.
writeregistries() {
	rm -rf "$registries"
	for dir in registries.conf.d registries.d; do
		mkdir -p "/etc/containers/$dir" "$registries/$dir" || return 1
		cp -RL "/etc/containers/$dir/." "$registries/$dir" || return 1
	done
	printf "[[registry]]\nprefix = '%s'\nlocation = '127.0.0.1:%s/os'\ninsecure = true\n" \
		"$mirrored" "$port" >"$registries/registries.conf.d/zz-holdfast.conf"
	printf 'docker:\n  127.0.0.1:%s:\n    use-sigstore-attachments: true\n' \
		"$port" >"$registries/registries.d/zz-holdfast.yaml"
}

# withregistries runs a command that sees this configuration in /etc. It ends with the
# command, however that ends.
withregistries() {
	writeregistries || return 1 # errexit means nothing in a condition
	# shellcheck disable=SC2016 # the inner shell expands these
	unshare --mount sh -c '
		for dir in registries.conf.d registries.d; do
			mount --bind "$0/$dir" "/etc/containers/$dir" || exit
		done
		exec "$@"' "$registries" "$@"
}
