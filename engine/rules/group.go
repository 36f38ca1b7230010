package rules

import "strings"

const groupPrefix = "group/"

// GroupName returns the name of a group in a change. Users and groups share one
// domain. The name of a group contains a slash, and the name of a user never
// does.
func GroupName(name string) string { return groupPrefix + name }

// GroupOf returns the group in a name of domain User. ok is false for the name
// of a user.
func GroupOf(name string) (group string, ok bool) { return strings.CutPrefix(name, groupPrefix) }
