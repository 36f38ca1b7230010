package draft

import (
	"slices"
	"strings"

	"holdfast/engine/ansible"
	"holdfast/engine/textutil"
)

// sshArguments is the part of the arguments of ssh that is understood.
type sshArguments struct {
	jump       string // the first jump host; "" without one
	hasCommand bool   // a ProxyCommand comes before all jump hosts, so that ssh ignores them
	changesWay bool   // an argument that is not taken over can lead ssh to another machine
	hasOthers  bool   // some arguments are not taken over
	isCut      bool   // the arguments from an unknown one on were not read
}

// The options of ssh without and with a value. -P has none for old versions, and one for new ones.
const (
	sshFlags  = "1246AaCfGgKkMNnqsTtVvXxYy"
	sshValues = "BbcDEeFIiJLlmOopQRSWw"
)

// readSSHArguments reads the words of a command line of ssh, without ssh and the host.
func readSSHArguments(words []string) (a sshArguments) {
	for i := 0; i < len(words); i++ {
		letters, isOption := strings.CutPrefix(words[i], "-")
		if !isOption || letters == "" {
			a.isCut = true
			return a
		}
		for letters != "" {
			letter, rest := letters[:1], letters[1:]
			switch {
			case strings.Contains(sshFlags, letter):
				a.hasOthers, letters = true, rest
				continue
			case !strings.Contains(sshValues, letter), rest == "" && i+1 == len(words):
				a.isCut = true
				return a
			case rest == "":
				i++
				rest = words[i]
			}
			a.readOption(letter, rest)
			letters = ""
		}
	}
	return a
}

func (a *sshArguments) readOption(letter, value string) {
	keyword := map[string]string{"J": "proxyjump", "p": "port", "F": "include"}[letter]
	if letter == "o" { // KEYWORD=VALUE or KEYWORD VALUE
		end := strings.IndexAny(value+"=", "= \t")
		keyword, value = strings.ToLower(value[:end]), strings.TrimLeft(value[end:], " \t")
		value = strings.Trim(strings.TrimLeft(strings.TrimPrefix(value, "="), " \t"), `"'`)
	}
	switch {
	case keyword != "proxyjump":
		a.hasOthers = true
		a.hasCommand = a.hasCommand || keyword == "proxycommand" && a.jump == ""
		a.changesWay = a.changesWay || slices.Contains([]string{"proxycommand", "port", "hostname", "include"}, keyword)
	case a.jump == "" && !a.hasCommand: // as ssh, which takes the first one
		a.jump = value
	}
}

// setArguments reads the arguments of ssh. It takes only jump hosts over.
func setArguments(r *ansibleReader, v ansible.Value, h *Host) bool {
	words, err := ansible.SplitArguments(v.Text)
	if err != nil {
		h.wayUnknown = true
		r.addRemark(v.At, "arguments of ssh: %s, so none was read; set proxy_jump by hand", err)
		return true
	}
	a := readSSHArguments(words)
	switch {
	case a.isCut:
		r.addRemark(v.At, "arguments of ssh: the first unknown one and all after it were not read; if they have a jump host, set proxy_jump by hand. Write the others into ssh_config")
	case a.hasOthers:
		r.addRemark(v.At, "arguments of ssh: only -J HOST and -o ProxyJump=HOST are taken over; write the others into ssh_config")
	}
	switch isPlain := !strings.ContainsAny(a.jump, "\"'%\\ ") && textutil.Printable(a.jump) == a.jump; {
	case !isPlain:
		h.wayUnknown = true
		r.addRemark(v.At, "arguments of ssh: the jump host is not a plain name; set proxy_jump by hand")
	case h.Connection.ProxyJump == "" && !h.hasProxyCommand: // the arguments of an earlier variable come first
		h.Connection.ProxyJump = a.jump
	}
	h.hasProxyCommand = h.hasProxyCommand || a.hasCommand
	h.wayUnknown = h.wayUnknown || a.changesWay || a.isCut
	return true
}
