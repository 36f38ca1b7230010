# Shuts the host down under a hold, and switches it off. A host that refuses reboots does so for
# everybody but the SuccessAction of a unit. It needs: checkhold.sh.
claim_host 'shut down'
timeout 60 sync || :
systemd-run --quiet --collect --property=SuccessAction=poweroff true 9>&-
