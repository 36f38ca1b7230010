# Prints why the last finalize failed. It reads units (see units.sh of hoststate), and asks
# systemd only if the unit that reports the failure may have failed.
if [ -e /boot/ostree/finalize-failure.stamp ]; then
	head -c 4096 /boot/ostree/finalize-failure.stamp
	exit
fi
case ${units-ostree-boot-complete.service} in
*ostree-boot-complete.service*) ;;
*) exit 0 ;;
esac
if systemctl is-failed --quiet ostree-boot-complete.service; then
	journalctl --boot --unit=ostree-boot-complete.service --output=cat --no-pager --lines=20
fi
