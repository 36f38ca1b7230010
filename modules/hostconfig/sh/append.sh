# likeoriginal restores owner and mode of the original for a file that stays without the
# appended text, because others have added lines to it. The original is not needed any
# more.
likeoriginal() {
	[ "$kind:$restore" = file:yes ] || return 0
	printf '%s\n' "$orig" >>"$tx/restored"
	original=$originals/$orig
	[ ! -e "$original.default" ] || original=$root/usr$path
	if [ ! -f "$original" ] || [ -L "$original" ]; then return 0; fi
	# If an account could have moved the file of another account there, its mode stays.
	case $lf$even$lf in
	*"$lf.$path$lf"*) ;;
	*) firm "${path%/*}" || return 0 ;;
	esac
	needroom "$dir"
	attempt chown --reference="$original" "./$fresh" || refuse "$said"
	attempt chmod --reference="$original" "./$fresh" || refuse "$said"
}
