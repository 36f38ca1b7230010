# write_settings writes the settings of the inventory, and the drop-in that names them. An
# empty drop-in means that there are none, and both are removed. With the drop-in alone
# etcd would not start, so it is written last and removed first. It needs: tunedtext and
# tuningtext (contents of the files $tuned and $tuning).
write_settings() {
	if [ -z "$tuningtext" ]; then
		rm -f "$tuning" "$tuned"
		return
	fi
	mkdir -p "${tuning%/*}"
	chmod 0755 "${tuning%/*}"
	printf '%s' "$tunedtext" >"$tuned.new"
	chmod 0600 "$tuned.new"
	sync "$tuned.new"
	mv -fT "$tuned.new" "$tuned"
	printf '%s' "$tuningtext" >"$tuning.new"
	chmod 0644 "$tuning.new"
	sync "$tuning.new"
	mv -fT "$tuning.new" "$tuning"
}

