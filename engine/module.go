package engine

// Module knows one kind of resource, in up to four parts. A module that lacks a
// part has nil there. All parts are pure: they know a host only from the output
// of commands.
type Module struct {
	Name     string          // name in plans and playbooks
	Observer Observer        // reads the facts of hosts
	Changes  ChangePlanner   // finds the changes of hosts, with their steps
	Tasks    TaskPlanner     // surrounds the changes of all modules with tasks
	Rollback RollbackPlanner // returns hosts of dead runs to their previous OS
}

// Observer reads the facts of one kind of resource.
type Observer interface {
	// Probe lists the commands that read facts. These commands never change a
	// host.
	Probe(Desired) []Command
	// Read adds the outputs of the commands to the facts.
	Read(Desired, Outputs, Facts) Facts
}

// ChangePlanner finds the changes of one kind of resource.
type ChangePlanner interface {
	// Diff compares a reached host with its desired state. An error means that
	// the state of the host is not understood and that the host must not be
	// touched.
	Diff(Desired, Facts) (Difference, error)
}

// Difference has the changes that a ChangePlanner has found on a host.
type Difference struct {
	Changes []Change
	// Steps returns the steps that make some of the changes, at least one. The
	// function may use the result of the comparison, which only its own module
	// can read. It is nil if there are no changes.
	Steps func(Target, []Change) Steps
}

// Command is one probe on a host.
type Command struct {
	Name   string // unique among the commands of a host
	Script string // POSIX sh script; it runs as root in a subshell of its own
	// Shared is true for a script that runs in no subshell, so that later scripts see the
	// variables that it sets. It does not exit, and changes no other state of the shell.
	Shared bool
}

// Output is the output of one command, and its exit status.
type Output struct {
	Stdout string
	Stderr string
	Code   int
}

// Outputs are the outputs of a host's commands by name.
type Outputs map[string]Output

// Target has everything that a module needs to plan the steps of a host.
type Target struct {
	Host    Host
	Pool    Pool
	Cluster *Cluster // the etcd cluster of which the host is a member, or nil
	Desired Desired
	Facts   Facts
	Run     string // ID of the run; disruptive steps check that the hold belongs to this run
	Bastion string // identity of the bastion of the run

	Governed bool // there is an etcd cluster on or near the host, and the staging is slowed to keep its limits of latency

	Rollout Rollout // roll-out that brings the host another OS

	Reboot RebootKind // kind of the reboot that Steps.Reboot orders; a rollback is always a full reboot

	// Restarts are the services that must restart if the host gets the changes by a soft reboot into the same OS, because
	// they run on meanwhile.
	Restarts []string

	MustSurvive bool // no full reboot may replace a soft one, because it would stop an etcd member that the cluster cannot spare

	Repair    bool // the host's own etcd member may be down, because the work repairs it
	Contested bool // other hosts could use up the budgets that the host needs
}

// Owner returns the run that the steps are for.
func (t Target) Owner() HoldOwner { return HoldOwner{Run: t.Run, Bastion: t.Bastion} }

// Steps are a module's share of a host's sequence.
type Steps struct {
	Stage  []Step // before any disruption, while everything runs
	Write  []Step // after the drain
	Act    []Step // make the written state take effect, unless the host reboots
	Reboot []Step // reboot the host; only the first module with such steps counts
	Record []Step // after everything has taken effect

	Rollback []Step // make the host boot its previous OS, and wait until it has booted
	Before   []Step // tasks of a playbook, before the drain
	After    []Step // tasks of a playbook, after the host is back

	NonDisruptive   []Step   // in place of Write, Act and Record, and without a hold, for a host that nothing disrupts
	Actions         []Action // in the order in which Act carries them out
	StoppedServices []string // services that run and are stopped on purpose
}

// RollbackPlanner can return a host to its previous OS after the run that updated
// the host has died.
type RollbackPlanner interface {
	// RollbackSteps returns the steps for a host that runs its desired OS and
	// is still held by the dead run. The hold names the previous OS. The result
	// is empty unless the pool asks for a rollback and the host still has the
	// previous OS.
	RollbackSteps(Target) []Step
}

// TaskPlanner has further steps for hosts that have changes: the tasks of a
// playbook that run before and after these changes.
type TaskPlanner interface {
	// TasksAround returns the steps before the drain and after the recovery of the host.
	TasksAround(Target) (before, after []Step)
}
