package registries

import (
	"bytes"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"

	"github.com/BurntSushi/toml"

	"holdfast/engine/config/syntax"
)

// MirrorSet names the mirrors of images, as an ImageDigestMirrorSet,
// ImageTagMirrorSet or ImageContentSourcePolicy has them.
type MirrorSet struct {
	Source      string // registry or repository
	Mirrors     []string
	NeverSource bool // images come from the mirrors only
	ByTag       bool // for images named by a tag; false: by a digest
}

// DefaultBase is the registries.conf to which the Machine Config Operator adds
// mirrors.
const DefaultBase = "unqualified-search-registries = ['registry.access.redhat.com', 'docker.io']\n"

var (
	mirrorPattern   = regexp.MustCompile(`^` + domainName + `(?:/` + imagePart + `)*$`)
	wildcardPattern = regexp.MustCompile(`^\*(?:\.` + domainPart + `)+$`)
)

// IsMirror reports whether a mirror has the form that the Machine Config Operator requires.
func IsMirror(s string) bool { return mirrorPattern.MatchString(s) }

// IsMirrorSource reports whether a source has the form that the Machine Config Operator requires.
func IsMirrorSource(s string) bool {
	return mirrorPattern.MatchString(s) || wildcardPattern.MatchString(s)
}

// The fields of these types are in the order in which the Machine Config
// Operator writes them, so that a host of a cluster does not change.
type conf struct {
	Registries []confRegistry    `toml:"registry"`
	Search     []string          `toml:"unqualified-search-registries"`
	Helpers    []string          `toml:"credential-helpers"`
	ShortNames string            `toml:"short-name-mode"`
	AuthHelper string            `toml:"additional-layer-store-auth-helper"`
	Aliases    map[string]string `toml:"aliases"`
}

type confRegistry struct {
	Prefix     string       `toml:"prefix"`
	Location   string       `toml:"location,omitempty"`
	Insecure   bool         `toml:"insecure,omitempty"`
	Mirrors    []confMirror `toml:"mirror,omitempty"`
	Blocked    bool         `toml:"blocked,omitempty"`
	DigestOnly bool         `toml:"mirror-by-digest-only,omitempty"`
}

type confMirror struct {
	Location string `toml:"location,omitempty"`
	Insecure bool   `toml:"insecure,omitempty"`
	Pull     string `toml:"pull-from-mirror,omitempty"`
}

func (r confRegistry) scopeName() string {
	if r.Prefix != "" {
		return r.Prefix
	}
	return r.Location
}

// AddMirrors adds mirrors to a registries.conf, with the result of the Machine
// Config Operator (EditRegistriesConfig of openshift/runtime-utils). wrong is
// the reason why it cannot.
func AddMirrors(base []byte, sets []MirrorSet) (text []byte, wrong string) {
	if syntax.IsTOMLTooDeep(string(base)) {
		return nil, "nests too deep; correct it"
	}
	var c conf
	meta, err := toml.Decode(string(base), &c)
	switch {
	case err != nil:
		return nil, "is not valid TOML; correct it"
	case meta.IsDefined("registries"):
		return nil, "has format version 1, to which mirrors cannot be added; write all registries as [[registry]]"
	}
	var merged []MirrorSet
	for _, byTag := range []bool{false, true} {
		merged = append(merged, mergeSets(sets, byTag)...)
	}
	for _, s := range merged {
		c.addSet(s)
	}
	for _, s := range merged {
		if wrong := c.repeatMirrors(s.Source); wrong != "" {
			return nil, wrong
		}
	}
	var out bytes.Buffer
	if err := toml.NewEncoder(&out).Encode(c); err != nil {
		return nil, "cannot be written as TOML; correct its names"
	}
	return out.Bytes(), ""
}

func (c *conf) registryOf(scope string) *confRegistry {
	for i := range c.Registries {
		if c.Registries[i].scopeName() == scope {
			return &c.Registries[i]
		}
	}
	added := confRegistry{Location: scope}
	if strings.HasPrefix(scope, "*.") {
		added = confRegistry{Prefix: scope}
	}
	c.Registries = append(c.Registries, added)
	return &c.Registries[len(c.Registries)-1]
}

func (c *conf) addSet(s MirrorSet) {
	r, pull := c.registryOf(s.Source), "digest-only"
	if s.ByTag {
		pull = "tag-only"
	}
	r.Blocked = r.Blocked || s.NeverSource
	for _, m := range s.Mirrors {
		r.Mirrors = append(r.Mirrors, confMirror{Location: m, Pull: pull})
	}
}

// repeatMirrors copies the mirrors of a source to all entries within it that
// have none, because only the narrowest entry counts for an image.
func (c *conf) repeatMirrors(source string) (wrong string) {
	mirrors := slices.Clone(c.registryOf(source).Mirrors)
	for i := range c.Registries {
		r := &c.Registries[i]
		if scope := r.scopeName(); scope == source || len(r.Mirrors) > 0 || !isWithin(scope, source) {
			continue
		}
		if strings.HasPrefix(source, "*.") {
			return fmt.Sprintf("has an entry within the wildcard %s, whose mirrors cannot be repeated there; name the source without *", source)
		}
		for _, m := range mirrors {
			m.Location += strings.TrimPrefix(r.scopeName(), source)
			r.Mirrors = append(r.Mirrors, m)
		}
	}
	return ""
}

func isWithin(scope, source string) bool {
	if !strings.HasPrefix(source, "*.") {
		return strings.HasPrefix(scope, source+"/")
	}
	host, _, _ := strings.Cut(scope, "/")
	if before, _, hasPort := strings.Cut(scope, ":"); hasPort {
		if host = before; strings.Contains(host, "/") {
			return false
		}
	}
	return strings.HasSuffix(host, source[1:])
}

// mergeSets joins the sets of each source. It ignores sets whose only mirror is
// their source.
func mergeSets(sets []MirrorSet, byTag bool) []MirrorSet {
	bySource := map[string]*MirrorSet{}
	orders := map[string][][]string{}
	for _, s := range sets {
		if s.ByTag != byTag || !slices.ContainsFunc(s.Mirrors, func(m string) bool { return m != s.Source }) {
			continue
		}
		if bySource[s.Source] == nil {
			bySource[s.Source] = &MirrorSet{Source: s.Source, ByTag: byTag}
		}
		joined := bySource[s.Source]
		joined.NeverSource = joined.NeverSource || s.NeverSource
		orders[s.Source] = append(orders[s.Source], s.Mirrors)
	}
	var list []MirrorSet
	for _, source := range slices.Sorted(maps.Keys(bySource)) {
		s := *bySource[source]
		s.Mirrors = joinOrders(source, orders[source])
		list = append(list, s)
	}
	return list
}
