package config

import (
	"cmp"
	"path"
	"reflect"
	"regexp"
	"slices"

	"github.com/coreos/ignition/v2/config/v3_6/types"

	"holdfast/engine/config/ignition"
	"holdfast/engine/config/registries"
	"holdfast/engine/config/syntax"
)

// A mirror set is an object of a cluster that names mirrors of images. The
// Machine Config Operator renders all mirror sets into one registries.conf, in
// a MachineConfig of its own. The functions of this file do the same.

// mirrorRule is one entry of a mirror set.
type mirrorRule struct {
	Source  string   `json:"source"`
	Mirrors []string `json:"mirrors"`
	Policy  string   `json:"mirrorSourcePolicy"`
}

// oldMirrorRule is an entry of an ImageContentSourcePolicy.
type oldMirrorRule struct {
	Source  string   `json:"source"`
	Mirrors []string `json:"mirrors"`
}

// object has the fields that all objects of Kubernetes have.
type object struct {
	APIVersion string   `json:"apiVersion"`
	Kind       string   `json:"kind"`
	Metadata   metadata `json:"metadata"`
	Status     any      `json:"status"`
}

type digestMirrors struct {
	object
	Spec struct {
		Rules []mirrorRule `json:"imageDigestMirrors"`
	} `json:"spec"`
}

type tagMirrors struct {
	object
	Spec struct {
		Rules []mirrorRule `json:"imageTagMirrors"`
	} `json:"spec"`
}

type contentSources struct {
	object
	Spec struct {
		Rules []oldMirrorRule `json:"repositoryDigestMirrors"`
	} `json:"spec"`
}

// mirrorKind is a kind of mirror sets.
type mirrorKind struct {
	apiVersion string
	rules      string // field of the spec
	shape      reflect.Type
	byTag      bool
}

var mirrorKinds = map[string]mirrorKind{
	"ImageDigestMirrorSet":     {"config.openshift.io/v1", "imageDigestMirrors", reflect.TypeFor[digestMirrors](), false},
	"ImageTagMirrorSet":        {"config.openshift.io/v1", "imageTagMirrors", reflect.TypeFor[tagMirrors](), true},
	"ImageContentSourcePolicy": {"operator.openshift.io/v1alpha1", "repositoryDigestMirrors", reflect.TypeFor[contentSources](), false},
}

// readMirrors reports whether the document is a mirror set without mistakes.
func (d *document) readMirrors(n *syntax.Node) bool {
	before := len(d.report.Errors)
	name := n.StringField("kind")
	kind := mirrorKinds[name]
	s := &syntax.ShapeChecker{File: d.file, Format: name, Report: d.report}
	s.CheckValue(n, kind.shape, d.prefix)
	if v := n.StringField("apiVersion"); v != kind.apiVersion {
		d.addError(syntax.FieldPath{"apiVersion"}, "must be %s", kind.apiVersion)
	}
	if d.name = n.Field("metadata").StringField("name"); d.name == "" {
		d.addError(syntax.FieldPath{"metadata", "name"}, "is missing; give one")
	}
	d.name = name + "/" + d.name // a set of another kind may have the same name
	d.mirrors = []registries.MirrorSet{}
	if rules := n.Field("spec").Field(kind.rules); rules != nil {
		for i, rule := range rules.Items {
			d.mirrors = append(d.mirrors, d.readMirrorRule(rule, kind.byTag, syntax.FieldPath{"spec", kind.rules, i}))
		}
	}
	return len(d.report.Errors) == before
}

func (d *document) readMirrorRule(n *syntax.Node, byTag bool, at syntax.FieldPath) registries.MirrorSet {
	set := registries.MirrorSet{Source: n.StringField("source"), Mirrors: n.StringList("mirrors"), ByTag: byTag}
	if !registries.IsMirrorSource(set.Source) {
		d.addError(at.With("source"), "is not a registry or repository; write HOST[:PORT][/PATH] or *.DOMAIN, without tag and digest")
	}
	switch policy := n.StringField("mirrorSourcePolicy"); policy {
	case "", "AllowContactingSource":
	case "NeverContactSource":
		set.NeverSource = true
	default:
		d.addError(at.With("mirrorSourcePolicy"), "must be AllowContactingSource or NeverContactSource")
	}
	for i, m := range set.Mirrors {
		switch {
		case !registries.IsMirror(m):
			d.addError(at.With("mirrors", i), "is not a registry or repository; write HOST[:PORT][/PATH], without tag and digest")
		case set.NeverSource && m == set.Source:
			d.addError(at.With("mirrors", i), "is the source itself, and mirrorSourcePolicy is NeverContactSource; remove one")
		}
	}
	return set
}

// generatedRegistries matches the name of the MachineConfig into which a
// cluster renders mirror sets.
var generatedRegistries = regexp.MustCompile(`^99-.+-(generated-)?registries$`)

// documentGroup is the documents of one path.
type documentGroup struct {
	docs    []*document
	mirrors []*document
}

func newDocumentGroup(docs []*document) documentGroup {
	isMirrors := func(d *document) bool { return d.mirrors != nil }
	return documentGroup{filterDocuments(docs, func(d *document) bool { return !isMirrors(d) }), filterDocuments(docs, isMirrors)}
}

// joinGroups returns the documents of all paths in merge order, and adds the
// document that all mirror sets are rendered into. This document belongs to the
// last path with mirror sets.
func (l *loader) joinGroups(groups []documentGroup) []*document {
	var docs, mirrors []*document
	last := -1
	for i, g := range groups {
		if mirrors = append(mirrors, g.mirrors...); len(g.mirrors) > 0 {
			last = i
		}
	}
	for i, g := range groups {
		if i != last {
			docs = append(docs, g.docs...)
			continue
		}
		added := l.newMirrorsDocument(g.docs, mirrors)
		group := append(slices.Clone(g.docs), added)
		orderDocuments(group)
		at := slices.Index(group, added)
		if l.renderMirrors(added, append(slices.Clone(docs), group[:at]...), mirrors) {
			docs = append(docs, group...)
		} else {
			docs = append(docs, g.docs...)
		}
	}
	if last >= 0 {
		l.warnOverriddenMirrors(docs)
	}
	return docs
}

// newMirrorsDocument names the document as the cluster names it, for the role
// of the documents beside it.
func (l *loader) newMirrorsDocument(beside, mirrors []*document) *document {
	role := baseRole
	for _, d := range beside {
		if d.role != "" && d.role != baseRole {
			role = d.role
		}
	}
	first := mirrors[0]
	return &document{
		file: first.file, source: first.source, root: first.root, prefix: first.root,
		name: "99-" + role + "-generated-registries", role: role, fromMirrors: true,
		report: &l.problems, contents: &l.src.Cache.contents,
	}
}

// renderMirrors adds mirrors to the registries.conf of earlier documents, or to
// the one that the Machine Config Operator begins with. It returns false if
// there is nothing to render.
func (l *loader) renderMirrors(d *document, earlier, mirrors []*document) bool {
	slices.SortStableFunc(mirrors, func(a, b *document) int { return cmp.Compare(a.name, b.name) })
	var sets []registries.MirrorSet
	never := map[string]bool{}
	for _, m := range mirrors {
		for i, s := range m.mirrors {
			if was, seen := never[s.Source]; seen && was != s.NeverSource {
				rules := mirrorKinds[path.Dir(m.name)].rules
				m.report = &l.problems
				m.addError(syntax.FieldPath{"spec", rules, i}, "has another mirrorSourcePolicy than an earlier entry of the same source; make them equal")
				return false
			}
			never[s.Source] = s.NeverSource
		}
		sets = append(sets, m.mirrors...)
	}
	if len(sets) == 0 {
		return false
	}
	base, wrong := []byte(registries.DefaultBase), ""
	for _, e := range earlier {
		if generatedRegistries.MatchString(e.name) && len(e.registriesFiles()) > 0 {
			d.addWarning(nil, "is not rendered, because the cluster has already rendered %s; remove one of them", syntax.ShortenName(e.name))
			return false
		}
		for _, f := range e.registriesFiles() {
			if base, wrong = e.joinRegistries(base, f, wrong); f.Contents.Source != nil {
				wrong = ""
			}
		}
	}
	if wrong != "" {
		d.addError(nil, "%s", wrong)
		return false
	}
	text, wrong := registries.AddMirrors(base, sets)
	if wrong != "" {
		d.addError(nil, "cannot be rendered into registries.conf, which %s", wrong)
		return false
	}
	d.addRegistriesFile(text)
	return true
}

func (d *document) joinRegistries(base []byte, f types.File, wrong string) ([]byte, string) {
	if f.Contents.Source != nil {
		base = d.contents.contentOf(f.Contents).data
	} else if len(f.Append) > 0 && string(base) == registries.DefaultBase {
		wrong = "cannot be rendered, because " + syntax.ShortenName(d.name) + " appends to a registries.conf that only the host knows; write the whole file there"
	}
	for _, a := range f.Append {
		base = slices.Concat(base, d.contents.contentOf(a).data)
	}
	return base, wrong
}

func (d *document) registriesFiles() []types.File {
	return slices.DeleteFunc(slices.Clone(d.ignition.Storage.Files), func(f types.File) bool { return f.Path != registries.File })
}

func (d *document) addRegistriesFile(text []byte) {
	if wrong := d.contents.countBytes(len(text)); wrong != "" {
		d.addError(nil, "%s", wrong)
		return
	}
	for _, wrong := range registries.Check(text, false) {
		d.addError(nil, "is rendered into a registries.conf that %s", wrong)
	}
	mode, yes := 0o644, true
	d.ignition.Ignition.Version = ignition.LatestVersion
	d.ignition.Storage.Files = []types.File{{
		Node:          types.Node{Path: registries.File, Overwrite: &yes},
		FileEmbedded1: types.FileEmbedded1{Mode: &mode, Contents: d.contents.addContent(content{data: text})},
	}}
}

// warnOverriddenMirrors warns if a later document replaces the rendered file, as it would in a cluster.
func (l *loader) warnOverriddenMirrors(docs []*document) {
	at := slices.IndexFunc(docs, func(d *document) bool { return d.fromMirrors })
	if at < 0 {
		return
	}
	for _, d := range docs[at+1:] {
		if slices.ContainsFunc(d.registriesFiles(), func(f types.File) bool { return f.Contents.Source != nil }) {
			l.problems.AddWarning(docs[at].sourcePosition(), "has no effect: %s comes later and replaces %s", syntax.ShortenName(d.name), registries.File)
		}
	}
}
