# Takes the lock against other hold scripts, and defines functions for takehold.sh,
# failhold.sh and releasehold.sh. They need POSIX sh, coreutils and systemctl, and use
# flock if the host has it. It needs: dir, file (of the hold), shown (digest of a hold to
# end, even if nobody can read it, or to write again; '': none), most (bytes of a hold), sent
# (time of the bastion, in seconds; 0: unknown), and the variables of lock.sh. It does not change a hold.
take_lock
echo 'another hold script' 2>/dev/null >"$holdlock" || : # a release needs no space
rm -f "$dir"/.hold.*
tmp=$dir/.hold.$$
now=$(date -u +%s)
later=$now # the clock of the host may be behind, and be set right later
if [ "$sent" -gt "$later" ]; then later=$sent; fi

format_time() { date -u -d "@$1" +%Y-%m-%dT%H:%M:%SZ; }
hold_exists() { [ -e "$file" ] || [ -L "$file" ]; }
is_shown() { [ "$(head -c "$most" "$file" 2>/dev/null | sha256sum | cut -c1-64)" = "$shown" ]; }
has_part() { case $1 in *"$2"*) [ -n "$2" ] ;; *) false ;; esac; }

# refuse_held prints the hold of somebody else and ends the script.
refuse_held() {
	cat "$file" || :
	printf '%s\n' "hold: the host is held by someone else" >&2
	exit 75
}

old=
if hold_exists; then old=$(cat "$file" 2>/dev/null) || [ -n "$shown" ] || refuse_held; fi

# stopped lists the helpers that ran before the host was held.
stopped=
if has_part "$old" '"stopped_units":['; then
	stopped=${old#*'"stopped_units":['}
	stopped=${stopped%%]*}
fi
