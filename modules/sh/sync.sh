# Writes to disk all that is not there yet: it may take long, and a reboot waits
# for it. The kernel does not always let it be ended.
timeout 120 sync || :
