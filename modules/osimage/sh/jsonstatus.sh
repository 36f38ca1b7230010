# Prints the deployments as JSON, if ostree has at least version 2025.3. It needs ostree
# (the output of ostree --version). Later scripts read json, and release: 202503 for 2025.3, or 0.
json='' release=0
year=${ostree-}
year=${year#*Version: \'}
number=${year#*.}
number=${number%%[!0-9]*}
year=${year%%.*}
case $year:$number in
*[!0-9]*:* | :* | *: | ?????*:* | *:0* | *:???*) ;;
*) release=$((year * 100 + number)) ;;
esac
if [ "$release" -ge 202503 ]; then json=$(ostree admin status --json) || json=; fi
[ -n "$json" ] && printf '%s\n' "$json"
