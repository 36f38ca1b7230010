# Stops etcd, and renames its data directory and its log. The record goes last.
systemctl disable "$unit" 9>&- || :
systemctl stop "$unit" 9>&-
setlogaside
renameaside
rm -f "$dropin" "$settings" "$tuning" "$tuning.old" "$tuned" "$tuned.old" "$unread"
systemctl daemon-reload 9>&-
clearroom
rm -f "$record"
sync "$state"
