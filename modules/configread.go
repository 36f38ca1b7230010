package modules

import (
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"path"
	"slices"
	"strconv"
	"strings"
	"unicode"

	"holdfast/engine"
)

// lookSections are the parts of what look.sh prints, in order; end ends it.
var lookSections = []string{"asked", "nodes", "digests", "targets", "contents", "originals", "units", "states", "passwd", "group", "keys", "logins", "record", "end"}

// configRead adds what the host was seen to have of its configuration. Whatever
// cannot be understood is a problem, and then nothing is written to the host.
func configRead(d engine.Desired, o engine.Outputs, f engine.Facts) engine.Facts {
	if d.Config == nil {
		return f
	}
	f.Config = &engine.ConfigFacts{}
	text, problem := output(o, lookName)
	switch complaint := strings.TrimSpace(o[lookName].Stderr); {
	case problem != "":
		f.Config.Problem = engine.Printable(problem)
		return f
	case complaint != "":
		f.Config.Problem = engine.Printable(lookName + ": " + lastLine(complaint))
		return f
	}
	l := look{facts: f.Config}
	if err := l.read(*d.Config, text); err != nil {
		f.Config = &engine.ConfigFacts{Problem: engine.Printable(err.Error())}
	}
	return f
}

// look takes apart what look.sh printed.
type look struct {
	facts *engine.ConfigFacts
	parts map[string][]string // lines by section
	asked map[string]bool     // paths
}

func (l *look) read(c engine.Config, text string) error {
	l.parts = map[string][]string{}
	for i, name := range lookSections[:len(lookSections)-1] {
		rest, ok := strings.CutPrefix(text, "== "+name+"\n")
		if !ok {
			return fmt.Errorf("%s: the answer has no %s", lookName, name)
		}
		part, _, ok := strings.Cut("\n"+rest, "\n== "+lookSections[i+1]+"\n")
		if !ok {
			return fmt.Errorf("%s: the answer has no %s", lookName, lookSections[i+1])
		}
		text = rest[len(part):]
		if part = strings.TrimSuffix(strings.TrimPrefix(part, "\n"), "\n"); part != "" {
			l.parts[name] = strings.Split(part, "\n")
		}
	}
	for _, step := range []func(engine.Config) error{l.record, l.nodes, l.digests, l.targets, l.contents, l.originals, l.units, l.groups, l.users, l.logins} {
		if err := step(c); err != nil {
			return err
		}
	}
	return nil
}

// record reads the record, and proves that the script looked at what the
// configurations are about, no less.
func (l *look) record(c engine.Config) error {
	list := wanted(c)
	configs := []engine.Config{c}
	if lines := l.parts["record"]; lines != nil {
		text := strings.Join(lines, "\n")
		a, err := readApplied(text)
		if err != nil {
			return fmt.Errorf("%s %w", engine.AppliedPath, err)
		}
		l.facts.Applied = a
		configs = append(configs, a.Config)
		if a.Unfinished != nil {
			configs = append(configs, a.Unfinished.Config)
		}
		list = append(list, about(configs[1:]...)...)
	}
	slices.Sort(list)
	list = slices.Compact(list)
	for _, line := range list {
		if strings.ContainsFunc(strings.Replace(line, "\t", "", 1), unicode.IsControl) {
			return fmt.Errorf("%s: %q has control characters, which holdfast writes in no name", engine.AppliedPath, line)
		}
	}
	sum := engine.Digest([]byte(strings.Join(list, "\n") + "\n"))
	if first, _, _ := strings.Cut(strings.Join(l.parts["asked"], ""), " "); first != sum {
		return fmt.Errorf("%s is not as holdfast writes it: its list of what it is about is of something else; %s", engine.AppliedPath, recordHelp)
	}
	l.asked, l.facts.Nodes = map[string]bool{}, map[string]engine.Node{}
	for _, config := range configs {
		for _, p := range nodePaths(config) {
			l.asked[p] = true
			l.facts.Nodes[p] = engine.Node{}
		}
	}
	return nil
}

const recordHelp = "put back a copy of it, or remove it: what is there counts as the host's own then"

// readApplied reads a record, of which the script left out the list in front.
func readApplied(text string) (*engine.Applied, error) {
	if len(text) > maxApplied {
		return nil, fmt.Errorf("has more than %d MiB; %s", maxApplied>>20, recordHelp)
	}
	var version struct {
		Schema int `json:"schema"`
	}
	if err := json.Unmarshal([]byte(text), &version); err != nil {
		return nil, fmt.Errorf("is not a record (%w); %s", err, recordHelp)
	}
	if version.Schema != engine.AppliedSchema {
		return nil, fmt.Errorf("is of schema %d, and this holdfast knows %d; use the version that wrote it, or a later one", version.Schema, engine.AppliedSchema)
	}
	var a engine.Applied
	if err := json.Unmarshal([]byte(text), &a); err != nil {
		return nil, fmt.Errorf("is not a record (%w); %s", err, recordHelp)
	}
	for _, p := range append(nodePaths(a.Config), unfinishedPaths(a)...) {
		if !path.IsAbs(p) || path.Clean(p) != p {
			return nil, fmt.Errorf("names %q, which is no path; %s", p, recordHelp)
		}
	}
	return &a, nil
}

func unfinishedPaths(a engine.Applied) []string {
	if a.Unfinished == nil {
		return nil
	}
	return nodePaths(a.Unfinished.Config)
}

// nodes reads MODE SIZE UID GID INODE USER GROUP PATH, of what there is.
func (l *look) nodes(engine.Config) error {
	for _, line := range l.parts["nodes"] {
		w := strings.SplitN(line, "\t", 8)
		if len(w) != 8 {
			return strange("nodes", line)
		}
		p, err := l.path("nodes", w[7])
		if err != nil {
			return err
		}
		mode, err := strconv.ParseUint(w[0], 16, 32)
		size, err1 := strconv.ParseUint(w[1], 10, 63)
		uid, err2 := strconv.ParseUint(w[2], 10, 32)
		gid, err3 := strconv.ParseUint(w[3], 10, 32)
		if errors.Join(err, err1, err2, err3) != nil {
			return strange("nodes", line)
		}
		n := engine.Node{
			Type: nodeType(mode), Mode: int(mode & 0o7777), UID: int(uid), GID: int(gid),
			User: known(w[5]), Group: known(w[6]), Inode: w[4],
		}
		if n.Type == engine.FileNode && size >= maxDigested {
			n.Digest = "large"
		}
		l.facts.Nodes[p] = n
	}
	return nil
}

// maxDigested is from how many bytes on a file is too large to be hashed at
// every look. It is more than a configuration can hold.
const maxDigested = 100_000_000

func nodeType(mode uint64) engine.NodeType {
	switch mode >> 12 {
	case 0o4:
		return engine.DirectoryNode
	case 0o10:
		return engine.FileNode
	case 0o12:
		return engine.LinkNode
	}
	return engine.OtherNode
}

// known is the name of a user or group; stat says UNKNOWN of an ID without one.
func known(name string) string {
	if name == "UNKNOWN" {
		return ""
	}
	return name
}

func (l *look) digests(engine.Config) error {
	for _, line := range l.parts["digests"] {
		sum, name, ok := strings.Cut(line, "  ")
		p, err := l.path("digests", name)
		if err != nil || !ok || !isDigest(sum) {
			return strange("digests", line)
		}
		n := l.facts.Nodes[p]
		n.Digest = sum
		l.facts.Nodes[p] = n
	}
	for p, n := range l.facts.Nodes {
		if n.Type == engine.FileNode && n.Digest == "" {
			return fmt.Errorf("%s: %s was not read; it changes, or cannot be read", lookName, p)
		}
	}
	return nil
}

func isDigest(s string) bool {
	return len(s) == 64 && strings.Trim(s, "0123456789abcdef") == ""
}

// targets reads PATH, a tab, PATH -> TARGET.
func (l *look) targets(engine.Config) error {
	for _, line := range l.parts["targets"] {
		name, arrow, _ := strings.Cut(line, "\t")
		p, err := l.path("targets", name)
		target, ok := strings.CutPrefix(arrow, name+" -> ")
		if err != nil || !ok {
			return strange("targets", line)
		}
		n := l.facts.Nodes[p]
		n.Target = target
		l.facts.Nodes[p] = n
	}
	return nil
}

// contents reads KIND PATH BASE64. A file that is too large to be appended to
// is a problem; of one that only helps to choose a rule, nothing is known then.
func (l *look) contents(c engine.Config) error {
	inherits := map[string]bool{}
	for _, f := range c.Files {
		inherits[f.Path] = f.Inherit
	}
	for _, line := range l.parts["contents"] {
		w := strings.SplitN(line, "\t", 3)
		if len(w) != 3 || !l.asked[w[1]] {
			return strange("contents", line)
		}
		data, err := base64.StdEncoding.DecodeString(w[2])
		if err != nil {
			return strange("contents", line)
		}
		if len(data) > maxContents {
			if inherits[w[1]] {
				return fmt.Errorf("%s has more than %d MiB, which is too much to append to; give its contents instead", w[1], maxContents>>20)
			}
			continue
		}
		n := l.facts.Nodes[w[1]]
		if w[0] == "base" {
			n.Base = data
		} else {
			n.Contents = data
		}
		l.facts.Nodes[w[1]] = n
	}
	return nil
}

func (l *look) originals(engine.Config) error {
	kept := map[string]bool{}
	for _, name := range l.parts["originals"] {
		kept[strings.TrimSuffix(name, defaultMark)] = true
	}
	if len(kept) == 0 {
		return nil
	}
	l.facts.Saved = map[string]bool{}
	for p := range l.asked {
		if kept[originalName(p)] {
			l.facts.Saved[p] = true
		}
	}
	return nil
}

func (l *look) units(engine.Config) error {
	names, states := l.parts["units"], l.parts["states"]
	if len(names) != len(states) {
		return fmt.Errorf("%s: systemctl is-enabled says nothing about some units", lookName)
	}
	if len(names) > 0 {
		l.facts.Units = map[string]string{}
	}
	for i, state := range states {
		if state == "" || strings.Trim(state, "abcdefghijklmnopqrstuvwxyz-") != "" {
			return fmt.Errorf("%s: systemctl is-enabled %s: %s", lookName, names[i], state)
		}
		l.facts.Units[names[i]] = state
	}
	return nil
}

// path takes the path of a line, which is one that was asked for.
func (l *look) path(part, name string) (string, error) {
	if p, ok := strings.CutPrefix(name, "."); ok && l.asked[p] {
		return p, nil
	}
	return "", strange(part, name)
}

// strange says that a line is not of the form it should have. Its text stays
// away: it may hold what nobody should read.
func strange(part, line string) error {
	return fmt.Errorf("%s: a line of %d bytes among the %s is not understood", lookName, len(line), part)
}
