package resource

import (
	"cmp"
	"maps"
	"path"
	"slices"
	"strings"
)

// Links are the symbolic links of an OS, those directly in / and /usr/local,
// with the absolute paths that they lead to. A path is compared only after
// Resolve: two spellings of one file are one file.
type Links map[string]string

// StandardLinks returns the links that each ostree host has unless its OS was
// built otherwise. Only facts tell which links a host really has.
func StandardLinks() Links {
	return Links{
		"/bin": "/usr/bin", "/sbin": "/usr/sbin", "/lib": "/usr/lib", "/lib64": "/usr/lib64",
		"/home": "/var/home", "/root": "/var/roothome", "/mnt": "/var/mnt", "/opt": "/var/opt", "/srv": "/var/srv",
		"/usr/local": "/var/usrlocal", "/ostree": "/sysroot/ostree", "/var/run": "/run",
	}
}

// maxLinks is how many links Resolve follows before it gives up, as links may
// lead in a circle.
const maxLinks = 8

// Resolve returns the path that a path leads to. It does not follow the last
// part of the path, which may be a link that a configuration sets.
func (l Links) Resolve(p string) string {
	for range maxLinks {
		next, followed := l.followLink(p)
		if !followed {
			return p
		}
		p = next
	}
	return p
}

// ResolveDir returns the path that a directory leads to.
func (l Links) ResolveDir(dir string) string {
	if len(l) == 0 {
		return dir
	}
	return cmp.Or(strings.TrimSuffix(l.Resolve(strings.TrimSuffix(dir, "/")+"/"), "/"), "/")
}

func (l Links) followLink(p string) (next string, followed bool) {
	end := 0
	for range 2 { // links have one part or two
		slash := strings.IndexByte(p[min(end+1, len(p)):], '/')
		if slash < 0 || len(l) == 0 {
			return p, false
		}
		end += slash + 1
		if target, ok := l[p[:end]]; ok {
			return strings.TrimSuffix(target, "/") + p[end:], true
		}
	}
	return p, false
}

// Spellings returns all paths that lead to a path, sorted.
func (l Links) Spellings(p string) []string {
	resolved := l.Resolve(p)
	list := []string{p, resolved}
	for link, target := range l {
		if rest, ok := strings.CutPrefix(resolved, l.ResolveDir(target)+"/"); ok {
			list = append(list, link+"/"+rest)
		}
	}
	slices.Sort(list)
	return slices.Compact(list)
}

// ResolveConfig returns a configuration with resolved paths. If several entries
// have one path, it keeps the one that prefer chooses, or the first.
func (l Links) ResolveConfig(c Config, prefer func(File) bool) Config {
	if !l.changesPaths(c) {
		return c
	}
	c.Files = slices.Clone(c.Files)
	for i := range c.Files {
		c.Files[i].Path = l.Resolve(c.Files[i].Path)
	}
	slices.SortStableFunc(c.Files, func(a, b File) int {
		return cmp.Or(strings.Compare(a.Path, b.Path), cmp.Compare(rankFile(a, prefer), rankFile(b, prefer)))
	})
	c.Files = slices.CompactFunc(c.Files, func(a, b File) bool { return a.Path == b.Path })
	c.Directories = slices.Clone(c.Directories)
	for i := range c.Directories {
		c.Directories[i].Path = l.Resolve(c.Directories[i].Path)
	}
	slices.SortStableFunc(c.Directories, func(a, b Directory) int { return strings.Compare(a.Path, b.Path) })
	c.Directories = slices.CompactFunc(c.Directories, func(a, b Directory) bool { return a.Path == b.Path })
	c.Links = slices.Clone(c.Links)
	for i := range c.Links {
		c.Links[i].Path = l.Resolve(c.Links[i].Path)
		if c.Links[i].Hard {
			c.Links[i].Target = l.Resolve(c.Links[i].Target)
		}
	}
	slices.SortStableFunc(c.Links, func(a, b Link) int { return strings.Compare(a.Path, b.Path) })
	c.Links = slices.CompactFunc(c.Links, func(a, b Link) bool { return a.Path == b.Path })
	return c
}

func rankFile(f File, prefer func(File) bool) int {
	if prefer != nil && prefer(f) {
		return 0
	}
	return 1
}

func (l Links) changesPaths(c Config) bool {
	differs := func(p string) bool { _, followed := l.followLink(p); return followed }
	return len(l) > 0 && (slices.ContainsFunc(c.Files, func(f File) bool { return differs(f.Path) }) ||
		slices.ContainsFunc(c.Directories, func(d Directory) bool { return differs(d.Path) }) ||
		slices.ContainsFunc(c.Links, func(k Link) bool { return differs(k.Path) || k.Hard && differs(k.Target) }))
}

// Respell returns the configuration was with the spelling of is for each path
// that both have.
func (l Links) Respell(was, is Config) Config {
	names := map[string]string{}
	for _, p := range is.OwnPaths() {
		names[l.Resolve(p)] = p
	}
	if !l.changesPaths(was) && !l.changesPaths(is) {
		return was
	}
	spell := func(p string) string { return cmp.Or(names[l.Resolve(p)], p) }
	was.Files, was.Directories, was.Links = slices.Clone(was.Files), slices.Clone(was.Directories), slices.Clone(was.Links)
	for i := range was.Files {
		was.Files[i].Path = spell(was.Files[i].Path)
	}
	for i := range was.Directories {
		was.Directories[i].Path = spell(was.Directories[i].Path)
	}
	for i := range was.Links {
		was.Links[i].Path = spell(was.Links[i].Path)
	}
	return was
}

// SamePath is one path that a configuration has under two spellings.
type SamePath struct{ First, Second string }

// FindSamePaths returns the paths of a configuration with more than one
// spelling, sorted.
func (l Links) FindSamePaths(c Config) []SamePath {
	if !l.changesPaths(c) {
		return nil
	}
	spelled := map[string][]string{}
	for _, p := range c.OwnPaths() {
		r := l.Resolve(p)
		spelled[r] = append(spelled[r], p)
	}
	var list []SamePath
	for _, r := range slices.Sorted(maps.Keys(spelled)) {
		for _, p := range spelled[r][1:] {
			list = append(list, SamePath{spelled[r][0], p})
		}
	}
	return list
}

// ParseLink returns the absolute path that a link with this target leads to.
func ParseLink(link, target string) string {
	if !path.IsAbs(target) {
		target = path.Join(path.Dir(link), target)
	}
	return path.Clean(target)
}
