package hostconfig

import (
	"cmp"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"holdfast/engine"
	"holdfast/engine/resource"
	"holdfast/modules/hostconfig/record"
)

// resolvedInput is the input of a comparison after the links of the host are
// resolved. None of its paths, and none of the record, leads elsewhere. So
// paths can be compared as text.
type resolvedInput struct {
	links  resource.Links
	config resource.Config
	facts  resource.ConfigFacts
	names  map[string]string // paths with another spelling in the documents or, if they are not there, in the record; and this spelling
}

// resolvePaths returns an error if the documents have one path under two
// spellings: each would replace the file of the other one.
func resolvePaths(c resource.Config, f resource.ConfigFacts) (resolvedInput, error) {
	links := f.OSLinks
	if len(links) == 0 {
		return resolvedInput{config: c, facts: f}, nil
	}
	var wrong []error
	for _, p := range links.FindSamePaths(c) {
		wrong = append(wrong, fmt.Errorf("%s and %s are one path on this host, %s: keep one of them in the documents", p.First, p.Second, links.Resolve(p.Second)))
	}
	r := resolvedInput{links: links, config: links.ResolveConfig(c, nil), facts: f, names: map[string]string{}}
	r.facts.Nodes = r.resolveNodes(f.Nodes)
	r.facts.Saved, r.facts.OriginalNames = r.resolveOriginals(f)
	r.facts.Applied = r.resolveRecord(f.Applied)
	r.facts.Blocked, r.facts.ReadOnly = resolveKeys(f.Blocked, links.Resolve), resolveKeys(f.ReadOnly, links.Resolve)
	r.facts.Links, r.facts.Fleeting = resolveKeys(f.Links, links.ResolveDir), resolveList(f.Fleeting, links.ResolveDir)
	for _, e := range entriesOf(c) {
		r.noteName(e.path)
	}
	return r, errors.Join(wrong...)
}

func (r resolvedInput) noteName(p string) {
	path := r.links.Resolve(p)
	if delete(r.names, path); path != p {
		r.names[path] = p
	}
}

// resolveNodes joins the facts of all spellings of a path. Contents are read only
// under some of them.
func (r resolvedInput) resolveNodes(nodes map[string]resource.PathFacts) map[string]resource.PathFacts {
	joined := make(map[string]resource.PathFacts, len(nodes))
	for _, p := range slices.Sorted(maps.Keys(nodes)) {
		n, path := nodes[p], r.links.Resolve(p)
		other := joined[path]
		n.Digest = cmp.Or(n.Digest, other.Digest)
		if n.Contents == nil {
			n.Contents = other.Contents
		}
		if n.Base == nil {
			n.Base = other.Base
		}
		joined[path] = n
		r.noteName(p)
	}
	return joined
}

func (r resolvedInput) resolveOriginals(f resource.ConfigFacts) (saved map[string]bool, names map[string]string) {
	saved, names = map[string]bool{}, map[string]string{}
	for p := range f.Saved {
		path := r.links.Resolve(p)
		name := cmp.Or(f.OriginalNames[p], record.OriginalName(p))
		saved[path] = true
		names[path] = max(names[path], name) // one of them, and always the same one
	}
	return saved, names
}

// resolveRecord returns the record with resolved paths. If the record has a path
// under two spellings, the entry that the host has stays.
func (r resolvedInput) resolveRecord(a *resource.Record) *resource.Record {
	if a == nil {
		return nil
	}
	onHost := func(f resource.File) bool { return r.facts.Nodes[f.Path].Digest == f.Digest }
	resolved := *a
	resolved.Config = r.links.ResolveConfig(a.Config, onHost)
	resolved.Existed = resolveList(a.Existed, r.links.Resolve)
	if a.Unfinished != nil {
		u := *a.Unfinished
		u.Config = r.links.ResolveConfig(u.Config, onHost)
		u.Ours = resolveList(u.Ours, r.links.Resolve)
		u.Touched = resolveList(u.Touched, r.resolveSubject)
		u.Appended = slices.Clone(u.Appended)
		for i := range u.Appended {
			u.Appended[i].Path = r.links.Resolve(u.Appended[i].Path)
		}
		resolved.Unfinished = &u
	}
	return &resolved
}

// resolveSubject resolves the path in the text of a subject.
func (r resolvedInput) resolveSubject(text string) string {
	domain, name, _ := strings.Cut(text, " ")
	if !slices.Contains([]engine.Kind{engine.FileKind, engine.DirectoryKind, engine.LinkKind}, engine.Kind(domain)) {
		return text
	}
	return domain + " " + r.links.Resolve(name)
}

func resolveList(list []string, resolve func(string) string) []string {
	if list == nil {
		return nil
	}
	out := make([]string, len(list))
	for i, p := range list {
		out[i] = resolve(p)
	}
	return sortedSet(out)
}

func resolveKeys(m map[string]string, resolve func(string) string) map[string]string {
	if m == nil {
		return nil
	}
	out := make(map[string]string, len(m))
	for p, v := range m {
		out[resolve(p)] = v
	}
	return out
}
