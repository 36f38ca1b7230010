# What all OS scripts share. It needs: digest, the planned OS, and args, a
# digest of what is planned to change in its kernel arguments, or nothing.
export LC_ALL=C
repo=/ostree/repo
deployment=/run/ostree/staged-deployment
lockfile=$deployment-locked
work=/run/holdfast
mark=$work/staged-args

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

# made tells whether a commit is the OS of that digest: it is the digest, or was
# made from the image of that digest. Packages layered by rpm-ostree are a commit
# on top, so its parent counts then.
made() { # COMMIT DIGEST
	commit=$1
	if [ "$(meta rpmostree.clientlayer)" = true ]; then
		commit=$(ostree rev-parse --repo="$repo" "$commit^") || return 1
	fi
	[ "$commit" = "$2" ] || [ "$(meta ostree.manifest-digest)" = "'$2'" ]
}

# planned tells whether the staged deployment is the planned OS.
planned() { [ -n "$staged" ] && made "${staged%.*}" "$digest"; }

# argued tells whether the staged deployment has the planned kernel arguments.
# ostree does not list them before the reboot, so who stages marks the very
# deployment, and a mark of another means nothing.
argued() {
	has=''
	if [ -e "$mark" ] && sum=$(stagedsum); then
		has=$(cat "$mark")
		case $has in
		"$sum "*) has=${has#* } ;;
		*) has='' ;;
		esac
	fi
	[ "$has" = "$args" ]
}

stagedsum() {
	sum=$(sha256sum "$deployment" 2>/dev/null) || return 1
	say "${sum%% *}"
}

# note marks the staged deployment as having the planned kernel arguments. To
# lock or unlock it makes another one of it.
note() {
	rm -f "$mark"
	[ -z "$args" ] || say "$(stagedsum) $args" >"$mark"
}

meta() { ostree show --repo="$repo" --print-metadata-key="$1" "$commit" 2>/dev/null || :; }

# lock keeps the staged deployment from taking effect at a reboot. Before
# ostree 2023.8 the file is all there is; later versions obey it too.
lock() {
	ostree admin lock-finalization >/dev/null 2>&1 || {
		mkdir -p "${lockfile%/*}"
		: >"$lockfile"
	}
	note
}

# origin keeps in $work/origin what a deployment follows, but for what belongs to
# that deployment alone, like being pinned: file.
origin() {
	keep=yes
	while IFS= read -r line; do
		case $line in
		'[libostree-transient]') keep='' ;;
		'['*) keep=yes ;;
		esac
		[ -z "$keep" ] || say "$line"
	done <"$1" >"$work/origin"
}

# prepare is what is to be done right before a reboot is ordered.
prepare() { :; }

unlock() {
	ostree admin lock-finalization --unlock >/dev/null 2>&1 || :
	rm -f "$lockfile"
	look
	[ "$locked" = no ]
}
