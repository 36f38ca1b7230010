# Prints the deployments as JSON, if ostree has at least version 2025.3. It needs ostree
# (the output of ostree --version). Later scripts read json.
json=
year=${ostree-}
year=${year#*Version: \'}
release=${year#*.}
release=${release%%[!0-9]*}
year=${year%%.*}
case $year:$release in
*[!0-9]*:* | :* | *:) ;;
*) if [ "$year" -gt 2025 ] || { [ "$year" -eq 2025 ] && [ "$release" -ge 3 ]; }; then json=$(ostree admin status --json) || json=; fi ;;
esac
[ -n "$json" ] && printf '%s\n' "$json"
