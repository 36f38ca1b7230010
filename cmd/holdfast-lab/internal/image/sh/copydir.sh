# Copies the system root, with objects and /usr as hard links. Files that a host may change
# are real copies.
set -eu
FROM=$1 TO=$2
mkdir -p "$TO"
cp -a "$FROM/boot" "$TO/"
mkdir "$TO/ostree" "$TO/ostree/repo"
for f in "$FROM"/ostree/repo/*; do
	case $f in
	*/objects) cp -al "$f" "$TO/ostree/repo/" ;;
	*) cp -a "$f" "$TO/ostree/repo/" ;;
	esac
done
cp -a "$FROM"/ostree/boot.* "$TO/ostree/"
for d in "$FROM"/ostree/deploy/*; do
	o=$TO/ostree/deploy/${d##*/}
	mkdir -p "$o/deploy"
	cp -a "$d/var" "$o/"
	cp -a "$d"/deploy/*.origin "$o/deploy/"
	for r in "$d"/deploy/*.[0-9]*; do
		[ -d "$r" ] || continue
		cp -al "$r" "$o/deploy/"
		rm -rf "$o/deploy/${r##*/}/etc"
		cp -a "$r/etc" "$o/deploy/${r##*/}/"
	done
done
