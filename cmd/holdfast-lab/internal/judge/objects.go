package judge

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"

	"github.com/sourcegraph/conc/pool"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/dynamic"

	"holdfast/engine/kube/judgetest"
	"holdfast/engine/kube/kubetest"
)

type object = map[string]any

// kind is a kind of objects.
type kind struct {
	schema.GroupVersionResource
	name string
}

// The kinds of objects.
var (
	podKind        = kind{schema.GroupVersionResource{Version: "v1", Resource: "pods"}, "Pod"}
	nodeKind       = kind{schema.GroupVersionResource{Version: "v1", Resource: "nodes"}, "Node"}
	namespaceKind  = kind{schema.GroupVersionResource{Version: "v1", Resource: "namespaces"}, "Namespace"}
	budgetKind     = kind{schema.GroupVersionResource{Group: "policy", Version: "v1", Resource: "poddisruptionbudgets"}, "PodDisruptionBudget"}
	daemonSetKind  = kind{schema.GroupVersionResource{Group: "apps", Version: "v1", Resource: "daemonsets"}, "DaemonSet"}
	replicaSetKind = kind{schema.GroupVersionResource{Group: "apps", Version: "v1", Resource: "replicasets"}, "ReplicaSet"}
)

// resource has the objects of a kind in a namespace.
type resource struct {
	kind
	api dynamic.ResourceInterface
}

func (j *Judge) resourceIn(namespace string, k kind) resource {
	return resource{k, j.api.Resource(k.GroupVersionResource).Namespace(namespace)}
}

// createObject makes an object, as a copy of a drawn one.
func (r resource) createObject(ctx context.Context, o object) (*unstructured.Unstructured, error) {
	body, err := copyOf(o)
	if err != nil {
		return nil, err
	}
	body["apiVersion"], body["kind"] = r.GroupVersion().String(), r.name
	return r.api.Create(ctx, &unstructured.Unstructured{Object: body}, metav1.CreateOptions{})
}

// patchStatus merges a status into that of an object.
func (r resource) patchStatus(ctx context.Context, name string, status object) error {
	return r.mergePatch(ctx, name, object{"status": status}, "status")
}

func (r resource) mergePatch(ctx context.Context, name string, patch object, subresources ...string) error {
	body, err := json.Marshal(patch)
	if err != nil {
		return err
	}
	_, err = r.api.Patch(ctx, name, types.MergePatchType, body, metav1.PatchOptions{}, subresources...)
	return err
}

// groups is the number of processes of kubectl that drain nodes side by side.
const groups = 24

const groupLabel = "holdfast-lab/group"

func nodeOf(set int) string                   { return fmt.Sprint("set-", set) }
func (j *Judge) groupOf(i int) string         { return fmt.Sprintf("%d-%d", j.first, i%groups) }
func namespaceOf(set int, name string) string { return fmt.Sprintf("%s-%d", name, set) }

// Make makes the objects of all sets. With a controller manager, it writes the status of budgets.
func (j *Judge) Make(ctx context.Context) error {
	if err := j.makeSets(ctx); err != nil || j.config.Manager == "" {
		return err
	}
	return j.logDuration("controller manager", func() error { return j.controlBudgets(ctx) })
}

func (j *Judge) makeSets(ctx context.Context) error {
	return j.logDuration("objects", func() error {
		p := pool.New().WithContext(ctx).WithMaxGoroutines(workers).WithCancelOnError()
		for i, set := range j.sets {
			p.Go(func(ctx context.Context) error {
				if err := j.makeSet(ctx, j.first+i, set); err != nil {
					return fmt.Errorf("make set %d: %w", j.first+i, err)
				}
				return nil
			})
		}
		return p.Wait()
	})
}

func (j *Judge) makeSet(ctx context.Context, i int, set judgetest.Set) error {
	if _, err := j.resourceIn("", nodeKind).createObject(ctx, object{"metadata": object{"name": nodeOf(i), "labels": object{groupLabel: j.groupOf(i)}}}); err != nil {
		return err
	}
	template := object{"metadata": object{"labels": object{"app": "z"}}, "spec": object{"containers": []any{object{"name": "c", "image": "none"}}}}
	controller := object{"selector": object{"matchLabels": object{"app": "z"}}, "template": template}
	owners := map[string]string{}
	for _, name := range []string{"t", "u"} {
		namespace := namespaceOf(i, name)
		if _, err := j.resourceIn("", namespaceKind).createObject(ctx, object{"metadata": object{"name": namespace}}); err != nil {
			return err
		}
		replicas := maps.Clone(controller)
		replicas["replicas"] = len(set.Pods)
		made, err := j.resourceIn(namespace, replicaSetKind).createObject(ctx, object{"metadata": object{"name": "r"}, "spec": replicas})
		if err != nil {
			return err
		}
		owners[name] = string(made.GetUID())
	}
	for _, name := range set.DaemonSets {
		var namespace, short string
		if _, err := fmt.Sscanf(name, "%1s/%s", &namespace, &short); err != nil {
			return err
		}
		if _, err := j.resourceIn(namespaceOf(i, namespace), daemonSetKind).createObject(ctx, object{"metadata": object{"name": short}, "spec": controller}); err != nil {
			return err
		}
	}
	for _, b := range set.Budgets {
		if err := j.makeBudget(ctx, i, b); err != nil {
			return err
		}
	}
	for _, p := range set.Pods {
		if err := j.makePod(ctx, i, p, owners); err != nil {
			return err
		}
	}
	return nil
}

// makeBudget makes a budget, whose drawn generation is 2, or 1 in the API, and its status, unless the controller manager writes it.
func (j *Judge) makeBudget(ctx context.Context, set int, drawn kubetest.Object) error {
	meta, spec, status := partsOf(drawn)
	name, namespace := fmt.Sprint(meta["name"]), namespaceOf(set, fmt.Sprint(meta["namespace"]))
	budgets := j.resourceIn(namespace, budgetKind)
	if _, err := budgets.createObject(ctx, object{"metadata": object{"name": name}, "spec": spec}); err != nil {
		return err
	}
	if j.config.Manager != "" {
		return nil
	}
	status = maps.Clone(status)
	if observed, ok := status["observedGeneration"].(int); ok {
		status["observedGeneration"] = observed - 1
	}
	return budgets.patchStatus(ctx, name, status)
}

// makePod makes a pod. A finalizer keeps one that is to be seen while it is being deleted: without a kubelet, it could end at once.
func (j *Judge) makePod(ctx context.Context, set int, drawn kubetest.Object, owners map[string]string) error {
	meta, spec, status := partsOf(drawn)
	short := fmt.Sprint(meta["namespace"])
	name, namespace := fmt.Sprint(meta["name"]), namespaceOf(set, short)
	made := object{"name": name}
	for _, key := range []string{"labels", "annotations", "ownerReferences"} {
		if meta[key] != nil {
			made[key] = meta[key]
		}
	}
	if refs, ok := meta["ownerReferences"].([]kubetest.Object); ok && refs[0]["kind"] == "ReplicaSet" {
		ref := maps.Clone(refs[0])
		ref["uid"] = owners[short]
		made["ownerReferences"] = []any{ref}
	}
	ends := meta["deletionTimestamp"] != nil
	if ends {
		made["finalizers"] = []string{"holdfast-lab/judge"}
	}
	spec = maps.Clone(spec)
	spec["nodeName"], spec["containers"] = nodeOf(set), []any{object{"name": "c", "image": "none"}}
	pods := j.resourceIn(namespace, podKind)
	if _, err := pods.createObject(ctx, object{"metadata": made, "spec": spec}); err != nil {
		return err
	}
	if err := pods.patchStatus(ctx, name, status); err != nil {
		return err
	}
	if !ends {
		return nil
	}
	return pods.api.Delete(ctx, name, metav1.DeleteOptions{})
}

func partsOf(o kubetest.Object) (meta, spec, status kubetest.Object) {
	parts := []kubetest.Object{{}, {}, {}}
	for i, key := range []string{"metadata", "spec", "status"} {
		if part, ok := o[key].(kubetest.Object); ok {
			parts[i] = part
		}
	}
	return parts[0], parts[1], parts[2]
}

// copyOf returns an object as JSON has it.
func copyOf(o object) (object, error) {
	text, err := json.Marshal(o)
	if err != nil {
		return nil, err
	}
	c := object{}
	return c, json.Unmarshal(text, &c)
}
