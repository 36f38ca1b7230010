package ansible

import (
	"errors"
	"fmt"
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
	listed int // entries of folders in group_vars and host_vars
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
		isFolder, exists := v.followLink(file, e)
		if !isFolder {
			name = trimEnding(name)
		}
		switch {
		case isIgnored(e.Name()), !exists:
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
			for _, f := range v.listFiles(file, isFolder) {
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

// followLink reports whether an entry of a folder is a folder or a link to one. exists is false for a link that leads nowhere.
func (v *variableFiles) followLink(file string, e fs.DirEntry) (isFolder, exists bool) {
	if e.Type()&fs.ModeSymlink == 0 {
		return e.IsDir(), true
	}
	info, err := fs.Stat(v.src.FS, file)
	if err != nil && !isIgnored(e.Name()) {
		v.addRemark(Position{v.src.Root + file, 1, 1}, "is a link that cannot be followed (%s); Ansible ignores it, too", textutil.ErrorWithoutPath(err))
	}
	return err == nil && info.IsDir(), err == nil
}

// listFiles returns a file, or all files of a folder in order, also in its folders.
func (v *variableFiles) listFiles(file string, isFolder bool) []string {
	if !isFolder {
		return []string{file}
	}
	files, err := v.listFolder(file, 0)
	if err != nil {
		v.addError(Position{v.src.Root + file, 1, 1}, "cannot be read: %s", textutil.ErrorWithoutPath(err))
	}
	return files
}

// listFolder returns the files of a folder and of the folders in it. As in Ansible, links are followed, and folders and files with
// other endings are not read.
func (v *variableFiles) listFolder(folder string, depth int) (files []string, err error) {
	if depth > maxFolders {
		return nil, fmt.Errorf("folders are nested more than %d deep; a link may lead in a circle", maxFolders)
	}
	entries, err := fs.ReadDir(v.src.FS, folder)
	if err != nil {
		return nil, err
	}
	for _, e := range entries {
		if v.listed++; v.listed > maxVarFiles {
			v.reportTooMany(Position{v.src.Root + folder, 1, 1})
			return nil, nil
		}
		if isIgnored(e.Name()) {
			continue
		}
		file, ending := path.Join(folder, e.Name()), path.Ext(e.Name())
		isFolder, exists := v.followLink(file, e)
		switch {
		case !exists:
		case isFolder && ending == "":
			inner, err := v.listFolder(file, depth+1)
			if err != nil {
				return nil, err
			}
			files = append(files, inner...)
		case !isFolder && slices.Contains(endings, ending):
			files = append(files, file)
		}
	}
	return files, nil
}

func (v *variableFiles) reportTooMany(at Position) {
	if !v.full {
		v.addError(at, "group_vars and host_vars have more than %d files and folders; split the inventory", maxVarFiles)
	}
	v.full = true
}

func (v *variableFiles) readFile(name string) map[string]Value {
	at := Position{v.src.Root + name, 1, 1}
	if v.files++; v.files > maxVarFiles {
		v.reportTooMany(at)
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
