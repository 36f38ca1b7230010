package engine

import "slices"

// Playbook is a list of plays that are carried out one after the other. The
// built-in playbook makes every host match.
type Playbook struct {
	Name  string `json:"name"` // name of its file
	Plays []Play `json:"plays"`
}

// Play selects hosts, their work, and the number of hosts that are updated at a
// time. Budgets of pools, zones, windows, canaries and the quorum of etcd hold
// in every play: a play can only add restrictions. `after` counts only among
// the hosts of one play, so the order of the plays decides before the order of
// the pools.
type Play struct {
	Name              string           `json:"name"`
	Hosts             string           `json:"hosts"`                         // pattern, as for --limit
	Serial            []CountOrPercent `json:"serial,omitempty"`              // hosts in the first batch, the second batch and so on; the last number counts for all further batches
	MaxFailPercentage *CountOrPercent  `json:"max_fail_percentage,omitempty"` // failure budget of the hosts of the play, in place of FailureBudget of the pools
	Order             Order            `json:"order,omitempty"`               // order of the hosts, in place of the order of the pools
	AnyErrorsFatal    bool             `json:"any_errors_fatal,omitempty"`    // the first failed host stops the run, in place of the failure budgets of the pools
	PreTasks          []Task           `json:"pre_tasks,omitempty"`           // on each host, before its tasks
	Tasks             []Task           `json:"tasks"`
	PostTasks         []Task           `json:"post_tasks,omitempty"` // on each host, after the host is back
	Line              int              `json:"line,omitempty"`       // line in the file
}

// Task is one task of a play; the module with its name carries it out. Exactly
// one of the pointers is set, or none for modules without arguments.
type Task struct {
	Name   string          `json:"name"`
	Module string          `json:"module"`
	Skip   map[string]bool `json:"skip,omitempty"` // hosts for which the `when` of the task is false

	Command *CommandTask `json:"command,omitempty"`
	Service *ServiceTask `json:"service,omitempty"`
	WaitFor *WaitForTask `json:"wait_for,omitempty"`
	Pause   *Pause       `json:"pause,omitempty"`
	Line    int          `json:"line,omitempty"`
}

// The modules of tasks. The first three make hosts match, each for its part.
// The others run once on each host of a run.
const (
	StageTask        = "stage"         // puts the OS on disk; disrupts nothing
	ConfigTask       = "config"        // files, units, users of configurations
	FinalizeTask     = "finalize"      // OS and kernel arguments, with the reboot
	RebootTask       = "reboot"        // reboots the host, with drain and all checks
	ServiceTaskName  = "service"       // restarts or reloads a unit
	CommandTaskName  = "command"       // runs a command on the host, or on the bastion
	WaitForTaskName  = "wait_for"      // waits until a condition is true
	PauseTask        = "pause"         // waits for some time
	EtcdSnapshotTask = "etcd_snapshot" // saves the data of the clusters of the hosts, before the first of these hosts is disrupted
	EtcdDefragTask   = "etcd_defrag"   // defragments the database of the host's member
)

// CommandTask runs a command with sh.
type CommandTask struct {
	Command  string   `json:"command"`
	Bastion  bool     `json:"bastion,omitempty"`  // run on the bastion, once for each host (delegate_to: localhost)
	Timeout  Duration `json:"timeout,omitempty"`  // 0: 5 m
	Disrupts bool     `json:"disrupts,omitempty"` // the command disrupts the host, and needs the hold, the budgets and the quorum
	Drain    bool     `json:"drain,omitempty"`    // the command also needs a drained host
}

// ServiceTask restarts or reloads a systemd unit that is loaded on the host.
type ServiceTask struct {
	Unit    string   `json:"unit"`
	Reload  bool     `json:"reload,omitempty"`
	Drain   bool     `json:"drain,omitempty"`   // drain the host before
	Timeout Duration `json:"timeout,omitempty"` // 0: 2 m
}

// WaitForTask waits until a command on the host exits 0, a TCP port of the host
// answers on the host itself, a path on the host exists, or a URL answers the
// bastion with 2xx. Exactly one of these is set.
type WaitForTask struct {
	Command string   `json:"command,omitempty"`
	Port    int      `json:"port,omitempty"`
	Path    string   `json:"path,omitempty"`
	URL     string   `json:"url,omitempty"`
	Timeout Duration `json:"timeout,omitempty"` // 0: 5 m
}

// OnlyPrepares reports whether the play only stages and takes snapshots, for later plays.
func (p Play) OnlyPrepares() bool {
	return len(p.Tasks) > 0 && !slices.ContainsFunc(p.Tasks, func(t Task) bool { return t.Module != StageTask && t.Module != EtcdSnapshotTask })
}

// HasTaskOn reports whether a task of the play uses that module on the host.
func (p Play) HasTaskOn(host, module string) bool {
	return slices.ContainsFunc(p.Tasks, func(t Task) bool { return t.Module == module && !t.Skip[host] })
}

// Has reports whether a task of the play uses that module.
func (p Play) Has(module string) bool {
	for _, t := range p.Tasks {
		if t.Module == module {
			return true
		}
	}
	return false
}
