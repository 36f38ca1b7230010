package sshconfig

import (
	"cmp"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"slices"
	"strings"
)

// criterion is one element of a Match line.
type criterion struct {
	name     string // in lower case
	negated  bool
	argument string
}

// parseCriteria reads the words of a Match line.
func parseCriteria(words []string) ([]criterion, error) {
	var out []criterion
	for len(words) > 0 {
		name, argument, joined := strings.Cut(words[0], "=")
		words = words[1:]
		c := criterion{name: strings.ToLower(strings.TrimPrefix(name, "!")), negated: strings.HasPrefix(name, "!"), argument: argument}
		switch c.name {
		case "all", "canonical", "final":
			if joined {
				return nil, fmt.Errorf("read Match %s: it takes no value", c.name)
			}
		case "exec", "host", "originalhost", "user", "localuser", "tagged", "localnetwork", "version", "command", "sessiontype":
			if !joined && len(words) > 0 {
				c.argument, words = words[0], words[1:]
				joined = true
			}
			if !joined {
				return nil, fmt.Errorf("the value of Match %s is missing", c.name)
			}
		default:
			return nil, fmt.Errorf("%q is not a criterion of Match", name)
		}
		out = append(out, c)
	}
	return out, checkAll(out)
}

// checkAll checks that the criterion all is alone, or follows canonical or
// final.
func checkAll(list []criterion) error {
	for i, c := range list {
		if c.name != "all" {
			continue
		}
		after := i == 1 && (list[0].name == "canonical" || list[0].name == "final")
		if c.negated || i != len(list)-1 || i > 0 && !after {
			return errors.New("read Match all: it does not combine with other criteria")
		}
	}
	return nil
}

// matchLine reports whether a Match line applies. If nobody knows, doubt names the reason.
func (f *finder) matchLine(l line) (applies bool, doubt string) {
	applies = true
	for _, c := range l.criteria {
		if !applies {
			break
		}
		matched, known := f.matchesCriterion(l, c)
		switch {
		case !known:
			doubt = fmt.Sprintf("Match %s of %s", c.name, l.at)
		case matched == c.negated:
			applies = false
		}
	}
	if !applies {
		doubt = ""
	}
	return applies && doubt == "", doubt
}

// asksForFinal reports whether a Match line asks for a second reading, also where it cannot apply.
func (l line) asksForFinal() bool {
	return slices.ContainsFunc(l.criteria, func(c criterion) bool { return c.name == "final" && !c.negated })
}

// hostName returns the host that ssh connects to, by the lines that were read.
func (f *finder) hostName() string {
	return cmp.Or(expandHostName(f.values.valueOf("HostName").firstWord(), f.alias), f.alias)
}

func (f *finder) matchesCriterion(l line, c criterion) (matched, known bool) {
	user := f.values.valueOf("User").firstWord()
	if f.user != "" {
		user = f.user
	}
	if user == "" {
		user = f.localUser
	}
	switch c.name {
	case "all":
		return true, true
	case "canonical", "final":
		return f.final, true
	case "host":
		return matchesList(strings.ToLower(c.argument), strings.ToLower(f.hostName())), true
	case "originalhost":
		return matchesList(strings.ToLower(c.argument), strings.ToLower(f.alias)), true
	case "user":
		return matchesList(c.argument, user), true
	case "localuser":
		return matchesList(c.argument, f.localUser), true
	case "tagged":
		return matchesListOrEmpty(c.argument, f.values.valueOf("Tag").firstWord()), true
	case "command": // the operator has not typed one
		return matchesListOrEmpty(c.argument, ""), true
	case "sessiontype":
		return matchesList(c.argument, "exec"), true
	case "localnetwork":
		return f.matchesNetwork(l, c.argument), true
	case "exec":
		return f.runsCommand(l, c.argument)
	}
	return false, false // version: holdfast is not a version of ssh
}

// matchesListOrEmpty is matchesList for values that may be missing: only an empty list matches a missing one.
func matchesListOrEmpty(list, value string) bool {
	if value == "" {
		return list == ""
	}
	return matchesList(list, value)
}

// runsCommand runs the command of Match exec. It matches if its exit status is 0.
func (f *finder) runsCommand(l line, command string) (matched, known bool) {
	command, err := f.expand(f.values, command)
	if err != nil {
		f.errs = append(f.errs, fmt.Errorf("%s: %w", l.at, err))
		return false, true
	}
	if f.run == nil {
		return false, false
	}
	matched, err = f.run(command)
	if err != nil {
		f.errs = append(f.errs, fmt.Errorf("%s: run the command of Match exec: %w", l.at, err))
	}
	return matched, true
}

func (f *finder) matchesNetwork(l line, list string) bool {
	addrs, err := net.InterfaceAddrs()
	if err != nil {
		f.errs = append(f.errs, fmt.Errorf("%s: list the addresses of this machine: %w", l.at, err))
	}
	for text := range strings.SplitSeq(list, ",") {
		network, err := netip.ParsePrefix(text)
		if err != nil {
			f.errs = append(f.errs, fmt.Errorf("%s: %q is not a network such as 10.0.0.0/8", l.at, text))
			return false
		}
		for _, a := range addrs {
			own, err := netip.ParsePrefix(a.String())
			if err == nil && network.Contains(own.Addr().Unmap()) && !own.Addr().IsLoopback() {
				return true
			}
		}
	}
	return false
}
