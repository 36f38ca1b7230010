# Lists a tree in two parts. It omits backups and locks of tools such as useradd, the time
# stamp that systemd keeps for /usr, and the notice of a hold.
set -f -- /etc/ /srv/ /opt/ /usr/local/ /var/home/
not="-name .pwd.lock -o -name .updated -o -name passwd[-+] -o -name shadow[-+] -o -name group[-+] -o -name gshadow[-+] -o -name subuid[-+] -o -name subgid[-+] -o -name .bash_history -o -path /etc/motd.d*"
# shellcheck disable=SC2086 # words of find
find "$@" ! \( $not \) -printf "%y\t%m %U:%G\t%l\t%p\n"
echo "=="
# shellcheck disable=SC2086 # words of find
find "$@" ! \( $not \) -type f -print0 | xargs -0 sha256sum --
