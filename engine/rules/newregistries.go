package rules

import (
	"fmt"
	"strings"
)

// Only the entry with the longest prefix counts for an image. So a new entry
// takes its images from the entry that they had before, with all mirrors.

// unsafeAdditionReason explains why a new registry may take a source from an
// image in use. It returns "" if the images of the new registry keep their
// location and all mirrors, and get only mirrors that are digest-only.
func (x registryIndex) unsafeAdditionReason(added registry) string {
	former, why := x.formerEntry(added)
	switch {
	case why != "":
		return why
	case added.Blocked:
		return " is blocked"
	case former.Blocked:
		return " lifts the block of its images"
	case len(added.Mirrors) == 0 && !added.DigestOnly:
		return " has no mirrors and no mirror-by-digest-only"
	case added.Location != former.Location:
		return " pulls from another location than its images have now"
	case added.Insecure != former.Insecure:
		return " changes insecure for its images"
	}
	for _, m := range added.Mirrors {
		if m.Pull != digestOnly {
			return fmt.Sprintf(" has a mirror %s that is not digest-only", m.Location)
		}
	}
	for _, m := range former.Mirrors {
		is := added.mirrorsAt(m.Location)
		if len(is) != 1 || is[0] != m {
			return fmt.Sprintf(" takes the mirror %s from its images", m.Location)
		}
	}
	return ""
}

// formerEntry returns the entry that the images of a new registry have had so
// far, with locations for the new registry. An image without an entry comes
// from the registry in its name.
func (x registryIndex) formerEntry(added registry) (former registry, why string) {
	scope := added.scopeName()
	if isWildcard(scope) { // it has no location
		if other := x.findOverlap(scope); other != "" {
			return former, fmt.Sprintf(" takes images from the registry %s", other)
		}
		return former, ""
	}
	former.Location = scope
	wide, why := x.widerEntry(scope)
	if wide == nil {
		return former, why
	}
	rest := scope[matchedLength(scope, wide.scopeName()):]
	if wide.Location != "" {
		former.Location = wide.Location + rest
	}
	former.Insecure, former.Blocked = wide.Insecure, wide.Blocked
	for _, m := range wide.Mirrors {
		former.Mirrors = append(former.Mirrors, mirror{Location: m.Location + rest, Insecure: m.Insecure, Pull: wide.pullsFrom(m)})
	}
	return former, ""
}

// registryIndex finds entries by their names. A file may have so many entries
// that comparing each with each would take too long.
type registryIndex struct {
	byScope    map[string][]registry
	shortHosts map[string]string // hosts with a first part of one letter, by the wildcard that is as long
}

func newRegistryIndex(byScope map[string][]registry) registryIndex {
	x := registryIndex{byScope: byScope, shortHosts: map[string]string{}}
	for scope := range byScope {
		if wildcard := equallyLongWildcard(scope); wildcard != "" && (x.shortHosts[wildcard] == "" || scope < x.shortHosts[wildcard]) {
			x.shortHosts[wildcard] = scope
		}
	}
	return x
}

func equallyLongWildcard(scope string) string {
	if len(scope) < 2 || scope[1] != '.' || isWildcard(scope) {
		return ""
	}
	return "*" + scope[1:]
}

// widerEntry returns the entry with the longest matching name, or nil.
func (x registryIndex) widerEntry(scope string) (wide *registry, why string) {
	names := []string{}
	for end := len(scope); end > 0; end-- {
		if end == len(scope) || strings.ContainsAny(scope[end:end+1], ":/@") {
			names = append(names, scope[:end])
		}
	}
	host := scope[:strings.IndexAny(scope+"/", ":/@")]
	for i := range host {
		if host[i] == '.' {
			names = append(names, "*"+host[i:])
		}
	}
	for _, name := range names {
		list := x.byScope[name]
		switch {
		case len(list) == 0 || matchedLength(scope, name) < 0 || wide != nil && len(name) < len(wide.scopeName()):
		case len(list) > 1 || wide != nil && len(name) == len(wide.scopeName()):
			return nil, fmt.Sprintf(" is part of %s, which is not the only entry for its images", name)
		default:
			wide = &list[0]
		}
	}
	return wide, ""
}

// findOverlap returns an entry from which a new wildcard may take images, or "".
func (x registryIndex) findOverlap(wildcard string) string {
	for i := range wildcard {
		if wider := "*" + wildcard[i:]; wildcard[i] == '.' && len(x.byScope[wider]) > 0 {
			return wider
		}
	}
	return x.shortHosts[wildcard]
}

func isWildcard(scope string) bool { return strings.HasPrefix(scope, "*.") }

// matchedLength returns the length of the part of name that matches a scope, or
// -1. A wildcard stands for any first part of a host.
func matchedLength(name, scope string) int {
	end := len(scope)
	if isWildcard(scope) {
		at := strings.Index(name, scope[1:])
		if at < 0 || strings.Contains(name[:at], "/") {
			return -1
		}
		end = at + len(scope) - 1
	} else if !strings.HasPrefix(name, scope) {
		return -1
	}
	if end < len(name) && !strings.ContainsAny(name[end:end+1], ":/@") {
		return -1
	}
	return end
}

// unsafeOrderReason compares the order of those registries whose order may
// decide: a wildcard, and a host with a name as long as the wildcard.
func unsafeOrderReason(olds, news []string) string {
	was, is := indexScopes(olds), indexScopes(news)
	for _, scope := range olds {
		wildcard := equallyLongWildcard(scope)
		if at, ok := was[wildcard]; ok && (at < was[scope]) != (is[wildcard] < is[scope]) {
			return fmt.Sprintf("the order of the registries %s and %s changed", wildcard, scope)
		}
	}
	return ""
}

func indexScopes(scopes []string) map[string]int {
	at := make(map[string]int, len(scopes))
	for i, s := range scopes {
		at[s] = i
	}
	return at
}
