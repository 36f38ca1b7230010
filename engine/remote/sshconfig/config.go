package sshconfig

import (
	"errors"
	"fmt"
	"io/fs"
	"strings"
)

// Config is a parsed ssh_config; the zero value has no entries.
type Config struct {
	path  string
	lines []line
}

// line is a line with a keyword. An Include has the lines of its files.
type line struct {
	at       string // file:line
	keyword  string // in lower case
	words    []string
	text     string // all after the keyword, as it is
	criteria []criterion
	included [][]line // the lines of each file
}

// Read parses the ssh_config at path. If the file is missing, Read returns an
// error only if named is true.
func Read(path, home string, named bool, files Reader) (Config, error) {
	text, err := files.Read(path)
	if errors.Is(err, fs.ErrNotExist) && !named {
		return Config{path: path}, nil
	}
	if err != nil {
		return Config{}, fmt.Errorf("read ssh_config: %w", err)
	}
	p := parser{Reader: files, home: home}
	lines := p.parseFile(path, text, 0)
	return Config{path: path, lines: lines}, errors.Join(p.errs...)
}

// findValues returns the values for a host. After `Match final`, all lines are read once more, and the values that the first
// reading has found stay. Then Host lines are about the HostName, which is set to the alias if no line has set it.
func (c Config) findValues(q query) (values, error) {
	f := finder{query: q, host: q.alias, values: values{}}
	f.readLines(c.lines, true, true)
	if f.wantsFinal {
		f.final = true
		f.host = lowerName(f.hostName())
		name := f.values.valueOf("HostName")
		name.words = []string{strings.ReplaceAll(f.host, "%", "%%")}
		f.values["hostname"] = name
		f.readLines(c.lines, true, true)
	}
	return f.values, errors.Join(f.errs...)
}

// value is an option with all its words. Of options that add up, it has the words of all lines.
type value struct {
	at    string
	words []string
	text  string
}

// values has the options that apply to a host, by keyword in lower case.
type values map[string]value

func (v values) valueOf(keyword string) value { return v[strings.ToLower(keyword)] }

// query is the host to look up.
type query struct {
	alias, user, localUser string
	expand                 func(v values, text string) (string, error) // replaces the tokens of a command
	run                    func(command string) (bool, error)          // nil: no command runs, and those of Match exec are not known
}

type finder struct {
	query
	host       string // that Host lines are about
	values     values
	final      bool // the second reading
	wantsFinal bool
	errs       []error
}

// readLines reads the lines of a file. If reachable is false, no Host or Match line of the file applies, because it is included
// where nothing applies.
func (f *finder) readLines(lines []line, active, reachable bool) {
	var doubt string // the line of a block of which nobody knows whether it applies
	for _, l := range lines {
		switch l.keyword {
		case "host":
			active, doubt = reachable && matchesHost(l.words, f.host), ""
		case "match":
			active, doubt = false, ""
			f.wantsFinal = f.wantsFinal || l.asksForFinal()
			if reachable {
				active, doubt = f.matchLine(l)
			}
		case "include":
			for _, file := range l.included {
				f.readLines(file, active, active)
			}
			if doubt != "" && len(l.included) > 0 {
				f.refuseDoubt(l, doubt)
			}
		default:
			_, isSet := f.values[l.keyword]
			switch {
			case doubt != "" && !isSet && effective[l.keyword]:
				f.refuseDoubt(l, doubt)
			case active:
				f.setValue(l)
			}
		}
	}
}

func (f *finder) refuseDoubt(l line, doubt string) {
	f.errs = append(f.errs, fmt.Errorf("%s: %s of %s depends on %s; set it in a Host block above that line", l.at, l.keyword, f.alias, doubt))
}

func (f *finder) setValue(l line) {
	v, isSet := f.values[l.keyword]
	other := map[string]string{"proxyjump": "proxycommand", "proxycommand": "proxyjump"}[l.keyword]
	switch _, hasOther := f.values[other]; {
	case hasOther: // the first of the two counts
	case !isSet:
		f.values[l.keyword] = value{at: l.at, words: l.words, text: l.text}
	case l.keyword == "identityfile" && !containsAll(v.words, l.words):
		v.words = append(v.words[:len(v.words):len(v.words)], l.words...)
		f.values[l.keyword] = v
	}
}

func containsAll(list, wanted []string) bool {
	for _, w := range wanted {
		found := false
		for _, have := range list {
			found = found || have == w
		}
		if !found {
			return false
		}
	}
	return true
}

// matchesHost reports whether a Host line applies: a pattern matches, and none after an exclamation mark does.
func matchesHost(patterns []string, name string) bool {
	matched := false
	for _, p := range patterns {
		negated := strings.HasPrefix(p, "!")
		if !MatchesWildcard(strings.TrimPrefix(p, "!"), name) {
			continue
		}
		if negated {
			return false
		}
		matched = true
	}
	return matched
}

// matchesList reports the same for a list with commas, as Match lines have it.
func matchesList(list, name string) bool { return matchesHost(strings.Split(list, ","), name) }

// effective has the options that change a connection of holdfast.
var effective = map[string]bool{
	"hostname": true, "port": true, "user": true, "identityfile": true, "identityagent": true, "identitiesonly": true,
	"proxyjump": true, "proxycommand": true, "proxyusefdpass": true, "userknownhostsfile": true, "globalknownhostsfile": true, "hostkeyalias": true,
	"connecttimeout": true, "serveraliveinterval": true, "serveralivecountmax": true, "revokedhostkeys": true,
	"hostkeyalgorithms": true, "casignaturealgorithms": true, "pubkeyacceptedalgorithms": true, "pubkeyacceptedkeytypes": true,
	"ciphers": true, "macs": true, "kexalgorithms": true, "requiredrsasize": true, "addressfamily": true, "tag": true,
	"refuseconnection": true, "pubkeyauthentication": true, "preferredauthentications": true,
}
