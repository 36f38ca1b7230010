#!/bin/sh
# Makes the user and the folders of the jobs. It starts nothing. It names the timers of an earlier installation, which would
# run only after the next boot.
set -e
case ${1-} in
configure | 1 | 2) ;; # of dpkg; of rpm: a first installation, an upgrade
*) exit 0 ;;
esac
if command -v systemd-sysusers >/dev/null; then
	systemd-sysusers holdfast.conf
elif ! getent passwd holdfast >/dev/null; then
	useradd --system --user-group --no-create-home --home-dir /var/lib/holdfast-jobs --shell /usr/sbin/nologin holdfast
fi
install -d -m 0750 -o root -g holdfast /etc/holdfast
install -d -m 0700 -o holdfast -g holdfast /var/lib/holdfast-jobs
if [ -d /run/systemd/system ]; then
	systemctl daemon-reload
	stopped=
	for link in /etc/systemd/system/*.wants/holdfast@*.timer /etc/systemd/system/*.wants/holdfast-status@*.timer; do
		timer=${link##*/}
		if [ -L "$link" ] && ! systemctl --quiet is-active "$timer"; then
			stopped="$stopped '$timer'"
		fi
	done
	if [ "$stopped" ]; then
		printf 'holdfast: timers are enabled that do not run before the next boot; start them with: systemctl start%s\n' "$stopped"
	fi
fi
