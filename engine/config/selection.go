package config

import (
	"regexp"
	"slices"
	"strings"

	"holdfast/engine/config/syntax"
	"holdfast/engine/resource"
)

// A cluster holds MachineConfigs that it never merges for one host: those of
// other roles, and those that it has rendered from all others. The functions of
// this file keep them apart, as the pools of the cluster do.

// soleRoles are the roles of pools that use documents of no other role. All
// other pools use documents of the role worker, too.
var soleRoles = []string{"master", "arbiter"}

// renderedName matches the names of rendered MachineConfigs: the pool, and a hash.
var renderedName = regexp.MustCompile(`^rendered-.+-[0-9a-f]{32}$`)

func isRendered(name string, meta *syntax.Node) bool {
	if owners := meta.Field("ownerReferences"); owners != nil {
		for _, o := range owners.Items {
			if o.StringField("kind") == "MachineConfigPool" {
				return true
			}
		}
	}
	return renderedName.MatchString(name)
}

// selectDocuments returns the documents of one path that are merged. It ignores
// rendered MachineConfigs beside those that they were made from, and refuses
// documents that no host may have together.
func (l *loader) selectDocuments(docs []*document) []*document {
	rendered := filterDocuments(docs, func(d *document) bool { return d.rendered })
	others := filterDocuments(docs, func(d *document) bool { return d.isMachineConfig && !d.rendered })
	hasSources := slices.ContainsFunc(others, func(d *document) bool { return d.generated })
	switch {
	case len(rendered) == 0:
	case hasSources:
		l.problems.AddWarning(rendered[0].sourcePosition(), "is ignored: a MachineConfig that is rendered from others adds nothing to them (%s)", joinDocumentNames(rendered))
		docs = filterDocuments(docs, func(d *document) bool { return !d.rendered })
	case len(rendered) > 1:
		l.problems.AddError(rendered[1].sourcePosition(), "is rendered, as is %s, and a pool uses only one of them; keep the one that oc get machineconfigpool shows for the pool", syntax.ShortenName(rendered[0].name))
	case len(others) > 0:
		l.problems.AddError(rendered[0].sourcePosition(), "is rendered from other MachineConfigs, and would override %s; put it into a file of its own, and name this file in configs before the others", syntax.ShortenName(others[0].name))
	}
	l.refuseMixedRoles(docs)
	return docs
}

// RoleUse counts the documents of a role in a path.
type RoleUse struct {
	Path      string // as in messages
	Role      string
	Documents int
	IsUsed    bool // false if Source.Roles leaves them out
}

// addRoles records the roles of the documents of a path.
func (l *loader) addRoles(docs []*document, p string) {
	shown := p
	if _, isText := l.src.Texts[p]; !isText {
		shown = l.displayPath(p)
	}
	before := len(l.roles)
	for _, d := range docs {
		if d.role == "" || d.parent != nil {
			continue
		}
		i := slices.IndexFunc(l.roles[before:], func(r RoleUse) bool { return r.Role == d.role })
		if i < 0 {
			i = len(l.roles) - before
			l.roles = append(l.roles, RoleUse{Path: shown, Role: d.role, IsUsed: len(l.src.Roles) == 0 || slices.Contains(l.src.Roles, d.role)})
		}
		l.roles[before+i].Documents++
	}
}

// withRoles returns the documents of the roles that the inventory names.
func (l *loader) withRoles(docs []*document, p string) []*document {
	l.addRoles(docs, p)
	if len(l.src.Roles) == 0 {
		return docs
	}
	used := filterDocuments(docs, func(d *document) bool { return d.role == "" || slices.Contains(l.src.Roles, d.role) })
	if len(used) == 0 && len(docs) > 0 {
		l.problems.AddError(docs[0].sourcePosition(), "has the role %s, and no document of %s has a role of config_roles; correct config_roles of the pool, or remove the path from configs", syntax.ShortenName(docs[0].role), l.displayPath(p))
	}
	return used
}

func (l *loader) refuseMixedRoles(docs []*document) {
	for _, d := range docs {
		for _, other := range docs {
			if slices.Contains(soleRoles, d.role) && other.role != "" && other.role != d.role {
				l.problems.AddError(d.sourcePosition(), "has the role %s, and %s the role %s: no host has both; select one with config_roles in the pool, or name only the documents of one role",
					syntax.ShortenName(d.role), syntax.ShortenName(other.name), syntax.ShortenName(other.role))
				return
			}
		}
	}
}

// warnMixedRoles warns about roles that no pool of a cluster has together, in
// paths that the inventory names one by one.
func (l *loader) warnMixedRoles(before, found []*document) {
	for _, d := range found {
		for _, other := range before {
			if d.role != "" && other.role != "" && d.role != other.role && (slices.Contains(soleRoles, d.role) || slices.Contains(soleRoles, other.role)) {
				l.problems.AddWarning(d.sourcePosition(), "has the role %s, and %s in an earlier path the role %s; no pool of a cluster uses both", syntax.ShortenName(d.role), syntax.ShortenName(other.name), syntax.ShortenName(other.role))
				return
			}
		}
	}
}

func (d *document) sourcePosition() resource.SourcePosition {
	n, _ := d.source.FollowPath(d.root)
	return resource.SourcePosition{File: d.file, Line: n.Line, Column: n.Column, Path: d.root.String()}
}

func filterDocuments(docs []*document, keep func(*document) bool) []*document {
	var kept []*document
	for _, d := range docs {
		if keep(d) {
			kept = append(kept, d)
		}
	}
	return kept
}

func joinDocumentNames(docs []*document) string {
	var names []string
	for _, d := range docs {
		names = append(names, syntax.ShortenName(d.name))
	}
	return strings.Join(names, ", ")
}
