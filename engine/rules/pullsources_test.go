package rules

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/BurntSushi/toml"
	"pgregory.net/rapid"

	"holdfast/engine/resource"
)

// TestSafeRegistriesKeepSources states the law of a safe change of
// registries.conf: each image is pulled from where it was pulled before, and
// from further mirrors only if it is named by a digest. It has one exception,
// which the Machine Config Operator has, too: an image that is named by a tag
// may lose a mirror that serves only digests from now on.
func TestSafeRegistriesKeepSources(t *testing.T) {
	safe := 0
	law := func(t *rapid.T) {
		old := drawRegistries(t)
		for range 8 {
			changed := changeRegistries(t, old)
			was, is := encodeRegistries(t, old), encodeRegistries(t, changed)
			if unsafeReason(was, is, false) == "" {
				safe++
				checkSources(t, was, is)
			}
		}
	}
	for range 20 { // the first hundred changes may miss a safe one by chance
		if rapid.Check(t, law); safe > 0 {
			return
		}
	}
	t.Error("no change was safe")
}

func checkSources(t *rapid.T, was, is []byte) {
	before, after := decodePulls(t, was), decodePulls(t, is)
	for _, image := range pulledImages() {
		for _, byDigest := range []bool{false, true} {
			if wrong := lostSource(before, after, image, byDigest); wrong != "" {
				t.Fatalf("%s (digest %t): %s\n%s\n->\n%s", image, byDigest, wrong, was, is)
			}
		}
	}
}

func lostSource(before, after pullConfig, image string, byDigest bool) string {
	old, new := before.sources(image, byDigest), after.sources(image, byDigest)
	if old[len(old)-1] != new[len(new)-1] {
		return fmt.Sprintf("comes from %v, not from %v", new[len(new)-1], old[len(old)-1])
	}
	for _, s := range old {
		if !slices.Contains(new, s) && (byDigest || !slices.Contains(after.sources(image, true), s)) {
			return fmt.Sprintf("%v is lost", s)
		}
	}
	for _, s := range new {
		if !slices.Contains(old, s) && !byDigest {
			return fmt.Sprintf("%v is a new source for a tag", s)
		}
	}
	return ""
}

// pullConfig is registries.conf as its reader describes it in its manual. It
// shares no code with the package.
type pullConfig struct {
	Registry []struct {
		Prefix, Location  string
		Insecure, Blocked bool
		ByDigest          bool `toml:"mirror-by-digest-only"`
		Mirror            []struct {
			Location string
			Insecure bool
			From     string `toml:"pull-from-mirror"`
		}
	}
}

// pullSource is one place from which an image is pulled.
type pullSource struct {
	name              string
	insecure, blocked bool
}

func decodePulls(t *rapid.T, text []byte) pullConfig {
	var c pullConfig
	if err := toml.Unmarshal(text, &c); err != nil {
		t.Fatal(err)
	}
	return c
}

// sources lists the places of an image in the order in which they are tried.
func (c pullConfig) sources(image string, byDigest bool) []pullSource {
	best, entry := "", -1
	for i, r := range c.Registry {
		prefix := r.Prefix
		if prefix == "" {
			prefix = r.Location
		}
		if slices.Contains(namesAround(image), prefix) && len(prefix) > len(best) {
			best, entry = prefix, i
		}
	}
	if entry < 0 {
		return []pullSource{{name: image}}
	}
	r, list := c.Registry[entry], []pullSource(nil)
	rest := strings.TrimPrefix(image, best)
	if strings.HasPrefix(best, "*.") {
		_, path, _ := strings.Cut(image, "/")
		rest = "/" + path
	}
	for _, m := range r.Mirror {
		if byDigest && m.From != "tag-only" || !byDigest && !r.ByDigest && m.From != "digest-only" {
			list = append(list, pullSource{name: m.Location + rest, insecure: m.Insecure})
		}
	}
	last := pullSource{name: r.Location + rest, insecure: r.Insecure, blocked: r.Blocked}
	if r.Location == "" {
		last.name = image
	}
	return append(list, last)
}

// namesAround lists all names of entries that include an image.
func namesAround(image string) []string {
	host, _, _ := strings.Cut(image, "/")
	names := []string{image}
	for name := image; strings.Contains(name, "/"); {
		name = name[:strings.LastIndex(name, "/")]
		names = append(names, name)
	}
	for domain := host; strings.Contains(domain, "."); {
		_, domain, _ = strings.Cut(domain, ".")
		names = append(names, "*."+domain)
	}
	return names
}

var (
	pullHosts  = []string{"a.x.io", "ab.x.io", "x.io", "b.a.x.io", "y.io"}
	pullScopes = listPullScopes()
)

func listPullScopes() []string {
	scopes := []string{"*.io", "*.x.io", "*.a.x.io"}
	for _, h := range pullHosts {
		scopes = append(scopes, h, h+"/p", h+"/p/q", h+"/r")
	}
	return scopes
}

func pulledImages() []string {
	var list []string
	for _, h := range pullHosts {
		for _, p := range []string{"/p", "/p/q", "/p/q/s", "/pp", "/r/s", "/t"} {
			list = append(list, h+p)
		}
	}
	return list
}

func drawRegistries(t *rapid.T) []registry {
	return rapid.SliceOfNDistinct(rapid.Custom(drawRegistry), 0, 4, registry.scopeName).Draw(t, "old")
}

func drawRegistry(t *rapid.T) registry {
	scope := rapid.SampledFrom(pullScopes).Draw(t, "scope")
	r := registry{Prefix: scope, DigestOnly: rapid.Bool().Draw(t, "by digest")}
	r.Blocked, r.Insecure = rapid.IntRange(0, 5).Draw(t, "blocked") == 0, rapid.IntRange(0, 5).Draw(t, "insecure") == 0
	switch elsewhere := rapid.IntRange(0, 3).Draw(t, "elsewhere") == 0; {
	case elsewhere:
		r.Location = "z.io/" + rapid.SampledFrom([]string{"p", "r"}).Draw(t, "place")
	case !isWildcard(scope):
		r.Location = scope
	}
	for range rapid.IntRange(0, 2).Draw(t, "mirrors") {
		r.Mirrors = append(r.Mirrors, drawMirror(t, r.DigestOnly))
	}
	return r
}

func drawMirror(t *rapid.T, byDigest bool) mirror {
	m := mirror{Location: rapid.SampledFrom([]string{"m.io", "m.io/p", "n.io", "n.io/p/q"}).Draw(t, "mirror"), Insecure: rapid.IntRange(0, 5).Draw(t, "insecure") == 0}
	if !byDigest {
		m.Pull = rapid.SampledFrom([]string{"", "all", digestOnly, digestOnly, digestOnly, "tag-only"}).Draw(t, "pull")
	}
	return m
}

// changeRegistries makes one or two changes, most of which look safe.
func changeRegistries(t *rapid.T, old []registry) []registry {
	list := slices.Clone(old)
	for i := range list {
		list[i].Mirrors = slices.Clone(list[i].Mirrors)
	}
	for range rapid.IntRange(1, 2).Draw(t, "changes") {
		added := drawRegistry(t)
		at := rapid.IntRange(0, len(list)).Draw(t, "at")
		switch how := rapid.SampledFrom([]string{"add", "add", "inherit", "mirror", "other", "move", "toggle"}).Draw(t, "how"); {
		case how == "add" || len(old) == 0:
			list = slices.Insert(list, at, added)
		case how == "inherit":
			list = slices.Insert(list, at, inheritEntry(t, added, old))
		case at == len(list):
		case how == "mirror":
			list[at].Mirrors = append(list[at].Mirrors, drawMirror(t, list[at].DigestOnly))
		case how == "other":
			added.Prefix = list[at].Prefix
			list[at] = added
		case how == "move":
			r := list[at]
			list = append(slices.Delete(list, at, at+1), r)
		default:
			list[at].DigestOnly = !list[at].DigestOnly
			for i := range list[at].Mirrors {
				list[at].Mirrors[i].Pull = ""
			}
		}
	}
	return list
}

// inheritEntry narrows an entry of the old file, as an operator would.
func inheritEntry(t *rapid.T, added registry, old []registry) registry {
	for _, r := range old {
		rest, ok := strings.CutPrefix(added.Prefix, r.Prefix+"/")
		if !ok {
			continue
		}
		added.Location, added.Insecure, added.Blocked, added.DigestOnly = r.Location+"/"+rest, r.Insecure, r.Blocked, r.DigestOnly && len(r.Mirrors) == 0
		added.Mirrors = nil
		for _, m := range r.Mirrors {
			m.Location, m.Pull = m.Location+"/"+rest, digestOnly
			added.Mirrors = append(added.Mirrors, m)
		}
		if rapid.Bool().Draw(t, "further") {
			added.Mirrors = append(added.Mirrors, drawMirror(t, added.DigestOnly))
		}
	}
	return added
}

func encodeRegistries(t *rapid.T, list []registry) []byte {
	text, err := toml.Marshal(registriesConf{Registries: list})
	if err != nil {
		t.Fatal(err)
	}
	return text
}

// Files of registries.conf.d may have entries that a new one narrows.
func TestRegistriesBesideDropins(t *testing.T) {
	dropin := resource.File{Path: registriesFolder + "50-site.conf"}
	config := func(short string) resource.Config {
		f := registriesFile(short)
		return resource.Config{Files: []resource.File{*f, dropin}}
	}
	for short, drains := range map[string]bool{"reg x\nreg y\ndigest": true, "reg x\nmir m digest-only": false} {
		diff, err := Compare(config("reg x"), config(short), Policy{})
		if err != nil {
			t.Fatal(err)
		}
		if got := strings.Contains(diff.Changes[0].Reason, "registries.conf.d"); got != drains {
			t.Errorf("%s: %s", short, diff.Changes[0].Reason)
		}
	}
}
