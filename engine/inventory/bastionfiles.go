package inventory

import "fmt"

// File is a file that the inventory names for the bastion.
type File struct {
	Argument string // of the inventory, such as known_hosts
	Path     string // absolute
	At       string // position of the argument
}

// readFiles is readPaths for files that runs read on the bastion.
func (r reader) readFiles(name string) []string {
	paths := r.readPaths(name)
	for _, p := range paths {
		r.noteFile(name, p)
	}
	return paths
}

// readFile is readPath for a file that runs read on the bastion.
func (r reader) readFile(name string) string {
	p := r.readPath(name)
	if p != "" {
		r.noteFile(name, p)
	}
	return p
}

func (r reader) noteFile(name, path string) {
	l, at := r.scope.loader, r.node.args[name].Expr.Range()
	f := File{Argument: name, Path: path, At: fmt.Sprintf("%s:%d:%d", at.Filename, at.Start.Line, at.Start.Column)}
	if !l.isNamed[f] {
		l.isNamed[f] = true
		l.named = append(l.named, f)
	}
}
