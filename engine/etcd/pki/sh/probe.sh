# Prints the certificates of etcd on a host, and which of them etcd may have read when it
# started. Needs: unit (of etcd), settings (the file with its settings).
make=
echo "boot $(cat /proc/sys/kernel/random/boot_id)"
pid=$(systemctl show --property=MainPID --value "$unit" 2>/dev/null) || pid=
case $pid in
'' | 0 | *[!0-9]*) ;;
*)
	if line=$(cat "/proc/$pid/stat" 2>/dev/null); then
		# The name of the program may have blanks and parentheses. The 22nd field of all is
		# the time of its start since the boot, in hundredths of a second.
		echo "started $(printf '%s\n' "${line##*) }" | cut -d ' ' -f 20)"
	fi
	;;
esac
if grep -qxF "ETCD_CERT_FILE=$dir/server.crt" "$settings" 2>/dev/null; then echo uses; fi
enter_keys || exit 0
[ -L ./current ] || exit 0
whole=yes
for name in $kept; do
	if [ ! -L "./$name" ]; then whole=; fi
done
cd -P ./current || fail "$at/current leads nowhere"
find_cwd
case ${cwd#"$at"/} in
set-*/* | "$cwd") fail "$at/current is not a link of holdfast" ;;
set-*) ;;
*) fail "$at/current is not a link of holdfast" ;;
esac
for name in $kept; do
	size=$(stat -c %s "./$name" 2>/dev/null) || size=-1
	if [ "$size" -lt 0 ] || [ "$size" -gt "$most" ]; then whole=; fi
done
if [ -n "$whole" ] && timeout 10 sha256sum --check --status ./sums 2>/dev/null; then echo whole; fi
for name in ca.crt server.crt peer.crt client.crt; do
	if [ -f "./$name" ]; then echo "file $name $(head -c "$most" "./$name" | base64 | tr -d '\n')"; fi
done
if [ -f ./trusted ]; then tail -n 100 ./trusted | head -c "$most" | sed 's/^/trusted /'; fi
if [ ! -f ./placed ]; then echo unplaced; fi
if [ -f ./placed ] && [ -f ./cas ]; then echo "trusted $(head -c 200 ./placed) $(head -c "$most" ./cas)"; fi
