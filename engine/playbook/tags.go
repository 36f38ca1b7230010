package playbook

import (
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"

	"gopkg.in/yaml.v3"

	"holdfast/engine"
)

// Words among tags that mean something by themselves, as in Ansible.
const (
	allTags  = "all"
	tagged   = "tagged"
	untagged = "untagged"
	always   = "always"
	never    = "never"
)

// tagPattern is what the schema takes, too.
const tagPattern = `^[^\s,]+$`

var tagText = regexp.MustCompile(tagPattern)

// tagList reads a tag or a list of tags.
func (l *loader) tagList(n *yaml.Node) ([]string, bool) {
	var list []string
	for _, item := range l.oneOrMore("tags", n) {
		switch tag := item.Value; {
		case tag == allTags || tag == tagged || tag == untagged:
			l.fail(item, fmt.Sprintf("%q cannot be a tag", tag), "--tags and --skip-tags have that word for something else; take another")
		case !tagText.MatchString(tag):
			l.fail(item, fmt.Sprintf("%q is not one tag", tag), "write a list: [one, two]; tags have no spaces and commas")
		default:
			list = append(list, tag)
			l.tags[tag] = true
		}
	}
	return list, true
}

// runs reports whether --tags and --skip-tags leave a task with those tags.
// The rules are Ansible's (ansible-core, playbook/taggable.py).
func (o Options) runs(tags []string) bool {
	only, skip := split(o.Tags), split(o.SkipTags)
	if len(only) == 0 {
		only = []string{allTags}
	}
	has := func(list []string, word string) bool { return slices.Contains(list, word) }
	shared := func(list []string) bool {
		return slices.ContainsFunc(tags, func(t string) bool { return has(list, t) }) || len(tags) == 0 && has(list, untagged)
	}
	wanted := has(tags, always) || shared(only) ||
		!has(tags, never) && (has(only, allTags) || has(only, tagged) && len(tags) > 0)
	if has(skip, allTags) {
		return wanted && has(tags, always) && !has(skip, always)
	}
	return wanted && !shared(skip) && (len(tags) == 0 || !has(skip, tagged))
}

// split takes lists apart that have commas.
func split(given []string) []string {
	var list []string
	for _, words := range given {
		for w := range strings.SplitSeq(words, ",") {
			if w = strings.TrimSpace(w); w != "" {
				list = append(list, w)
			}
		}
	}
	return list
}

// checkTags notes tags of the command line that nothing has: a slip in
// --skip-tags would do what was to be left out.
func (l *loader) checkTags() {
	special := []string{allTags, tagged, untagged, always, never}
	check := func(flag string, given []string) {
		for _, tag := range split(given) {
			if !l.tags[tag] && !slices.Contains(special, tag) {
				advice := "the tags of its tasks are " + listed(l.tags)
				if near := engine.Nearest(tag, slices.Sorted(maps.Keys(l.tags))); near != "" {
					advice = fmt.Sprintf("did you mean %q?", near)
				}
				l.errs.add(place{}, fmt.Sprintf("%s %s: no task has that tag", flag, tag), advice)
			}
		}
	}
	check("--tags", l.opts.Tags)
	check("--skip-tags", l.opts.SkipTags)
}

func listed(tags map[string]bool) string {
	if len(tags) == 0 {
		return "none"
	}
	return strings.Join(slices.Sorted(maps.Keys(tags)), ", ")
}
