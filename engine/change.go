package engine

import "strings"

// Change is one difference between a host and its desired state.
type Change struct {
	Module      string   `json:"module"`         // name of its module
	Resource    string   `json:"resource"`       // kind and name of the resource
	Kind        Kind     `json:"kind,omitempty"` // kind of the resource, where a module has several
	Before      string   `json:"before"`         // state before, for people; secrets as digests
	After       string   `json:"after"`
	Rule        string   `json:"rule"`             // rule that demands these actions
	Verb        Verb     `json:"verb,omitempty"`   // "" for an OS
	Reason      string   `json:"reason,omitempty"` // part of the resource that changes, and why the rule demands these actions
	Task        bool     `json:"task,omitempty"`   // it is a task of a playbook, which runs once and is not part of the desired state
	Drift       bool     `json:"drift,omitempty"`  // the host has changed, and its desired state has not
	Login       bool     `json:"login,omitempty"`  // it may take the account of the run its way into the host, or to root
	RebootClass string   `json:"-"`                // name of its class in rules.RebootClasses, which decides about the kind of a reboot; "": unknown
	Warnings    []string `json:"-"`                // warnings of the plan for the operator, before the approval
	Actions     []Action `json:"actions"`
}

// LoginChanges returns the changes after which a new login must prove that the account of the run can still log in.
func (hp HostPlan) LoginChanges() (list []Change) {
	for _, c := range hp.Changes {
		if c.Login {
			list = append(list, c)
		}
	}
	return list
}

// The names of the modules whose changes other packages know.
const (
	OSModule     = "os"
	ConfigModule = "config"
)

// Kind is a kind of resource.
type Kind string

// The kinds of resource, in the order of changes.
const (
	OSKind         Kind = "os"              // OS image
	KernelTypeKind Kind = "kernel-type"     // kernel type
	KernelArgKind  Kind = "kernel-argument" // kernel argument
	ExtensionKind  Kind = "extension"       // extension of the OS
	FileKind       Kind = "file"            // file
	DirectoryKind  Kind = "directory"       // directory
	LinkKind       Kind = "link"            // hard or symbolic link
	UnitKind       Kind = "unit"            // systemd unit with its drop-ins, its enablement and its mask
	UserKind       Kind = "user"            // user with password hash and SSH keys
	GroupKind      Kind = "group"           // group
)

// Verb is the way in which a resource changes.
type Verb string

// The verbs.
const (
	Create Verb = "create" // it is created
	Update Verb = "update" // it changes
	Delete Verb = "delete" // it is removed
)

// String returns the kind as people read it: kernel argument.
func (k Kind) String() string { return strings.ReplaceAll(string(k), "-", " ") }

// Name returns the name of a file, unit or kernel argument.
func (c Change) Name() string { return strings.TrimPrefix(c.Resource, c.Kind.String()+" ") }

// Same reports whether two changes are the same piece of work.
func (c Change) Same(d Change) bool {
	return c.Module == d.Module && c.Resource == d.Resource && c.After == d.After
}

// String returns the change in one line: resource, state before, state after. A task of
// a playbook has only a name.
func (c Change) String() string {
	if c.Before == "" && c.Verb == "" {
		return c.Resource
	}
	return c.Resource + " " + c.Before + " → " + c.After
}

// Action makes a change take effect.
type Action struct {
	Type ActionType `json:"type"`
	Unit string     `json:"unit,omitempty"` // unit of a reload or restart
}

// String names the action for people: reload crio.service.
func (a Action) String() string { return strings.TrimSpace(string(a.Type) + " " + a.Unit) }

// ActionType is a kind of action.
type ActionType string

// The kinds of action. A reboot is carried out last, the others in this order.
const (
	NoAction      ActionType = "none"
	DrainAction   ActionType = "drain"
	ReloadDaemon  ActionType = "daemon-reload"
	ReloadUnit    ActionType = "reload"
	RestartUnit   ActionType = "restart"
	RebootAction  ActionType = "reboot"
	CommandAction ActionType = "command"    // runs the command of a playbook
	DefragAction  ActionType = "defragment" // defragments the database of an etcd member
)

// RecordResource is the resource of a change that only updates the record on a host.
const RecordResource = "record"
