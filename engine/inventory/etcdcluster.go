package inventory

import (
	"cmp"
	"fmt"
	"net/netip"
	"path"
	"regexp"
	"strings"
	"time"

	"github.com/hashicorp/hcl/v2"

	"holdfast/engine"
	"holdfast/engine/textutil"
)

// clusterReader reads an etcd_cluster block.
type clusterReader struct{ *builder }

func (b clusterReader) readCluster(n *node) {
	r := b.newReader(n)
	c := engine.Cluster{
		Name: b.checkName("etcd_cluster", n, nameRule), ClientPort: r.readPort("client_port", 2379),
		NoSnapshot: !r.readBool("snapshot", true), AllowOutage: r.readBool("allow_outage", false),
		Timeout: r.readDuration("timeout"),
	}
	c.Snapshots.Folder = r.readPath("snapshot_folder")
	c.Snapshots.Keep, _ = r.readWholeNumber("snapshot_keep", "a number of snapshots", 1, 10_000)
	c.Snapshots.MaxAge = r.readDuration("snapshot_max_age")
	c.TLS = b.readTLS(n.childBlock("tls"))
	c.NotGoverned = !r.readBool("governor", true)
	if l := n.childBlock("latency"); l != nil {
		lr := b.newReader(l)
		if c.NotGoverned {
			b.addError(l.at, "the block latency has no effect with governor = false", "remove one of them")
		}
		c.Latency = &engine.Latency{WALFsyncP99: lr.readDuration("wal_fsync_p99"), BackendCommitP99: lr.readDuration("backend_commit_p99"), AbortAfter: lr.readDuration("abort_after")}
	}
	c.Managed = b.readManaged(n)
	b.checkPeerPort(n, c)
	if ca := b.readCA(n, c.Managed != nil); ca != nil && c.Managed != nil {
		c.Managed.CA = ca
		c.TLS = &engine.TLS{CA: ca.Folder + "/ca.crt", Cert: ca.Folder + "/client.crt", Key: ca.Folder + "/client.key"}
	}
	if settings := b.readSettings(n, c.Managed); c.Managed != nil {
		c.Managed.Settings = settings
	}
	c.Metrics = b.readMetrics(n, c)
	b.inv.Clusters = append(b.inv.Clusters, c)
}

var (
	unitRule = regexp.MustCompile(`^[A-Za-z0-9_@:.-]+\.service$`)
	pathRule = regexp.MustCompile(`^(/[A-Za-z0-9_@:.-]+){2,}$`)
)

func (b clusterReader) readManaged(n *node) *engine.ManagedMembers {
	r := b.newReader(n)
	manage := r.readBool("manage", false)
	m := &engine.ManagedMembers{
		PeerPort: r.readPort("peer_port", 2380),
		DataDir:  cmp.Or(b.readHostPath(r, "data_dir"), "/var/lib/etcd/default"), Unit: cmp.Or(r.readText("unit"), "etcd.service"), Hook: r.readText("hook"),
		SurviveSoftReboots: r.readBool("survive_soft_reboots", false),
	}
	for _, name := range []string{"peer_port", "data_dir", "unit", "hook", "survive_soft_reboots"} {
		if n.args[name] != nil && !manage {
			b.addError(n.args[name].Expr.Range(), name+" has no effect without manage = true", "remove it, or set manage = true")
		}
	}
	if !manage {
		return nil
	}
	if !unitRule.MatchString(m.Unit) {
		b.addError(n.args["unit"].Expr.Range(), fmt.Sprintf("%q is not the name of a service", m.Unit), "write it with its ending, such as etcd.service")
	}
	if strings.HasPrefix(m.DataDir, "/") && (!pathRule.MatchString(m.DataDir) || path.Clean(m.DataDir) != m.DataDir) {
		b.addError(n.args["data_dir"].Expr.Range(), fmt.Sprintf("%q cannot be the data directory", m.DataDir), "use a folder that is not in /, whose path has only letters, digits and @:._-")
	}
	return m
}

// checkPeerPort refuses a peer port that is also the client port: etcd could not listen on both.
func (b clusterReader) checkPeerPort(n *node, c engine.Cluster) {
	if c.Managed == nil || c.Managed.PeerPort != c.ClientPort {
		return
	}
	for _, name := range []string{"peer_port", "client_port"} {
		if n.args[name] != nil { // at least one of them is there, because the defaults differ
			b.addError(n.args[name].Expr.Range(), fmt.Sprintf("peer_port and client_port are both %d", c.ClientPort), "use two ports: etcd listens on both, by default on 2380 and 2379")
			return
		}
	}
}

// fingerprintRule matches a SHA-256 fingerprint, as plans print it.
var fingerprintRule = regexp.MustCompile(`^[0-9a-f]{64}$`)

// readFingerprints also reads fingerprints in the form of openssl, with capitals and colons.
func (b clusterReader) readFingerprints(r reader, name string) []string {
	list := r.readOneOrMore(name)
	for i, text := range list {
		list[i] = strings.ToLower(strings.ReplaceAll(text, ":", ""))
		if !fingerprintRule.MatchString(list[i]) {
			b.addError(r.node.args[name].Expr.Range(), fmt.Sprintf("%q is not a SHA-256 fingerprint", textutil.Printable(text)),
				"write the 64 hexadecimal digits that holdfast etcd members plan prints, or those of openssl x509 -noout -fingerprint -sha256")
		}
	}
	return list
}

// minLifetime is the shortest lifetime of certificates. They are renewed when a third of it is left.
const minLifetime = engine.Duration(time.Hour)

func (b clusterReader) readCA(cluster *node, managed bool) *engine.EtcdCA {
	n := cluster.childBlock("ca")
	if n == nil {
		return nil
	}
	r := b.newReader(n)
	ca := &engine.EtcdCA{
		Cert: r.readPath("cert"), Key: r.readPath("key"), SignCommand: r.readTexts("sign_command"),
		AlsoTrust: r.readPaths("also_trust"), ClientsDone: b.readFingerprints(r, "clients_done"), ServerNames: b.readServerNames(r), Lifetime: r.readDuration("lifetime"), Folder: cmp.Or(b.readHostPath(r, "folder"), "/etc/etcd/pki"),
		Positions: map[string]string{},
	}
	for name, a := range n.args {
		ca.Positions[name] = describePosition(a.Expr.Range())
	}
	at := func(name string) hcl.Range { return n.args[name].Expr.Range() }
	hasKey, hasCommand := n.args["key"] != nil, n.args["sign_command"] != nil
	if !managed {
		b.addError(n.at, "the block ca has no effect without manage = true", "remove it, or set manage = true in the cluster")
	}
	if tls := cluster.childBlock("tls"); tls != nil {
		b.addError(tls.at, "the cluster has the blocks ca and tls", "remove one: with ca, holdfast uses the credentials that it issues itself")
	}
	switch {
	case hasKey && hasCommand:
		b.addError(at("sign_command"), "the CA has a key and a sign_command", "remove one of them")
	case !hasKey && !hasCommand:
		b.addError(n.at, "the CA has no key", "add key, or sign_command for a key that is elsewhere")
	case hasCommand && n.args["lifetime"] != nil:
		b.addError(at("lifetime"), "lifetime has no effect with sign_command", "remove it: the command decides how long certificates are valid")
	}
	if n.args["lifetime"] != nil && ca.Lifetime > 0 && ca.Lifetime < minLifetime {
		b.addError(at("lifetime"), "lifetime is too short", "at least 1h is needed; certificates are renewed when a third of it is left")
	}
	if ca.Lifetime == 0 && hasKey {
		ca.Lifetime = engine.Duration(365 * 24 * time.Hour)
	}
	if strings.HasPrefix(ca.Folder, "/") && (!pathRule.MatchString(ca.Folder) || path.Clean(ca.Folder) != ca.Folder) {
		b.addError(at("folder"), fmt.Sprintf("%q cannot be the folder of keys", ca.Folder), "use a folder that is not in /, whose path has only letters, digits and @:._-")
	}
	return ca
}

// serverNameRule accepts DNS names as in RFC 1123, also for all names below one.
var serverNameRule = regexp.MustCompile(`^(\*\.)?([a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?\.)*[a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?$`)

// maxServerNames bounds the size of certificates.
const maxServerNames = 50

func (b clusterReader) readServerNames(r reader) []string {
	names := r.readOneOrMore("server_names")
	for _, name := range names {
		if !isServerName(name) {
			b.addError(r.node.args["server_names"].Expr.Range(), fmt.Sprintf("%q is not a DNS name in lower case, and not an IP address", name), "write it without scheme and port, such as etcd.example.com")
		}
	}
	if len(names) > maxServerNames {
		b.addError(r.node.args["server_names"].Expr.Range(), fmt.Sprintf("there are %d server_names", len(names)), fmt.Sprintf("name at most %d", maxServerNames))
	}
	return names
}

func isServerName(name string) bool {
	if ip, err := netip.ParseAddr(name); err == nil {
		return ip.Zone() == ""
	}
	last := name[strings.LastIndex(name, ".")+1:]
	return len(name) <= 253 && serverNameRule.MatchString(name) && strings.Trim(last, "0123456789") != "" // not a mistyped address
}

func (b clusterReader) readTLS(n *node) *engine.TLS {
	if n == nil {
		return nil
	}
	r := b.newReader(n)
	return &engine.TLS{CA: b.readHostPath(r, "ca"), Cert: b.readHostPath(r, "cert"), Key: b.readHostPath(r, "key")}
}

func (b clusterReader) readMetrics(cluster *node, c engine.Cluster) *engine.MetricsListener {
	n := cluster.childBlock("metrics")
	if n == nil {
		return nil
	}
	r := b.newReader(n)
	m := &engine.MetricsListener{Port: r.readPort("port", 0), TLS: b.readTLS(n.childBlock("tls"))}
	addError := func(text, advice string) { b.addError(r.node.args["scheme"].Expr.Range(), text, advice) }
	switch scheme := r.readText("scheme"); {
	case scheme == "", scheme == "https" && m.TLS != nil:
	case scheme == "http" && m.TLS != nil:
		addError("the metrics have a tls block, but scheme is http", `remove the tls block, or write scheme = "https"`)
	case scheme == "http":
	case scheme == "https" && c.TLS != nil:
		m.TLS = c.TLS
	case scheme == "https":
		addError("scheme is https, but no credentials are set", "add a tls block to metrics or to the cluster")
	default:
		addError(fmt.Sprintf(`scheme must be "http" or "https", not %q`, scheme), "")
	}
	if m.Port == c.ClientPort && m.Port != 0 {
		b.addError(r.node.args["port"].Expr.Range(), "the metrics have the client port", "remove the metrics block: holdfast reads them from the client port by default")
	}
	if c.Managed != nil && m.Port == c.Managed.PeerPort && m.Port != c.ClientPort {
		b.addError(r.node.args["port"].Expr.Range(), fmt.Sprintf("the metrics have the peer port, %d", m.Port), "use the port that listen-metrics-urls of etcd has")
	}
	return m
}

func (b clusterReader) readHostPath(r reader, name string) string {
	p := r.readText(name)
	if p != "" && !strings.HasPrefix(p, "/") {
		b.addError(r.node.args[name].Expr.Range(), name+" is not an absolute path", "it is a path on the member, such as /etc/etcd/ca.crt")
	}
	return p
}
