# Records a change of members on the host. It needs: newrecord.
write_state "$record" "$newrecord"
