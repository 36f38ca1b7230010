# Prints the state of the host, one word a line; see readProbe.

# print_first_wal WORD FOLDER prints the beginning of the first file of a log, in
# hexadecimal.
print_first_wal() {
	for file in "$2"/*.wal; do
		echo "$1 $(dd if="$file" bs=512 count=1 iflag=nofollow,nonblock 2>/dev/null | od -An -v -tx1 | tr -d ' \n')"
		break
	done
}

echo "clock $(date -u +%s)"
case $(systemctl is-active "$unit" || :) in
active | activating | reloading) echo running ;;
esac
[ ! -e "$record" ] || printf 'record %s\n' "$(head -c 100 "$record" | tr -d '\n')"
if grep -qxF "EnvironmentFile=$tuned" "$tuning" 2>/dev/null; then
	head -c 4096 "$tuned" 2>/dev/null | sed 's/^/setting /'
	sed -n 's/^User=/ownuser /p; s/^SurviveFinalKillSignal=yes$/survives/p' "$tuning"
fi
head -c 65536 "$settings" 2>/dev/null | sed -n 's/^ETCD_DATA_DIR=/datadir /p'
[ ! -e "$unread" ] || echo unread
echo "user $(systemctl show -p User --value "$unit")"
[ ! -e "$replaced" ] || head -c 65536 "$replaced" | sed 's/^/replaced /'
(
	enter_room || exit 0
	phase=building
	[ ! -e ./source ] || phase=placed
	[ ! -e ./source ] || [ ! -d ./restored ] || phase=ready
	printf 'restore %s %s\n' "$phase" "$(head -c 300 ./source 2>/dev/null | tr -d '\n')"
	[ ! -d ./restored/member/wal ] || print_first_wal newwal ./restored/member/wal
)
find_log
find_unmounted "$parent/$base"
[ -z "$wal" ] || find_unmounted "$wal"
if [ -n "$wal" ] && { [ -e "$wal" ] || [ -L "$wal" ]; }; then
	(
		enter_folder "$wal"
		if [ -n "$(ls -A)" ]; then echo data; fi
		print_first_wal wal .
	)
fi
[ -e "$parent/$base" ] || [ -L "$parent/$base" ] || exit 0
enter_folder "$parent/$base"
[ -z "$(ls -A)" ] || echo data
enter_dir "$parent/$base/member/wal" || exit 0
print_first_wal wal .
