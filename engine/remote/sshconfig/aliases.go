package sshconfig

import (
	"strings"
)

// Alias is a name without wildcards of a Host line.
type Alias struct {
	Name    string
	At      string // file:line
	Host    string // that ssh connects to
	Port    int
	Route   string // "" without jump hosts and ProxyCommand, else equal for the same ones; may contain a password
	IsJump  bool   // another alias is reached through it
	Problem error  // why the alias cannot be resolved, or nil
}

// Aliases are the hosts that an ssh_config names.
type Aliases struct {
	Named    []Alias
	Patterns []Alias // patterns, which name no host
	Matches  []Alias // Match lines; a block may add settings to hosts, and names none
	Omitted  []Alias // names after the first MaxAliases
}

// MaxAliases is the largest number of names in an ssh_config that are resolved.
const MaxAliases = 10_000

// ListAliases returns the names of Host lines, in the order of the file, each
// name once. home replaces ~.
func (c Config) ListAliases(home string) Aliases {
	l := aliasLister{seen: map[string]bool{}}
	l.readLines(c.lines)
	jumps := map[string]bool{}
	for i, a := range l.Named {
		r := Resolver{Config: c, Alias: a.Name, Home: home, Warn: func(string) {}, Run: func(string) (bool, error) { return false, nil }}
		e, err := r.Resolve(Target{Address: a.Name})
		l.Named[i].Host, l.Named[i].Port, l.Named[i].Route, l.Named[i].Problem = e.host, e.port, e.route(), err
		for _, hop := range e.Jump {
			jumps[hop.Target(Target{}).Address] = true
		}
	}
	for i, a := range l.Named {
		l.Named[i].IsJump = jumps[a.Name]
	}
	return l.Aliases
}

type aliasLister struct {
	Aliases
	seen map[string]bool
}

func (l *aliasLister) readLines(lines []line) {
	for _, line := range lines {
		switch line.keyword {
		case "host":
			l.readHost(line)
		case "match":
			l.Matches = append(l.Matches, Alias{Name: line.text, At: line.at})
		case "include":
			for _, file := range line.included {
				l.readLines(file)
			}
		}
	}
}

func (l *aliasLister) readHost(line line) {
	for _, name := range line.words {
		switch {
		case l.seen[name] || strings.HasPrefix(name, "!"):
		case strings.ContainsAny(name, "*?"):
			l.Patterns = append(l.Patterns, Alias{Name: name, At: line.at})
		case len(l.Named) >= MaxAliases:
			l.Omitted = append(l.Omitted, Alias{Name: name, At: line.at})
		default:
			l.Named = append(l.Named, Alias{Name: name, At: line.at})
		}
		l.seen[name] = true
	}
}
