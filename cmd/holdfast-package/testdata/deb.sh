# Installs a package, upgrades it, removes it, purges it and installs it again, in a fresh
# root file system. Sites, journals and the user must stay.
# Arguments: the older package, the newer one, and the version that the newer one has.
set -eux
old=$1 new=$2 version=$3

listState() { find /etc/holdfast /var/lib/holdfast-jobs -printf '%M %u %g %s %p\n' | sort; getent passwd holdfast; }

dpkg -i "$old"
holdfast version
[ "$(stat -c '%a %U %G' /etc/holdfast)" = '750 root holdfast' ]
[ "$(stat -c '%a %U %G' /var/lib/holdfast-jobs)" = '700 holdfast holdfast' ]
getent passwd holdfast | grep -q ':/var/lib/holdfast-jobs:/usr/sbin/nologin$'
dpkg --verify holdfast

install -d -m 0750 -o root -g holdfast /etc/holdfast/berlin
echo 'site "berlin" {}' >/etc/holdfast/berlin/inventory.hcl
install -d -m 0700 -o holdfast -g holdfast /var/lib/holdfast-jobs/berlin /var/lib/holdfast-jobs/berlin/runs
echo '{}' >/var/lib/holdfast-jobs/berlin/runs/20261127-023000-abcdef.jsonl
listState >/root/before

dpkg -i "$new"
holdfast version | grep -qF "holdfast version $version (commit "
listState | cmp /root/before -
dpkg --verify holdfast
bash -n /usr/share/bash-completion/completions/holdfast
[ -s /usr/share/zsh/vendor-completions/_holdfast ]
gzip -dc /usr/share/man/man1/holdfast-apply.1.gz | grep -qF "$version"
if [ -e /usr/bin/man ]; then
	man -w holdfast holdfast-apply holdfast-etcd-members-apply
fi
if [ -e /usr/bin/systemd-analyze ]; then
	systemd-analyze verify /usr/lib/systemd/system/holdfast@.* /usr/lib/systemd/system/holdfast-status@.* >/root/verify 2>&1
	[ ! -s /root/verify ]
	for unit in holdfast@.service holdfast-status@.service; do
		systemd-analyze security --offline=true --threshold=20 "$unit" # more than 2.0 fails
	done
	systemd-tmpfiles --create /usr/lib/tmpfiles.d/holdfast.conf
	listState | cmp /root/before -
fi

dpkg -L holdfast >/root/files
dpkg -r holdfast
listState | cmp /root/before -
# Folders of other packages stay.
while read -r file; do
	if [ -e "$file" ]; then
		[ -d "$file" ]
		case $file in
		*holdfast*)
			echo "$file is left over" >&2
			exit 1
			;;
		esac
	fi
done </root/files
dpkg -P holdfast
listState | cmp /root/before -

dpkg -i "$new"
listState | cmp /root/before -
