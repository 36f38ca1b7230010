# Prints the beginning of the hold file. It needs: file and most (bytes).
export LC_ALL=C
[ -e "$file" ] || [ -L "$file" ] || exit 3 # NoHold
head -c "$most" "$file"
