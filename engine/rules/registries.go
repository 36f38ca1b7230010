package rules

import (
	"fmt"
	"slices"
	"strings"

	"github.com/BurntSushi/toml"

	"holdfast/engine"
)

// registriesConf is what registries.conf says that running containers may
// depend on.
type registriesConf struct {
	Search     []string   `toml:"unqualified-search-registries"`
	Registries []registry `toml:"registry"`
}

type registry struct {
	Prefix     string   `toml:"prefix"`
	Location   string   `toml:"location"`
	Blocked    bool     `toml:"blocked"`
	Insecure   bool     `toml:"insecure"`
	DigestOnly bool     `toml:"mirror-by-digest-only"`
	Mirrors    []mirror `toml:"mirror"`
}

type mirror struct {
	Location string `toml:"location"`
	Pull     string `toml:"pull-from-mirror"`
}

// registriesFields are the names of all these fields.
var registriesFields = []string{
	"unqualified-search-registries", "registry", "prefix", "location", "blocked", "insecure", "mirror-by-digest-only", "mirror", "pull-from-mirror",
}

const digestOnly = "digest-only"

// scope is what a registry is known by.
func (r registry) scope() string {
	if r.Prefix != "" {
		return r.Prefix
	}
	return r.Location
}

func (r registry) mirror(location string) (mirror, bool) {
	i := slices.IndexFunc(r.Mirrors, func(m mirror) bool { return m.Location == location })
	if i < 0 {
		return mirror{}, false
	}
	return r.Mirrors[i], true
}

// contents are those of registries.conf; ok is false if they depend on the
// host. A file that is not there says nothing.
func contents(f *engine.File) (text []byte, ok bool) {
	if f == nil {
		return nil, true
	}
	return slices.Concat(f.Contents, f.Append), !f.Inherit
}

// judge adds a drain unless the change of registries.conf is safe.
func (v verdict) judge(was, is *engine.File) verdict {
	old, oldKnown := contents(was)
	new, newKnown := contents(is)
	v.why = "the contents depend on the host"
	if oldKnown && newKnown {
		v.why = unsafe(old, new)
	}
	if v.why == "" {
		v.why = "images that are in use keep their sources, so that no drain is due"
		return v
	}
	v.why = "drain first: " + v.why
	v.actions = append([]engine.Action{{Type: engine.DrainAction}}, v.actions...)
	return v
}

// unsafe says why a change of registries.conf may take an image from a
// running workload, or "" if it cannot. These are the conditions under which
// the Machine Config Operator skips the drain.
func unsafe(old, new []byte) string {
	was, why := parseRegistries(old)
	if why != "" {
		return "before, the file " + why
	}
	is, why := parseRegistries(new)
	if why != "" {
		return "now the file " + why
	}
	if len(is.Search) < len(was.Search) || !slices.Equal(is.Search[:len(was.Search)], was.Search) {
		return "unqualified-search-registries did not only grow at its end"
	}
	for _, a := range was.Registries {
		i := slices.IndexFunc(is.Registries, func(b registry) bool { return b.scope() == a.scope() })
		if i < 0 {
			return fmt.Sprintf("registry %s is gone", a.scope())
		}
		if why := kept(a, is.Registries[i]); why != "" {
			return fmt.Sprintf("registry %s: %s", a.scope(), why)
		}
	}
	for _, b := range is.Registries {
		if slices.ContainsFunc(was.Registries, func(a registry) bool { return a.scope() == b.scope() }) {
			continue
		}
		if why := added(b); why != "" {
			return fmt.Sprintf("new registry %s: %s", b.scope(), why)
		}
	}
	return ""
}

func parseRegistries(text []byte) (registriesConf, string) {
	var c registriesConf
	meta, err := toml.Decode(string(text), &c)
	if err != nil {
		return c, "is not valid TOML"
	}
	if meta.IsDefined("registries") {
		return c, "is in the old format, version 1"
	}
	for _, key := range meta.Keys() {
		// The TOML library takes Mirror for mirror; of two such fields it would
		// be chance which one counts.
		last := key[len(key)-1]
		alike := slices.ContainsFunc(registriesFields, func(f string) bool { return strings.EqualFold(f, last) })
		if alike && !slices.Contains(registriesFields, last) {
			return c, fmt.Sprintf("has the field %s, which is written in small letters", last)
		}
	}
	seen := map[string]bool{}
	for _, r := range c.Registries {
		if seen[r.scope()] {
			return c, fmt.Sprintf("has registry %s twice", r.scope())
		}
		seen[r.scope()] = true
	}
	return c, ""
}

// kept judges a registry that is in both files.
func kept(a, b registry) string {
	switch {
	case a.Prefix != b.Prefix:
		return "prefix changed"
	case a.Location != b.Location:
		return "location changed"
	case a.Blocked != b.Blocked:
		return "blocked changed"
	case a.Insecure != b.Insecure:
		return "insecure changed"
	}
	for _, m := range a.Mirrors {
		if _, ok := b.mirror(m.Location); !ok {
			return fmt.Sprintf("mirror %s is gone", m.Location)
		}
	}
	for _, m := range b.Mirrors {
		was, ok := a.mirror(m.Location)
		if ok && m.Pull != was.Pull && m.Pull != digestOnly {
			return fmt.Sprintf("pull-from-mirror of mirror %s changed to other than digest-only", m.Location)
		}
		if !ok && m.Pull != digestOnly && !b.DigestOnly {
			return fmt.Sprintf("new mirror %s is not digest-only", m.Location)
		}
	}
	return ""
}

// added judges a registry that is only in the new file.
func added(r registry) string {
	if len(r.Mirrors) == 0 && !r.DigestOnly {
		return "it has no mirrors and no mirror-by-digest-only"
	}
	for _, m := range r.Mirrors {
		if m.Pull != digestOnly {
			return fmt.Sprintf("mirror %s is not digest-only", m.Location)
		}
	}
	return ""
}
