# Starts etcd. It does not wait until etcd is ready, because etcd is ready only after it
# has joined.
systemctl enable "$unit" 9>&-
systemctl reset-failed "$unit" 2>/dev/null 9>&- || :
systemctl restart --no-block "$unit" 9>&-
