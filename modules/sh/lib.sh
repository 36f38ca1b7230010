# What all OS scripts share. It needs: digest, the planned OS.
export LC_ALL=C
repo=/ostree/repo
lockfile=/run/ostree/staged-deployment-locked
work=/run/holdfast

say() { printf '%s\n' "$*"; }
changed() {
	printf '%s\n' "$*; nothing was done" >&2
	exit 76
}

# look sets staged to COMMIT.SERIAL of the staged deployment, or to nothing,
# and locked to yes or no. ostree's own status is asked whatever the driver:
# rpm-ostree does not see a lock that is kept in the deployment only. Lines of
# deployments begin with two columns, all others are indented further.
look() {
	staged='' locked=''
	status=$(ostree admin status)
	while IFS= read -r line; do
		case $line in
		'* '[!\ ]* | '  '[!\ ]*) ;;
		*) continue ;;
		esac
		case $line in
		*' (finalization locked)'*) locked=yes ;;
		*' (staged)'*) locked=no ;;
		*) continue ;;
		esac
		line=${line%% (*}
		staged=${line##* }
		break
	done <<END
$status
END
	if [ "$locked" = no ] && [ -e "$lockfile" ]; then locked=yes; fi
}

# planned tells whether the staged deployment is the planned OS: its commit is
# the digest, or was made from the image of that digest. Packages layered by
# rpm-ostree are a commit on top, so its parent counts then.
planned() {
	[ -n "$staged" ] || return 1
	commit=${staged%.*}
	if [ "$(meta rpmostree.clientlayer)" = true ]; then
		commit=$(ostree rev-parse --repo="$repo" "$commit^") || return 1
	fi
	[ "$commit" = "$digest" ] || [ "$(meta ostree.manifest-digest)" = "'$digest'" ]
}

meta() { ostree show --repo="$repo" --print-metadata-key="$1" "$commit" 2>/dev/null || :; }

# lock keeps the staged deployment from taking effect at a reboot. Before
# ostree 2023.8 the file is all there is; later versions obey it too.
lock() {
	ostree admin lock-finalization >/dev/null 2>&1 || {
		mkdir -p "${lockfile%/*}"
		: >"$lockfile"
	}
}

unlock() {
	ostree admin lock-finalization --unlock >/dev/null 2>&1 || :
	rm -f "$lockfile"
	look
	[ "$locked" = no ]
}
