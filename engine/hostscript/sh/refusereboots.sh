# Functions for takehold.sh and releasehold.sh: a host that a person holds refuses the reboots that
# others order, as far as its systemd can. They need: file (of the hold), refused (units), refusals
# (folder for drop-ins that end with the boot), refusal (name of the drop-ins), and inhibitor (unit).

# refuse_reboots REASON DESCRIPTION writes the drop-ins, which keep a unit from being started by itself,
# and starts the inhibitor, which tells the reason. A soft reboot ends the inhibitor, and keeps the
# drop-ins. If the hold is removed by hand, the inhibitor removes the drop-ins and ends. systemd puts
# the reason into the command, so no shell reads it.
refuse_reboots() {
	dropins=
	for unit in $refused; do
		dropins="$dropins $refusals/$unit.d/$refusal"
		(umask 022 && mkdir -p "$refusals/$unit.d" &&
			printf '[Unit]\nDescription=%s\nRefuseManualStart=yes\n' "$2" >"$refusals/$unit.d/$refusal") || return 1
	done
	systemctl daemon-reload 9>&- || return 1
	systemctl stop "$inhibitor" 9>&- 2>/dev/null || :
	command -v systemd-inhibit >/dev/null 2>&1 || return 0
	# shellcheck disable=SC2016 # systemd expands it
	systemd-run --quiet --collect --unit="$inhibitor" --setenv=reason="$1" \
		systemd-inhibit --what=shutdown --mode=block --who=holdfast '--why=${reason}' \
		sh -c "while [ -e $file ]; do sleep 30; done; rm -f$dropins; systemctl daemon-reload" 9>&- 2>/dev/null
}

# allow_reboots ends the refusal, also one that was left behind.
allow_reboots() {
	lifted=
	for unit in $refused; do
		[ -e "$refusals/$unit.d/$refusal" ] || continue
		rm -f "$refusals/$unit.d/$refusal"
		rmdir "$refusals/$unit.d" 2>/dev/null || :
		lifted=yes
	done
	[ -n "$lifted" ] || return 0
	systemctl stop "$inhibitor" 9>&- 2>/dev/null || :
	systemctl daemon-reload 9>&-
}
