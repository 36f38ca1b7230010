package inventory

import (
	"github.com/hashicorp/hcl/v2"
	"github.com/hashicorp/hcl/v2/hclsyntax"
)

// File is a file or folder of the bastion that the inventory names.
type File struct {
	Argument string // of the inventory, such as known_hosts
	Path     string // absolute
	At       string // position of its name
}

// readFiles is readPaths for files that runs read on the bastion.
func (r reader) readFiles(name string) []string {
	paths := r.readPaths(name)
	if len(paths) == 0 {
		return nil
	}
	list, _ := r.node.args[name].Expr.(*hclsyntax.TupleConsExpr)
	for i, p := range paths {
		at := r.node.args[name].Expr.Range()
		if list != nil && len(list.Exprs) == len(paths) {
			at = list.Exprs[i].Range()
		}
		r.noteFile(name, p, at)
	}
	return paths
}

// readFile is readPath for a file that runs read on the bastion.
func (r reader) readFile(name string) string {
	p := r.readPath(name)
	if p != "" {
		r.noteFile(name, p, r.node.args[name].Expr.Range())
	}
	return p
}

func (r reader) noteFile(name, path string, at hcl.Range) {
	l := r.scope.loader
	f := File{Argument: name, Path: path, At: describePosition(at)}
	if !l.isNamed[f] {
		l.isNamed[f] = true
		l.named = append(l.named, f)
	}
}
