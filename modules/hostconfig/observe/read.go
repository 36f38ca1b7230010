package observe

import (
	"fmt"
	"slices"
	"strings"
	"unicode"

	"holdfast/engine"
	"holdfast/engine/resource"
	"holdfast/engine/textutil"
	"holdfast/modules/hostconfig/record"
	"holdfast/modules/shell"
)

// Read adds the observed configuration to the facts. If it cannot parse the
// output, it adds a problem. holdfast does not write to a host with such a
// problem.
func Read(d engine.Desired, o engine.Outputs, f engine.Facts) engine.Facts {
	if d.Config == nil {
		return f
	}
	fips, _ := shell.Output(o, fipsProbeName) // a kernel that does not have the mode has no such file
	f.Config = &resource.ConfigFacts{FIPS: strings.TrimSpace(fips) == "1"}
	text, problem := shell.Output(o, ProbeName)
	switch complaint := strings.TrimSpace(o[ProbeName].Stderr); {
	case problem != "":
		f.Config.Problem = textutil.Printable(problem)
		return f
	case complaint != "":
		f.Config.Problem = textutil.Printable(ProbeName + ": " + shell.LastLine(complaint))
		return f
	}
	if strings.TrimSpace(text) == "== none" && len(record.Subjects(*d.Config)) == 0 {
		return f
	}
	l := probeReader{facts: f.Config}
	if err := l.parseOutput(*d.Config, text); err != nil {
		f.Config = &resource.ConfigFacts{Problem: textutil.Printable(err.Error())}
	}
	return f
}

// probeReader parses the output of probe.sh.
type probeReader struct {
	facts     *resource.ConfigFacts
	parts     map[string][]string // lines by section
	requested map[string]bool     // requested paths
	existing  map[string]bool     // directories of requested paths that exist, and links to directories
	blocking  map[string]bool     // entries that are not directories, where requested paths need one
}

func (l *probeReader) parseOutput(c resource.Config, text string) error {
	if err := l.splitSections(text); err != nil {
		return err
	}
	for _, step := range []func(resource.Config) error{l.readRecord, l.readNodes, l.readFileDigests, l.readTargets, l.readParents, l.checkAllRead, l.readVolatileDirs, l.readContents, l.readOriginals, l.readUnits, l.readGroups, l.readUsers, l.readLogins} {
		if err := step(c); err != nil {
			return err
		}
	}
	return nil
}

func (l *probeReader) splitSections(text string) error {
	names := []string{"asked", "nodes", "digests", "targets", "parents", "readonly", "fleeting", "contents", "originals", "units", "states", "passwd", "group", "keys", "logins", "record", "end"}
	l.parts = map[string][]string{}
	at := -1
	for line := range strings.SplitSeq(text, "\n") {
		switch {
		case at+1 < len(names) && line == "== "+names[at+1]:
			at++
		case line != "" && at >= 0:
			l.parts[names[at]] = append(l.parts[names[at]], line)
		}
	}
	if at+1 < len(names) {
		return fmt.Errorf("%s: the answer has no %s", ProbeName, names[at+1])
	}
	return nil
}

func (l *probeReader) readRecord(c resource.Config) error {
	configs := []resource.Config{c}
	if lines := l.parts["record"]; lines != nil {
		text := strings.Join(lines, "\n")
		a, err := record.Decode(text)
		if err != nil {
			return fmt.Errorf("%s %w", record.Path, err)
		}
		l.facts.Applied = a
		configs = append(configs, record.Configs(*a)...)
	}
	list := record.Subjects(configs...)
	slices.Sort(list)
	list = slices.Compact(list)
	for _, line := range list {
		if strings.ContainsFunc(line, unicode.IsControl) {
			return fmt.Errorf("%s: %q has control characters, which holdfast writes in no name", record.Path, line)
		}
	}
	sum := resource.Digest([]byte(strings.Join(list, "\n") + "\n"))
	if first, _, _ := strings.Cut(strings.Join(l.parts["asked"], ""), " "); first != sum {
		return fmt.Errorf("%s is not as holdfast writes it: its list of subjects does not belong to its configuration; %s", record.Path, record.RepairHint)
	}
	l.requested, l.facts.Nodes = map[string]bool{}, map[string]resource.PathFacts{}
	for _, config := range configs {
		for _, p := range record.Paths(config) {
			l.requested[p] = true
			l.facts.Nodes[p] = resource.PathFacts{}
		}
		if len(config.Units) > 0 {
			l.requested[IgnitionPresets] = true
		}
	}
	return nil
}

func (l *probeReader) requestedPath(part, name string) (string, error) {
	if p, ok := strings.CutPrefix(name, "."); ok && l.requested[p] {
		return p, nil
	}
	return "", malformedLineError(part, name)
}

// malformedLineError returns an error without the text of the line, which may be
// secret.
func malformedLineError(part, line string) error {
	return fmt.Errorf("%s: a line of %d bytes among the %s is not understood", ProbeName, len(line), part)
}
