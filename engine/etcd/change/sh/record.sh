# Records a change of members on the host. It needs: newrecord.
putstate "$record" "$newrecord"
