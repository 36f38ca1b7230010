# Prints /proc/cmdline, and the boot loader entries whose options have quotes, or characters that need them (needsQuotes): the link
# to the deployment, and the options.
IFS= read -r line </proc/cmdline || :
printf '%s\n' "$line"
for entry in /boot/loader/entries/*.conf; do
	[ -f "$entry" ] || continue
	while read -r key options; do
		case $key,$options in
		options,*[\"\;\&\|\<\>\{\}\\]*) ;;
		*) continue ;;
		esac
		link=${options##*ostree=}
		link=$(readlink -- "${link%% *}") && printf '%s %s\n' "$link" "$options"
	done <"$entry"
done
