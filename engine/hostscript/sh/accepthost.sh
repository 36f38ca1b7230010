# Forgets how the host was before its last disruption. It needs: unproven (file with the hold
# of a run that a person ended).
if hold_exists; then refuse_held; fi
rm -rf "$unproven"
sync "$dir"
