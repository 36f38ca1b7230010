# The script that writes a configuration to a host. If it fails before it has updated
# the record, the host is unchanged. If it fails later, it undoes the write. If it is
# killed, the record names the unfinished write, and the next write repeats all of it.
#
# It needs: boot (ID of the boot at the time of the plan), sums (SHA-256 of the uploads), the
# expected output for existing entries (statistics, digests, targets), hasaccounts (whether
# accounts change), hasrests (whether files stay without the appended text), job (keys.sh),
# probation (seconds until the write is undone without a new login; empty: never), haskeys
# and hasunits (whether an undo writes SSH keys, or enables units).
#
# It also needs functions that are generated for each write:
# for_each_edit FUNCTION calls the function for each edit, with the variables in checkedits.sh.
# keep_hashes, change_groups and change_users run the commands of accounts.sh.
# write_keys writes SSH keys, and restore_keys undoes this. restore_removed_keys undoes the removal of
# the keys of removed users, by change_users, when these users exist again.
# change_units WHEN enables, disables or presets units, early (before the files change) or
# late, and restore_units WHEN undoes this.

# The state of the write. An edit is in a list by its number.
phase=preparing # then writing, then written
about=''        # the path or the resource that messages name
wrong=''        # yes: report_problem has reported a problem
told=''         # paths and accounts whose problem was reported: |PATH|
appeared=''     # yes: a path exists that did not
contexts=''     # yes: descriptor 7 has the SELinux contexts of all edits
ready=''        # edits that have prepared the original: " N "
made=''         # edits that have made a directory, with its inode: " N=INODE "
given=''        # edits that have set owner and mode of a directory, with its inode
gone=''         # edits that have moved a directory into a room: " N "
accounts=''     # yes: accounts may have changed
unitsdone=''    # calls of systemctl that have begun: " WHEN VERB "
keysdone=''     # users whose SSH keys may have changed, by their number: " N "
reloaded=''     # the unit of sshd that was reloaded
ways=''         # judges that were content before the write
hadkeys=''      # host keys of sshd before the write
nocopy=
case $(mv --help) in
*--no-copy*) nocopy=--no-copy ;;
esac
me=$uid:$(id -g)
mounts=$(cut -d ' ' -f 5 "$root/proc/self/mountinfo" 2>/dev/null | tr '\n' ' ')
mounts=" $mounts"

take_write_lock
if is_boot_gone; then
	complain "write: $problem; nothing was done"
	exit 76
fi
clean_up_writes
trap undo_on_exit EXIT
trap 'exit 143' TERM
trap 'exit 130' INT
receive_files
(cd "$tx/new" && printf %s "$sums" | sha256sum -c --quiet --strict) || {
	complain "write: what was sent has not arrived whole; nothing was done"
	exit 1
}
mark_point unpacked

check_edits
mark_point checked

doing='write'
prepare_edits
mark_point prepared
has_host_keys >/dev/null 2>&1 || :
hadkeys=$keys ways=$(list_ways_in)
sshdwas=$(print_sshd_config)
claim_host write # fails if somebody took the host during the upload; from here on nobody can

keep_old_files
[ -z "$hasaccounts" ] || keep_account_files
[ -z "$hasunits$haskeys" ] || reserve_space
preserve_originals
keep_hashes
sync "$originals"
mark_point saved
# From here on, the script completes the write or undoes it.
if [ -e "$applied" ]; then cp "$applied" "$tx/applied"; fi
trap '' TERM INT
phase=writing
about=$applied
attempt replace_record "$tx/new/before" || refuse "$output"
mark_point before
about=units
change_units early
accounts=$hasaccounts
change_groups
mark_point groups
change_users
mark_point users
replace_edits
mark_point replaced
write_keys
mark_point keys
about=units
change_units late
mark_point units
check_ways_in "$ways"
[ -z "$probation" ] || start_probation
phase=written
trap - EXIT TERM INT
sweep_own_rooms
rm -f "$tx/rooms"
cd /
mark_point written
