package kubernetes

import (
	"context"
	"sync"
	"time"

	"github.com/sourcegraph/conc"
	"k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/json"
	"k8s.io/client-go/dynamic"

	"holdfast/engine/clock"
)

const nodePrefix = "system:node:"

// Node is one node of the cluster: a host of the lab.
type Node struct {
	Name, Address string
	// Follow calls beat at least once a second while the host is up, with the ID of its boot. It returns when the host goes away.
	Follow func(ctx context.Context, beat func(bootID string))
}

func (n Node) userName() string { return nodePrefix + n.Name }

// Times of the stand-in. The controller manager calls a node not Ready after nodeGrace without a renewed lease, and node.lease is
// shorter than that also on a busy machine.
const (
	nodeGrace      = 12 * time.Second
	leaseDuration  = 8 * time.Second
	leaseInterval  = 2 * time.Second
	statusInterval = 5 * time.Second
	silence        = 3 * time.Second // without a sign of the host, its kubelet is silent, too
	stopTime       = 500 * time.Millisecond
	requestTimeout = 5 * time.Second
)

// stopAnnotation is how long a pod takes to stop, such as "20s". It takes no longer than its grace period.
const stopAnnotation = "holdfast-lab/stop-takes"

var (
	nodeKind   = schema.GroupVersionResource{Version: "v1", Resource: "nodes"}
	podKind    = schema.GroupVersionResource{Version: "v1", Resource: "pods"}
	leaseKind  = schema.GroupVersionResource{Group: "coordination.k8s.io", Version: "v1", Resource: "leases"}
	budgetKind = schema.GroupVersionResource{Group: "policy", Version: "v1", Resource: "poddisruptionbudgets"}
)

// object is a part of an object of the API.
type object = map[string]any

// kubelet stands in for the kubelet of one node.
type kubelet struct {
	Node
	api dynamic.Interface
	log func(string, ...any)

	mu      sync.Mutex
	stopped bool // somebody has stopped the kubelet, and the host stays up
	boot    string
	beat    time.Time
	pods    map[types.UID]podState // that it has seen in this boot
}

type podState int

const (
	podStarted podState = iota + 1
	podStopping
)

// runWhileUp keeps the node Ready while its host is up, until ctx ends.
func (k *kubelet) runWhileUp(ctx context.Context) {
	var wg conc.WaitGroup
	defer wg.Wait()
	wg.Go(func() {
		for ctx.Err() == nil {
			k.Follow(ctx, k.noteBeat)
			_ = clock.Sleep(ctx, 200*time.Millisecond) // the loop ends with ctx
		}
	})
	for ctx.Err() == nil {
		if boot := k.aliveBoot(); boot != "" {
			k.runWhileAlive(ctx, boot)
		}
		_ = clock.Sleep(ctx, 200*time.Millisecond) // the loop ends with ctx
	}
}

func (k *kubelet) noteBeat(bootID string) {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.boot, k.beat = bootID, time.Now()
}

// aliveBoot returns the boot of the host, or "" if the host or the kubelet is away.
func (k *kubelet) aliveBoot() string {
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.stopped || time.Since(k.beat) > silence {
		return ""
	}
	return k.boot
}

func (k *kubelet) setStopped(stopped bool) {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.stopped = stopped
}

// runWhileAlive returns when the host is away, or has booted again.
func (k *kubelet) runWhileAlive(ctx context.Context, boot string) {
	ctx, cancel := context.WithCancel(ctx)
	k.mu.Lock()
	k.pods = map[types.UID]podState{}
	k.mu.Unlock()
	var wg conc.WaitGroup
	defer wg.Wait()
	defer cancel()
	wg.Go(func() { k.repeatTask(ctx, statusInterval, "status", k.putStatus) })
	wg.Go(func() { k.repeatTask(ctx, leaseInterval, "lease", k.renewLease) })
	wg.Go(func() {
		k.repeatTask(ctx, 200*time.Millisecond, "pods", func(ctx context.Context) error { return k.followPods(ctx, &wg) })
	})
	for k.aliveBoot() == boot && clock.Sleep(ctx, 100*time.Millisecond) == nil {
	}
}

// repeatTask repeats do. A failure is tried again after half a second.
func (k *kubelet) repeatTask(ctx context.Context, interval time.Duration, name string, do func(context.Context) error) {
	for ctx.Err() == nil {
		wait := interval
		if err := do(ctx); err != nil && ctx.Err() == nil {
			k.log("%s: %s: %v", k.Name, name, err)
			wait = min(wait, 500*time.Millisecond)
		}
		_ = clock.Sleep(ctx, wait) // the loop ends with ctx
	}
}

func (k *kubelet) putStatus(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, requestTimeout)
	defer cancel()
	nodes := k.api.Resource(nodeKind)
	old, err := nodes.Get(ctx, k.Name, metav1.GetOptions{})
	if errors.IsNotFound(err) {
		labels := object{"kubernetes.io/hostname": k.Name, "kubernetes.io/os": "linux", "kubernetes.io/arch": "amd64"}
		old, err = nodes.Create(ctx, &unstructured.Unstructured{Object: object{"apiVersion": "v1", "kind": "Node", "metadata": object{"name": k.Name, "labels": labels}}}, metav1.CreateOptions{})
	}
	if err != nil {
		return err
	}
	return patchStatus(ctx, nodes, k.Name, object{"status": k.nodeStatus(old)})
}

func (k *kubelet) nodeStatus(old *unstructured.Unstructured) object {
	size := object{"cpu": "4", "memory": "8Gi", "ephemeral-storage": "20Gi", "pods": "110"}
	var conditions []any
	for _, c := range [][3]string{
		{"MemoryPressure", "False", "KubeletHasSufficientMemory"},
		{"DiskPressure", "False", "KubeletHasNoDiskPressure"},
		{"PIDPressure", "False", "KubeletHasSufficientPID"},
		{"Ready", "True", "KubeletReady"},
	} {
		now := formatTime(time.Now())
		conditions = append(conditions, object{
			"type": c[0], "status": c[1], "reason": c[2], "message": "a stand-in for a kubelet",
			"lastHeartbeatTime": now, "lastTransitionTime": transitionTime(old, c[0], c[1], now),
		})
	}
	k.mu.Lock()
	defer k.mu.Unlock()
	return object{
		"capacity": size, "allocatable": size, "conditions": conditions,
		"addresses": []any{object{"type": "InternalIP", "address": k.Address}, object{"type": "Hostname", "address": k.Name}},
		"nodeInfo": object{
			"machineID": k.Name, "systemUUID": k.Name, "bootID": k.boot, "kernelVersion": "0", "osImage": "stand-in", "containerRuntimeVersion": "none://0",
			"kubeletVersion": "v" + Version, "kubeProxyVersion": "", "operatingSystem": "linux", "architecture": "amd64",
		},
	}
}

// transitionTime returns the time of the last change of a condition, which is now if its status differs.
func transitionTime(old *unstructured.Unstructured, kind, status, now string) any {
	conditions, _, _ := unstructured.NestedSlice(old.Object, "status", "conditions")
	for _, c := range conditions {
		if m, ok := c.(object); ok && m["type"] == kind && m["status"] == status {
			return m["lastTransitionTime"]
		}
	}
	return now
}

func (k *kubelet) renewLease(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, requestTimeout)
	defer cancel()
	leases := k.api.Resource(leaseKind).Namespace("kube-node-lease")
	lease := object{"holderIdentity": k.Name, "leaseDurationSeconds": int64(leaseDuration / time.Second), "renewTime": time.Now().UTC().Format("2006-01-02T15:04:05.000000Z07:00")}
	body, err := json.Marshal(object{"spec": lease})
	if err != nil {
		return err
	}
	_, err = leases.Patch(ctx, k.Name, types.MergePatchType, body, metav1.PatchOptions{})
	if !errors.IsNotFound(err) {
		return err
	}
	node, err := k.api.Resource(nodeKind).Get(ctx, k.Name, metav1.GetOptions{})
	if err != nil {
		return err
	}
	owner := object{"apiVersion": "v1", "kind": "Node", "name": k.Name, "uid": string(node.GetUID())}
	_, err = leases.Create(ctx, &unstructured.Unstructured{Object: object{
		"apiVersion": "coordination.k8s.io/v1", "kind": "Lease",
		"metadata": object{"name": k.Name, "namespace": "kube-node-lease", "ownerReferences": []any{owner}}, "spec": lease,
	}}, metav1.CreateOptions{})
	return err
}

// patchStatus changes the status of an object.
func patchStatus(ctx context.Context, of dynamic.ResourceInterface, name string, change object) error {
	body, err := json.Marshal(change)
	if err != nil {
		return err
	}
	_, err = of.Patch(ctx, name, types.StrategicMergePatchType, body, metav1.PatchOptions{}, "status")
	return err
}

func formatTime(t time.Time) string { return t.UTC().Format(time.RFC3339) }
