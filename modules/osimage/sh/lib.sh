# Shared by all OS scripts. It sets: staged, locked and status (see read_staged), has (see
# has_planned_args), and paths of ostree and holdfast. It needs: digest (the planned OS, or
# nothing), and args (a digest of the planned change of kernel arguments).
export LC_ALL=C
repo=/ostree/repo
deployment=/run/ostree/staged-deployment
lockfile=$deployment-locked
work=/run/holdfast
mark=$work/staged-args

say() { printf '%s\n' "$*"; }
refuse_changed() {
	printf '%s\n' "$*; nothing was done" >&2
	exit 76
}

# read_staged sets staged to COMMIT.SERIAL of the staged deployment, or to nothing, and locked
# to yes or no. It asks ostree with every driver, because rpm-ostree does not report a
# lock that is only in the deployment. It fails if ostree does.
read_staged() {
	staged='' locked=''
	read_status note_staged || return 1
	if [ "$locked" = no ] && [ -e "$lockfile" ]; then locked=yes; fi
}

note_staged() {
	is_staged || return 0
	staged=$id locked=no
	case $marks in *' (finalization locked)'*) locked=yes ;; esac
	return 1
}

# has_unlocked_staged reports whether a staged deployment would take effect at a reboot, or whether that is not known. It sets
# problem.
has_unlocked_staged() {
	[ -e "$deployment" ] || return 1
	problem="a deployment is staged, and ostree does not report whether it is locked"
	read_staged || return 0
	problem="${staged:-a deployment that ostree does not list} is staged and not locked, so it would boot that; ostree admin undeploy 0 takes it away"
	[ "$locked" != yes ]
}

# deployment_is_os reports whether a deployment (COMMIT.SERIAL) is the OS with that digest: the digest
# is its commit, or the image that the commit was made from, or an index that its image was chosen from.
# Packages layered by rpm-ostree are a commit on top, so the parent commit counts, too.
deployment_is_os() { # DEPLOYMENT DIGEST
	commit=${1%.*}
	if [ "$(print_metadata rpmostree.clientlayer)" = true ]; then
		commit=$(ostree rev-parse --repo="$repo" "$commit^") || return 1
	fi
	[ "$commit" = "$2" ] || [ "$(print_metadata ostree.manifest-digest)" = "'$2'" ] || is_pinned_by "$1" "$2"
}

# is_pinned_by reports whether the image of a deployment is pinned by a digest. Only the origin has the digest of an index.
is_pinned_by() {
	for file in /ostree/deploy/*/deploy/"$1".origin; do
		[ -f "$file" ] || continue
		while IFS= read -r line; do
			case $line in container-image-reference=*"@$2") return 0 ;; esac
		done <"$file"
	done
	return 1
}

# has_planned_os reports whether the staged deployment has the planned OS.
has_planned_os() { [ -n "$staged" ] && deployment_is_os "$staged" "$digest"; }

# has_planned_args reports whether holdfast has staged the deployment with the planned kernel
# arguments. ostree does not list them before the reboot. So a staging marks its deployment at
# its end, also if it changes no arguments: a deployment of the planned OS without a mark has
# any arguments, or its staging was killed. The mark of another deployment does not count.
has_planned_args() {
	has=''
	if [ -e "$mark" ] && sum=$(print_staged_sum); then
		has=$(cat "$mark")
		case $has in
		"$sum "*) has=${has#* } ;;
		*) has='' ;;
		esac
	fi
	[ "$has" = "$args" ]
}

print_staged_sum() {
	sum=$(sha256sum "$deployment" 2>/dev/null) || return 1
	say "${sum%% *}"
}

# mark_args marks the staged deployment as one with the planned kernel arguments. Locking or
# unlocking creates a new deployment, which needs a new mark.
mark_args() { say "$(print_staged_sum) $args" >"$mark"; }

print_metadata() { ostree show --repo="$repo" --print-metadata-key="$1" "$commit" 2>/dev/null || :; }

# lock_staged prevents the staged deployment from taking effect at a reboot. Before ostree
# 2023.8 this file is the only lock. Later versions obey it, too.
# From 2023.8 on, ostree waits for a program that changes the deployments.
lock_staged() {
	timeout -k 5 30 ostree admin lock-finalization >/dev/null 2>&1 || {
		mkdir -p "${lockfile%/*}"
		: >"$lockfile"
	}
	mark_args
}

# copy_origin copies the origin of a deployment to $work/origin, without the settings of that
# deployment alone, such as its pin. Argument: file.
copy_origin() {
	keep=yes
	while IFS= read -r line; do
		case $line in
		'[libostree-transient]') keep='' ;;
		'['*) keep=yes ;;
		esac
		[ -z "$keep" ] || say "$line"
	done <"$1" >"$work/origin"
}

# prepare_reboot runs right before a reboot is ordered, prepare_kind once the staged deployment is
# unlocked, order_reboot orders the reboot, and undo_kind runs if the host does not reboot after
# prepare_kind. Other scripts replace them.
prepare_reboot() { :; }
prepare_kind() { :; }
order_reboot() { systemctl reboot; }
undo_kind() { :; }

# is_unit_busy reports whether a unit runs, starts or ends. Argument: the unit.
is_unit_busy() {
	case $(systemctl show --property=ActiveState --value "$1") in
	active | activating | deactivating | reloading) ;;
	*) false ;;
	esac
}
