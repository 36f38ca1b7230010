# Prints a line if a reboot was ordered during this boot, and an inhibitor of logind may still
# delay it. The inhibitor of the kubelet lasts for minutes (shutdownGracePeriod). A reboot that
# has not started ten minutes after the order will not start. The mark of the order outlives a
# soft reboot, so it has the boot, too. The script reads bootid (see the probe of the boot).
read -r at ordered 2>/dev/null </run/holdfast/rebooting || exit 0
read -r up rest </proc/uptime || exit 0
[ "${up%%.*}" -lt $((at + 600)) ] || exit 0
if [ -z "$ordered" ] || [ -z "${bootid-}" ] || [ "$ordered" = "$bootid" ]; then echo ordered; fi
