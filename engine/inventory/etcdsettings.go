package inventory

import (
	"fmt"
	"net/netip"
	"path"
	"regexp"
	"strconv"
	"strings"
	"time"

	"github.com/hashicorp/hcl/v2"

	"holdfast/engine"
)

// Limits of etcd 3.4 to 3.6 (server/embed/config.go). The largest quota is a recommendation.
const (
	maxElectionTimeout = engine.Duration(50 * time.Second)
	electionFactor     = 5
	largestQuota       = 8 << 30
	smallestQuota      = 16 << 20 // of holdfast: less is full at once
)

// Defaults of etcd, which the other setting of a pair has to fit.
const (
	defaultHeartbeat = engine.Duration(100 * time.Millisecond)
	defaultElection  = engine.Duration(time.Second)
)

var accountRule = regexp.MustCompile(`^[a-z_][a-z0-9_-]{0,30}$`)

func (b clusterReader) readSettings(cluster *node, managed *engine.ManagedMembers) *engine.EtcdSettings {
	n := cluster.childBlock("settings")
	if n == nil {
		return nil
	}
	r := b.newReader(n)
	s := &engine.EtcdSettings{
		QuotaBackendBytes: r.readSize("quota_backend_bytes"), DeriveURLs: r.readBool("derive_urls", false), User: r.readText("user"),
		AutoCompactionMode: r.readText("auto_compaction_mode"), AutoCompactionRetention: r.readText("auto_compaction_retention"),
		Positions: map[string]string{"settings": describePosition(n.at)},
	}
	s.HeartbeatInterval, s.ElectionTimeout = b.readMilliseconds(r, "heartbeat_interval"), b.readMilliseconds(r, "election_timeout")
	for name, a := range n.args {
		s.Positions[name] = describePosition(a.Expr.Range())
	}
	s.WALDir, s.WALOnOwnDisk = b.readHostPath(r, "wal_dir"), r.readBool("wal_on_own_disk", false)
	s.DataOnOwnDisk = r.readBool("data_on_own_disk", false)
	if managed == nil {
		b.addError(n.at, "the block settings has no effect without manage = true", "remove it, or set manage = true in the cluster")
	}
	b.checkWALDir(n, *s, managed)
	b.checkQuota(n, s.QuotaBackendBytes, cluster.label)
	b.checkElection(r, *s)
	b.checkCompaction(n, *s)
	if s.User != "" && !accountRule.MatchString(s.User) {
		b.addError(n.args["user"].Expr.Range(), fmt.Sprintf("%q is not the name of an account", s.User), "use lower-case letters, digits, dash and underscore, beginning with a letter")
	}
	return s
}

func describePosition(at hcl.Range) string {
	return fmt.Sprintf("%s:%d:%d", at.Filename, at.Start.Line, at.Start.Column)
}

func (b clusterReader) readMilliseconds(r reader, name string) engine.Duration {
	d := r.readDuration(name)
	if time.Duration(d)%time.Millisecond != 0 {
		b.addError(r.node.args[name].Expr.Range(), name+" is not in whole milliseconds", "round it: etcd counts milliseconds")
		return 0
	}
	return d
}

func (b clusterReader) checkQuota(n *node, quota int64, cluster string) {
	switch {
	case quota == 0:
	case quota < smallestQuota:
		b.addError(n.args["quota_backend_bytes"].Expr.Range(), "quota_backend_bytes is too small", "at least 16MiB is needed; without the setting it is 2GiB")
	case quota > largestQuota:
		b.addWarning("etcd_cluster %q: quota_backend_bytes is more than 8 GiB, the most that etcd recommends: a large database makes restarts and snapshots slow", cluster)
	}
}

// checkElection applies the rule of etcd to both times. The default of etcd stands for one that is missing.
func (b clusterReader) checkElection(r reader, s engine.EtcdSettings) {
	n := r.node
	if s.ElectionTimeout > maxElectionTimeout {
		b.addError(n.args["election_timeout"].Expr.Range(), "election_timeout is too long", "etcd accepts at most 50s")
		return
	}
	heartbeat, election, name := s.HeartbeatInterval, s.ElectionTimeout, "election_timeout"
	switch {
	case heartbeat == 0 && election == 0, r.isWrong("heartbeat_interval", "election_timeout"):
		return
	case heartbeat == 0:
		heartbeat = defaultHeartbeat
	case election == 0:
		election, name = defaultElection, "heartbeat_interval"
	}
	if n.args[name] != nil && election < electionFactor*heartbeat {
		b.addError(n.args[name].Expr.Range(), fmt.Sprintf("election_timeout (%s) is less than five times heartbeat_interval (%s)", election.Trimmed(), heartbeat.Trimmed()),
			"etcd refuses that; set both (without them, etcd has 1s and 100ms)")
	}
}

// checkCompaction refuses a retention that etcd would refuse, or would read as something else in this mode.
func (b clusterReader) checkCompaction(n *node, s engine.EtcdSettings) {
	at := func(name string) hcl.Range { return n.args[name].Expr.Range() }
	count, err := strconv.ParseUint(s.AutoCompactionRetention, 10, 32)
	isNumber := err == nil && strconv.FormatUint(count, 10) == s.AutoCompactionRetention
	d, err := time.ParseDuration(s.AutoCompactionRetention)
	isDuration := err == nil && d > 0
	switch s.AutoCompactionMode {
	case "", "periodic":
		if s.AutoCompactionRetention != "" && !isNumber && !isDuration {
			b.addError(at("auto_compaction_retention"), fmt.Sprintf("%q is no retention of periodic compaction", s.AutoCompactionRetention), `write hours such as "8", or a duration such as "30m"`)
		}
	case "revision":
		if s.AutoCompactionRetention != "" && !isNumber {
			b.addError(at("auto_compaction_retention"), fmt.Sprintf("%q is no number of revisions", s.AutoCompactionRetention), `write a whole number such as "10000"; etcd would read a duration as nanoseconds`)
		}
	default:
		b.addError(at("auto_compaction_mode"), fmt.Sprintf(`auto_compaction_mode must be "periodic" or "revision", not %q`, s.AutoCompactionMode), "")
		return
	}
	if s.AutoCompactionMode != "" && n.args["auto_compaction_retention"] == nil {
		b.addError(at("auto_compaction_mode"), "auto_compaction_mode has no effect without auto_compaction_retention", "add it, or remove the mode")
	}
}

func (b clusterReader) checkWALDir(n *node, s engine.EtcdSettings, managed *engine.ManagedMembers) {
	if s.WALDir == "" {
		if a := n.args["wal_on_own_disk"]; a != nil && n.args["wal_dir"] == nil {
			b.addError(a.Expr.Range(), "wal_on_own_disk has no effect without wal_dir", "add wal_dir, or remove it")
		}
		return
	}
	at := n.args["wal_dir"].Expr.Range()
	switch {
	case !strings.HasPrefix(s.WALDir, "/"): // has an error already
	case !pathRule.MatchString(s.WALDir) || path.Clean(s.WALDir) != s.WALDir:
		b.addError(at, fmt.Sprintf("%q cannot be the folder of the write-ahead log", s.WALDir), "use a folder that is not in /, whose path has only letters, digits and @:._-")
	case managed != nil && (strings.HasPrefix(s.WALDir+"/", managed.DataDir+"/") || strings.HasPrefix(managed.DataDir+"/", s.WALDir+"/")):
		b.addError(at, fmt.Sprintf("wal_dir %q and data_dir %q are one in the other", s.WALDir, managed.DataDir), "use a folder beside data_dir, or on another disk")
	}
}

// checkMemberAddresses adds an error for a managed cluster with an address from which no URL can follow: one with a zone,
// which has a meaning only on one host, or, if the URLs to listen on are to follow, a name, because etcd listens on IP
// addresses only.
func (b *builder) checkMemberAddresses() {
	for i, n := range b.root.childBlocks("etcd_cluster") {
		c := b.inv.Clusters[i]
		if c.Managed == nil {
			continue
		}
		var named, zoned []string
		for _, h := range b.inv.Members(c.Name) {
			if ip, err := netip.ParseAddr(h.Address); err != nil {
				named = append(named, h.Name)
			} else if ip.Zone() != "" {
				zoned = append(zoned, h.Name)
			}
		}
		if len(zoned) > 0 {
			b.addError(n.args["manage"].Expr.Range(), "manage needs addresses that all members can use, and the addresses of these hosts have a zone: "+strings.Join(zoned, ", "),
				"a zone such as %eth0 has a meaning only on one host; set address to an address without one")
		}
		if len(named) > 0 && c.Managed.Settings != nil && c.Managed.Settings.DeriveURLs {
			b.addError(n.childBlock("settings").args["derive_urls"].Expr.Range(), "derive_urls needs IP addresses, and these hosts have names as addresses: "+strings.Join(named, ", "),
				"etcd listens on IP addresses only; set address to one, or set the URLs in the environment file of the unit")
		}
	}
}
