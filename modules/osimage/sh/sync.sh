# Writes all cached data to disk. This may take long, and a reboot would wait for it.
# The kernel cannot always kill sync.
timeout 120 sync || :
