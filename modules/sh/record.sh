# recorded makes the file "after" the record, when all has taken effect, and
# ends the transaction. What says which originals are not needed any more stays
# until they are gone; see finish.
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
