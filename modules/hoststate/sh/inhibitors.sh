# Prints the programs that block a shutdown, one a line. Most hosts have no inhibitors, or
# only those that delay a shutdown. The script starts a process only if there are any.
set -- /run/systemd/inhibit/*
[ -e "$1" ] || exit 0
case $(timeout 10 busctl get-property org.freedesktop.login1 /org/freedesktop/login1 org.freedesktop.login1.Manager BlockInhibited) in
*shutdown*) ;;
*) exit 0 ;;
esac
timeout 10 systemd-inhibit --list --no-pager --no-legend | grep -E "shutdown.* block *$" | head -c 2000
echo
