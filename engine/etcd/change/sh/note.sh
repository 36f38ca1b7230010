# Records the replaced clusters on the host. It needs: newreplaced (lines).
putstate "$replaced" "$newreplaced"
