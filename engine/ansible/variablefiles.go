package ansible

import (
	"errors"
	"io/fs"
	"maps"
	"path"
	"slices"
	"strings"
	"unicode/utf8"

	"gopkg.in/yaml.v3"

	"holdfast/engine/textutil"
)

// variableFiles reads the files in group_vars and host_vars beside an
// inventory.
type variableFiles struct {
	*builder
	src    Source
	groups map[string]map[string]Value
	hosts  map[string]map[string]Value
	files  int
}

func (v *variableFiles) readFolders() {
	groups, hosts := map[string]bool{}, map[string]bool{}
	for _, g := range v.groupOrder {
		groups[g.name] = true
	}
	for _, h := range v.hostOrder {
		hosts[h.name] = true
	}
	v.groups = v.readFolder("group_vars", "group", groups)
	v.hosts = v.readFolder("host_vars", "host", hosts)
}

// endings are the endings of a file of variables, in the order in which Ansible
// tries them. It stops at the first that exists; "" may be a folder.
var endings = []string{"", ".yml", ".yaml", ".json"}

// readFolder returns the variables of each name that the inventory knows. A
// name has a file, with or without an ending, or a folder of files.
func (v *variableFiles) readFolder(folder, what string, names map[string]bool) map[string]map[string]Value {
	dir := path.Join(path.Dir(v.src.Name), folder)
	entries, err := fs.ReadDir(v.src.FS, dir)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		v.addError(Position{v.src.Root + dir, 1, 1}, "cannot be read: %s", textutil.ErrorWithoutPath(err))
		return nil
	}
	found, fileOf := map[string]map[string]Value{}, map[string]string{}
	rank := func(e fs.DirEntry) int {
		if names[e.Name()] {
			return 0
		}
		return max(0, slices.Index(endings, path.Ext(e.Name())))
	}
	slices.SortStableFunc(entries, func(x, y fs.DirEntry) int { return rank(x) - rank(y) })
	for _, e := range entries {
		name, file := e.Name(), path.Join(dir, e.Name())
		if !e.IsDir() {
			name = trimEnding(name)
		}
		switch {
		case isIgnored(e.Name()):
		case !names[name] && !names[e.Name()]:
			v.addRemark(Position{v.src.Root + file, 1, 1}, "no %s of the inventory has this name; its variables have no effect", what)
		default:
			if names[e.Name()] {
				name = e.Name()
			}
			if first := fileOf[name]; first != "" {
				v.addRemark(Position{v.src.Root + file, 1, 1}, "is ignored, as in Ansible: %s already sets the variables of this %s; merge the two files", first, what)
				continue
			}
			fileOf[name], found[name] = path.Join(folder, e.Name()), map[string]Value{}
			for _, f := range v.listFiles(file, e.IsDir()) {
				maps.Copy(found[name], v.readFile(f))
			}
		}
	}
	return found
}

func trimEnding(name string) string {
	if ext := path.Ext(name); ext != "" && slices.Contains(endings, ext) {
		return strings.TrimSuffix(name, ext)
	}
	return name
}

func isIgnored(name string) bool { return strings.HasPrefix(name, ".") || strings.HasSuffix(name, "~") }

// listFiles returns a file, or all files of a folder in order, also in its folders.
func (v *variableFiles) listFiles(file string, isFolder bool) []string {
	if !isFolder {
		return []string{file}
	}
	var files []string
	err := fs.WalkDir(v.src.FS, file, func(p string, d fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case p != file && isIgnored(d.Name()):
			if d.IsDir() {
				return fs.SkipDir
			}
		case !d.IsDir() && (path.Ext(p) == "" || trimEnding(d.Name()) != d.Name()):
			files = append(files, p)
		}
		if len(files) > maxVarFiles {
			return errors.New("it has too many files")
		}
		return nil
	})
	if err != nil {
		v.addError(Position{v.src.Root + file, 1, 1}, "cannot be read: %s", textutil.ErrorWithoutPath(err))
	}
	return files
}

func (v *variableFiles) readFile(name string) map[string]Value {
	at := Position{v.src.Root + name, 1, 1}
	if v.files++; v.files > maxVarFiles {
		v.reportFull(at)
		return nil
	}
	text, err := fs.ReadFile(v.src.FS, name)
	switch {
	case err != nil:
		v.addError(at, "cannot be read: %s", textutil.ErrorWithoutPath(err))
		return nil
	case len(text) > maxFile:
		v.addError(at, "the file is longer than %d MiB", maxFile>>20)
		return nil
	case isVault(text):
		v.addRemark(at, "the file is encrypted with ansible-vault; its variables were not read")
		return nil
	case !utf8.Valid(text):
		v.addError(at, "is not UTF-8 text; save it as UTF-8")
		return nil
	case isBlank(string(text)):
		return nil
	}
	r := yamlReader{v.builder, at.File}
	root, ok := r.parse(text)
	if !ok {
		return nil
	}
	if root.Kind != yaml.MappingNode {
		v.addError(r.place(root), "a file of variables is an object; write NAME: VALUE")
		return nil
	}
	return r.readVariables(root)
}

// isBlank reports whether a YAML file has only comments and a marker.
func isBlank(text string) bool {
	for line := range strings.Lines(text) {
		if line = strings.TrimSpace(line); line != "" && line[0] != '#' && line != "---" {
			return false
		}
	}
	return true
}
