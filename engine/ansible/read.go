package ansible

import (
	"bytes"
	"cmp"
	"errors"
	"io/fs"
	"maps"
	"path"
	"regexp"
	"slices"
	"strings"
	"unicode/utf8"

	"holdfast/engine/textutil"
)

// Source has the files of an inventory.
type Source struct {
	FS   fs.FS
	Name string // file of the inventory
	Root string // precedes names in messages, such as "/"
}

// Read reads an inventory, with the files in group_vars and host_vars beside
// it. Errors are of type Errors, or name a file that cannot be read.
func Read(src Source) (Inventory, error) {
	info, err := fs.Stat(src.FS, src.Name)
	if err == nil && info.IsDir() {
		err = errors.New("it is a folder; name one file of it")
	}
	var text []byte
	if err == nil {
		text, err = fs.ReadFile(src.FS, src.Name)
	}
	if err != nil {
		return Inventory{}, &fs.PathError{Op: "read", Path: src.Root + src.Name, Err: textutil.ErrorWithoutPath(err)}
	}
	b := newBuilder()
	b.readText(src, text)
	if !b.full {
		b.checkGroups()
	}
	if err := b.asError(); err != nil {
		return Inventory{}, err
	}
	v := variableFiles{builder: b, src: src}
	v.readFolders()
	if err := b.asError(); err != nil {
		return Inventory{}, err
	}
	return b.finish(v), nil
}

var (
	yamlKey   = regexp.MustCompile(`^("[^"]*"|'[^']*'|[^\s\[\]#;:=]+):(\s|$)`)
	iniHeader = regexp.MustCompile(`^\[`)
)

// readText chooses the format of a file as Ansible does: by its ending, or
// without a known one by its first line.
func (b *builder) readText(src Source, text []byte) {
	file := src.Root + src.Name
	at := Position{file, 1, 1}
	switch {
	case len(text) > maxFile:
		b.addError(at, "the file is longer than %d MiB; split it", maxFile>>20)
	case isVault(text):
		b.addError(at, "the file is encrypted with ansible-vault; decrypt a copy of it")
	case bytes.HasPrefix(text, []byte("#!")):
		b.addError(at, "the inventory is a program; write its result into a file (%s), and name that file", listCommand(src.Name))
	case !utf8.Valid(text):
		b.addError(Position{file, bytes.Count(text[:firstInvalid(text)], []byte("\n")) + 1, 1}, "is not UTF-8 text; save it as UTF-8")
	case strings.HasSuffix(src.Name, ".toml"):
		b.addError(at, "TOML is not supported; write the inventory as YAML (%s), and name that file", listCommand(src.Name))
	case isYAML(src.Name, string(text)):
		b.readYAML(file, text)
	default:
		b.readINI(file, string(text))
	}
}

func isVault(text []byte) bool { return bytes.HasPrefix(text, []byte("$ANSIBLE_VAULT")) }

// listCommand returns the command that writes the result of plugins and
// scripts as YAML.
func listCommand(name string) string {
	return "ansible-inventory -i " + path.Base(name) + " --list --yaml --output hosts.yaml"
}

func firstInvalid(text []byte) int {
	for i := 0; i < len(text); {
		r, size := utf8.DecodeRune(text[i:])
		if r == utf8.RuneError && size == 1 {
			return i
		}
		i += size
	}
	return len(text)
}

func isYAML(name, text string) bool {
	switch path.Ext(name) {
	case ".yml", ".yaml", ".json":
		return true
	case "": // as all files of Ansible's examples
	default:
		return false
	}
	for line := range strings.Lines(text) {
		line = strings.TrimSpace(line)
		switch {
		case line == "" || line[0] == '#':
		case line == "---" || line[0] == '{' || yamlKey.MatchString(line):
			return true
		case line[0] == ';' || iniHeader.MatchString(line):
			return false
		default:
			return false
		}
	}
	return false
}

// finish sums up groups and hosts, with all variables of each host.
func (b *builder) finish(v variableFiles) Inventory {
	var inv Inventory
	for _, g := range b.groupOrder {
		out := Group{Name: g.name, At: g.at, Hosts: g.hosts}
		for _, c := range g.children {
			out.Children = append(out.Children, c.name)
		}
		if g.name != "all" && g.name != "ungrouped" || len(g.hosts) > 0 {
			inv.Groups = append(inv.Groups, out)
		}
	}
	parents := b.findParents()
	merged := map[string]map[string]Value{} // by the groups of a host
	for _, h := range b.hostOrder {
		own := slices.DeleteFunc(slices.Clone(h.groups), func(g string) bool { return g == "all" || g == "ungrouped" })
		groups := own
		if len(own) == 0 {
			groups = []string{"ungrouped"}
		}
		key := strings.Join(groups, "\n")
		if merged[key] == nil {
			merged[key] = b.mergeGroups(groups, parents, v)
		}
		vars := maps.Clone(merged[key])
		maps.Copy(vars, h.vars)
		maps.Copy(vars, v.hosts[h.name])
		inv.Hosts = append(inv.Hosts, Host{Name: h.name, At: h.at, Groups: own, Variables: vars})
	}
	inv.Remarks = slices.Clone(b.remarks)
	sortProblems(inv.Remarks)
	inv.Remarks = slices.Compact(inv.Remarks)
	return inv
}

func (b *builder) findParents() map[string][]string {
	parents := map[string][]string{}
	for _, g := range b.groupOrder {
		for _, c := range g.children {
			parents[c.name] = append(parents[c.name], g.name)
		}
	}
	return parents
}

// mergeGroups merges the variables of groups and all groups above them. As in
// Ansible, deeper groups win, then those with a higher priority, then the last
// in the alphabet; and files of group_vars win over the inventory.
func (b *builder) mergeGroups(names []string, parents map[string][]string, v variableFiles) map[string]Value {
	above := map[string]bool{"all": true}
	todo := slices.Clone(names)
	for len(todo) > 0 {
		name := todo[0]
		todo = todo[1:]
		if !above[name] {
			above[name] = true
			todo = append(todo, parents[name]...)
		}
	}
	groups := make([]*group, 0, len(above))
	for name := range above {
		groups = append(groups, b.groups[name])
	}
	slices.SortFunc(groups, func(x, y *group) int {
		return cmp.Or(cmp.Compare(x.depth, y.depth), cmp.Compare(x.priority, y.priority), strings.Compare(x.name, y.name))
	})
	vars := map[string]Value{}
	for _, g := range groups {
		maps.Copy(vars, g.vars)
	}
	for _, g := range groups {
		maps.Copy(vars, v.groups[g.name])
	}
	return vars
}
