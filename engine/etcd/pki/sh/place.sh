# Puts the certificates for the keys that the request has made in place, all with one
# rename. Needs: server, peer, client and ca (PEM in base64), cas (IDs of the CAs), unit,
# user (of the unit, if that is not set yet).
make=
enter_keys || fail "$dir is gone"
cd -P ./next 2>/dev/null || fail "the new keys are gone; run it again"
find_cwd
[ "$cwd" = "$at/next" ] || fail "$at/next is a link"
printf '%s' "$server" | base64 -d >server.crt
printf '%s' "$peer" | base64 -d >peer.crt
printf '%s' "$client" | base64 -d >client.crt
for role in server peer client; do
	[ "$(openssl x509 -in "$role.crt" -noout -pubkey)" = "$(openssl pkey -in "$role.key" -pubout)" ] ||
		fail "the $role certificate is for another key; run it again"
done
owner=$user
if [ -z "$owner" ]; then
	owner=$(systemctl show --property=User --value "$unit" 2>/dev/null) || owner=
fi
if [ -n "$owner" ]; then chown "$owner" server.key peer.key; fi
place_set
