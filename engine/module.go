package engine

// Module knows one kind of resource: its probes on a host, the changes, and their steps.
// Modules are pure; they see hosts only through the output of their commands.
type Module interface {
	// Name is the word used for the module in plans and playbooks.
	Name() string
	// Probe lists the commands that read facts. They never change a host.
	Probe(Desired) []Command
	// Read adds the outputs of the commands to the facts.
	Read(Desired, Outputs, Facts) Facts
	// Diff compares a reached host with its desired state. An error means that
	// the host's state is not understood and that it must not be touched.
	Diff(Desired, Facts) ([]Change, error)
	// Steps returns the steps that make the module's changes on a host.
	Steps(Target, []Change) Steps
}

// Command is one probe on a host.
type Command struct {
	Name   string // unique among a host's commands
	Script string // POSIX sh; runs as root in a subshell of its own
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
	Cluster *Cluster // the etcd cluster the host is a member of, or nil
	Desired Desired
	Facts   Facts
	Run     string // ID of the run, whose hold disruptive steps check for
	Bastion string // identity of its bastion

	Governed bool // the etcd cluster on or near the host has limits of latency, so its staging is slowed

	Rollout Rollout // of which the host is a part if it is brought another OS

	Repair    bool // its own etcd member may be down: the work is to repair it
	Contested bool // other hosts could use up the budgets that it needs
}

// Owner returns the run that the steps are for.
func (t Target) Owner() HoldOwner { return HoldOwner{Run: t.Run, Bastion: t.Bastion} }

// Steps are a module's share of a host's sequence.
type Steps struct {
	Stage  []Step // before any disruption, while everything runs
	Write  []Step // after the drain
	Act    []Step // makes it take effect, unless the host reboots
	Reboot []Step // reboots the host; only the steps of the first module with any count
	Record []Step // when all of it has taken effect

	Rollback []Step // makes the host boot the OS it ran before, and waits for that
	Before   []Step // tasks of a playbook, before the drain
	After    []Step // tasks of a playbook, when the host is back

	NonDisruptive   []Step   // in place of Write, Act and Record, and without a hold, where nothing disrupts the host
	Actions         []Action // in the order in which Act carries them out
	StoppedServices []string // services that run and will not afterwards, on purpose
}

// RollbackModule is a module that can return a host to its previous OS after the run
// that updated it has died.
type RollbackModule interface {
	// RollbackSteps returns the steps for a host that runs the OS it is to run, and is still
	// held by the dead run, whose hold says which OS it ran before. There are none
	// unless its pool asks for it, and the host has that OS still.
	RollbackSteps(Target) []Step
}

// TaskModule is a module with further steps for hosts that have changes: the tasks of a
// playbook before and after them.
type TaskModule interface {
	// TasksAround returns the steps before the drain and after the recovery of the host.
	TasksAround(Target) (before, after []Step)
}
