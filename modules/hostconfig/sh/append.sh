# copy_original_attributes restores the owner and mode of the original if a file stays
# without the appended text because others have added lines to it. Afterwards the
# original is not needed.
copy_original_attributes() {
	[ "$kind:$restore" = file:yes ] || return 0
	printf '%s\n' "$orig" >>"$tx/restored"
	original=$originals/$orig
	[ ! -e "$original.default" ] || original=$root/usr$path
	if [ ! -f "$original" ] || [ -L "$original" ]; then return 0; fi
	# The mode stays if an account could have moved the file of another account to this
	# path.
	case $lf$even$lf in
	*"$lf.$path$lf"*) ;;
	*) is_root_only "${path%/*}" || return 0 ;;
	esac
	need_room "$dir"
	attempt chown --reference="$original" "./$fresh" || refuse "$output"
	attempt chmod --reference="$original" "./$fresh" || refuse "$output"
}
