package playbook

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"path"
	"strings"

	"gopkg.in/yaml.v3"

	"holdfast/engine"
)

// Options are what a playbook is read with.
type Options struct {
	Name     string            // what messages call the file; "": its path
	Hosts    []engine.Host     // of the inventory
	Tags     []string          // --tags; none: all
	SkipTags []string          // --skip-tags
	Vars     map[string]string // --var; they win over the vars of plays
}

// loader reads one playbook. What is wrong is noted, and reading goes on.
type loader struct {
	opts Options
	errs *Errors
	tags map[string]bool // that plays and tasks have

	vars     *variables    // of the play that is read
	hosts    []engine.Host // of that play
	allTasks []engine.Task // of its tasks, with those that tags leave out
}

// Load reads the playbook at path. Its error is an *Errors with everything that
// is wrong, or says why the file cannot be read. The plays and tasks that tags
// leave out are checked as well, and then dropped; a playbook of which nothing
// is left is an error, because no plays would mean another thing than none.
func Load(fsys fs.FS, file string, opts Options) (engine.Playbook, error) {
	l := &loader{opts: opts, errs: &Errors{name: opts.Name}, tags: map[string]bool{}}
	if l.errs.name == "" {
		l.errs.name = file
	}
	text, err := readFile(fsys, file)
	if err != nil {
		return engine.Playbook{}, fmt.Errorf("read playbook %s: %w", l.errs.name, errorWithoutPath(err))
	}
	for line := range strings.SplitSeq(string(text), "\n") {
		l.errs.lines = append(l.errs.lines, strings.TrimSuffix(line, "\r"))
	}
	book := engine.Playbook{Name: path.Base(file)}
	if root := l.parseDocument(text); root != nil {
		book.Plays = l.readPlays(root)
	}
	if l.errs.Len() == 0 {
		l.checkTags()
	}
	if l.errs.Len() == 0 && len(book.Plays) == 0 {
		l.errs.addProblem(place{}, "--tags and --skip-tags leave no task", "the tags of its tasks are "+joinTags(l.tags))
	}
	if l.errs.Len() > 0 {
		return engine.Playbook{}, l.errs
	}
	return book, nil
}

// Variables gives the names of the variables that the plays of a playbook have,
// in their order: what --var may set there. Of a file that is no playbook, it
// gives those that it finds; Load says what is wrong with it.
func Variables(fsys fs.FS, file string) []string {
	text, err := readFile(fsys, file)
	l := &loader{errs: &Errors{}, tags: map[string]bool{}}
	root := l.parseDocument(text)
	if err != nil || root == nil {
		return nil
	}
	var list []string
	seen := map[string]bool{}
	for _, play := range resolveAlias(root).Content {
		for _, name := range keysOf(valueOf(play, "vars")) {
			if !seen[name] {
				list = append(list, name)
			}
			seen[name] = true
		}
	}
	return list
}

// readFile gives no more of a file than it takes to see that it is too large.
func readFile(fsys fs.FS, file string) (text []byte, err error) {
	f, err := fsys.Open(file)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, f.Close()) }()
	if info, err := f.Stat(); err == nil && info.IsDir() {
		return nil, errors.New("it is a directory")
	}
	return io.ReadAll(io.LimitReader(f, maxSize+1))
}

// errorWithoutPath is the error without the path, which is said already.
func errorWithoutPath(err error) error {
	var p *fs.PathError
	if errors.As(err, &p) {
		return p.Err
	}
	return err
}

// resolveAlias gives what an alias stands for.
func resolveAlias(n *yaml.Node) *yaml.Node {
	for n.Kind == yaml.AliasNode {
		n = n.Alias
	}
	return n
}

// nodePlace is where a value stands.
func nodePlace(n *yaml.Node) place {
	p := place{line: n.Line, column: n.Column, width: 1}
	if n.Kind == yaml.ScalarNode && n.Style&(yaml.LiteralStyle|yaml.FoldedStyle) == 0 {
		p.width = len([]rune(n.Value))
		if n.Style&(yaml.DoubleQuotedStyle|yaml.SingleQuotedStyle) != 0 {
			p.width += 2
		}
	}
	return p
}

// textPlace is where a part of a text stands, given in bytes; where the text is
// written otherwise than it reads (escapes, folded lines), it is the text.
func (l *loader) textPlace(n *yaml.Node, from, width int) place {
	before, first := n.Value[:min(from, len(n.Value))], n.Line
	column := n.Column
	if n.Style&(yaml.LiteralStyle|yaml.FoldedStyle) != 0 {
		first++
		column = 1
	}
	number := strings.Count(before, "\n")
	row := strings.Split(n.Value, "\n")[number]
	if line := first + number; row != "" && line <= len(l.errs.lines) {
		source := []rune(l.errs.lines[line-1])
		skip := min(max(0, column-1), len(source))
		if i := strings.Index(string(source[skip:]), row); i >= 0 {
			inRow := before[strings.LastIndexByte(before, '\n')+1:]
			prefix := string(source[skip:])[:i] + inRow
			return place{line, skip + len([]rune(prefix)) + 1, max(1, width)}
		}
	}
	return nodePlace(n)
}

// addProblem notes what is wrong with a value.
func (l *loader) addProblem(n *yaml.Node, what, advice string) {
	l.errs.addProblem(nodePlace(n), what, advice)
}
