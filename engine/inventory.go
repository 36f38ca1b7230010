package engine

import (
	"cmp"
	"time"
)

// Inventory is one site as the operator wrote it: pools, hosts and etcd
// clusters. Package engine/inventory reads and checks it, so the functions here
// rely on unique names and on references that resolve.
type Inventory struct {
	Site     string    `json:"site"`
	Pools    []Pool    `json:"pools"`
	Hosts    []Host    `json:"hosts"`
	Clusters []Cluster `json:"clusters"`

	MaxUnavailable CountOrPercent `json:"max_unavailable,omitzero"` // budget of all hosts of the site together; not set: only the pools have budgets

	Mirror *Mirror `json:"mirror,omitempty"` // content that hosts fetch from the bastion

	Kubernetes []KubernetesCluster `json:"kubernetes,omitempty"` // Kubernetes clusters whose nodes are hosts of the site
	OnEnd      *OnEnd              `json:"on_end,omitempty"`     // command that tells people about the end of each run that changes hosts or members of etcd
}

// OnEnd is a command on the bastion that gets the end of a run.
type OnEnd struct {
	Command string   `json:"command"` // for sh, in the folder of the inventory
	Timeout Duration `json:"timeout"` // longest time that the command may take
}

// MaxOnEnd is the longest timeout of the command at the end of a run.
const MaxOnEnd = Duration(10 * time.Minute)

// Mirror is the content on the bastion for hosts that reach only the bastion.
type Mirror struct {
	Repository         string `json:"repository,omitempty"`            // folder of an ostree repository in archive mode
	Layout             string `json:"layout,omitempty"`                // folder of an OCI image layout, for rpm-ostree and bootc
	BytesPerSecond     int64  `json:"bytes_per_second,omitempty"`      // bytes per second to all hosts together; 0: no limit
	HostBytesPerSecond int64  `json:"host_bytes_per_second,omitempty"` // bytes per second to each host; 0: no limit
}

// MinMirrorRate is the lowest rate of a transfer from the bastion, in bytes per
// second. ostree sends eight requests at once, and aborts a request whose rate
// stays below 1000 bytes per second for half a minute.
const MinMirrorRate = 32 << 10

// Host is one machine.
type Host struct {
	Name    string `json:"name"`
	Address string `json:"address"`
	Pool    string `json:"pool"`
	Cluster string `json:"cluster,omitempty"` // etcd cluster of which the host is a member, by the inventory
	Retired bool   `json:"retired,omitempty"` // the member of the host is to be removed from its cluster
	Zone    string `json:"zone,omitempty"`
	Paused  bool   `json:"paused,omitempty"` // holdfast does not touch the host

	Maintenance string         `json:"maintenance,omitempty"` // why people work on the host: no run touches it, and it counts as unavailable
	Leaving     bool           `json:"leaving,omitempty"`     // the host is being deleted: no run touches it, and it does not count as missing
	Kubernetes  string         `json:"kubernetes,omitempty"`  // Kubernetes cluster of which the host is a node, its own or that of its pool
	BMC         *BMC           `json:"bmc,omitempty"`         // nil: the host has none that holdfast knows
	Power       *PowerCommands `json:"power,omitempty"`       // switch the power of a host without a BMC

	NearCluster string `json:"near_cluster,omitempty"` // etcd cluster whose members share a disk or a link with the host

	IgnoreEtcd bool `json:"ignore_etcd,omitempty"` // the host may be disrupted although etcd runs on it and no cluster of the inventory contains it, or another etcd runs beside its member
	SSH        SSH  `json:"ssh"`

	Configs []ConfigSource `json:"configs,omitempty"` // documents of this host alone; they override the documents of the pool
}

// EtcdNearby returns the etcd cluster that suffers when the host's disk or link
// is busy, or "".
func (h Host) EtcdNearby() string { return cmp.Or(h.Cluster, h.NearCluster) }

// SSH has the settings to reach a host. A setting of the host overrides the
// setting of its pool, which overrides the setting of the site.
type SSH struct {
	User                  string   `json:"user,omitempty"`
	Port                  int      `json:"port,omitempty"` // 0: from ssh_config, else 22
	Identities            []string `json:"identities,omitempty"`
	KnownHosts            []string `json:"known_hosts,omitempty"`
	ProxyJump             string   `json:"proxy_jump,omitempty"`
	SSHConfig             string   `json:"ssh_config,omitempty"`              // path of the ssh_config; "": ~/.ssh/config; "none": no file
	Become                string   `json:"become,omitempty"`                  // "sudo", or "" where the user is root
	BecomePasswordFile    string   `json:"become_password_file,omitempty"`    // file that holds the sudo password
	BecomePasswordCommand string   `json:"become_password_command,omitempty"` // command on the bastion that prints the sudo password
	ConnectTimeout        Duration `json:"connect_timeout,omitempty"`         // 0: 10 s
	KeepAlive             Duration `json:"keep_alive,omitempty"`              // 0: 5 s; three missed answers end the connection
}

// OS is the operating system of a pool's hosts, pinned by digest. If only
// Driver is set, the OS does not change, and only kernel arguments do.
type OS struct {
	Driver       string `json:"driver"`                   // ostree, rpm-ostree or bootc
	Remote       string `json:"remote,omitempty"`         // name of the ostree remote on the host
	Ref          string `json:"ref,omitempty"`            // branch in that remote
	Commit       string `json:"commit,omitempty"`         // ostree commit, 64 hex digits
	Image        string `json:"image,omitempty"`          // container image by digest: NAME@sha256:…
	MinFreeBytes int64  `json:"min_free_bytes,omitempty"` // bytes that must be free before staging; 0: 1 GiB
	Version      string `json:"version,omitempty"`        // version for max_skew, where the OS has no label with its version
	Source       string `json:"source,omitempty"`         // BastionSource; "": the source that the host is configured with
}

// BastionSource is the source of an OS that hosts fetch from the mirror of the
// bastion, through their SSH connections.
const BastionSource = "bastion"

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

// Cluster is an etcd cluster. Host.Cluster names the cluster of each member.
// holdfast compares these hosts with the member list of the cluster.
type Cluster struct {
	Name        string           `json:"name"`
	ClientPort  int              `json:"client_port"`
	TLS         *TLS             `json:"tls,omitempty"`
	Metrics     *MetricsListener `json:"metrics,omitempty"` // nil: members serve their metrics on the client port
	Latency     *Latency         `json:"latency,omitempty"` // nil: the defaults of Latency
	Timeout     Duration         `json:"timeout,omitempty"` // timeout of one probe of its members; 0: holdfast chooses the timeout by the distance of the members
	Snapshots   Snapshots        `json:"snapshots,omitzero"`
	NotGoverned bool             `json:"not_governed,omitempty"` // governor = false: hosts on or near it are staged at full speed
	NoSnapshot  bool             `json:"no_snapshot,omitempty"`  // snapshot = false: holdfast takes no snapshot before the first disruption
	AllowOutage bool             `json:"allow_outage,omitempty"` // a cluster of 1 or 2 voters may lose its quorum while a member reboots or restarts
	Managed     *ManagedMembers  `json:"managed,omitempty"`      // manage = true; nil: holdfast does not add or remove its members
}

// MemberUnit returns the service of etcd on each member.
func (c Cluster) MemberUnit() string {
	if c.Managed != nil {
		return c.Managed.Unit
	}
	return "etcd.service"
}

// ManagedMembers has the settings of the members that holdfast adds to and
// removes from a cluster.
type ManagedMembers struct {
	PeerPort int    `json:"peer_port"` // port on which the members listen for each other
	DataDir  string `json:"data_dir"`  // data directory of etcd, on each member
	Unit     string `json:"unit"`      // systemd service of etcd, on each member

	SurviveSoftReboots bool `json:"survive_soft_reboots,omitempty"` // the unit has a drop-in with which etcd keeps running during a soft reboot

	Hook string `json:"hook,omitempty"` // command on the bastion after each change of the voters

	CA *EtcdCA `json:"ca,omitempty"` // that issues their certificates; nil: somebody else does

	Settings *EtcdSettings `json:"settings,omitempty"` // of etcd; nil: somebody else sets all of them
}

// EtcdSettings are settings of etcd on the members of a cluster. Those that are
// missing are set by somebody else, or have the defaults of etcd.
type EtcdSettings struct {
	QuotaBackendBytes       int64    `json:"quota_backend_bytes,omitempty"`
	HeartbeatInterval       Duration `json:"heartbeat_interval,omitempty"`
	ElectionTimeout         Duration `json:"election_timeout,omitempty"`
	AutoCompactionMode      string   `json:"auto_compaction_mode,omitempty"`      // periodic or revision
	AutoCompactionRetention string   `json:"auto_compaction_retention,omitempty"` // as etcd reads it
	DeriveURLs              bool     `json:"derive_urls,omitempty"`               // whether the URLs follow from addresses and ports
	WALDir                  string   `json:"wal_dir,omitempty"`                   // folder of the write-ahead log; "": in the data directory
	WALOnOwnDisk            bool     `json:"wal_on_own_disk,omitempty"`           // whether that folder must be on a disk of its own
	DataOnOwnDisk           bool     `json:"data_on_own_disk,omitempty"`          // whether the data directory must be on another disk than the system
	User                    string   `json:"user,omitempty"`                      // of the systemd service

	Positions map[string]string `json:"-"` // FILE:LINE:COLUMN of each setting, by its name
}

// EtcdCA is a CA with which holdfast issues the certificates of a cluster.
type EtcdCA struct {
	Cert        string   `json:"cert"`                   // its file on the bastion
	Key         string   `json:"key,omitempty"`          // its file on the bastion; "": SignCommand signs
	SignCommand []string `json:"sign_command,omitempty"` // gets a request, and prints the certificate; none: Key signs
	AlsoTrust   []string `json:"also_trust,omitempty"`   // files on the bastion with other CAs that members trust
	ClientsDone []string `json:"clients_done,omitempty"` // SHA-256 fingerprints of CAs from which no client has its certificate any more
	Lifetime    Duration `json:"lifetime,omitempty"`     // of certificates that Key signs
	ServerNames []string `json:"server_names,omitempty"` // DNS names and IP addresses that server certificates have besides those of their host
	Folder      string   `json:"folder"`                 // of keys and certificates on each member

	Positions map[string]string `json:"-"` // FILE:LINE:COLUMN of each argument, by its name
}

// Snapshots has the folder of the snapshots that runs take, and how many of
// them are kept.
type Snapshots struct {
	Folder string   `json:"folder,omitempty"` // "": snapshots in the folder of the journals
	Keep   int      `json:"keep,omitempty"`
	MaxAge Duration `json:"max_age,omitempty"`
}

// WithDefaults returns the settings with the default for each setting that is
// not set.
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

// Latency limits the disk latency of an etcd cluster while hosts near it are
// staged. The limit of a member is at least 1.25 times its idle latency.
type Latency struct {
	WALFsyncP99      Duration `json:"wal_fsync_p99,omitempty"`      // 0: 10 ms
	BackendCommitP99 Duration `json:"backend_commit_p99,omitempty"` // 0: 25 ms
	AbortAfter       Duration `json:"abort_after,omitempty"`        // a staging stops after a limit was exceeded at the slowest pace for this time; 0: 5 m
}

// WithDefaults returns the limits with the default for each limit that is not
// set. The etcd documentation advises that the p99 of WAL fsyncs stays below 10
// ms, and the p99 of backend commits below 25 ms.
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

// Host returns the host with that name.
func (inv Inventory) Host(name string) (Host, bool) {
	return findByName(inv.Hosts, name, func(h *Host) string { return h.Name })
}

// Pool returns the pool with that name.
func (inv Inventory) Pool(name string) (Pool, bool) {
	return findByName(inv.Pools, name, func(p *Pool) string { return p.Name })
}

// Cluster returns the etcd cluster with that name.
func (inv Inventory) Cluster(name string) (Cluster, bool) {
	return findByName(inv.Clusters, name, func(c *Cluster) string { return c.Name })
}

// Members returns the hosts that name this cluster, in inventory order.
func (inv Inventory) Members(cluster string) []Host {
	var hosts []Host
	for _, h := range inv.Hosts {
		if cluster != "" && h.Cluster == cluster {
			hosts = append(hosts, h)
		}
	}
	return hosts
}

func findByName[T any](list []T, name string, key func(*T) string) (T, bool) {
	for i := range list {
		if key(&list[i]) == name {
			return list[i], true
		}
	}
	var none T
	return none, false
}

// UnavailableLimits returns how many hosts of each pool may be unavailable, and by "" how many of the site, if the site has a budget.
func (inv Inventory) UnavailableLimits() map[string]int {
	sizes, limits := map[string]int{}, map[string]int{}
	for _, h := range inv.Hosts {
		sizes[h.Pool]++
	}
	for _, p := range inv.Pools {
		limits[p.Name] = p.MaxUnavailable.Of(sizes[p.Name])
	}
	if inv.MaxUnavailable.Set {
		limits[""] = inv.MaxUnavailable.Of(len(inv.Hosts))
	}
	return limits
}
