package config

import (
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strings"

	"github.com/BurntSushi/toml"
)

// registriesFile is where containers/image reads registries from, and
// registriesFolder where it reads more of them.
const (
	registriesFile   = "/etc/containers/registries.conf"
	registriesFolder = "/etc/containers/registries.conf.d/"
)

// Rules are those of the reader, pkg/sysregistriesv2 of containers/image (at
// df7e80d2, now go.podman.io/image): loadConfigFile, postProcessRegistries and
// newShortNameAliasCache. It is not imported: it reads files by their path
// only, and brings storage, docker and sigstore along.

// registries looks for what its reader refuses in a registries.conf.
type registries struct {
	lines map[string]int // of fields, by their path
	wrong []string
}

// checkRegistries says what is wrong with a registries.conf, each with its line
// and without a value. A file of the folder may not be of version 1.
func checkRegistries(contents []byte, folder bool) []string {
	c, wrong := readRegistries(contents)
	if wrong != "" {
		return []string{wrong}
	}
	r := &registries{lines: fieldLines(string(contents))}
	r.shape(lowered(c).(map[string]any), folder) //nolint:forcetypeassert // of a map it is one
	return r.wrong
}

// readRegistries reads a registries.conf, or says why it cannot be read.
func readRegistries(contents []byte) (registries map[string]any, wrong string) {
	_, err := toml.Decode(string(contents), &registries)
	var at toml.ParseError
	switch {
	case errors.As(err, &at):
		return nil, fmt.Sprintf("is not valid TOML from line %d of the file on; correct it", at.Position.Line)
	case err != nil:
		return nil, "is not valid TOML; correct it"
	}
	return registries, ""
}

// lowered has all names of fields in small letters: the reader does not tell
// them apart.
func lowered(v any) any {
	switch v := v.(type) {
	case map[string]any:
		out := make(map[string]any, len(v))
		for name, field := range v {
			if name = strings.ToLower(name); name == "aliases" {
				out[name] = field // names of images are told apart
			} else {
				out[name] = lowered(field)
			}
		}
		return out
	case []map[string]any:
		out := make([]map[string]any, len(v))
		for i, item := range v {
			out[i], _ = lowered(item).(map[string]any)
		}
		return out
	}
	return v
}

var (
	header = regexp.MustCompile(`^\s*(\[\[?)\s*([A-Za-z0-9_.-]+)\s*\]\]?`)
	assign = regexp.MustCompile(`^\s*(?:([A-Za-z0-9_-]+)|"([^"]*)"|'([^']*)')\s*=`)
)

// fieldLines finds the lines of fields that stand on lines of their own, as
// registry[0].mirror[1].location.
func fieldLines(text string) map[string]int {
	lines, table, count := map[string]int{}, "", map[string]int{}
	number := 0
	for line := range strings.SplitSeq(text, "\n") {
		number++
		if m := header.FindStringSubmatch(line); m != nil {
			table = ""
			for i, part := range strings.Split(strings.ToLower(m[2]), ".") {
				if i > 0 {
					table += "."
				}
				table += part
				last := i == strings.Count(m[2], ".")
				if m[1] == "[[" && last {
					count[table]++
				}
				if count[table] > 0 {
					table = fmt.Sprintf("%s[%d]", table, count[table]-1)
				}
			}
			lines[table] = number
		} else if m := assign.FindStringSubmatch(line); m != nil {
			name := m[2] + m[3]
			if name == "" {
				name = m[1]
			}
			if table != "aliases" {
				name = strings.ToLower(name)
			}
			lines[strings.TrimPrefix(table+"."+name, ".")] = number
		}
	}
	return lines
}

// add notes what is wrong with a field.
func (r *registries) add(field, format string, args ...any) {
	at, _, _ := strings.Cut(field, " ") // " " comes before what is no part of the path
	for r.lines[at] == 0 && at != "" {
		at = at[:max(strings.LastIndexAny(at, ".["), 0)]
	}
	where := ""
	if line := r.lines[at]; line > 0 {
		where = fmt.Sprintf(" (line %d of the file)", line)
	}
	r.wrong = append(r.wrong, fmt.Sprintf("%s%s ", shorten(strings.ReplaceAll(field, " ", "")), where)+fmt.Sprintf(format, args...))
}

// shape checks a whole file.
func (r *registries) shape(c map[string]any, folder bool) {
	if old, ok := c["registries"]; ok {
		r.version1(old, c, folder)
	}
	r.locations("unqualified-search-registries", c["unqualified-search-registries"], true)
	r.texts("credential-helpers", c["credential-helpers"], func(string, string) {})
	r.text("additional-layer-store-auth-helper", c["additional-layer-store-auth-helper"])
	if mode, ok := r.text("short-name-mode", c["short-name-mode"]); ok && !slices.Contains([]string{"", "enforcing", "permissive", "disabled"}, mode) {
		r.add("short-name-mode", "must be enforcing, permissive or disabled")
	}
	r.aliases(c["aliases"])
	list, ok := tablesOf(c["registry"])
	if !ok {
		r.add("registry", "must be a list of tables; begin each with [[registry]]")
	}
	said := map[string]registryFlags{}
	for i, table := range list {
		r.registry(fmt.Sprintf("registry[%d]", i), table, said)
	}
}

// version1 checks the old form, with tables registries.search, .insecure and
// .block.
func (r *registries) version1(v any, c map[string]any, folder bool) {
	table, ok := v.(map[string]any)
	if !ok {
		r.add("registries", "must be a table")
	}
	given := false
	for _, name := range []string{"search", "insecure", "block"} {
		part, ok := table[name].(map[string]any)
		if !ok && table[name] != nil {
			r.add("registries."+name, "must be a table")
		}
		given = given || part["registries"] != nil
		r.locations("registries."+name+".registries", part["registries"], name == "search")
	}
	switch {
	case !given:
	case folder:
		r.add("registries", "is of the old form, version 1, which files of registries.conf.d may not have; write [[registry]]")
	case slices.ContainsFunc([]string{"registry", "unqualified-search-registries", "credential-helpers", "short-name-mode", "aliases", "additional-layer-store-auth-helper"}, func(name string) bool { return c[name] != nil }):
		r.add("registries", "is of the old form, version 1, beside fields of version 2; write all of it as [[registry]]")
	}
}

// registryFlags are what all entries of a location have to agree on.
type registryFlags struct{ blocked, insecure bool }

func (r *registries) registry(at string, table map[string]any, said map[string]registryFlags) {
	location, _ := r.location(at+".location", table["location"])
	prefix, _ := r.location(at+".prefix", table["prefix"])
	var flags registryFlags
	flags.blocked = r.truth(at+".blocked", table["blocked"])
	flags.insecure = r.truth(at+".insecure", table["insecure"])
	digestOnly := r.truth(at+".mirror-by-digest-only", table["mirror-by-digest-only"])
	switch {
	case location == "" && prefix == "" && table["location"] == nil && table["prefix"] == nil:
		r.add(at, "has neither location nor prefix; give one")
	case location == "" && !strings.HasPrefix(prefix, "*.") && (table["location"] == nil || table["location"] == ""):
		r.add(at, "has no location, and its prefix is not of the form *.example.com; give it one")
	}
	if scope := first(prefix, location); strings.HasPrefix(scope, "*.") && strings.ContainsAny(scope, "/@:") {
		r.add(at, "begins with *. and has a path, a port or a digest; a wildcard stands before a domain only")
	}
	if pull, ok := r.text(at+".pull-from-mirror", table["pull-from-mirror"]); ok && pull != "" {
		r.add(at+".pull-from-mirror", "is for a mirror; put it into [[registry.mirror]]")
	}
	key := first(location, prefix)
	if other, again := said[key]; again && other != flags {
		r.add(at, "is there before with another value of blocked or insecure; make them the same")
	}
	said[key] = flags
	mirrors, ok := tablesOf(table["mirror"])
	if !ok {
		r.add(at+".mirror", "must be a list of tables; begin each with [[registry.mirror]]")
	}
	for i, m := range mirrors {
		r.mirror(fmt.Sprintf("%s.mirror[%d]", at, i), m, digestOnly)
	}
}

func (r *registries) mirror(at string, table map[string]any, digestOnly bool) {
	if location, ok := r.location(at+".location", table["location"]); ok && location == "" {
		r.add(at, "has no location; give one")
	}
	r.truth(at+".insecure", table["insecure"])
	pull, ok := r.text(at+".pull-from-mirror", table["pull-from-mirror"])
	switch {
	case !ok || pull == "":
	case digestOnly:
		r.add(at+".pull-from-mirror", "is there beside mirror-by-digest-only of its registry; keep one")
	case !slices.Contains([]string{"all", "digest-only", "tag-only"}, pull):
		r.add(at+".pull-from-mirror", "must be all, digest-only or tag-only")
	}
}
