# Stops etcd, and renames its data directory and its log. The record goes last.
systemctl disable "$unit" 9>&- || :
systemctl stop "$unit" 9>&-
set_log_aside
rename_aside
rm -f "$dropin" "$settings" "$tuning" "$tuning.old" "$tuned" "$tuned.old" "$unread"
systemctl daemon-reload 9>&-
remove_room
rm -f "$record"
sync "$state"
