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
	"holdfast/engine/textutil"
)

// Options configures Load.
type Options struct {
	Name     string            // file name for messages; "" means the path
	Hosts    []engine.Host     // all hosts of the inventory
	Tags     []string          // --tags; empty selects all
	SkipTags []string          // --skip-tags
	Vars     map[string]string // --var; overrides the vars of plays
}

// loader reads one playbook. It collects errors and continues.
type loader struct {
	opts Options
	errs *Errors
	tags map[string]bool // all tags of plays and tasks

	vars     *variables    // variables of the current play
	hosts    []engine.Host // hosts of the current play
	allTasks []engine.Task // main tasks of the current play, including those that tags exclude
	dropped  string        // the module of a task of the current play that was dropped, because it has no effect
}

// Load reads the playbook at path. Its error is an *Errors with all errors in
// the playbook, or the reason why the file cannot be read. Load also checks
// plays and tasks that tags exclude, before it drops them. If the tags exclude
// everything, it returns an error, because no plays mean a roll-out without a
// playbook.
func Load(fsys fs.FS, file string, opts Options) (engine.Playbook, error) {
	l := &loader{opts: opts, errs: &Errors{name: opts.Name}, tags: map[string]bool{}}
	if l.errs.name == "" {
		l.errs.name = file
	}
	text, err := readFile(fsys, file)
	if err != nil {
		return engine.Playbook{}, fmt.Errorf("read playbook %s: %w", l.errs.name, textutil.ErrorWithoutPath(err))
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

// Variables returns the names of all variables of the plays, in their order:
// the names that --var may set. It ignores errors in the playbook, which Load
// reports.
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

// readFile reads at most one byte more than maxSize.
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

func resolveAlias(n *yaml.Node) *yaml.Node {
	for n.Kind == yaml.AliasNode {
		n = n.Alias
	}
	return n
}

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

// textPlace counts in bytes. For a text with escapes or folded lines, it returns the place of the whole text.
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

func (l *loader) addProblem(n *yaml.Node, problemText, advice string) {
	l.errs.addProblem(nodePlace(n), problemText, advice)
}
