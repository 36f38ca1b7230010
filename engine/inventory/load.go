package inventory

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"path"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/hashicorp/hcl/v2"
	"github.com/hashicorp/hcl/v2/hclsyntax"

	"holdfast/engine"
	"holdfast/engine/inventory/expression"
	"holdfast/engine/textutil"
)

// Source describes where an inventory comes from.
type Source struct {
	FS       fs.FS                       // holds Paths; os.DirFS("/") for real files
	Root     string                      // path of FS; it precedes names in messages and paths ("/" for os.DirFS("/"))
	Paths    []string                    // files, or folders: all their *.hcl are read
	Vars     []string                    // NAME=VALUE, as from --var
	VarFiles []string                    // files of NAME = VALUE lines in HCL
	Others   []string                    // names in Vars that belong to a playbook; the inventory need not declare them
	Env      func(string) (string, bool) // os.LookupEnv
	Home     string                      // replaces ~
}

// Loaded is an inventory with the results of loading it.
type Loaded struct {
	Inventory engine.Inventory
	Sensitive []string // values that must not appear in any output
	Warnings  []string
	Dir       string   // folder of the first file; commands of the inventory run there
	Files     []File   // of the bastion, which runs read; each place and path once
	Read      []string // files that functions have read, such as templates, by their names in Source.FS
}

// Load reads an inventory. The error is an *Errors, or names a file that cannot be read. With an *Errors, the inventory
// has what could be read, which is only good for completing names.
func Load(src Source) (Loaded, error) { return loadWithin(src, expression.DefaultBounds, piecesFrom) }

// loadWithin parses the hosts of an inventory piece by piece if its files have at least pieces bytes. If the inventory
// has an error, it is loaded again as a whole, so that its errors do not depend on its size.
func loadWithin(src Source, bounds expression.Bounds, pieces int) (Loaded, error) {
	if src.Env == nil {
		src.Env = func(string) (string, bool) { return "", false }
	}
	newLoader := func(texts map[string][]byte) *loader {
		values := &expression.Evaluator{FS: src.FS, Root: src.Root, Env: src.Env, Home: src.Home, Bounds: bounds}
		return &loader{src: src, values: values, texts: texts, files: map[string]*hcl.File{}, hiddenFiles: map[string]bool{}, isNamed: map[File]bool{}}
	}
	l := newLoader(map[string][]byte{})
	names, err := l.findFiles()
	if err != nil {
		return Loaded{}, err
	}
	total := 0
	for _, name := range names {
		text, err := l.readText(name)
		if err != nil {
			return Loaded{}, fmt.Errorf("read inventory: %w", err)
		}
		total += len(text)
	}
	if total >= pieces {
		loaded, err := l.loadFiles(names, l.parseInPieces)
		if _, hasErrors := errors.AsType[*Errors](err); !hasErrors {
			return loaded, err
		}
		l = newLoader(l.texts)
	}
	return l.loadFiles(names, l.parseWhole)
}

// loadFiles loads an inventory whose files were read. parse parses one of them.
func (l *loader) loadFiles(names []string, parse func(name string) error) (Loaded, error) {
	for _, name := range names {
		if err := parse(name); err != nil {
			return Loaded{}, fmt.Errorf("read inventory: %w", err)
		}
	}
	if err := l.readVarFiles(); err != nil {
		return Loaded{}, err
	}
	if l.diags.HasErrors() {
		// Blocks that cannot be parsed would cause errors everywhere else.
		return Loaded{}, l.newErrors()
	}
	b := builder{loader: l, root: l.decodeFiles()}
	b.buildInventory()
	if l.diags.HasErrors() {
		return Loaded{Inventory: b.inv, Sensitive: l.values.Sensitive}, l.newErrors()
	}
	return Loaded{Inventory: b.inv, Sensitive: l.values.Sensitive, Warnings: b.warnings, Files: l.named, Dir: l.displayPath(path.Dir(names[0])), Read: l.values.Read}, nil
}

// loader holds the state that the parts of loading share.
type loader struct {
	src           Source
	texts         map[string][]byte // by name; a file may be a pipe, which can be read only once
	files         map[string]*hcl.File
	parts         []part
	diags         hcl.Diagnostics
	values        *expression.Evaluator
	hiddenFiles   map[string]bool          // files whose lines must not be shown
	outsideValues map[string]*outsideValue // variables from files
	named         []File
	isNamed       map[File]bool
}

// part is a part of an inventory: the body of a file, or host blocks that are not parsed yet.
type part struct {
	body  *hclsyntax.Body
	hosts *piece
}

// findFiles returns the files to read, without duplicates. A folder stands for its *.hcl files, except hidden ones.
func (l *loader) findFiles() ([]string, error) {
	var names []string
	for _, p := range l.src.Paths {
		info, err := fs.Stat(l.src.FS, p)
		if err != nil {
			return nil, fmt.Errorf("read inventory: %s: %w; name one with -i", l.displayPath(p), textutil.ErrorWithoutPath(err))
		}
		found := []string{p}
		if info.IsDir() {
			if found, err = l.listFolder(p); err != nil {
				return nil, err
			}
		}
		for _, name := range found {
			if !slices.Contains(names, name) {
				names = append(names, name)
			}
		}
	}
	if len(names) == 0 {
		return nil, errors.New("read inventory: no file was named; name one with -i")
	}
	return names, nil
}

func (l *loader) listFolder(p string) ([]string, error) {
	entries, err := fs.ReadDir(l.src.FS, p)
	if err != nil {
		return nil, fmt.Errorf("read inventory: %s: %w", l.displayPath(p), textutil.ErrorWithoutPath(err))
	}
	var names []string
	for _, e := range entries {
		if path.Ext(e.Name()) == ".hcl" && !strings.HasPrefix(e.Name(), ".") && !e.IsDir() {
			names = append(names, path.Join(p, e.Name()))
		}
	}
	if len(names) == 0 {
		return nil, fmt.Errorf("read inventory: the folder %s has no *.hcl files; name another with -i", l.displayPath(p))
	}
	return names, nil
}

// readText reads a file of HCL once.
func (l *loader) readText(name string) ([]byte, error) {
	if text, read := l.texts[name]; read {
		return text, nil
	}
	text, err := l.values.ReadFile(name, expression.MaxSourceBytes)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", l.displayPath(name), err)
	}
	l.texts[name] = text
	return text, nil
}

func (l *loader) parseWhole(name string) error {
	body, err := l.parseFile(name)
	if body != nil {
		l.parts = append(l.parts, part{body: body})
	}
	return err
}

func (l *loader) parseInPieces(name string) error {
	text, err := l.readText(name)
	switch {
	case err != nil:
		return err
	case utf8.Valid(text):
		l.parsePieces(text, l.displayPath(name))
		return nil
	}
	return l.parseWhole(name) // for its error
}

// parseFile reads a file. For a file that is not HCL it adds an error and returns a nil body.
func (l *loader) parseFile(name string) (*hclsyntax.Body, error) {
	shown := l.displayPath(name)
	src, err := l.readText(name)
	if err != nil {
		return nil, err
	}
	if !utf8.Valid(src) {
		l.addGlobalError(shown+" is not text in UTF-8", "name another file, or save it as UTF-8")
		return nil, nil
	}
	if l.files[shown] = (&hcl.File{Bytes: src}); !l.checkNesting(src, shown, hcl.InitialPos) {
		return nil, nil
	}
	file, diags := hclsyntax.ParseConfig(src, shown, hcl.InitialPos)
	if diags.HasErrors() && isPlaybook(string(src)) {
		l.addGlobalError(shown+" is a playbook, and -i names the inventory", "name it without -i: holdfast plan "+shown+" -i INVENTORY")
		return nil, nil
	}
	if diags.HasErrors() && isAnsible(name, string(src)) {
		l.addGlobalError(shown+" is an inventory of Ansible, and holdfast reads HCL", ansibleAdvice)
		return nil, nil
	}
	l.files[shown] = file
	l.diags = append(l.diags, addAdvice(limitSyntaxErrors(diags))...)
	body, ok := file.Body.(*hclsyntax.Body)
	if !ok || diags.HasErrors() {
		return nil, nil
	}
	l.countCosts(body, src)
	return body, nil
}

// countCosts counts the costs of a file with loops, templates or ranges. In other files, each expression is evaluated once, and
// its result is no longer than the file.
func (l *loader) countCosts(body *hclsyntax.Body, src []byte) {
	for _, word := range []string{"for", "${", "range"} {
		if bytes.Contains(src, []byte(word)) {
			l.values.CountCosts(body)
			return
		}
	}
}

func (l *loader) checkNesting(text []byte, shown string, at hcl.Pos) bool {
	tokens, _ := hclsyntax.LexConfig(text, shown, at) // the parser reports the error
	d := expression.CheckNesting(tokens)
	if d != nil {
		l.diags = append(l.diags, d)
	}
	return d == nil
}

// limitSyntaxErrors keeps the first syntax errors of a file: most of the others follow from them.
func limitSyntaxErrors(diags hcl.Diagnostics) hcl.Diagnostics {
	const enough = 20
	if len(diags) <= enough {
		return diags
	}
	return append(diags[:enough:enough], &hcl.Diagnostic{
		Severity: hcl.DiagError, Subject: diags[enough].Subject,
		Summary: fmt.Sprintf("%d more errors from here on", len(diags)-enough), Detail: "correct those above first",
	})
}

func addAdvice(diags hcl.Diagnostics) hcl.Diagnostics {
	for _, d := range diags {
		switch d.Summary {
		case "Invalid single-argument block definition", "Missing newline after argument":
			d.Detail += " Write each argument on a line of its own."
		case "Variables not allowed":
			d.Detail = "a value here cannot refer to anything; write text in quotes"
		case "Function calls not allowed":
			d.Detail = "a value here cannot call functions"
		}
	}
	return diags
}

func (l *loader) displayPath(p string) string {
	if l.src.Root == "" {
		return p
	}
	return path.Join(l.src.Root, p)
}

func (l *loader) newErrors() *Errors {
	return &Errors{diags: dropRepeated(l.diags), files: l.files, hiddenFiles: l.hiddenFiles, sensitive: l.values.Sensitive}
}

func (l *loader) addGlobalError(summary, detail string) {
	l.diags = append(l.diags, &hcl.Diagnostic{Severity: hcl.DiagError, Summary: summary, Detail: detail})
}

func (l *loader) hasErrorAt(at hcl.Range) bool {
	return slices.ContainsFunc(l.diags, func(d *hcl.Diagnostic) bool { return d.Subject != nil && d.Subject.Overlaps(at) })
}

func (l *loader) addError(at hcl.Range, summary, detail string) {
	l.diags = append(l.diags, &hcl.Diagnostic{Severity: hcl.DiagError, Summary: summary, Detail: detail, Subject: &at})
}
