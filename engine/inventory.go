package engine

import (
	"cmp"
	"time"
)

// Inventory is one site as the operator wrote it: pools, hosts and etcd
// clusters. It is read by engine/inventory, which checks it; the functions
// here may rely on names being unique and references resolving.
type Inventory struct {
	Site     string    `json:"site"`
	Pools    []Pool    `json:"pools"`
	Hosts    []Host    `json:"hosts"`
	Clusters []Cluster `json:"clusters"`

	MaxUnavailable CountOrPercent `json:"max_unavailable,omitzero"` // of all hosts together; not set: only the pools limit

	Mirror *Mirror `json:"mirror,omitempty"` // content that hosts fetch from the bastion
}

// Mirror is the content on the bastion for hosts that reach only the bastion.
type Mirror struct {
	Repository string `json:"repository,omitempty"` // folder of an ostree repository in archive mode
	Layout     string `json:"layout,omitempty"`     // folder of an OCI image layout, for rpm-ostree and bootc
	Rate       int64  `json:"rate,omitempty"`       // bytes per second to all hosts together; 0: no limit
	HostRate   int64  `json:"host_rate,omitempty"`  // bytes per second to each host; 0: no limit
}

// MinMirrorRate is the lowest rate of a transfer from the bastion, in bytes per second. ostree gives up requests that stay
// below 1000 bytes per second for half a minute, and sends eight of them at once.
const MinMirrorRate = 32 << 10

// Host is one machine.
type Host struct {
	Name    string `json:"name"`
	Address string `json:"address"`
	Pool    string `json:"pool"`
	Cluster string `json:"cluster,omitempty"`      // etcd cluster of which it is a member, by the inventory
	Retired bool   `json:"etcd_retired,omitempty"` // its member of the cluster is to be removed
	Zone    string `json:"zone,omitempty"`
	Paused  bool   `json:"paused,omitempty"` // holdfast does not touch it

	NearCluster string `json:"near_etcd_cluster,omitempty"` // etcd cluster whose members share a disk or a link with it

	IgnoreEtcd bool `json:"ignore_etcd,omitempty"` // it may be disrupted although etcd runs on it and no cluster of the inventory has it
	SSH        SSH  `json:"ssh"`

	Configs []ConfigSource `json:"configs,omitempty"` // of this host alone; they override the pool's
}

// EtcdNearby returns the etcd cluster that suffers when the host's disk or link
// is busy, or "".
func (h Host) EtcdNearby() string { return cmp.Or(h.Cluster, h.NearCluster) }

// SSH has the settings to reach a host: the defaults of the site, with those of the pool
// and the host in their place.
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

// OS is the operating system of a pool's hosts, pinned by digest. With a driver alone
// the OS does not change, only kernel arguments do.
type OS struct {
	Driver  string `json:"driver"`             // ostree, rpm-ostree or bootc
	Remote  string `json:"remote,omitempty"`   // ostree remote as configured on the host
	Ref     string `json:"ref,omitempty"`      // branch in that remote
	Commit  string `json:"commit,omitempty"`   // ostree commit, 64 hex digits
	Image   string `json:"image,omitempty"`    // container image by digest: NAME@sha256:…
	MinFree int64  `json:"min_free,omitempty"` // bytes that must be free before staging; 0: DefaultMinFree
	Version string `json:"version,omitempty"`  // for max_skew, if its label does not tell
	Source  string `json:"source,omitempty"`   // BastionSource, or "": as configured on the host
}

// BastionSource is the source of an OS that hosts fetch from the mirror of the bastion,
// through their SSH connections.
const BastionSource = "bastion"

// DefaultMinFree is the free space in bytes a host must have before an OS is
// staged, unless the pool says otherwise.
const DefaultMinFree = 1 << 30

// Digest returns the identity of the OS: the ostree commit, or the image's digest
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

// Cluster is an etcd cluster. Which hosts are its members is said by the
// hosts (Host.Cluster) and checked against the cluster's own member list.
type Cluster struct {
	Name        string           `json:"name"`
	ClientPort  int              `json:"client_port"`
	TLS         *TLS             `json:"tls,omitempty"`
	Metrics     *MetricsListener `json:"metrics,omitempty"` // nil: members serve their metrics on the client port
	Latency     *Latency         `json:"latency,omitempty"`
	Timeout     Duration         `json:"timeout,omitempty"` // of one probe of its members; 0: chosen by their distance
	Snapshots   Snapshots        `json:"snapshots,omitzero"`
	NoSnapshot  bool             `json:"no_snapshot,omitempty"`  // snapshot = false: take none before the first disruption
	AllowOutage bool             `json:"allow_outage,omitempty"` // a cluster of 1 or 2 voters may lose its quorum while a member reboots
	Managed     *ManagedMembers  `json:"managed,omitempty"`      // manage = true; nil: somebody else adds and removes its members
}

// ManagedMembers says how the members of a cluster are set up that holdfast adds and removes.
type ManagedMembers struct {
	PeerPort int    `json:"peer_port"` // the members listen there for each other
	DataDir  string `json:"data_dir"`  // of etcd, on each member
	Unit     string `json:"unit"`      // systemd service of etcd, on each member
}

// Snapshots says where the snapshots of runs are kept, and how many.
type Snapshots struct {
	Folder string   `json:"folder,omitempty"` // "": snapshots in the folder of the journals
	Keep   int      `json:"keep,omitempty"`
	MaxAge Duration `json:"max_age,omitempty"`
}

// WithDefaults returns the settings with the defaults for those that are not set.
func (s Snapshots) WithDefaults() Snapshots {
	if s.Keep == 0 {
		s.Keep = 10
	}
	if s.MaxAge == 0 {
		s.MaxAge = Duration(30 * 24 * time.Hour)
	}
	return s
}

// TLS names the client credentials of an etcd cluster, as paths on its members.
type TLS struct {
	CA   string `json:"ca"`
	Cert string `json:"cert"`
	Key  string `json:"key"`
}

// MetricsListener is where the members of a cluster serve their metrics, as in
// etcd's --listen-metrics-urls.
type MetricsListener struct {
	Port int  `json:"port"`
	TLS  *TLS `json:"tls,omitempty"` // nil: plain HTTP
}

// Latency limits the disk latency of an etcd cluster while hosts near it are staged.
// The limits of a member are at least 1.25 times its idle latency.
type Latency struct {
	WALFsyncP99      Duration `json:"wal_fsync_p99,omitempty"`      // 0: 10 ms
	BackendCommitP99 Duration `json:"backend_commit_p99,omitempty"` // 0: 25 ms
	AbortAfter       Duration `json:"abort_after,omitempty"`        // a staging stops if a limit is exceeded at the slowest pace for so long; 0: 5 m
}

// WithDefaults returns the limits with the defaults for those that are not set. etcd's own advice is that the p99 of
// WAL fsync stays below 10 ms, and the one of backend commit below 25 ms.
func (l *Latency) WithDefaults() Latency {
	var limits Latency
	if l != nil {
		limits = *l
	}
	limits.WALFsyncP99 = cmp.Or(limits.WALFsyncP99, Duration(10*time.Millisecond))
	limits.BackendCommitP99 = cmp.Or(limits.BackendCommitP99, Duration(25*time.Millisecond))
	limits.AbortAfter = cmp.Or(limits.AbortAfter, Duration(5*time.Minute))
	return limits
}

// Host returns the host of that name.
func (inv Inventory) Host(name string) (Host, bool) {
	return findByName(inv.Hosts, name, func(h Host) string { return h.Name })
}

// Pool returns the pool of that name.
func (inv Inventory) Pool(name string) (Pool, bool) {
	return findByName(inv.Pools, name, func(p Pool) string { return p.Name })
}

// Cluster returns the etcd cluster of that name.
func (inv Inventory) Cluster(name string) (Cluster, bool) {
	return findByName(inv.Clusters, name, func(c Cluster) string { return c.Name })
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

func findByName[T any](list []T, name string, key func(T) string) (T, bool) {
	for _, x := range list {
		if key(x) == name {
			return x, true
		}
	}
	var none T
	return none, false
}
