# Runs a program of the image, which sees the folder of the image at its usual place.
set -eu
ROOT=$1 DIR=$2
shift 2
mkdir -p "$ROOT$DIR" "$ROOT/dev" "$ROOT/proc"
mount --bind "$DIR" "$ROOT$DIR"
mount --bind /dev "$ROOT/dev"
mount --bind /proc "$ROOT/proc"
exec chroot "$ROOT" "$@"
