# Runs a program of the image, which sees the folder of the image at its usual place.
set -eu
ROOT=$1 DIR=$2
shift 2
mkdir -p "$ROOT/dev" "$ROOT/proc"
mount --rbind /dev "$ROOT/dev" # first, because the folder may be below /dev/shm
mkdir -p "$ROOT$DIR"
mount --bind "$DIR" "$ROOT$DIR"
mount --bind /proc "$ROOT/proc"
exec chroot "$ROOT" "$@"
