package hostconfig

import (
	"fmt"
	"path"
	"slices"
	"strconv"
	"strings"

	"holdfast/engine/hostscript"
	"holdfast/engine/resource"
	"holdfast/modules/hostconfig/record"
)

// listedEdit is an edit with its defaults filled in, ready for a script.
type listedEdit struct {
	pathEdit
	parent bool   // a parent directory, which is created only if it is missing
	about  string // path that messages name: of the edit, or of the edit that needs this parent
	source string // uploaded file with the contents, mode and owner of this path
	owner  string
	late   bool // the same write creates the owner of this path
}

// listing holds all edits of the file system, parents first.
type listing struct {
	items  []listedEdit
	copies [][2]string // source and target of uploaded files to copy, because paths with equal contents differ in owner or mode
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
		if e.kind != resource.PathMissing {
			known[e.path] = true
		}
	}
	for _, e := range sortEdits(w.edits) {
		if e.kind != resource.PathMissing || e.restore {
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

func (l *listing) addParents(about, dir string, known map[string]bool) {
	if known[dir] {
		return
	}
	known[dir] = true
	l.addParents(about, path.Dir(dir), known)
	l.items = append(l.items, listedEdit{pathEdit: pathEdit{path: dir, mode: 0o755}, parent: true, about: about, owner: "0:0"})
}

func (it *listedEdit) fillDefaults() {
	same := it.was.Type == it.kind
	if it.mode < 0 {
		it.mode = 0o644
		if it.kind == resource.PathDirectory {
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

func (l *listing) assignSources() {
	taken := map[string]string{} // source by digest and name
	count := map[string]int{}
	for i := range l.items {
		it := &l.items[i]
		if it.kind != resource.PathFile {
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

func (it listedEdit) kindWord() string {
	switch {
	case it.parent:
		return "parent"
	case it.hard:
		return "hard"
	case it.kind == resource.PathMissing:
		return "gone"
	}
	return string(it.kind)
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

func (it listedEdit) shellCall(n int, files map[string]bool) string {
	was, wasData := "none", ""
	switch it.was.Type {
	case resource.PathMissing:
	case resource.PathFile:
		was, wasData = "file", it.was.Digest
	case resource.PathLink:
		was, wasData = "link", it.was.Target
	default:
		was = string(it.was.Type)
	}
	data, targetDir, targetName := "", "", ""
	if it.kind == resource.PathLink {
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
		{"orig", record.OriginalName(it.path)},
	}
	words := make([]string, len(vars))
	for i, v := range vars {
		words[i] = v[0] + "=" + hostscript.Quote(v[1])
	}
	return strings.Join(words, " ") + "\n\"$1\"\n"
}

func directoryInode(n resource.PathFacts) string {
	if n.Type != resource.PathDirectory {
		return ""
	}
	return n.Inode
}

func (l listing) collectWords(of func(listedEdit) (string, bool)) []string {
	var list []string
	for _, it := range l.items {
		if s, ok := of(it); ok {
			list = append(list, s)
		}
	}
	return list
}

func (l listing) keepsRemainder() bool {
	return slices.ContainsFunc(l.items, func(it listedEdit) bool { return it.kind == resource.PathFile && it.restore })
}

func (l listing) presentItems(types ...resource.PathType) []listedEdit {
	return slices.DeleteFunc(slices.Clone(l.items), func(it listedEdit) bool { return it.parent || !slices.Contains(types, it.was.Type) })
}
