package hostconfig

import (
	"fmt"
	"path"
	"slices"
	"strings"

	"holdfast/engine/resource"
)

// arrangeEdits returns the edits of a write with the parent directories that they
// need, in the order of the script.
func (w hostWrite) arrangeEdits() []pathEdit {
	created, renumbered := w.createdAccounts(), w.renumberedAccounts()
	files, known := map[string]bool{}, map[string]bool{"/": true}
	for _, e := range w.edits {
		known[e.path] = known[e.path] || e.kind != resource.PathMissing
		files[e.path] = e.kind == resource.PathFile
	}
	var list []pathEdit
	for _, e := range sortEdits(w.edits) {
		if e.kind != resource.PathMissing || e.restore {
			list = appendParents(list, e.path, path.Dir(e.path), known)
		}
		e.late, e.targetComes = created[e.user] || created[e.group] || renumbered.ownPath(e.pathState), files[e.data]
		list = append(list, e)
	}
	assignSources(list)
	return list
}

// sortEdits puts directories before their contents. Deletions come last, contents
// before their directory.
func sortEdits(edits []pathEdit) []pathEdit {
	return slices.SortedStableFunc(slices.Values(edits), func(a, b pathEdit) int {
		switch aGoes, bGoes := a.kind == resource.PathMissing, b.kind == resource.PathMissing; {
		case aGoes && bGoes:
			return strings.Compare(b.path, a.path)
		case aGoes:
			return 1
		case bGoes:
			return -1
		}
		return strings.Compare(a.path, b.path)
	})
}

// assignSources names the uploaded file of each edit. Paths whose contents are equal
// and whose owner or mode differs have sources of their own: DIGEST, DIGEST-1, and so on.
func assignSources(list []pathEdit) {
	taken := map[string]string{} // source by digest, mode and owner
	count := map[string]int{}
	for i := range list {
		e := &list[i]
		if e.kind != resource.PathFile {
			continue
		}
		key := fmt.Sprintf("%s %o %s", e.data, e.mode, e.ownerText())
		if taken[key] == "" {
			taken[key] = e.data
			if n := count[e.data]; n > 0 {
				taken[key] = fmt.Sprintf("%s-%d", e.data, n)
			}
			count[e.data]++
		}
		e.source = taken[key]
	}
}
