# likeoriginal gives a file that keeps what others have added to it, while what
# was appended to it goes, the owner and mode of its original, which is not
# needed any more.
likeoriginal() {
	[ "$kind:$restore" = file:yes ] || return 0
	printf '%s\n' "$orig" >>"$tx/restored"
	original=$originals/$orig
	[ ! -e "$original.default" ] || original=$root/usr$path
	if [ ! -f "$original" ] || [ -L "$original" ]; then return 0; fi
	# Where an account could have moved a file of somebody else, that stays as
	# closed as it is.
	case $lf$even$lf in
	*"$lf.$path$lf"*) ;;
	*) firm "${path%/*}" || return 0 ;;
	esac
	needroom "$dir"
	attempt chown --reference="$original" "./$fresh" || refuse "$said"
	attempt chmod --reference="$original" "./$fresh" || refuse "$said"
}
