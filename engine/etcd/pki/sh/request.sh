# Makes new keys in a folder that only root can enter, and prints a request for a
# certificate of each: server, peer and client. Keys of a run that was cut short are
# removed. Needs: subject (common name of the host), user (common name of the client),
# serverNames and peerNames (as in subjectAltName), missing (exit status where openssl
# is missing).
command -v openssl >/dev/null || {
	echo "this host has no openssl, which makes the keys of etcd's certificates; add the package openssl to its OS" >&2
	exit "$missing"
}
make=yes
enter_keys
rm -rf ./next
mkdir ./next
cd -P ./next || fail "$at/next cannot be entered"
find_cwd
[ "$cwd" = "$at/next" ] || fail "$at/next cannot be entered"
for role in server peer client; do
	openssl genpkey -algorithm EC -pkeyopt ec_paramgen_curve:P-256 -out "$role.key" 2>/dev/null
	name=$subject
	usage=serverAuth,clientAuth
	case $role in
	server) names=$serverNames ;;
	peer) names=$peerNames ;;
	client)
		name=$user
		usage=clientAuth
		names=
		;;
	esac
	{
		printf '[req]\ndistinguished_name=name\nprompt=no\nreq_extensions=extensions\n[extensions]\nextendedKeyUsage=%s\n' "$usage"
		if [ -n "$names" ]; then printf 'subjectAltName=%s\n' "$names"; fi
		printf '[name]\nCN=%s\n' "$name"
	} >request
	echo "request $role $(openssl req -new -key "$role.key" -config request | base64 | tr -d '\n')"
	rm request
done
