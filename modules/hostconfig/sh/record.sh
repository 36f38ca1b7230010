# complete_record makes the file "after" the record when everything has taken effect,
# and ends the write. The list of restored originals stays until forget_writes has
# removed the originals.
complete_record() {
	mark_point record
	mkdir -p "$tx"
	if [ -e "$tx/new/after" ]; then mv -fT "$tx/new/after" "$tx/after"; fi
	if ! output=$(replace_record "$tx/after" 2>&1); then
		complain "record: write $applied: $output"
		is_disk_full "$output" && exit 77
		exit 1
	fi
	mark_point recorded
	forget_writes
}
