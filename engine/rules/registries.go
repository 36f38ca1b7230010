package rules

import (
	"cmp"
	"fmt"
	"maps"
	"path"
	"reflect"
	"slices"
	"strings"

	"github.com/BurntSushi/toml"

	"holdfast/engine"
	"holdfast/engine/config/syntax"
	"holdfast/engine/resource"
)

// registriesConf has the settings of registries.conf that may affect running
// containers.
type registriesConf struct {
	Search     []string   `toml:"unqualified-search-registries"`
	Registries []registry `toml:"registry"`
	otherSettings
}

// otherSettings decide, too, from where an image comes and who may pull it. No
// change of them is safe.
type otherSettings struct {
	ShortNames string            `toml:"short-name-mode"`
	Aliases    map[string]string `toml:"aliases"`
	Helpers    []string          `toml:"credential-helpers"`
	AuthHelper string            `toml:"additional-layer-store-auth-helper"`
}

func (a otherSettings) equal(b otherSettings) bool {
	return a.ShortNames == b.ShortNames && maps.Equal(a.Aliases, b.Aliases) && slices.Equal(a.Helpers, b.Helpers) && a.AuthHelper == b.AuthHelper
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
	Insecure bool   `toml:"insecure"`
	Pull     string `toml:"pull-from-mirror"`
}

// registriesFields lists the names of all fields of registriesConf.
var registriesFields = []string{
	"unqualified-search-registries", "registry", "prefix", "location", "blocked", "insecure", "mirror-by-digest-only", "mirror", "pull-from-mirror",
	"short-name-mode", "aliases", "credential-helpers", "additional-layer-store-auth-helper",
}

const digestOnly = "digest-only"

func (r registry) scopeName() string {
	if r.Prefix != "" {
		return r.Prefix
	}
	return r.Location
}

// mirrorsAt returns all entries of one mirror, each with the pulls that it has in effect.
func (r registry) mirrorsAt(location string) []mirror {
	var list []mirror
	for _, m := range r.Mirrors {
		if m.Location == location {
			m.Pull = r.pullsFrom(m)
			list = append(list, m)
		}
	}
	return list
}

func (r registry) pullsFrom(m mirror) string {
	if r.DigestOnly {
		return digestOnly
	}
	return cmp.Or(m.Pull, "all")
}

// registriesContents returns false if the contents depend on the host. A missing file is empty.
func registriesContents(f *resource.File) (text []byte, ok bool) {
	if f == nil {
		return nil, true
	}
	return slices.Concat(f.Contents, f.Append), !f.Inherit
}

// registriesChange is a change of registries.conf.
type registriesChange struct {
	was, is    *resource.File // nil: missing
	hasDropins bool           // documents write files of registries.conf.d, too
}

func (v decision) withDrainIfUnsafe(c registriesChange) decision {
	old, oldKnown := registriesContents(c.was)
	new, newKnown := registriesContents(c.is)
	v.why = "the contents depend on the host"
	if oldKnown && newKnown {
		v.why = unsafeReason(old, new, c.hasDropins)
	}
	if v.why == "" {
		v.why = "no drain needed: images in use keep their sources"
		return v
	}
	v.why = "drain first: " + v.why
	v.actions = append([]engine.Action{{Type: engine.DrainAction}}, v.actions...)
	return v
}

// registriesFolder has further configuration of registries, whose contents
// Compare does not know.
const registriesFolder = registriesPath + ".d/"

func hasRegistriesDropins(configs ...resource.Config) bool {
	return slices.ContainsFunc(configs, func(c resource.Config) bool {
		return slices.ContainsFunc(c.Files, func(f resource.File) bool {
			return strings.HasPrefix(f.Path, registriesFolder) && path.Ext(f.Path) == ".conf"
		})
	})
}

// unsafeReason explains why a change of registries.conf may take its source
// from an image in use. It returns "" under the conditions under which the
// Machine Config Operator skips the drain, if also new registries leave every
// image the sources that it had.
func unsafeReason(before, after []byte, hasDropins bool) string {
	was, why := parseRegistries(before)
	if why != "" {
		return "before, the file " + why
	}
	is, why := parseRegistries(after)
	if why != "" {
		return "now the file " + why
	}
	if why := unsafeSettingReason(was, is); why != "" {
		return why
	}
	old, olds := groupByScope(was.Registries)
	new, news := groupByScope(is.Registries)
	for _, scope := range olds {
		if why := unsafeEntryReason(old[scope], new[scope]); why != "" {
			return fmt.Sprintf("registry %s%s", scope, why)
		}
	}
	index := newRegistryIndex(old)
	for _, scope := range news {
		var why string
		switch {
		case len(old[scope]) > 0:
			continue
		case hasDropins:
			why = " may take images from an entry in registries.conf.d"
		case len(new[scope]) > 1:
			why = " is listed twice"
		default:
			why = index.unsafeAdditionReason(new[scope][0])
		}
		if why != "" {
			return fmt.Sprintf("new registry %s%s", scope, why)
		}
	}
	return unsafeOrderReason(olds, news)
}

// unsafeSettingReason compares everything but the registries. In the mode
// enforcing, a short name is refused as soon as there is more than one registry
// to search.
func unsafeSettingReason(was, is registriesConf) string {
	switch {
	case len(is.Search) < len(was.Search) || !slices.Equal(is.Search[:len(was.Search)], was.Search):
		return "unqualified-search-registries has changes other than entries added at its end"
	case len(was.Search) == 1 && len(is.Search) > 1 && is.ShortNames == "enforcing":
		return "unqualified-search-registries has more than one entry now, and short-name-mode is enforcing"
	case !was.equal(is.otherSettings):
		return "short-name-mode, aliases or the helpers for log-ins changed"
	}
	return ""
}

func groupByScope(list []registry) (groups map[string][]registry, scopes []string) {
	groups = map[string][]registry{}
	for _, r := range list {
		scope := r.scopeName()
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
	}
	return unsafeUpdateReason(was[0], is[0])
}

func parseRegistries(text []byte) (registriesConf, string) {
	var c registriesConf
	if syntax.IsTOMLTooDeep(string(text)) {
		return c, fmt.Sprintf("has values inside more than %d others", syntax.MaxTOMLDepth)
	}
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
	c.trimLocations()
	return c, ""
}

// trimLocations removes slashes at the end of names, as the reader does.
func (c *registriesConf) trimLocations() {
	trim := func(s *string) { *s = strings.TrimRight(*s, "/") }
	for i := range c.Registries {
		r := &c.Registries[i]
		trim(&r.Prefix)
		trim(&r.Location)
		for j := range r.Mirrors {
			trim(&r.Mirrors[j].Location)
		}
	}
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
		if len(b.mirrorsAt(m.Location)) == 0 {
			return fmt.Sprintf(": mirror %s is gone", m.Location)
		}
	}
	for _, m := range b.Mirrors {
		if why := unsafeMirrorReason(a.mirrorsAt(m.Location), b.mirrorsAt(m.Location)); why != "" {
			return fmt.Sprintf(": "+why, m.Location)
		}
	}
	return ""
}

// unsafeMirrorReason compares the entries of one mirror. As in the Machine
// Config Operator, images named by a tag may lose a mirror that becomes digest-only.
func unsafeMirrorReason(was, is []mirror) string {
	switch {
	case slices.Equal(was, is):
		return ""
	case len(was) > 1 || len(is) > 1:
		return "mirror %s is listed twice, and its entries changed"
	case len(was) == 0 && is[0].Pull != digestOnly:
		return "new mirror %s is not digest-only"
	case len(was) == 1 && was[0].Insecure != is[0].Insecure:
		return "insecure of mirror %s changed"
	case len(was) == 1 && is[0].Pull != digestOnly:
		return "pull-from-mirror of mirror %s changed to other than digest-only"
	}
	return ""
}
