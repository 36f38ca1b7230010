# restore_running fails with an ostree that cannot change the order: to remove the deployment
# that restore_previous has made would remove the previous OS from the host.
restore_running() { ostree admin set-default "$bootedindex"; }

# Some versions of ostree cannot change the order of deployments. Then the script
# deploys the previous commit again, with the kernel arguments of its boot loader
# entry. The new deployment has the current /etc, not the previous one.
restore_previous() {
	case $(ostree admin --help 2>&1) in
	*set-default*)
		ostree admin set-default "$index"
		return
		;;
	esac
	check_survivors "roll back"
	copy_origin "/ostree/deploy/$osname/deploy/$version.origin"
	set -f
	set --
	for arg in $(print_previous_args); do set -- "$@" --karg-append="$arg"; done
	if [ $# -gt 0 ]; then set -- --karg-none "$@"; fi
	ostree admin deploy --origin-file="$work/origin" "$@" "$previous"
	set +f
	rm -f "$work/origin"
}
drop_staged() { ostree admin undeploy 0; } # a staged deployment is always the first

# print_previous_args lists the kernel arguments of the previous deployment, except ostree=, the
# link to the deployment.
print_previous_args() {
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
