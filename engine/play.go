package engine

// Playbook is a list of plays that are carried out one after the other. The
// built-in one is a play that makes every host match.
type Playbook struct {
	Name  string `json:"name"` // of its file
	Plays []Play `json:"plays"`
}

// Play selects hosts, the work on them, and how many are updated at a time. Budgets of
// pools, zones, windows, canaries and the quorum of etcd hold in every play: a play can
// only be more careful. The order of pools follows the plays: `after` counts among the
// hosts of a play.
type Play struct {
	Name      string           `json:"name"`
	Hosts     string           `json:"hosts"`                         // pattern, as for --limit
	Serial    []CountOrPercent `json:"serial,omitempty"`              // hosts in the first batch, the second …; the last counts for all others
	MaxFail   *CountOrPercent  `json:"max_fail_percentage,omitempty"` // in place of the pools' FailureBudget, of the hosts of the play
	Order     Order            `json:"order,omitempty"`               // in place of the pools'
	AnyFatal  bool             `json:"any_errors_fatal,omitempty"`    // the first failed host stops the run; the pools' budgets do not count
	PreTasks  []Task           `json:"pre_tasks,omitempty"`           // on each host, before its tasks
	Tasks     []Task           `json:"tasks"`
	PostTasks []Task           `json:"post_tasks,omitempty"` // on each host, when it is back
	Line      int              `json:"line,omitempty"`       // in the file
}

// Task is one thing a play does, by a module of that name. Exactly one of the
// pointers is set, or none for modules without arguments.
type Task struct {
	Name   string          `json:"name"`
	Module string          `json:"module"`
	Skip   map[string]bool `json:"skip,omitempty"` // hosts for which its `when` is false

	Command *CommandTask `json:"command,omitempty"`
	Service *ServiceTask `json:"service,omitempty"`
	WaitFor *WaitForTask `json:"wait_for,omitempty"`
	Pause   *Pause       `json:"pause,omitempty"`
	Line    int          `json:"line,omitempty"`
}

// The modules of tasks. The first three make hosts match, as far as they go;
// the others are carried out once on each host of a run.
const (
	StageTask        = "stage"         // puts the OS on disk; disrupts nothing
	ConfigTask       = "config"        // files, units, users of configurations
	FinalizeTask     = "finalize"      // OS and kernel arguments, with the reboot
	RebootTask       = "reboot"        // with drain and everything
	ServiceTaskName  = "service"       // restarts or reloads a unit
	CommandTaskName  = "command"       // on the host, or on the bastion
	WaitForTaskName  = "wait_for"      // until something is so
	PauseTask        = "pause"         // for some time
	EtcdSnapshotTask = "etcd_snapshot" // of the clusters of the hosts, before the first of them is disrupted
	EtcdDefragTask   = "etcd_defrag"   // of the host's member
)

// CommandTask runs a command with sh.
type CommandTask struct {
	Command  string   `json:"command"`
	Bastion  bool     `json:"bastion,omitempty"`  // there, once for each host (delegate_to: localhost)
	Timeout  Duration `json:"timeout,omitempty"`  // 0: 5 m
	Disrupts bool     `json:"disrupts,omitempty"` // needs the hold, the budgets and the quorum
	Drain    bool     `json:"drain,omitempty"`    // and a host from which work was moved off
}

// ServiceTask restarts or reloads a systemd unit that is loaded there.
type ServiceTask struct {
	Unit    string   `json:"unit"`
	Reload  bool     `json:"reload,omitempty"`
	Drain   bool     `json:"drain,omitempty"`   // work is moved off before
	Timeout Duration `json:"timeout,omitempty"` // 0: 2 m
}

// WaitForTask waits until a command exits 0 on the host, a TCP port there
// answers (asked on the host itself), a path exists, or a URL answers with 2xx
// (asked from the bastion). Exactly one is set.
type WaitForTask struct {
	Command string   `json:"command,omitempty"`
	Port    int      `json:"port,omitempty"`
	Path    string   `json:"path,omitempty"`
	URL     string   `json:"url,omitempty"`
	Timeout Duration `json:"timeout,omitempty"` // 0: 5 m
}

// Has reports whether a task of the play has that module.
func (p Play) Has(module string) bool {
	for _, t := range p.Tasks {
		if t.Module == module {
			return true
		}
	}
	return false
}
