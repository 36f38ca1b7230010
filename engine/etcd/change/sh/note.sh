# Records the replaced clusters on the host. It needs: newreplaced (lines).
write_state "$replaced" "$newreplaced"
