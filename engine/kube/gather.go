package kube

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"time"

	"holdfast/engine/kubefacts"
)

// LeaseNamespace is the namespace of the leases of nodes: https://www.medik8s.io/maintenance-node uses it, and so does
// every operator of medik8s that takes nodes out of use.
const LeaseNamespace = "medik8s-leases"

// leasePrefix is before the name of the node in the name of its lease.
const leasePrefix = "node-"

// maxName bounds a name of Kubernetes, in bytes.
const maxName = 253

// Gather reads the nodes of the cluster, and who else works on them. A problem is part of the facts.
func (c *Client) Gather(ctx context.Context) (facts kubefacts.ClusterFacts) {
	ctx, cancel := c.limitTime(ctx)
	defer cancel()
	facts.Name = c.cluster.Name
	defer func() { facts.ClockAhead = c.readClockAhead() }()
	if err := c.gatherNodes(ctx, &facts); err != nil {
		facts.Nodes, facts.Problem = nil, c.describeError("listing the nodes", err)
		return facts
	}
	for _, more := range []struct {
		doing  string
		gather func(context.Context, *kubefacts.ClusterFacts) error
	}{{"listing the leases of nodes", c.gatherLeases}, {"listing the NodeMaintenances", c.gatherMaintenances}} {
		err := more.gather(ctx, &facts)
		if err == nil {
			continue
		}
		p := c.describeError(more.doing, err)
		if p.Kind != kubefacts.Forbidden { // somebody may work on any node
			facts.Nodes, facts.Problem = nil, p
			return facts
		}
		facts.Warnings = append(facts.Warnings, *p)
	}
	return facts
}

// limitTime bounds one look at the cluster.
func (c *Client) limitTime(ctx context.Context) (context.Context, context.CancelFunc) {
	limit := cmp.Or(time.Duration(c.cluster.Timeout), defaultTimeout)
	return context.WithTimeoutCause(ctx, limit, &slowError{limit})
}

// ReadNode reads one node. A node that does not exist is Gone.
func (c *Client) ReadNode(ctx context.Context, name string) (kubefacts.Node, *kubefacts.Problem) {
	var n wireNode
	switch err := c.get(ctx, nodePath(name), &n); {
	case isGone(err):
		return kubefacts.Node{Name: name, Gone: true}, nil
	case err != nil:
		return kubefacts.Node{}, c.describeError("reading node "+name, err)
	}
	return n.facts(), nil
}

// defaultTimeout bounds one look at a cluster. 1,000 nodes take two pages.
const defaultTimeout = 30 * time.Second

func (c *Client) gatherNodes(ctx context.Context, facts *kubefacts.ClusterFacts) error {
	var wrong error
	nodes := listing[wireNode]{path: "/api/v1/nodes", restart: func() { facts.Nodes = nil }}
	nodes.use = func(n wireNode) {
		if n.Metadata.Name == "" || len(n.Metadata.Name) > maxName {
			wrong = &notKubernetesError{fmt.Sprintf("a node with a name of %d bytes", len(n.Metadata.Name))}
			return
		}
		facts.Nodes = append(facts.Nodes, n.facts())
	}
	return errors.Join(nodes.read(ctx, c), wrong)
}

func (c *Client) gatherLeases(ctx context.Context, facts *kubefacts.ClusterFacts) error {
	leases := listing[wireLease]{path: "/apis/coordination.k8s.io/v1/namespaces/" + LeaseNamespace + "/leases", restart: func() { facts.Leases = nil }}
	leases.use = func(l wireLease) {
		if node, ok := strings.CutPrefix(l.Metadata.Name, leasePrefix); ok && len(node) <= maxName {
			facts.Leases = append(facts.Leases, l.facts(node))
		}
	}
	if err := leases.read(ctx, c); !isGone(err) {
		return err
	}
	return nil
}

// gatherMaintenances asks first whether the API has NodeMaintenances: without a right, an API refuses to list them in
// the same way whether it has them or not.
func (c *Client) gatherMaintenances(ctx context.Context, facts *kubefacts.ClusterFacts) error {
	const group = "/apis/nodemaintenance.medik8s.io/v1beta1"
	var found struct {
		Kind string `json:"kind"`
	}
	if err := c.get(ctx, group, &found); err != nil {
		return withoutMissing(err)
	}
	list := listing[wireMaintenance]{path: group + "/nodemaintenances", restart: func() { facts.Maintenances = nil }}
	list.use = func(m wireMaintenance) {
		facts.Maintenances = append(facts.Maintenances, kubefacts.Maintenance{Node: shortenText(m.Spec.NodeName), Name: shortenText(m.Metadata.Name), Reason: shortenText(m.Spec.Reason)})
	}
	return withoutMissing(list.read(ctx, c))
}

// withoutMissing drops the error of a list that the API does not have.
func withoutMissing(err error) error {
	var status *statusError
	if errors.As(err, &status) && status.code == http.StatusNotFound {
		return nil
	}
	return err
}
