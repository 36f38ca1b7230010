# likeoriginal gives a file that keeps what others have added to it, while what
# was appended to it goes, the owner and mode of its original, which is not
# needed any more.
likeoriginal() {
	[ "$kind:$restore" = file:yes ] || return 0
	printf '%s\n' "$orig" >>"$tx/restored"
	original=$originals/$orig
	[ ! -e "$original.default" ] || original=$root/usr$path
	if [ ! -f "$original" ] || [ -L "$original" ]; then return 0; fi
	enter "$dir" || refuse "its directory is not there"
	attempt chown --reference="$original" "./$tmp" || refuse "$said"
	attempt chmod --reference="$original" "./$tmp" || refuse "$said"
}
