package rollout

import (
	"context"
	"errors"
	"fmt"

	"holdfast/engine"
	"holdfast/engine/event"
	"holdfast/engine/kubefacts"
)

// undrainNode uncordons the node if a run has cordoned it, and then releases its lease. It waits for an API that is away. A
// host without a node needs nothing.
func (w *hostWait) undrainNode(ctx context.Context, want engine.UndrainNode) error {
	var lost *kubefacts.Problem
	err := w.pollUntil(ctx, func(ctx context.Context) (missing string, fatal error) {
		var n kubefacts.Node
		if want.Verify {
			owned, missing, fatal := w.verifyNode(ctx, want.Kubernetes, want.Node)
			if lost = nil; missing != "" {
				lost = &kubefacts.Problem{Kind: kubefacts.Unreachable, Cause: missing, Hint: "start it"}
			}
			if !owned {
				if missing == "" && fatal == nil {
					w.reportUndrain(fmt.Sprintf("Kubernetes cluster %s has no node %s, which its hold says is drained, so no node was uncordoned; look with kubectl get nodes", want.Kubernetes, want.Node))
				}
				return missing, fatal
			}
			want.Verify = false
		}
		if want.Node == "" {
			state := w.findNode(ctx, want.Kubernetes)
			if want.Node = state.Node; state.APIAway {
				lost = &kubefacts.Problem{Kind: kubefacts.Unreachable, Cause: state.Problem, Hint: "start it"}
				return state.Problem, nil
			}
			if want.Node == "" {
				return "", nil
			}
		}
		if n, lost = w.Nodes.Uncordon(ctx, want.Kubernetes, want.Node); lost == nil {
			lost = w.Nodes.ReleaseLease(ctx, want.Kubernetes, want.Node)
		}
		if lost != nil {
			return lost.Text(), nil
		}
		if n.Cordoned {
			w.reportUndrain("node " + n.Name + " stays cordoned, because " + n.DescribeCordon())
		}
		return "", nil
	})
	var f *engine.Failure
	if lost != nil && errors.As(err, &f) {
		f.Kind = engine.KubernetesFailure
	}
	return err
}

func (w *hostWait) reportUndrain(text string) {
	w.noteEvent(event.Event{Type: event.StepProgress, Host: w.hp.Host, Pool: w.hp.Pool, Cluster: w.hp.Cluster, Step: "undrain", Message: text})
}

// findNode asks the API for the node of the host.
func (w *hostWait) findNode(ctx context.Context, cluster string) kubefacts.NodeState {
	return w.matchNode(w.Nodes.Gather(ctx, []string{cluster})[cluster])
}

func (w *hostWait) matchNode(facts kubefacts.ClusterFacts) kubefacts.NodeState {
	host, _ := w.Inventory.Host(w.hp.Host)
	return facts.MatchHosts([]kubefacts.Host{{Name: host.Name, Address: host.Address}}, w.Clock.Now())[host.Name]
}

// verifyNode reports whether a node that the hold of the host names exists, and is the node of the host. The hold is a file
// on the host, so it may name any node.
func (w *hostWait) verifyNode(ctx context.Context, cluster, node string) (owned bool, missing string, fatal error) {
	facts := w.Nodes.Gather(ctx, []string{cluster})[cluster]
	state := w.matchNode(facts)
	_, exists := facts.Node(node)
	switch {
	case state.APIAway:
		return false, state.Problem, nil
	case state.Node == node || !exists:
		return exists, "", nil
	case state.Node == "":
		return false, "", &engine.Failure{Kind: engine.UnsafeFailure, Cause: fmt.Sprintf("its hold says that node %s is drained: %s", node, state.Problem)}
	}
	return false, "", &engine.Failure{Kind: engine.UnsafeFailure, Cause: fmt.Sprintf("its hold says that node %s is drained, and its node is %s", node, state.Node)}
}
