package playbook

import (
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"

	"gopkg.in/yaml.v3"

	"holdfast/engine/textutil"
)

// Tags with a special meaning, as in Ansible.
const (
	tagAll      = "all"
	tagTagged   = "tagged"
	tagUntagged = "untagged"
	tagAlways   = "always"
	tagNever    = "never"
)

// tagPattern is the form of a tag, also in the schema.
const tagPattern = `^[^\s,]+$`

var tagRegexp = regexp.MustCompile(tagPattern)

func (l *loader) readTags(n *yaml.Node) ([]string, bool) {
	var list []string
	for _, item := range l.readTexts("tags", n) {
		switch tag := item.Value; {
		case tag == tagAll || tag == tagTagged || tag == tagUntagged:
			l.addProblem(item, fmt.Sprintf("%q cannot be a tag", tag), "--tags and --skip-tags have a special meaning for it; use another word")
		case !tagRegexp.MatchString(tag):
			l.addProblem(item, fmt.Sprintf("%q is not one tag", tag), "write a list: [one, two]; tags have no spaces and commas")
		default:
			list = append(list, tag)
			l.tags[tag] = true
		}
	}
	return list, true
}

// isSelected follows the rules of Ansible (ansible-core, playbook/taggable.py).
func (o Options) isSelected(tags []string) bool {
	only, skip := splitTags(o.Tags), splitTags(o.SkipTags)
	if len(only) == 0 {
		only = []string{tagAll}
	}
	has := func(list []string, word string) bool { return slices.Contains(list, word) }
	shared := func(list []string) bool {
		return slices.ContainsFunc(tags, func(t string) bool { return has(list, t) }) || len(tags) == 0 && has(list, tagUntagged)
	}
	wanted := has(tags, tagAlways) || shared(only) ||
		!has(tags, tagNever) && (has(only, tagAll) || has(only, tagTagged) && len(tags) > 0)
	if has(skip, tagAll) {
		return wanted && has(tags, tagAlways) && !has(skip, tagAlways)
	}
	return wanted && !shared(skip) && (len(tags) == 0 || !has(skip, tagTagged))
}

func splitTags(given []string) []string {
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

// checkTags reports tags of the command line that no task has. With a typing
// error in --skip-tags, a task would run that the operator wanted to skip.
func (l *loader) checkTags() {
	special := []string{tagAll, tagTagged, tagUntagged, tagAlways, tagNever}
	check := func(flag string, given []string) {
		for _, tag := range splitTags(given) {
			if !l.tags[tag] && !slices.Contains(special, tag) {
				advice := "the tags of its tasks are " + joinTags(l.tags)
				if near := textutil.Nearest(tag, slices.Sorted(maps.Keys(l.tags))); near != "" {
					advice = fmt.Sprintf("did you mean %q?", near)
				}
				l.errs.addProblem(place{}, fmt.Sprintf("%s %s: no task has that tag", flag, tag), advice)
			}
		}
	}
	check("--tags", l.opts.Tags)
	check("--skip-tags", l.opts.SkipTags)
}

func joinTags(tags map[string]bool) string {
	if len(tags) == 0 {
		return "none"
	}
	return strings.Join(slices.Sorted(maps.Keys(tags)), ", ")
}
