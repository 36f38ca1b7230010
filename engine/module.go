package engine

// Module knows one kind of resource: what to look at on a host, which changes
// follow from it, and the steps that make them. Modules are pure; they see
// hosts only through the output of their commands.
type Module interface {
	// Name is the word used for the module in plans and playbooks.
	Name() string
	// Probe lists what to look at. The commands read; they never change a host.
	Probe(Desired) []Command
	// Read adds what the commands printed to the facts.
	Read(Desired, Outputs, Facts) Facts
	// Diff compares a reached host with its desired state. An error means that
	// the host's state is not understood and that it must not be touched.
	Diff(Desired, Facts) ([]Change, error)
	// Steps says how the module's changes are made on a host.
	Steps(Target, []Change) Steps
}

// Command is one thing to look at on a host.
type Command struct {
	Name   string // unique among a host's commands
	Script string // POSIX sh; runs as root in a subshell of its own
}

// Output is what a command printed.
type Output struct {
	Stdout string
	Stderr string
	Code   int
}

// Outputs are the outputs of a host's commands by name.
type Outputs map[string]Output

// Target is what a module needs to know to plan the steps of a host.
type Target struct {
	Host    Host
	Pool    Pool
	Cluster *Cluster // the etcd cluster the host is a member of, or nil
	Desired Desired
	Facts   Facts
	Run     string // ID of the run, whose hold disruptive steps check for
	Bastion string // identity of its bastion

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
	Reboot []Step // reboots the host; those of the first module that gives any count
	Record []Step // when all of it has taken effect

	Rollback []Step // makes the host boot the OS it ran before, and waits for that
	Before   []Step // tasks of a playbook, before the drain
	After    []Step // tasks of a playbook, when the host is back

	NonDisruptive   []Step   // in place of Write, Act and Record, and without a hold, where nothing disrupts the host
	Actions         []Action // in the order in which Act carries them out
	StoppedServices []string // services that run and will not afterwards, on purpose
}

// RollbackModule is a module that can bring a host back to the OS it ran before when
// the run that brought it another has died.
type RollbackModule interface {
	// RollbackSteps gives the steps for a host that runs the OS it is to run, and is still
	// held by the dead run, whose hold says which OS it ran before. There are none
	// unless its pool asks for it, and the host has that OS still.
	RollbackSteps(Target) []Step
}

// TaskModule is a module that has more to do on a host with changes than they ask
// for: the tasks of a playbook that go around them.
type TaskModule interface {
	// TasksAround gives the steps before the host is drained and when it is back.
	TasksAround(Target) (before, after []Step)
}
