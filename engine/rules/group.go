package rules

import "strings"

const groupPrefix = "group/"

// GroupName returns the name under which a change lists a group: users and
// groups are of one domain, and no user's name has a slash.
func GroupName(name string) string { return groupPrefix + name }

// GroupOf returns the group that a name of domain User stands for; ok is false
// if that is a user.
func GroupOf(name string) (group string, ok bool) { return strings.CutPrefix(name, groupPrefix) }
