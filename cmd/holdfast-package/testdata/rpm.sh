# Installs a package with rpm, upgrades it and removes it, in a fresh root file system that
# rpm knows nothing about, so without its dependencies. Sites, journals and the user must stay.
# Arguments: the root file system, the older package, the newer one, and the version of the newer one.
set -eux
root=$1 old=$2 new=$3 version=$4

runRPM() { rpm --root "$root" --dbpath /var/lib/rpm --nosignature "$@"; }
listState() { chroot "$root" sh -c 'find /etc/holdfast /var/lib/holdfast-jobs -printf "%M %u %g %s %p\n" | sort; getent passwd holdfast'; }

runRPM -i --nodeps "$old"
chroot "$root" install -d -m 0700 -o holdfast -g holdfast /etc/holdfast/berlin /var/lib/holdfast-jobs/berlin
echo '{}' >"$root/var/lib/holdfast-jobs/berlin/20261127-023000-abcdef.jsonl"
listState >"$root/root/before"
runRPM -U --nodeps "$new"
chroot "$root" holdfast version | grep -qF "holdfast version $version (commit "
listState | cmp "$root/root/before" -
runRPM -V --nodeps holdfast
runRPM -q --scripts holdfast
runRPM -e --nodeps holdfast
[ ! -e "$root/usr/bin/holdfast" ]
[ ! -e "$root/usr/share/doc/holdfast" ]
listState | cmp "$root/root/before" -
