package draft

import (
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"holdfast/engine/ansible"
	"holdfast/engine/textutil"
)

// FromAnsible returns the hosts of an inventory of Ansible. The pool of a host
// is the first group of the file that lists the host itself.
func FromAnsible(inv ansible.Inventory) Site {
	r := ansibleReader{dropped: map[string]*droppedVariable{}, problems: slices.Clone(inv.Remarks), seen: map[ansible.Problem]bool{}}
	var s Site
	for _, h := range inv.Hosts {
		if out, ok := r.readHost(h); ok {
			s.Hosts = append(s.Hosts, out)
		}
	}
	r.remarkLeftOut()
	for _, g := range inv.Groups {
		s.Groups = append(s.Groups, Group{Name: g.Name, At: g.At.String(), Hosts: g.Hosts, Children: g.Children})
	}
	r.remarkVariables()
	slices.SortStableFunc(r.problems, func(p, q ansible.Problem) int { return p.At.Compare(q.At) })
	for _, p := range r.problems {
		s.Remarks = append(s.Remarks, p.String())
	}
	return s
}

type ansibleReader struct {
	problems []ansible.Problem
	seen     map[ansible.Problem]bool
	dropped  map[string]*droppedVariable // by name
	leftOut  textutil.Groups[ansible.Position, string]
}

// droppedVariable is a variable that an inventory of holdfast does not have.
type droppedVariable struct {
	first  ansible.Position
	places map[ansible.Position]bool
}

// addRemark adds a remark once: many hosts may have the same variable of a group.
func (r *ansibleReader) addRemark(at ansible.Position, format string, args ...any) {
	p := ansible.Problem{At: at, Text: fmt.Sprintf(format, args...)}
	if !r.seen[p] {
		r.seen[p] = true
		r.problems = append(r.problems, p)
	}
}

func (r *ansibleReader) readHost(h ansible.Host) (Host, bool) {
	out := Host{Name: h.Name, Address: h.Name, Group: "ungrouped", At: h.At.String()}
	if len(h.Groups) > 0 {
		out.Group, out.Others = h.Groups[0], h.Groups[1:]
	}
	usable := true
	for _, name := range readingOrder(h.Variables) {
		v := h.Variables[name]
		read := connectionVariables[name]
		switch {
		case read == nil:
			r.dropVariable(name, v.At)
		case v.Kind == ansible.Template || v.Kind == ansible.Structure || v.Kind == ansible.Secret:
			r.addRemark(v.At, "%s is %s, which is not evaluated; set the argument of holdfast by hand", name, describeKind(v.Kind))
			usable = usable && name != "ansible_host" && name != "ansible_ssh_host"
			markWayUnknown(name, &out)
		case v.Kind == ansible.Null:
		default:
			usable = read(r, v, &out) && usable
		}
	}
	if !usable {
		r.leftOut.Add(h.At, h.Name)
	}
	out.wayUnknown = out.wayUnknown || out.portUnknown
	return out, usable
}

// markWayUnknown notes that the value of a variable is not known, if it decides about the way to the host.
func markWayUnknown(name string, h *Host) {
	switch name {
	case "ansible_port", "ansible_ssh_port":
		h.portUnknown, h.Connection.Port = true, ""
	case "ansible_ssh_args", "ansible_ssh_common_args", "ansible_ssh_extra_args":
		h.wayUnknown = true
	}
}

// readingOrder returns the names of variables, with older names of a setting last, because they win.
func readingOrder(variables map[string]ansible.Value) []string {
	isOlder := func(name string) bool { return strings.HasPrefix(name, "ansible_ssh_") }
	names := slices.Sorted(maps.Keys(variables))
	return slices.Concat(slices.DeleteFunc(slices.Clone(names), isOlder), slices.DeleteFunc(names, func(name string) bool { return !isOlder(name) }))
}

// remarkLeftOut names the hosts that are left out, those of a range in one remark.
func (r *ansibleReader) remarkLeftOut() {
	for at, names := range r.leftOut.All() {
		r.addRemark(at, "left out, because of the remarks about their variables: %s", foldFew(names, ", "))
	}
}

func describeKind(k ansible.Kind) string {
	switch k {
	case ansible.Template:
		return "a template of Jinja"
	case ansible.Secret:
		return "encrypted"
	default:
		return "a list or an object"
	}
}

func (r *ansibleReader) dropVariable(name string, at ansible.Position) {
	d := r.dropped[name]
	if d == nil {
		d = &droppedVariable{first: at, places: map[ansible.Position]bool{}}
		r.dropped[name] = d
	}
	d.places[at] = true
	if at.Compare(d.first) < 0 {
		d.first = at
	}
}

func (r *ansibleReader) remarkVariables() {
	for _, name := range slices.Sorted(maps.Keys(r.dropped)) {
		d := r.dropped[name]
		more := ""
		if n := len(d.places); n > 1 {
			more = fmt.Sprintf(" (at %d places)", n)
		}
		r.addRemark(d.first, "variable %s%s is not taken over; if configurations need it, write it into locals or a document", name, more)
	}
}

// readVariable takes one variable over. It returns false if the host cannot be
// reached without it.
type readVariable func(r *ansibleReader, v ansible.Value, h *Host) bool

// connectionVariables has the variables of Ansible that tell how to reach a
// host. A host with an older name, ansible_ssh_*, and the newer one has the
// value of the older one, as in Ansible: the older ones are read last.
var connectionVariables = map[string]readVariable{
	"ansible_host":                 setText("ansible_host", addressOf),
	"ansible_ssh_host":             setText("ansible_ssh_host", addressOf),
	"ansible_user":                 setText("ansible_user", userOf),
	"ansible_ssh_user":             setText("ansible_ssh_user", userOf),
	"ansible_private_key_file":     setIdentity,
	"ansible_ssh_private_key_file": setIdentity,
	"ansible_port":                 setPort,
	"ansible_ssh_port":             setPort,
	"ansible_become":               ignore, // holdfast always becomes root
	"ansible_become_method":        expectBecome("sudo"),
	"ansible_become_user":          expectBecome("root"),
	"ansible_connection":           checkConnection,
	"ansible_ssh_args":             setArguments,
	"ansible_ssh_common_args":      setArguments,
	"ansible_ssh_extra_args":       setArguments,
	"ansible_password":             refuseSecret,
	"ansible_ssh_pass":             refuseSecret,
	"ansible_ssh_password":         refuseSecret,
	"ansible_become_password":      refuseSecret,
	"ansible_become_pass":          refuseSecret,
	"ansible_sudo_pass":            refuseSecret,
	"ansible_python_interpreter":   ignore,
	"ansible_shell_type":           ignore,
	"ansible_shell_executable":     ignore,
	"ansible_pipelining":           ignore,
	"ansible_ssh_pipelining":       ignore,
}

func addressOf(h *Host) *string { return &h.Address }

func userOf(h *Host) *string { return &h.Connection.User }

func ignore(*ansibleReader, ansible.Value, *Host) bool { return true }

func setText(name string, of func(*Host) *string) readVariable {
	return func(r *ansibleReader, v ansible.Value, h *Host) bool {
		if v.Text == "" || textutil.Printable(v.Text) != v.Text {
			r.addRemark(v.At, "%s is empty or not printable; it is not taken over", name)
			return false
		}
		*of(h) = v.Text
		return true
	}
}

func setIdentity(r *ansibleReader, v ansible.Value, h *Host) bool {
	if !strings.HasPrefix(v.Text, "/") && !strings.HasPrefix(v.Text, "~/") || textutil.Printable(v.Text) != v.Text {
		r.addRemark(v.At, "the private key is not an absolute path, so it depends on the folder in which Ansible runs; set identity by hand")
		return true
	}
	h.Connection.Identity = v.Text
	return true
}

func setPort(r *ansibleReader, v ansible.Value, h *Host) bool {
	n, err := strconv.ParseUint(v.Text, 10, 16)
	if err != nil || n == 0 {
		r.addRemark(v.At, "ansible_port is not a number from 1 to 65535")
		return false
	}
	h.portUnknown, h.Connection.Port = false, strconv.FormatUint(n, 10)
	return true
}

// expectBecome remarks on a host that does not become root with sudo.
func expectBecome(want string) readVariable {
	return func(r *ansibleReader, v ansible.Value, _ *Host) bool {
		if v.Text != want {
			r.addRemark(v.At, "it is not %s; holdfast becomes only root, and only with sudo. Check that the user may", want)
		}
		return true
	}
}

func refuseSecret(r *ansibleReader, v ansible.Value, _ *Host) bool {
	r.addRemark(v.At, "a password is never taken over; use a key, become_password_command, or holdfast -K")
	return true
}

func checkConnection(r *ansibleReader, v ansible.Value, _ *Host) bool {
	switch strings.TrimPrefix(v.Text, "ansible.builtin.") {
	case "ssh", "smart", "paramiko", "paramiko_ssh":
		return true
	}
	r.addRemark(v.At, "ansible_connection is not ssh; holdfast reaches hosts only over SSH")
	return false
}
