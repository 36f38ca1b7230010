package engine

// Inventory is one site as the operator wrote it: pools, hosts and etcd
// clusters. It is read by engine/inventory, which checks it; the functions
// here may rely on names being unique and references resolving.
type Inventory struct {
	Site     string    `json:"site"`
	Pools    []Pool    `json:"pools"`
	Hosts    []Host    `json:"hosts"`
	Clusters []Cluster `json:"clusters"`
}

// Host is one machine.
type Host struct {
	Name    string `json:"name"`
	Address string `json:"address"`
	Pool    string `json:"pool"`
	Cluster string `json:"cluster,omitempty"` // etcd cluster it is a member of, because the inventory says so
	Zone    string `json:"zone,omitempty"`
	SSH     SSH    `json:"ssh"`

	Configs []ConfigSource `json:"configs,omitempty"` // of this host alone; what they say wins over the pool's
}

// SSH says how a host is reached: the site's defaults with what the pool and
// the host override.
type SSH struct {
	User           string   `json:"user,omitempty"`
	Port           int      `json:"port,omitempty"` // 0: from ssh_config, else 22
	Identities     []string `json:"identities,omitempty"`
	KnownHosts     []string `json:"known_hosts,omitempty"`
	ProxyJump      string   `json:"proxy_jump,omitempty"`
	Config         string   `json:"config,omitempty"`          // ssh_config to honour; "" is ~/.ssh/config, "none" is none
	Become         string   `json:"become,omitempty"`          // "sudo", or "" where the user is root
	BecomeFile     string   `json:"become_file,omitempty"`     // file that holds the sudo password
	BecomeCommand  string   `json:"become_command,omitempty"`  // command on the bastion that prints the sudo password
	ConnectTimeout Duration `json:"connect_timeout,omitempty"` // 0: 10 s
	KeepAlive      Duration `json:"keep_alive,omitempty"`      // 0: 5 s; three missed answers end the connection
}

// Pool is a set of hosts that share a desired state and roll-out limits.
type Pool struct {
	Name  string   `json:"name"`
	After []string `json:"after,omitempty"` // pools that must be complete first
	OS    *OS      `json:"os,omitempty"`

	Configs         []ConfigSource `json:"configs,omitempty"` // documents, merged in order
	Policy          []Rule         `json:"policy,omitempty"`
	Drift           DriftMode      `json:"drift,omitempty"`
	OnActionFailure OnFailure      `json:"on_action_failure,omitempty"`

	MaxUnavailable Limit    `json:"max_unavailable"`
	Drain          *Drain   `json:"drain,omitempty"`
	Gates          []Gate   `json:"gates,omitempty"`
	Timeouts       Timeouts `json:"timeouts"`
}

// ConfigSource is where documents of a desired configuration come from: a file
// or folder, or a text in the inventory itself.
type ConfigSource struct {
	Path string `json:"path,omitempty"` // file or folder on the bastion, absolute
	Name string `json:"name,omitempty"` // of a document in the inventory, with the ending that tells its format
	Text string `json:"-"`              // that document; it may hold secrets
}

// DriftMode is what is done about a host that differs from the configuration
// that was applied to it, although that has not changed.
type DriftMode string

// The drift modes.
const (
	RepairDrift DriftMode = ""       // it is a change like any other
	ReportDrift DriftMode = "report" // plan and status name it; apply leaves it alone
)

// OnFailure is what is done about an action that fails or outlives its timeout.
type OnFailure string

// The answers to a failed action.
const (
	RebootOnFailure OnFailure = ""     // the host is drained and rebooted instead, once
	StopOnFailure   OnFailure = "stop" // the host stays held, and the run stops
)

// OS is the operating system a pool's hosts are to run, pinned by digest. With
// a driver alone the OS stays as it is, and only kernel arguments change.
type OS struct {
	Driver  string `json:"driver"`             // ostree, rpm-ostree or bootc
	Remote  string `json:"remote,omitempty"`   // ostree remote as configured on the host
	Ref     string `json:"ref,omitempty"`      // branch in that remote
	Commit  string `json:"commit,omitempty"`   // ostree commit, 64 hex digits
	Image   string `json:"image,omitempty"`    // container image by digest: NAME@sha256:…
	MinFree int64  `json:"min_free,omitempty"` // bytes that must be free before staging; 0: DefaultMinFree
}

// DefaultMinFree is the free space in bytes a host must have before an OS is
// staged, unless the pool says otherwise.
const DefaultMinFree = 1 << 30

// Digest is what identifies the OS: the ostree commit, or the image's digest
// (sha256:…).
func (o OS) Digest() string {
	if o.Commit != "" {
		return o.Commit
	}
	for i := len(o.Image) - 1; i >= 0; i-- {
		if o.Image[i] == '@' {
			return o.Image[i+1:]
		}
	}
	return ""
}

// Drain moves work off a host before it is disrupted and lets it back after.
// The commands run on the bastion; HOLDFAST_HOST, HOLDFAST_ADDRESS and
// HOLDFAST_POOL are in their environment.
type Drain struct {
	Name    string   `json:"name"`
	Command string   `json:"command"`
	Undo    string   `json:"undo,omitempty"`
	Timeout Duration `json:"timeout,omitempty"` // 0: 10 m
}

// Gate is a command on the bastion that must exit 0 for the run to go on.
type Gate struct {
	Name    string     `json:"name"`
	Command string     `json:"command"`
	When    []GateWhen `json:"when"`
	Timeout Duration   `json:"timeout,omitempty"` // 0: 5 m; the command is tried until then
}

// GateWhen is a point of a run at which gates are asked.
type GateWhen string

// The points at which gates are asked.
const (
	BeforeBatch GateWhen = "before_batch"
	BeforeHost  GateWhen = "before_host"
	AfterHost   GateWhen = "after_host"
	AfterBatch  GateWhen = "after_batch"
)

// At reports whether the gate is asked at w.
func (g Gate) At(w GateWhen) bool {
	for _, x := range g.When {
		if x == w {
			return true
		}
	}
	return false
}

// Timeouts bound the steps of a host. Zero means the default.
type Timeouts struct {
	Stage  Duration `json:"stage,omitempty"`  // 30 m
	Reboot Duration `json:"reboot,omitempty"` // 20 m: from the order to reboot until SSH answers from the new boot
	Health Duration `json:"health,omitempty"` // 10 m: from then until units and etcd are healthy
}

// Cluster is an etcd cluster. Which hosts are its members is said by the
// hosts (Host.Cluster) and checked against the cluster's own member list.
type Cluster struct {
	Name        string   `json:"name"`
	ClientPort  int      `json:"client_port"`
	TLS         *TLS     `json:"tls,omitempty"`
	Latency     *Latency `json:"latency,omitempty"`
	NoSnapshot  bool     `json:"no_snapshot,omitempty"`  // snapshot = false: take none before the first disruption
	AllowOutage bool     `json:"allow_outage,omitempty"` // a cluster of 1 or 2 voters may lose its quorum while a member reboots
}

// TLS names the client credentials of an etcd cluster, as paths on its members.
type TLS struct {
	CA   string `json:"ca"`
	Cert string `json:"cert"`
	Key  string `json:"key"`
}

// Latency is how slow an etcd cluster's disks may get while holdfast works.
type Latency struct {
	WALFsyncP99      Duration `json:"wal_fsync_p99,omitempty"`
	BackendCommitP99 Duration `json:"backend_commit_p99,omitempty"`
}

// Host returns the host of that name.
func (inv Inventory) Host(name string) (Host, bool) {
	return find(inv.Hosts, name, func(h Host) string { return h.Name })
}

// Pool returns the pool of that name.
func (inv Inventory) Pool(name string) (Pool, bool) {
	return find(inv.Pools, name, func(p Pool) string { return p.Name })
}

// Cluster returns the etcd cluster of that name.
func (inv Inventory) Cluster(name string) (Cluster, bool) {
	return find(inv.Clusters, name, func(c Cluster) string { return c.Name })
}

// Members returns the hosts that say they are members of the cluster, in
// inventory order.
func (inv Inventory) Members(cluster string) []Host {
	var hosts []Host
	for _, h := range inv.Hosts {
		if cluster != "" && h.Cluster == cluster {
			hosts = append(hosts, h)
		}
	}
	return hosts
}

func find[T any](list []T, name string, key func(T) string) (T, bool) {
	for _, x := range list {
		if key(x) == name {
			return x, true
		}
	}
	var none T
	return none, false
}
