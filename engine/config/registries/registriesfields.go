package registries

import (
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"
)

const (
	domainPart = `(?:[a-zA-Z0-9]|[a-zA-Z0-9][a-zA-Z0-9-]*[a-zA-Z0-9])`
	domainName = domainPart + `(?:\.` + domainPart + `)*(?::[0-9]+)?`
	imagePart  = `[a-z0-9]+(?:(?:[._]|__|-*)[a-z0-9]+)*`
)

var (
	domainPattern = regexp.MustCompile(`^` + domainName + `$`)
	imagePattern  = regexp.MustCompile(`^(?:(` + domainName + `)/)?(` + imagePart + `(?:/` + imagePart + `)*)$`)
)

func (r *registriesChecker) checkAliases(v any) {
	table, ok := v.(map[string]any)
	if !ok && v != nil {
		r.addProblem("aliases", "must be a table of NAME = IMAGE")
	}
	for _, name := range slices.Sorted(maps.Keys(table)) {
		at := "aliases." + name
		if domain, ok := imageDomain(name); !ok || isRegistryHost(domain) {
			r.addProblem(at, "is not a short name; write it without registry, tag and digest, in lower case")
		}
		image, ok := r.checkText(at, table[name])
		if domain, valid := imageDomain(image); ok && image != "" && !(valid && isRegistryHost(domain)) {
			r.addProblem(at, "must be an image with its registry, without tag and digest")
		}
	}
}

func imageDomain(s string) (domain string, ok bool) {
	m := imagePattern.FindStringSubmatch(s)
	if m == nil || len(m[2]) > 255 {
		return "", false
	}
	return m[1], true
}

func isRegistryHost(domain string) bool {
	return domain == "localhost" || strings.ContainsAny(domain, ".:")
}

func (r *registriesChecker) checkLocation(at string, v any) (string, bool) {
	s, ok := r.checkText(at, v)
	s = strings.TrimRight(s, "/")
	if strings.HasPrefix(s, "http://") || strings.HasPrefix(s, "https://") {
		r.addProblem(at, "has a scheme; write it without http:// or https://")
		return s, false
	}
	return s, ok
}

func (r *registriesChecker) checkLocations(at string, v any, search bool) {
	r.checkTexts(at, v, func(at, s string) {
		s, ok := r.checkLocation(at, s)
		if ok && search && !domainPattern.MatchString(s) {
			r.addProblem(at, "is not a registry; write HOST or HOST:PORT")
		}
	})
}

func (r *registriesChecker) checkTexts(at string, v any, each func(at, s string)) {
	list, ok := v.([]any)
	if !ok && v != nil {
		r.addProblem(at, "must be a list of strings")
	}
	for i, item := range list {
		at := fmt.Sprintf("%s [%d]", at, i)
		if s, ok := r.checkText(at, item); ok {
			each(at, s)
		}
	}
}

func (r *registriesChecker) checkText(at string, v any) (string, bool) {
	s, ok := v.(string)
	if !ok && v != nil {
		r.addProblem(at, "must be a string, in quotes")
		return "", false
	}
	return s, true
}

func (r *registriesChecker) checkBool(at string, v any) bool {
	b, ok := v.(bool)
	if !ok && v != nil {
		r.addProblem(at, "must be true or false, without quotes")
	}
	return b
}

func lowerTables(v any) ([]map[string]any, bool) {
	switch v := v.(type) {
	case nil:
		return nil, true
	case []map[string]any:
		return v, true
	case []any:
		var list []map[string]any
		for _, item := range v {
			table, ok := lowerFieldNames(item).(map[string]any)
			if !ok {
				return nil, false
			}
			list = append(list, table)
		}
		return list, true
	}
	return nil, false
}
