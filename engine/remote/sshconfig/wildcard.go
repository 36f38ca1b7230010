package sshconfig

import "strings"

// MatchesWildcard reports whether a pattern with * and ? matches a text, as ssh_config(5) and sshd(8) describe.
func MatchesWildcard(pattern, s string) bool {
	star, mark := -1, 0 // the last *, and the end of its match in s
	p, i := 0, 0
	for i < len(s) {
		switch {
		case p < len(pattern) && pattern[p] == '*':
			star, mark = p, i
			p++
		case p < len(pattern) && (pattern[p] == '?' || pattern[p] == s[i]):
			p++
			i++
		case star >= 0:
			mark++
			p, i = star+1, mark
		default:
			return false
		}
	}
	return strings.Trim(pattern[p:], "*") == ""
}
