package inventory

import (
	"fmt"
	"strings"

	"holdfast/engine"
)

func (b *builder) readCluster(n *node) {
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
	c.Metrics = b.readMetrics(n, c)
	if l := n.childBlock("latency"); l != nil {
		lr := b.newReader(l)
		c.Latency = &engine.Latency{WALFsyncP99: lr.readDuration("wal_fsync_p99"), BackendCommitP99: lr.readDuration("backend_commit_p99"), AbortAfter: lr.readDuration("abort_after")}
	}
	b.inv.Clusters = append(b.inv.Clusters, c)
}

// readTLS reads a tls block, which may be missing.
func (b *builder) readTLS(n *node) *engine.TLS {
	if n == nil {
		return nil
	}
	r := b.newReader(n)
	return &engine.TLS{CA: b.readHostPath(r, "ca"), Cert: b.readHostPath(r, "cert"), Key: b.readHostPath(r, "key")}
}

func (b *builder) readMetrics(cluster *node, c engine.Cluster) *engine.MetricsListener {
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
	return m
}

func (b *builder) readHostPath(r reader, name string) string {
	p := r.readText(name)
	if p != "" && !strings.HasPrefix(p, "/") {
		b.addError(r.node.args[name].Expr.Range(), name+" is not an absolute path", "it is a path on the member, such as /etc/etcd/ca.crt")
	}
	return p
}
