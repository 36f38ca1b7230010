package modules

import (
	"fmt"
	"path"
	"slices"
	"strconv"
	"strings"

	"holdfast/engine"
	"holdfast/engine/hostscript"
)

// listedEdit is an edit as the scripts know it: what is left open is filled in.
type listedEdit struct {
	pathEdit
	parent bool   // only a directory on the way, made if it is missing
	about  string // the path that it is for
	source string // file among what was sent that has its contents, mode and owner
	owner  string
	late   bool // its owner is made by the same transaction
}

// listing is all that changes in the file system, parents first.
type listing struct {
	items  []listedEdit
	copies [][2]string // among what was sent: contents needed with different owners or modes
}

func newListing(w hostWrite) listing {
	l := listing{}
	created := map[string]bool{}
	for _, u := range w.users {
		created[u.want.Name] = u.account && u.was == nil && !u.want.Account.Absent
	}
	for _, g := range w.groups {
		created[g.want.Name] = created[g.want.Name] || !g.exists && !g.want.Absent
	}
	known := map[string]bool{"/": true}
	for _, e := range w.edits {
		if e.kind != engine.NoNode {
			known[e.path] = true
		}
	}
	for _, e := range sortEdits(w.edits) {
		if e.kind != engine.NoNode || e.restore {
			l.addParents(e.path, path.Dir(e.path), known)
		}
		it := listedEdit{pathEdit: e, about: e.path}
		it.fillDefaults()
		it.late = created[it.user] || created[it.group]
		l.items = append(l.items, it)
	}
	l.assignSources()
	return l
}

// sortEdits puts directories before what is in them, and what goes last, what is
// in a directory before it.
func sortEdits(edits []pathEdit) []pathEdit {
	return slices.SortedStableFunc(slices.Values(edits), func(a, b pathEdit) int {
		switch aGoes, bGoes := a.kind == engine.NoNode, b.kind == engine.NoNode; {
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

// addParents adds the directories above a path that are not in the list.
func (l *listing) addParents(about, dir string, known map[string]bool) {
	if known[dir] {
		return
	}
	known[dir] = true
	l.addParents(about, path.Dir(dir), known)
	l.items = append(l.items, listedEdit{pathEdit: pathEdit{path: dir, mode: 0o755}, parent: true, about: about, owner: "0:0"})
}

// fillDefaults decides what the edit leaves as it is, or to the default.
func (it *listedEdit) fillDefaults() {
	same := it.was.Type == it.kind
	if it.mode < 0 {
		it.mode = 0o644
		if it.kind == engine.DirectoryNode {
			it.mode = 0o755
		}
		if same {
			it.mode = it.was.Mode
		}
	}
	if it.user == "" {
		it.user = "0"
		if same {
			it.user = strconv.Itoa(it.was.UID)
		}
	}
	if it.group == "" {
		it.group = "0"
		if same {
			it.group = strconv.Itoa(it.was.GID)
		}
	}
	it.owner = it.user + ":" + it.group
}

// assignSources gives each file what is copied for it: what was sent, or a copy of
// it where another file has the same contents with another owner or mode.
func (l *listing) assignSources() {
	taken := map[string]string{} // by digest and name
	count := map[string]int{}
	for i := range l.items {
		it := &l.items[i]
		if it.kind != engine.FileNode {
			continue
		}
		key := fmt.Sprintf("%s %o %s", it.data, it.mode, it.owner)
		if taken[key] == "" {
			taken[key] = it.data
			if n := count[it.data]; n > 0 {
				taken[key] = fmt.Sprintf("%s-%d", it.data, n)
				l.copies = append(l.copies, [2]string{it.data, taken[key]})
			}
			count[it.data]++
		}
		it.source = taken[key]
	}
}

// kindWord is what the scripts call what it is to be.
func (it listedEdit) kindWord() string {
	switch {
	case it.parent:
		return "parent"
	case it.hard:
		return "hard"
	case it.kind == engine.NoNode:
		return "gone"
	}
	return string(it.kind)
}

// dirOf is the directory of a path, as a prefix of it: nothing for /.
func dirOf(p string) string { return strings.TrimSuffix(path.Dir(p), "/") }

func formatMode(mode int) string { return fmt.Sprintf("%05o", mode) }

func yesIf(is bool) string {
	if is {
		return "yes"
	}
	return ""
}

// formatStat is what stat prints of a node as %f %u %g.
func formatStat(n engine.Node) string {
	kinds := map[engine.NodeType]int{engine.FileNode: 0o100000, engine.DirectoryNode: 0o040000, engine.LinkNode: 0o120000}
	mode := n.Mode
	if n.Type == engine.LinkNode {
		mode = 0o777
	}
	return fmt.Sprintf("%x %d %d", kinds[n.Type]|mode, n.UID, n.GID)
}

// shellCall gives the lines that call "$1" for the item.
func (it listedEdit) shellCall(n int, files map[string]bool) string {
	was, wasData := "none", ""
	switch it.was.Type {
	case engine.NoNode:
	case engine.FileNode:
		was, wasData = "file", it.was.Digest
	case engine.LinkNode:
		was, wasData = "link", it.was.Target
	default:
		was = string(it.was.Type)
	}
	data, targetDir, targetName := "", "", ""
	if it.kind == engine.LinkNode {
		data = it.data
	}
	if it.hard {
		targetDir, targetName = dirOf(it.data), path.Base(it.data)
	}
	vars := [][2]string{
		{"n", strconv.Itoa(n)},
		{"kind", it.kindWord()},
		{"about", it.about},
		{"path", it.path},
		{"dir", dirOf(it.path)},
		{"name", path.Base(it.path)},
		{"fresh", it.kindWord() + "-" + strconv.Itoa(n)},
		{"source", it.source},
		{"data", data},
		{"targetdir", targetDir},
		{"targetname", targetName},
		{"targetcomes", yesIf(files[it.data])},
		{"mode", formatMode(it.mode)},
		{"owner", it.owner},
		{"late", yesIf(it.late)},
		{"was", was},
		{"wasstat", formatStat(it.was)},
		{"wasmode", formatMode(it.was.Mode)},
		{"wasdata", wasData},
		{"inode", directoryInode(it.was)},
		{"save", yesIf(it.save)},
		{"restore", yesIf(it.restore)},
		{"orig", originalName(it.path)},
	}
	words := make([]string, len(vars))
	for i, v := range vars {
		words[i] = v[0] + "=" + hostscript.Quote(v[1])
	}
	return strings.Join(words, " ") + "\n\"$1\"\n"
}

// directoryInode is what tells a directory from one that is put in its place.
func directoryInode(n engine.Node) string {
	if n.Type != engine.DirectoryNode {
		return ""
	}
	return n.Inode
}

// collectWords gives a word of each item that is chosen.
func (l listing) collectWords(of func(listedEdit) (string, bool)) []string {
	var list []string
	for _, it := range l.items {
		if s, ok := of(it); ok {
			list = append(list, s)
		}
	}
	return list
}

// keepsRemainder reports whether a file stays without what was appended to it.
func (l listing) keepsRemainder() bool {
	return slices.ContainsFunc(l.items, func(it listedEdit) bool { return it.kind == engine.FileNode && it.restore })
}

func (l listing) presentItems(types ...engine.NodeType) []listedEdit {
	return slices.DeleteFunc(slices.Clone(l.items), func(it listedEdit) bool { return it.parent || !slices.Contains(types, it.was.Type) })
}
