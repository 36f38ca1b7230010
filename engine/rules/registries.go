package rules

import (
	"fmt"
	"reflect"
	"slices"
	"strings"

	"github.com/BurntSushi/toml"

	"holdfast/engine"
	"holdfast/engine/resource"
)

// registriesConf has the settings of registries.conf that may affect running
// containers.
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

// registriesFields lists the names of all fields of registriesConf.
var registriesFields = []string{
	"unqualified-search-registries", "registry", "prefix", "location", "blocked", "insecure", "mirror-by-digest-only", "mirror", "pull-from-mirror",
}

const digestOnly = "digest-only"

func (r registry) scope() string {
	if r.Prefix != "" {
		return r.Prefix
	}
	return r.Location
}

func (r registry) mirrorPulls(location string) []string {
	var list []string
	for _, m := range r.Mirrors {
		if m.Location == location {
			list = append(list, m.Pull)
		}
	}
	return list
}

// registriesContents returns false if the contents depend on the host. A missing file is empty.
func registriesContents(f *resource.File) (text []byte, ok bool) {
	if f == nil {
		return nil, true
	}
	return slices.Concat(f.Contents, f.Append), !f.Inherit
}

func (v decision) withDrainIfUnsafe(was, is *resource.File) decision {
	old, oldKnown := registriesContents(was)
	new, newKnown := registriesContents(is)
	v.why = "the contents depend on the host"
	if oldKnown && newKnown {
		v.why = unsafeReason(old, new)
	}
	if v.why == "" {
		v.why = "no drain needed: images in use keep their sources"
		return v
	}
	v.why = "drain first: " + v.why
	v.actions = append([]engine.Action{{Type: engine.DrainAction}}, v.actions...)
	return v
}

// unsafeReason explains why a change of registries.conf may take an image from
// a running workload. It returns "" under the same conditions under which the
// Machine Config Operator skips the drain.
func unsafeReason(before, after []byte) string {
	was, why := parseRegistries(before)
	if why != "" {
		return "before, the file " + why
	}
	is, why := parseRegistries(after)
	if why != "" {
		return "now the file " + why
	}
	if len(is.Search) < len(was.Search) || !slices.Equal(is.Search[:len(was.Search)], was.Search) {
		return "unqualified-search-registries has changes other than entries added at its end"
	}
	old, olds := groupByScope(was.Registries)
	new, news := groupByScope(is.Registries)
	for _, scope := range olds {
		if why := unsafeEntryReason(old[scope], new[scope]); why != "" {
			return fmt.Sprintf("registry %s%s", scope, why)
		}
	}
	for _, scope := range news {
		if len(old[scope]) > 0 {
			continue
		}
		if why := unsafeEntryReason(nil, new[scope]); why != "" {
			return fmt.Sprintf("new registry %s%s", scope, why)
		}
	}
	return ""
}

func groupByScope(list []registry) (groups map[string][]registry, scopes []string) {
	groups = map[string][]registry{}
	for _, r := range list {
		scope := r.scope()
		if len(groups[scope]) == 0 {
			scopes = append(scopes, scope)
		}
		groups[scope] = append(groups[scope], r)
	}
	return groups, scopes
}

// unsafeEntryReason compares the entries of one registry. If a registry has
// several entries, every change is unsafe, because the reader of the file
// decides which of them it uses.
func unsafeEntryReason(was, is []registry) string {
	switch {
	case reflect.DeepEqual(was, is):
		return ""
	case len(is) == 0:
		return " is gone"
	case len(was) > 1 || len(is) > 1:
		return " is listed twice, and its entries changed"
	case len(was) == 0:
		return unsafeAdditionReason(is[0])
	}
	return unsafeUpdateReason(was[0], is[0])
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
		// The TOML library ignores case. If a file has both Mirror and mirror,
		// the library returns one of them at random.
		last := key[len(key)-1]
		alike := slices.ContainsFunc(registriesFields, func(f string) bool { return strings.EqualFold(f, last) })
		if alike && !slices.Contains(registriesFields, last) {
			return c, fmt.Sprintf("has the field %s, which must be in lower case", last)
		}
	}
	return c, ""
}

func unsafeUpdateReason(a, b registry) string {
	switch {
	case a.Prefix != b.Prefix:
		return ": prefix changed"
	case a.Location != b.Location:
		return ": location changed"
	case a.Blocked != b.Blocked:
		return ": blocked changed"
	case a.Insecure != b.Insecure:
		return ": insecure changed"
	}
	for _, m := range a.Mirrors {
		if len(b.mirrorPulls(m.Location)) == 0 {
			return fmt.Sprintf(": mirror %s is gone", m.Location)
		}
	}
	for _, m := range b.Mirrors {
		was, is := a.mirrorPulls(m.Location), b.mirrorPulls(m.Location)
		switch {
		case slices.Equal(was, is):
		case len(was) > 1 || len(is) > 1:
			return fmt.Sprintf(": mirror %s is listed twice, and its entries changed", m.Location)
		case len(was) == 1 && m.Pull != digestOnly:
			return fmt.Sprintf(": pull-from-mirror of mirror %s changed to other than digest-only", m.Location)
		case len(was) == 0 && m.Pull != digestOnly && !b.DigestOnly:
			return fmt.Sprintf(": new mirror %s is not digest-only", m.Location)
		}
	}
	return ""
}

func unsafeAdditionReason(r registry) string {
	if len(r.Mirrors) == 0 && !r.DigestOnly {
		return " has no mirrors and no mirror-by-digest-only"
	}
	for _, m := range r.Mirrors {
		if m.Pull != digestOnly {
			return fmt.Sprintf(" has a mirror %s that is not digest-only", m.Location)
		}
	}
	return ""
}
