package observe

import (
	"errors"
	"fmt"
	"maps"
	"path"
	"slices"
	"strconv"
	"strings"

	"holdfast/engine/resource"
	"holdfast/modules/shell"
)

// readNodes reads a line MODE SIZE UID GID INODE USER GROUP PATH for each
// existing path.
func (l *probeReader) readNodes(resource.Config) error {
	for _, line := range l.parts["nodes"] {
		w := strings.SplitN(line, "\t", 8)
		if len(w) != 8 {
			return malformedLineError("nodes", line)
		}
		p, err := l.requestedPath("nodes", w[7])
		if err != nil {
			return err
		}
		mode, err := strconv.ParseUint(w[0], 16, 32)
		size, err1 := strconv.ParseUint(w[1], 10, 63)
		uid, err2 := strconv.ParseUint(w[2], 10, 32)
		gid, err3 := strconv.ParseUint(w[3], 10, 32)
		if errors.Join(err, err1, err2, err3) != nil {
			return malformedLineError("nodes", line)
		}
		n := resource.PathFacts{
			Type: nodeType(mode), Mode: int(mode & 0o7777), UID: int(uid), GID: int(gid),
			User: knownName(w[5]), Group: knownName(w[6]), Inode: w[4],
		}
		if n.Type == resource.PathFile && size >= maxDigested {
			n.Digest = "large"
		}
		l.facts.Nodes[p] = n
	}
	return nil
}

// maxDigested is the size, in bytes, from which files are not hashed. Hashing a
// larger file each time facts are gathered would take too long. No configuration
// can have such a file.
const maxDigested = 100_000_000

func nodeType(mode uint64) resource.PathType {
	switch mode >> 12 {
	case 0o4:
		return resource.PathDirectory
	case 0o10:
		return resource.PathFile
	case 0o12:
		return resource.PathLink
	}
	return resource.PathOther
}

func knownName(name string) string {
	if name == "UNKNOWN" {
		return ""
	}
	return name
}

func (l *probeReader) readFileDigests(resource.Config) error {
	for _, line := range l.parts["digests"] {
		sum, name, ok := strings.Cut(line, "  ")
		p, err := l.requestedPath("digests", name)
		if err != nil || !ok || !shell.IsHexadecimal(sum, 64) {
			return malformedLineError("digests", line)
		}
		n := l.facts.Nodes[p]
		n.Digest = sum
		l.facts.Nodes[p] = n
	}
	return nil
}

// checkAllRead returns an error if a file was not read. The probe never reads
// files below a link that does not belong to the OS.
func (l *probeReader) checkAllRead(resource.Config) error {
	for _, p := range slices.Sorted(maps.Keys(l.facts.Nodes)) {
		n := l.facts.Nodes[p]
		if n.Type != resource.PathFile || n.Digest != "" {
			continue
		}
		for dir := path.Dir(p); dir != "/"; dir = path.Dir(dir) {
			if target, ok := l.facts.Links[dir]; ok {
				return fmt.Errorf("%s: %s is a symbolic link to %s; write the path it leads to", p, dir, target)
			}
		}
		return fmt.Errorf("%s: %s was not read; it changes, or cannot be read", ProbeName, p)
	}
	return nil
}

func (l *probeReader) readTargets(resource.Config) error {
	for _, line := range l.parts["targets"] {
		name, arrow, _ := strings.Cut(line, "\t")
		p, err := l.requestedPath("targets", name)
		target, ok := strings.CutPrefix(arrow, name+" -> ")
		if err == nil && arrow == name { // the path is not a link any more
			return changedWhileReadError(p)
		}
		if err != nil || !ok {
			return malformedLineError("targets", line)
		}
		n := l.facts.Nodes[p]
		n.Target = target
		l.facts.Nodes[p] = n
	}
	return nil
}

func (l *probeReader) readVolatileDirs(resource.Config) error {
	for _, line := range l.parts["fleeting"] {
		dir, ok := strings.CutPrefix(line, ".")
		if !ok || !path.IsAbs(dir) {
			return malformedLineError("fleeting", line)
		}
		l.facts.Fleeting = append(l.facts.Fleeting, dir)
	}
	return nil
}

func (l *probeReader) readUnits(resource.Config) error {
	names, states := l.parts["units"], l.parts["states"]
	if len(names) != len(states) {
		return fmt.Errorf("%s: systemctl is-enabled says nothing about some units", ProbeName)
	}
	if len(names) > 0 {
		l.facts.Units = map[string]string{}
	}
	for i, state := range states {
		if state == "" || strings.Trim(state, "abcdefghijklmnopqrstuvwxyz-") != "" {
			return fmt.Errorf("%s: systemctl is-enabled %s: %s", ProbeName, names[i], state)
		}
		l.facts.Units[names[i]] = state
	}
	return nil
}
