# complete_record makes the file "after" the record when everything has taken effect,
# and ends the write. The list of restored originals stays until forget_writes has
# removed the originals.
complete_record() {
	mark_point record
	mkdir -p "$tx"
	if [ -e "$tx/new/after" ]; then mv -fT "$tx/new/after" "$tx/after"; fi
	put_record "$tx/after"
	mark_point recorded
	forget_writes
}

# put_record FILE replaces the record, or ends the script.
put_record() {
	if ! output=$(replace_record "$1" 2>&1); then
		complain "record: write $applied: $output"
		is_disk_full "$output" && exit 77
		exit 1
	fi
}

# note_record makes the file "noted" the record. It removes only the files of this
# write: the record still has the paths of interrupted ones.
note_record() {
	mark_point note
	put_record "$tx/new/noted"
	remove_write_files
}
