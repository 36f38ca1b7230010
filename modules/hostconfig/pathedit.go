package hostconfig

import (
	"cmp"
	"fmt"
	"path"
	"slices"
	"strconv"
	"strings"

	"holdfast/engine/hostscript"
	"holdfast/engine/resource"
	"holdfast/modules/hostconfig/record"
)

// pathEdit is the change of one path. Its mode, user and group are always set.
type pathEdit struct {
	pathState
	was         resource.PathFacts // state in the plan; if the path differs now, the script writes nothing at all
	about       string             // path that messages name: of the edit, or of the edit that needs this parent
	parent      bool               // a parent directory, which is created only if it is missing
	inherits    bool               // a file gets owner and mode of the file that it replaces
	save        bool               // keep the existing file as the original
	restore     bool               // the path is removed, and has an original to restore
	original    string             // name of the original; "": record.OriginalName
	source      string             // uploaded file with the contents, mode and owner of this path, see assignSources
	late        bool               // the same write creates the owner of this path, or changes its ID
	targetComes bool               // the same write has the target of this hard link
}

// newPathEdit returns the change from one state of a path to another. Settings that
// the new state leaves open stay, or are those of root's new files.
func newPathEdit(want pathState, was resource.PathFacts) pathEdit {
	e := pathEdit{pathState: want, was: was, about: want.path}
	same := was.Type == want.kind
	e.inherits = same && want.kind == resource.PathFile && want.mode < 0 && want.user == "" && want.group == ""
	if !same {
		was.Mode, was.UID, was.GID = 0o644, 0, 0
		if want.kind == resource.PathDirectory {
			was.Mode = 0o755
		}
	}
	if e.mode < 0 {
		e.mode = was.Mode
	}
	e.user, e.group = cmp.Or(e.user, strconv.Itoa(was.UID)), cmp.Or(e.group, strconv.Itoa(was.GID))
	return e
}

func (e pathEdit) ownerText() string { return e.user + ":" + e.group }

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

// createdAccounts returns the users and groups that the write creates.
func (w hostWrite) createdAccounts() map[string]bool {
	created := map[string]bool{}
	for _, u := range w.users {
		created[u.want.Name] = u.account && u.was == nil && !u.want.Account.Absent
	}
	for _, g := range w.groups {
		created[g.want.Name] = created[g.want.Name] || !g.exists && !g.want.Absent
	}
	return created
}

// accountNames are names of users and of groups.
type accountNames struct{ users, groups map[string]bool }

func (a accountNames) ownPath(p pathState) bool { return a.users[p.user] || a.groups[p.group] }

// renumberedAccounts returns the users and groups whose ID the write changes. Their
// files keep the old number.
func (w hostWrite) renumberedAccounts() accountNames {
	a := accountNames{map[string]bool{}, map[string]bool{}}
	for _, u := range w.users {
		uid := u.want.Account.UID
		a.users[u.want.Name] = u.account && u.was != nil && !u.retire && !u.want.Account.Absent && uid != nil && *uid != u.was.UID
	}
	for _, g := range w.groups {
		a.groups[g.want.Name] = g.renumbered
	}
	return a
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

func (e pathEdit) kindWord() string {
	switch {
	case e.parent:
		return "parent"
	case e.hard:
		return "hard"
	case e.kind == resource.PathMissing:
		return "gone"
	}
	return string(e.kind)
}

// shellCall sets the variables of an edit, which place.sh lists, and calls the
// function that for_each_edit was given.
func (e pathEdit) shellCall(n int) string {
	var target, targetDir, targetName, inode string
	if e.kind == resource.PathLink {
		target = e.data
	}
	if e.hard {
		targetDir, targetName = dirOf(e.data), path.Base(e.data)
	}
	if e.was.Type == resource.PathDirectory {
		inode = e.was.Inode
	}
	vars := [][2]string{
		{"n", strconv.Itoa(n)},
		{"kind", e.kindWord()},
		{"about", e.about},
		{"path", e.path},
		{"dir", dirOf(e.path)},
		{"name", path.Base(e.path)},
		{"fresh", e.kindWord() + "-" + strconv.Itoa(n)},
		{"source", e.source},
		{"data", target},
		{"targetdir", targetDir},
		{"targetname", targetName},
		{"targetcomes", yesIf(e.targetComes)},
		{"mode", formatMode(e.mode)},
		{"owner", e.ownerText()},
		{"late", yesIf(e.late)},
		{"inherits", yesIf(e.inherits)},
		{"was", cmp.Or(string(e.was.Type), "none")},
		{"wasstat", formatStat(e.was)},
		{"wasmode", formatMode(e.was.Mode)},
		{"wasdata", e.was.Digest + e.was.Target},
		{"inode", inode},
		{"save", yesIf(e.save)},
		{"restore", yesIf(e.restore)},
		{"orig", cmp.Or(e.original, record.OriginalName(e.path))},
	}
	words := make([]string, len(vars))
	for i, v := range vars {
		words[i] = v[0] + "=" + hostscript.Quote(v[1])
	}
	return strings.Join(words, " ") + "\n\"$1\"\n"
}

// shellCalls returns the shell function for_each_edit, which calls a function once for
// each edit.
func shellCalls(edits []pathEdit) string {
	var b strings.Builder
	b.WriteString("for_each_edit() {\nentered=''\n")
	for i, e := range edits {
		b.WriteString(e.shellCall(i))
	}
	return b.String() + "}\n"
}

// expectedOutput returns the output of print_stats, print_file_digests and
// print_link_targets on a host that has not changed since the plan.
func expectedOutput(edits []pathEdit) (stats, digests, targets string) {
	var s, d, t []string
	for _, e := range edits {
		switch e.was.Type {
		case resource.PathFile:
			d = append(d, e.was.Digest+"  ."+e.path)
		case resource.PathLink:
			t = append(t, e.was.Target)
		case resource.PathDirectory:
		case resource.PathMissing, resource.PathOther:
			continue
		}
		s = append(s, formatStat(e.was))
	}
	slices.Sort(d)
	return strings.Join(s, "\n"), strings.Join(d, "\n"), strings.TrimRight(strings.Join(t, "\n"), "\n")
}

func dirOf(p string) string { return strings.TrimSuffix(path.Dir(p), "/") }

func formatMode(mode int) string { return fmt.Sprintf("%05o", mode) }

func yesIf(is bool) string {
	if is {
		return "yes"
	}
	return ""
}

func formatStat(n resource.PathFacts) string {
	kinds := map[resource.PathType]int{resource.PathFile: 0o100000, resource.PathDirectory: 0o040000, resource.PathLink: 0o120000}
	mode := n.Mode
	if n.Type == resource.PathLink {
		mode = 0o777
	}
	return fmt.Sprintf("%x %d %d", kinds[n.Type]|mode, n.UID, n.GID)
}
