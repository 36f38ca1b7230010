# Versions of ostree that cannot change the order of deployments deploy the previous
# commit once more, with the kernel arguments of its boot loader entry. It then has the
# current /etc, not its own.
restore() {
	case $(ostree admin --help 2>&1) in
	*set-default*)
		ostree admin set-default "$index"
		return
		;;
	esac
	origin "/ostree/deploy/$osname/deploy/$version.origin"
	set -f
	set --
	for arg in $(arguments); do set -- "$@" --karg-append="$arg"; done
	if [ $# -gt 0 ]; then set -- --karg-none "$@"; fi
	ostree admin deploy --origin-file="$work/origin" "$@" "$previous"
	set +f
	rm -f "$work/origin"
}
drop() { ostree admin undeploy 0; } # a staged deployment is always the first

# arguments lists the kernel arguments of the previous deployment except ostree=, which
# names a link to it.
arguments() {
	set +f
	for entry in /boot/loader/entries/*.conf; do
		[ -e "$entry" ] || continue
		while read -r key options; do
			[ "$key" = options ] || continue
			link=${options##*ostree=}
			link=$(readlink "${link%% *}") || continue
			case $link in
			*/"$version") ;;
			*) continue ;;
			esac
			set -f
			for option in $options; do
				case $option in
				ostree=*) ;;
				*) say "$option" ;;
				esac
			done
			return
		done <"$entry"
	done
}
