# Puts another file of trusted CAs in place, with the same keys and certificates, and
# restarts etcd. Needs: ca (PEM in base64), cas (IDs of the CAs), unit.
make=
enter_keys || fail "$dir is gone"
[ -L ./current ] || fail "$at has no certificates"
if [ "$(head -c "$most" ./current/cas)" != "$cas" ]; then
	rm -rf ./next
	mkdir ./next
	for name in server.crt server.key peer.crt peer.key client.crt client.key; do
		ln -P "./current/$name" "./next/$name"
	done
	cd -P ./next || fail "$at/next cannot be entered"
	find_cwd
	[ "$cwd" = "$at/next" ] || fail "$at/next is a link"
	place_set
else
	note_time ./current
fi
systemctl reset-failed "$unit" 2>/dev/null 9>&- || :
timeout 100 systemctl restart "$unit" 9>&-
