package draft

import (
	"fmt"

	"holdfast/engine/inventory"
	"holdfast/engine/remote/sshconfig"
	"holdfast/engine/textutil"
)

// FromSSH returns the hosts that an ssh_config names. Their address is the name
// in the file, so that holdfast reads their settings there, as ssh does.
func FromSSH(aliases sshconfig.Aliases) Site {
	var s Site
	remark := func(a sshconfig.Alias, format string, args ...any) {
		s.Remarks = append(s.Remarks, a.At+": "+textutil.Printable(fmt.Sprintf(format, args...)))
	}
	first := map[inventory.Way]string{}
	for _, a := range aliases.Named {
		way := inventory.NewWay(a.Host, a.Port, a.Route)
		other, known := first[way]
		switch {
		case a.Problem != nil:
			s.Remarks = append(s.Remarks, fmt.Sprintf("%s: host %s is left out: %s", a.At, textutil.Printable(a.Name), textutil.Printable(a.Problem.Error())))
		case a.IsJump:
			remark(a, "host %s is left out: others are reached through it; if holdfast manages it, too, add a block for it", a.Name)
		case known:
			remark(a, "host %s is left out: it has the address of %s, so it is the same machine", a.Name, other)
		default:
			first[way] = a.Name
			s.Hosts = append(s.Hosts, Host{Name: a.Name, Address: a.Name, Group: "hosts", At: a.At})
		}
	}
	if o := aliases.Omitted; len(o) > 0 {
		remark(o[0], "only the first %d names of a file are read; %d names from this one on are left out", sshconfig.MaxAliases, len(o))
	}
	for _, p := range aliases.Patterns {
		if p.Name != "*" {
			remark(p, "pattern %s names no host; its settings apply to the hosts that match", p.Name)
		}
	}
	for _, m := range aliases.Matches {
		remark(m, "Match names no host; its settings apply to the hosts that match")
	}
	return s
}
