package inventory

import (
	"errors"
	"fmt"
	"io/fs"
	"path"
	"sort"
	"strings"

	"github.com/hashicorp/hcl/v2"
	"github.com/hashicorp/hcl/v2/hclsyntax"

	"holdfast/engine"
)

// Source says where an inventory comes from.
type Source struct {
	FS       fs.FS                       // where Paths are; os.DirFS("/") for real files
	Root     string                      // what FS stands for, put before names in messages and paths ("/" for os.DirFS("/"))
	Paths    []string                    // files, or folders whose *.hcl are all read
	Vars     []string                    // NAME=VALUE, as from --var
	VarFiles []string                    // files of NAME = VALUE lines in HCL
	Env      func(string) (string, bool) // os.LookupEnv
	Home     string                      // what ~ stands for
}

// Loaded is an inventory and what goes with it.
type Loaded struct {
	Inventory engine.Inventory
	Sensitive []string // values that must not appear in any output
	Warnings  []string
	Dir       string // folder of the first file; commands of the inventory run there
}

// Load reads an inventory. The error is an *Errors with everything that is
// wrong, or says that a file cannot be read.
func Load(src Source) (Loaded, error) {
	if src.Env == nil {
		src.Env = func(string) (string, bool) { return "", false }
	}
	l := &loader{src: src, files: map[string]*hcl.File{}}
	names, err := l.find()
	if err != nil {
		return Loaded{}, err
	}
	for _, name := range names {
		if err := l.parse(name); err != nil {
			return Loaded{}, err
		}
	}
	if l.diags.HasErrors() {
		// What cannot be parsed is missing everywhere else; that is not worth saying.
		return Loaded{}, &Errors{diags: l.diags, files: l.files}
	}
	root := l.decode()
	b := builder{loader: l, root: root}
	b.build()
	if l.diags.HasErrors() {
		return Loaded{}, &Errors{diags: l.diags, files: l.files}
	}
	return Loaded{Inventory: b.inv, Sensitive: l.sensitive, Warnings: b.warnings, Dir: l.real(path.Dir(names[0]))}, nil
}

// loader holds what the parts of loading share.
type loader struct {
	src       Source
	files     map[string]*hcl.File
	bodies    []*hclsyntax.Body
	diags     hcl.Diagnostics
	sensitive []string
}

// find lists the files to read; a folder stands for its *.hcl files.
func (l *loader) find() ([]string, error) {
	var names []string
	for _, p := range l.src.Paths {
		info, err := fs.Stat(l.src.FS, p)
		if err != nil {
			return nil, fmt.Errorf("read inventory: %s: %w; name one with -i", l.real(p), cause(err))
		}
		if !info.IsDir() {
			names = append(names, p)
			continue
		}
		found, err := fs.Glob(l.src.FS, path.Join(p, "*.hcl"))
		if err != nil {
			return nil, fmt.Errorf("read inventory: %s: %w", l.real(p), err)
		}
		if len(found) == 0 {
			return nil, fmt.Errorf("read inventory: the folder %s has no *.hcl files", l.real(p))
		}
		sort.Strings(found)
		names = append(names, found...)
	}
	if len(names) == 0 {
		return nil, errors.New("read inventory: no file was named")
	}
	return names, nil
}

func cause(err error) error {
	var p *fs.PathError
	if errors.As(err, &p) {
		return p.Err
	}
	return err
}

func (l *loader) parse(name string) error {
	src, err := fs.ReadFile(l.src.FS, name)
	if err != nil {
		return fmt.Errorf("read inventory: %s: %w", l.real(name), cause(err))
	}
	shown := l.real(name)
	file, diags := hclsyntax.ParseConfig(src, shown, hcl.InitialPos)
	l.files[shown] = file
	l.diags = append(l.diags, friendlier(diags)...)
	if body, ok := file.Body.(*hclsyntax.Body); ok && !diags.HasErrors() {
		l.bodies = append(l.bodies, body)
	}
	return nil
}

// friendlier turns the parser's most confusing complaint into advice.
func friendlier(diags hcl.Diagnostics) hcl.Diagnostics {
	for _, d := range diags {
		if d.Summary == "Invalid single-argument block definition" || d.Summary == "Missing newline after argument" {
			d.Detail += " Write each argument on a line of its own."
		}
	}
	return diags
}

// real is a path as the operator knows it.
func (l *loader) real(p string) string {
	if l.src.Root == "" {
		return p
	}
	return path.Join(l.src.Root, p)
}

// abs makes a path of the inventory absolute: ~ is the home, others are
// relative to the file that names them.
func (l *loader) abs(p string, in hcl.Range) string {
	switch {
	case p == "~" || strings.HasPrefix(p, "~/"):
		return path.Join(l.src.Home, strings.TrimPrefix(p, "~"))
	case path.IsAbs(p):
		return path.Clean(p)
	}
	return path.Join(path.Dir(in.Filename), p)
}

func (l *loader) fail(at hcl.Range, summary, detail string) {
	l.diags = append(l.diags, &hcl.Diagnostic{Severity: hcl.DiagError, Summary: summary, Detail: detail, Subject: &at})
}
