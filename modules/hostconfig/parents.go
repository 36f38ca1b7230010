package hostconfig

import (
	"fmt"
	"path"
	"slices"

	"holdfast/engine/resource"
)

// appendParents appends an edit for dir and for each directory above it that is not known, the highest first, and adds them to
// known. The script makes these directories only if they are missing. about is the path that messages name.
func appendParents(list []pathEdit, about, dir string, known map[string]bool) []pathEdit {
	if known[dir] {
		return list
	}
	known[dir] = true
	list = appendParents(list, about, path.Dir(dir), known)
	e := newPathEdit(pathState{path: dir, mode: 0o755}, resource.PathFacts{})
	e.about, e.parent = about, true
	return append(list, e)
}

// findParentProblems returns why a path cannot be written because of the
// directories above it. It tells each directory once.
func (x *configDiff) findParentProblems(p string, told map[string]bool) []error {
	name := x.nameOf(p)
	if file, blocked := x.facts.Blocked[p]; blocked {
		return []error{fmt.Errorf("%s: %s is no directory on the host: remove it there, or write another path", name, x.nameOf(file))}
	}
	var wrong []error
	if dir, readOnly := x.facts.ReadOnly[p]; readOnly && !told[dir] {
		told[dir] = true
		wrong = append(wrong, fmt.Errorf("%s: %s", name, readOnlyReason(dir)))
	}
	for dir := path.Dir(p); dir != "/"; dir = path.Dir(dir) {
		target, link := x.facts.Links[dir]
		fleets := slices.Contains(x.facts.Fleeting, dir)
		if told[dir] || !link && !fleets {
			continue
		}
		told[dir] = true
		if link {
			wrong = append(wrong, fmt.Errorf("%s: %s is a symbolic link to %s; write the path it leads to", name, dir, target))
			continue
		}
		return append(wrong, fmt.Errorf("%s: %s is kept in memory, so that a reboot removes the file; use tmpfiles.d or a path that stays", name, dir))
	}
	return wrong
}

func readOnlyReason(dir string) string {
	return dir + " cannot be written to (its file system is read-only, or it is immutable): use a path in /etc or /var, or put it into the OS image"
}
