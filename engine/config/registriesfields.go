package config

import (
	"fmt"
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
	domainRule = regexp.MustCompile(`^` + domainName + `$`)
	imageRule  = regexp.MustCompile(`^(?:(` + domainName + `)/)?(` + imagePart + `(?:/` + imagePart + `)*)$`)
)

// aliases checks short names of images and what they stand for.
func (r *registries) aliases(v any) {
	table, ok := v.(map[string]any)
	if !ok && v != nil {
		r.add("aliases", "must be a table of NAME = IMAGE")
	}
	for _, name := range sortedKeys(table) {
		at := "aliases." + name
		if domain, ok := imageName(name); !ok || hostLike(domain) {
			r.add(at, "is not a short name; write it without registry, tag and digest, in small letters")
		}
		image, ok := r.text(at, table[name])
		if domain, valid := imageName(image); ok && image != "" && !(valid && hostLike(domain)) {
			r.add(at, "must be an image with its registry, without tag and digest")
		}
	}
}

// imageName gives the domain of the name of an image; false if it is none, or
// has a tag or a digest.
func imageName(s string) (domain string, ok bool) {
	m := imageRule.FindStringSubmatch(s)
	if m == nil || len(m[2]) > 255 {
		return "", false
	}
	return m[1], true
}

// hostLike reports whether what comes before the first slash is a registry.
func hostLike(domain string) bool { return domain == "localhost" || strings.ContainsAny(domain, ".:") }

// location gives a place of images without the slashes at its end; false if it
// is none.
func (r *registries) location(at string, v any) (string, bool) {
	s, ok := r.text(at, v)
	s = strings.TrimRight(s, "/")
	if strings.HasPrefix(s, "http://") || strings.HasPrefix(s, "https://") {
		r.add(at, "has a scheme; write it without http:// or https://")
		return s, false
	}
	return s, ok
}

// locations checks a list of registries; those that are searched are domains.
func (r *registries) locations(at string, v any, search bool) {
	r.texts(at, v, func(at, s string) {
		s, ok := r.location(at, s)
		if ok && search && !domainRule.MatchString(s) {
			r.add(at, "is not a registry; write HOST or HOST:PORT")
		}
	})
}

// texts checks a list of strings, and each of them.
func (r *registries) texts(at string, v any, each func(at, s string)) {
	list, ok := v.([]any)
	if !ok && v != nil {
		r.add(at, "must be a list of strings")
	}
	for i, item := range list {
		at := fmt.Sprintf("%s [%d]", at, i)
		if s, ok := r.text(at, item); ok {
			each(at, s)
		}
	}
}

// text gives the string of a field; false if it is of another type.
func (r *registries) text(at string, v any) (string, bool) {
	s, ok := v.(string)
	if !ok && v != nil {
		r.add(at, "must be a string, in quotes")
		return "", false
	}
	return s, true
}

func (r *registries) truth(at string, v any) bool {
	b, ok := v.(bool)
	if !ok && v != nil {
		r.add(at, "must be true or false, without quotes")
	}
	return b
}

// tablesOf gives a list of tables; false if it is something else.
func tablesOf(v any) ([]map[string]any, bool) {
	switch v := v.(type) {
	case nil:
		return nil, true
	case []map[string]any:
		return v, true
	case []any:
		var list []map[string]any
		for _, item := range v {
			table, ok := lowered(item).(map[string]any)
			if !ok {
				return nil, false
			}
			list = append(list, table)
		}
		return list, true
	}
	return nil, false
}

func sortedKeys(table map[string]any) []string {
	keys := make([]string, 0, len(table))
	for k := range table {
		keys = append(keys, k)
	}
	slices.Sort(keys)
	return keys
}

func first(a, b string) string {
	if a != "" {
		return a
	}
	return b
}
