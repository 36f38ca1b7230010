package observe

import (
	"path"
	"strconv"
	"strings"

	"holdfast/engine/resource"
)

// readParents reads a line MODE UID PATH for each existing directory of a
// requested path, and for each link in the root directory. A line of a link also
// has PATH -> TARGET. The first line is "root" and the owner of the root
// directory. Then it reads which directories nobody can write to.
func (l *probeReader) readParents(resource.Config) error {
	l.existing, l.blocking = map[string]bool{"/": true}, map[string]bool{}
	root := ""
	for i, line := range l.parts["parents"] {
		w := strings.SplitN(line, "\t", 4)
		if i == 0 && len(w) == 2 && w[0] == "root" {
			root = w[1]
			continue
		}
		if len(w) < 3 || root == "" {
			return malformedLineError("parents", line)
		}
		mode, err := strconv.ParseUint(w[0], 16, 32)
		dir, below := strings.CutPrefix(w[2], ".")
		if err != nil || !below || !path.IsAbs(dir) {
			return malformedLineError("parents", line)
		}
		switch nodeType(mode) {
		case resource.PathDirectory:
			l.existing[dir] = true
		case resource.PathLink:
			l.existing[dir] = true
			target, ok := strings.CutPrefix(w[len(w)-1], w[2]+" -> ")
			if !ok {
				return malformedLineError("parents", line)
			}
			l.addLink(dir, target, w[1] == root)
		default:
			l.blocking[dir] = true
		}
	}
	return l.findUnwritable()
}

// addLink adds a link of the OS, which scripts follow (see enter in ground.sh), or
// another link, which they refuse.
func (l *probeReader) addLink(link, target string, isRoots bool) {
	if isRoots && (path.Dir(link) == "/" || link == "/usr/local") {
		if l.facts.OSLinks == nil {
			l.facts.OSLinks = resource.Links{}
		}
		l.facts.OSLinks[link] = resource.ParseLink(link, target)
		return
	}
	if l.facts.Links == nil {
		l.facts.Links = map[string]string{}
	}
	l.facts.Links[link] = target
}

func (l *probeReader) findUnwritable() error {
	readonly := map[string]bool{}
	for _, line := range l.parts["readonly"] {
		dir, ok := strings.CutPrefix(line, ".")
		if !ok {
			return malformedLineError("readonly", line)
		}
		readonly[path.Clean("/"+dir)] = true
	}
	note := func(to *map[string]string, p, dir string) {
		if *to == nil {
			*to = map[string]string{}
		}
		(*to)[p] = dir
	}
	for p := range l.requested {
		dir := path.Dir(p)
		for !l.existing[dir] && !l.blocking[dir] && dir != "/" {
			dir = path.Dir(dir)
		}
		switch {
		case l.blocking[dir]:
			note(&l.facts.Blocked, p, dir)
		case readonly[dir]:
			note(&l.facts.ReadOnly, p, dir)
		}
	}
	return nil
}
