# Sends a pace to the staging unit of the host, and prints the levers that are in force. It
# needs: levers and pacefile (files of the unit), and pace.
set -eu
umask 077
[ -e "$levers" ] || exit 0
printf '%s\n' "$pace" >"$pacefile.new"
mv "$pacefile.new" "$pacefile"
cat "$levers"
