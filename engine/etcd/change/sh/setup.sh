# Sets etcd up to join or to make a cluster. It needs: newsettings (contents of the file
# $settings), and putsettings.sh.
printf '%s' "$newsettings" >"$settings.new"
sync "$settings.new"
mv -fT "$settings.new" "$settings"
mkdir -p "${dropin%/*}"
chmod 0755 "${dropin%/*}"
printf '%s\n' '# written by holdfast etcd members' '[Service]' "EnvironmentFile=$settings" >"$dropin.new"
chmod 0644 "$dropin.new"
mv -fT "$dropin.new" "$dropin"
write_settings
rm -f "$unread" "$tuned.old" "$tuning.old"
systemctl daemon-reload 9>&-
