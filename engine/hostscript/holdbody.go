package hostscript

// This file contains the bodies of the hold scripts. They need POSIX sh,
// coreutils and systemctl, and use flock if the host has it. holdVars sets
// their variables.

// holdLib opens the state directory, takes the lock against other hold scripts,
// and defines functions for all bodies. It does not change a hold.
const holdLib = `
[ -d "$dir" ] || (umask 077 && mkdir -p "$dir")
exec 9>>"$dir/lock"
` + lockLines + `echo 'another hold script' >"$dir/lock"
rm -f "$dir"/.hold.*
tmp=$dir/.hold.$$
now=$(date -u +%s)

stamp() { date -u -d "@$1" +%Y-%m-%dT%H:%M:%SZ; }
found() { [ -e "$file" ] || [ -L "$file" ]; }
has() { case $1 in *"$2"*) [ -n "$2" ] ;; *) false ;; esac; }

# held prints the hold of somebody else and ends the script.
held() {
	cat "$file" || :
	printf '%s\n' "hold: the host is held by someone else" >&2
	exit 75
}

old=
if found; then old=$(cat "$file" 2>/dev/null) || [ -n "$shown" ] || held; fi

# stopped lists the helpers that ran before the host was held.
stopped=
if has "$old" '"stopped":['; then
	stopped=${old#*'"stopped":['}
	stopped=${stopped%%]*}
fi
`

// takeBody takes, renews or adopts a hold.
const takeBody = `
acquired=$(stamp "$now")
how=new
if found; then
	if has "$old" "$own"; then
		how=replace
		if has "$old" '"acquired":"'; then
			acquired=${old#*'"acquired":"'}
			acquired=${acquired%%\"*}
		fi
	elif has "$old" "$adopt" && has "$old" '"kind":"run"' && { [ -z "$seen" ] || has "$old" "$seen"; }; then
		how=adopt
	else
		held
	fi
fi

# The conditions are written before the hold, and the hold names the helpers
# before they are stopped. So a release starts them again after any interruption.
reload=
for unit in $helpers; do
	systemctl cat "$unit" >/dev/null 2>&1 || continue
	if [ ! -e "$units/$unit.d/$dropin" ]; then
		(umask 022 && mkdir -p "$units/$unit.d" &&
			printf '[Unit]\nConditionPathExists=!%s\n' "$file" >"$units/$unit.d/$dropin")
		reload=yes
	fi
	if ! has "$stopped" "\"$unit\"" && systemctl is-active --quiet "$unit"; then
		stopped="${stopped:+$stopped,}\"$unit\""
	fi
done
if [ -n "$reload" ]; then systemctl daemon-reload; fi

until=
{
	printf '{\n%s\n"acquired":"%s",\n' "$head" "$acquired"
	if [ "$lasts" -gt 0 ]; then printf '"expires":"%s",\n' "$(stamp $((now + lasts)))"; fi
	if [ -n "$stopped" ]; then printf '"stopped":[%s],\n' "$stopped"; fi
	printf '"renewed":"%s"\n}\n' "$(stamp "$now")"
} >"$tmp"
sync "$tmp"

# The roll-out is written to disk before the hold, so that a full disk is found
# before anything has happened. The file gets its name after the hold.
if [ -n "$note" ]; then
	note="{
$note
}"
	had=
	if [ -f "$rollout" ]; then had=$(tr '\000' '?' <"$rollout"); fi # sh would leave zero bytes out
	if [ "$had" = "$note" ]; then
		note=
	else
		printf '%s\n' "$note" >"$tmp.rollout"
		sync "$tmp.rollout"
	fi
fi
if [ "$how" = new ]; then
	ln "$tmp" "$file" 2>/dev/null || held
	rm -f "$tmp"
else
	mv -f "$tmp" "$file"
fi
sync "$dir"
if [ -n "$note" ]; then
	mv -fT "$tmp.rollout" "$rollout"
	sync "$dir"
fi

for unit in $helpers; do
	if has "$stopped" "\"$unit\""; then systemctl stop "$unit" 9>&-; fi
done

# Staging needs no hold, so a new hold stops it. A staging unit that has started
# takes the lock and checks the hold, so a unit that starts later stops itself.
if [ "$how" != replace ]; then
	case $(systemctl show --property=ActiveState --value "$stageunit" 2>/dev/null 9>&-) in
	active | activating | reloading | deactivating)
		systemctl stop "$stageunit" 9>&- || printf '%s\n' "hold: $stageunit cannot be stopped" >&2
		;;
	esac
fi
if [ "$lasts" -gt 0 ]; then until=" until $(stamp $((now + lasts)))"; fi
# The user who logs in reads the notice, so its text lies outside of $dir. /etc
# has only a link to the text: each OS has its own copy of /etc, and a release
# removes the link from one copy, but the text for all.
(
	umask 022
	printf '%s since %s%s. Do not reboot or change it; "holdfast release" on the bastion ends the hold.\n' "$motd" "$acquired" "$until" >"$motdtext"
	mkdir -p "${motdfile%/*}"
	ln -sf "$motdtext" "$motdfile"
) || printf '%s\n' "hold: $motdfile cannot be written" >&2
cat "$file"
`

// failBody writes into the run's hold that the run failed on the host.
const failBody = `
if ! found; then
	printf '%s\n' "hold: the host is not held" >&2
	exit 75
fi
has "$old" "$own" || held
while IFS= read -r line; do
	case $line in
	'"renewed":'*) line="\"renewed\":\"$(stamp "$now")\"" ;;
	'"expires":'* | '"step":'*) continue ;;
	'"reason":'*) line=$failed ;;
	esac
	printf '%s\n' "$line"
done <"$file" >"$tmp"
sync "$tmp"
mv -f "$tmp" "$file"
sync "$dir"
cat "$file"
`

// releaseBody ends the run's hold. The part after the removal of the hold also
// runs on a host without a hold, so that a release finishes an earlier release
// that was interrupted.
const releaseBody = `
if found; then
	if [ -n "$shown" ]; then
		[ "$(head -c "$most" "$file" 2>/dev/null | sha256sum | cut -c1-64)" = "$shown" ] || held
	else
		has "$old" "$own" || held
	fi
	if [ -n "$updated" ]; then
		stamp "$now" >"$tmp"
		sync "$tmp"
		mv -fT "$tmp" "$updated"
		sync "$dir"
	fi
	if [ -n "$accepts" ] && [ -f "$rejected" ] && { [ -z "$boot" ] || [ "$(cat /proc/sys/kernel/random/boot_id)" = "$boot" ]; }; then
		while read -r line || [ -n "$line" ]; do
			[ "$line" = "$accepts" ] || printf '%s\n' "$line"
		done <"$rejected" >"$tmp"
		sync "$tmp"
		mv -fT "$tmp" "$rejected"
		sync "$dir"
	fi
	rm -rf "$file" # somebody may have made it a folder
	sync "$dir"
fi
rm -f "$motdfile" "$motdtext"
reload=
for unit in $helpers; do
	[ -e "$units/$unit.d/$dropin" ] || continue
	if has "$stopped" "\"$unit\"" || systemctl is-enabled --quiet "$unit"; then
		systemctl start "$unit" || printf '%s\n' "hold: $unit does not start again" >&2
	fi
	# Last: a drop-in that is left tells the next release to finish this one.
	rm -f "$units/$unit.d/$dropin"
	rmdir "$units/$unit.d" 2>/dev/null || :
	reload=yes
done
if [ -n "$reload" ]; then systemctl daemon-reload; fi
`
