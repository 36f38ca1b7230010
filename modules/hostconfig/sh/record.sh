# recorded makes the file "after" the record when everything has taken effect, and ends
# the write. The list of restored originals stays until forget has removed the
# originals.
recorded() {
	point record
	mkdir -p "$tx"
	if [ -e "$tx/new/after" ]; then mv -fT "$tx/new/after" "$tx/after"; fi
	if ! said=$(record "$tx/after" 2>&1); then
		complain "record: write $applied: $said"
		full "$said" && exit 77
		exit 1
	fi
	point recorded
	forget
}
