# Writes all cached data to disk: that may take long, and a reboot waits for it. The
# kernel does not always let it be killed.
timeout 120 sync || :
