package rules

import "strings"

const groupPrefix = "group/"

// GroupName returns the name of a group in a change. Users and groups have the
// same domain; a user's name never contains the slash of a group's.
func GroupName(name string) string { return groupPrefix + name }

// GroupOf returns the group of a name of domain User. ok is false if the name
// is a user's.
func GroupOf(name string) (group string, ok bool) { return strings.CutPrefix(name, groupPrefix) }
