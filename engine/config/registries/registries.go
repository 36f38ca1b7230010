// Package registries checks the configuration of container registries and their log-ins.
package registries

import (
	"cmp"
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strings"

	"github.com/BurntSushi/toml"

	"holdfast/engine/config/syntax"
)

// containers/image reads the configuration of registries from File and from the
// files of Folder.
const (
	File   = "/etc/containers/registries.conf"
	Folder = "/etc/containers/registries.conf.d/"
)

// The checks follow pkg/sysregistriesv2 of containers/image (at df7e80d2, now
// go.podman.io/image): loadConfigFile, postProcessRegistries and
// newShortNameAliasCache. The package is not imported, because it reads only
// files on disk and depends on storage, docker and sigstore.

// registriesChecker collects the problems of a registries.conf.
type registriesChecker struct {
	lines    map[string]int // line of each field, by its path
	problems []string
}

// Check returns the problems of a registries.conf, with line numbers and
// without values. inFolder is true for a file of Folder, which must not use
// version 1 of the format.
func Check(contents []byte, inFolder bool) []string {
	c, wrong := Parse(contents)
	if wrong != "" {
		return []string{wrong}
	}
	r := &registriesChecker{lines: fieldLines(string(contents))}
	r.checkFields(lowerFieldNames(c).(map[string]any), inFolder) //nolint:forcetypeassert // it returns the type that it gets
	return r.problems
}

// maxSize is the maximum size of a file that this package parses, in bytes. The
// parsers need many times the memory of a file.
const maxSize = 1 << 20

func checkSize(contents []byte) (wrong string) {
	if len(contents) > maxSize {
		return fmt.Sprintf("has more than %d MiB, which is too much for a list of registries; correct it", maxSize>>20)
	}
	return ""
}

// Parse returns the tables of a registries.conf, or its problem.
func Parse(contents []byte) (registries map[string]any, wrong string) {
	if wrong := checkSize(contents); wrong != "" {
		return nil, wrong
	}
	if syntax.IsTOMLTooDeep(string(contents)) {
		return nil, fmt.Sprintf("has values inside more than %d others; correct it", syntax.MaxTOMLDepth)
	}
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

// lowerFieldNames converts all field names to lower case, because the reader
// ignores their case.
func lowerFieldNames(v any) any {
	switch v := v.(type) {
	case map[string]any:
		out := make(map[string]any, len(v))
		for name, field := range v {
			if name = strings.ToLower(name); name == "aliases" {
				out[name] = field // names of images are case-sensitive
			} else {
				out[name] = lowerFieldNames(field)
			}
		}
		return out
	case []map[string]any:
		out := make([]map[string]any, len(v))
		for i, item := range v {
			out[i], _ = lowerFieldNames(item).(map[string]any)
		}
		return out
	}
	return v
}

var (
	tableHeader     = regexp.MustCompile(`^\s*(\[\[?)\s*([A-Za-z0-9_.-]+)\s*\]\]?`)
	fieldAssignment = regexp.MustCompile(`^\s*(?:([A-Za-z0-9_-]+)|"([^"]*)"|'([^']*)')\s*=`)
)

// fieldLines maps fields to their lines, with paths such as
// registry[0].mirror[1].location. It ignores fields inside inline tables.
func fieldLines(text string) map[string]int {
	lines, table, count := map[string]int{}, "", map[string]int{}
	number := 0
	for line := range strings.SplitSeq(text, "\n") {
		number++
		if m := tableHeader.FindStringSubmatch(line); m != nil {
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
		} else if m := fieldAssignment.FindStringSubmatch(line); m != nil {
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

func (r *registriesChecker) addProblem(field, format string, args ...any) {
	at, _, _ := strings.Cut(field, " ") // a space ends the part of the path that has a line
	for r.lines[at] == 0 && at != "" {
		at = at[:max(strings.LastIndexAny(at, ".["), 0)]
	}
	where := ""
	if line := r.lines[at]; line > 0 {
		where = fmt.Sprintf(" (line %d of the file)", line)
	}
	r.problems = append(r.problems, fmt.Sprintf("%s%s ", syntax.ShortenName(strings.ReplaceAll(field, " ", "")), where)+fmt.Sprintf(format, args...))
}

func (r *registriesChecker) checkFields(c map[string]any, inFolder bool) {
	if old, ok := c["registries"]; ok {
		r.checkVersion1(old, c, inFolder)
	}
	r.checkLocations("unqualified-search-registries", c["unqualified-search-registries"], true)
	r.checkTexts("credential-helpers", c["credential-helpers"], func(string, string) {})
	r.checkText("additional-layer-store-auth-helper", c["additional-layer-store-auth-helper"])
	if mode, ok := r.checkText("short-name-mode", c["short-name-mode"]); ok && !slices.Contains([]string{"", "enforcing", "permissive", "disabled"}, mode) {
		r.addProblem("short-name-mode", "must be enforcing, permissive or disabled")
	}
	r.checkAliases(c["aliases"])
	list, ok := lowerTables(c["registry"])
	if !ok {
		r.addProblem("registry", "must be a list of tables; begin each with [[registry]]")
	}
	said := map[string]registryFlags{}
	for i, table := range list {
		r.checkRegistry(fmt.Sprintf("registry[%d]", i), table, said)
	}
}

func (r *registriesChecker) checkVersion1(v any, c map[string]any, inFolder bool) {
	table, ok := v.(map[string]any)
	if !ok {
		r.addProblem("registries", "must be a table")
	}
	given := false
	for _, name := range []string{"search", "insecure", "block"} {
		part, ok := table[name].(map[string]any)
		if !ok && table[name] != nil {
			r.addProblem("registries."+name, "must be a table")
		}
		given = given || part["registries"] != nil
		r.checkLocations("registries."+name+".registries", part["registries"], name == "search")
	}
	switch {
	case !given:
	case inFolder:
		r.addProblem("registries", "has format version 1, which is not allowed in registries.conf.d; write [[registry]]")
	case slices.ContainsFunc([]string{"registry", "unqualified-search-registries", "credential-helpers", "short-name-mode", "aliases", "additional-layer-store-auth-helper"}, func(name string) bool { return c[name] != nil }):
		r.addProblem("registries", "has format version 1 beside fields of version 2; write all registries as [[registry]]")
	}
}

// registryFlags are settings that must be equal in all entries of one
// location.
type registryFlags struct{ blocked, insecure bool }

func (r *registriesChecker) checkRegistry(at string, table map[string]any, said map[string]registryFlags) {
	location, _ := r.checkLocation(at+".location", table["location"])
	prefix, _ := r.checkLocation(at+".prefix", table["prefix"])
	var flags registryFlags
	flags.blocked = r.checkBool(at+".blocked", table["blocked"])
	flags.insecure = r.checkBool(at+".insecure", table["insecure"])
	digestOnly := r.checkBool(at+".mirror-by-digest-only", table["mirror-by-digest-only"])
	switch {
	case location == "" && prefix == "" && table["location"] == nil && table["prefix"] == nil:
		r.addProblem(at, "has neither location nor prefix; add one")
	case location == "" && !strings.HasPrefix(prefix, "*.") && (table["location"] == nil || table["location"] == ""):
		r.addProblem(at, "has no location, and its prefix does not have the form *.example.com; add a location")
	}
	if scope := cmp.Or(prefix, location); strings.HasPrefix(scope, "*.") && strings.ContainsAny(scope, "/@:") {
		r.addProblem(at, "begins with *. and has a path, a port or a digest; a wildcard stands before a domain only")
	}
	if pull, ok := r.checkText(at+".pull-from-mirror", table["pull-from-mirror"]); ok && pull != "" {
		r.addProblem(at+".pull-from-mirror", "is for a mirror; put it into [[registry.mirror]]")
	}
	key := cmp.Or(location, prefix)
	if other, again := said[key]; again && other != flags {
		r.addProblem(at, "is listed before with other values of blocked or insecure; make them equal")
	}
	said[key] = flags
	mirrors, ok := lowerTables(table["mirror"])
	if !ok {
		r.addProblem(at+".mirror", "must be a list of tables; begin each with [[registry.mirror]]")
	}
	for i, m := range mirrors {
		r.checkMirror(fmt.Sprintf("%s.mirror[%d]", at, i), m, digestOnly)
	}
}

func (r *registriesChecker) checkMirror(at string, table map[string]any, digestOnly bool) {
	if location, ok := r.checkLocation(at+".location", table["location"]); ok && location == "" {
		r.addProblem(at, "has no location; give one")
	}
	r.checkBool(at+".insecure", table["insecure"])
	pull, ok := r.checkText(at+".pull-from-mirror", table["pull-from-mirror"])
	switch {
	case !ok || pull == "":
	case digestOnly:
		r.addProblem(at+".pull-from-mirror", "is set beside mirror-by-digest-only of its registry; keep one")
	case !slices.Contains([]string{"all", "digest-only", "tag-only"}, pull):
		r.addProblem(at+".pull-from-mirror", "must be all, digest-only or tag-only")
	}
}
