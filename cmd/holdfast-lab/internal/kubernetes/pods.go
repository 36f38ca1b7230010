package kubernetes

import (
	"context"
	"fmt"
	"time"

	"github.com/sourcegraph/conc"
	"k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"

	"holdfast/engine/clock"
)

// followPods lists the pods of the node and follows their changes, until the answer of the API ends. The states
// of pods change in goroutines of wg.
func (k *kubelet) followPods(ctx context.Context, wg *conc.WaitGroup) error {
	options := metav1.ListOptions{FieldSelector: "spec.nodeName=" + k.Name}
	listing, cancel := context.WithTimeout(ctx, requestTimeout)
	defer cancel()
	list, err := k.api.Resource(podKind).List(listing, options)
	if err != nil {
		return err
	}
	for i := range list.Items {
		k.startPod(ctx, wg, &list.Items[i])
	}
	options.ResourceVersion = list.GetResourceVersion()
	watch, err := k.api.Resource(podKind).Watch(ctx, options)
	if err != nil {
		return err
	}
	defer watch.Stop()
	for e := range watch.ResultChan() {
		pod, ok := e.Object.(*unstructured.Unstructured)
		if !ok || e.Type == "ERROR" {
			return fmt.Errorf("follow pods: %v", e.Object)
		}
		if e.Type != "DELETED" && e.Type != "BOOKMARK" {
			k.startPod(ctx, wg, pod)
		}
	}
	return nil
}

// startPod starts a pod that it has not seen in this boot, makes one Ready that the controller manager has called not Ready, and
// stops one that has been deleted.
func (k *kubelet) startPod(ctx context.Context, wg *conc.WaitGroup, pod *unstructured.Unstructured) {
	uid := pod.GetUID()
	k.mu.Lock()
	defer k.mu.Unlock()
	switch state := k.pods[uid]; {
	case pod.GetDeletionTimestamp() != nil && state != podStopping:
		k.pods[uid] = podStopping
		wg.Go(func() { k.tryPod(ctx, pod, k.stopPod) })
	case pod.GetDeletionTimestamp() == nil && (state == 0 || !isReady(pod)) && !hasEnded(pod):
		k.pods[uid] = podStarted
		wg.Go(func() { k.tryPod(ctx, pod, k.makeReady) })
	}
}

func hasEnded(pod *unstructured.Unstructured) bool {
	phase, _, _ := unstructured.NestedString(pod.Object, "status", "phase")
	return phase == "Succeeded" || phase == "Failed"
}

func isReady(pod *unstructured.Unstructured) bool {
	conditions, _, _ := unstructured.NestedSlice(pod.Object, "status", "conditions")
	for _, c := range conditions {
		if m, ok := c.(object); ok && m["type"] == "Ready" {
			return m["status"] == "True"
		}
	}
	return false
}

// isGone reports whether the API knows no such pod any more. An answer that it is not found is no proof: an API server that has just
// started gives it before it has read all pods.
func (k *kubelet) isGone(ctx context.Context, pod *unstructured.Unstructured) bool {
	ctx, cancel := context.WithTimeout(ctx, requestTimeout)
	defer cancel()
	now, err := k.api.Resource(podKind).Namespace(pod.GetNamespace()).Get(ctx, pod.GetName(), metav1.GetOptions{})
	return errors.IsNotFound(err) || err == nil && now.GetUID() != pod.GetUID()
}

// tryPod tries until it has succeeded, or the pod is gone.
func (k *kubelet) tryPod(ctx context.Context, pod *unstructured.Unstructured, do func(context.Context, *unstructured.Unstructured) error) {
	for ctx.Err() == nil {
		err := do(ctx, pod)
		if err == nil || k.isGone(ctx, pod) {
			return
		}
		if ctx.Err() == nil {
			k.log("%s: pod %s/%s: %v", k.Name, pod.GetNamespace(), pod.GetName(), err)
		}
		_ = clock.Sleep(ctx, 500*time.Millisecond) // the loop ends with ctx
	}
}

func (k *kubelet) makeReady(ctx context.Context, pod *unstructured.Unstructured) error {
	ctx, cancel := context.WithTimeout(ctx, requestTimeout)
	defer cancel()
	status := k.podStatus(pod)
	// The API refuses the patch if the pod of this name is another one by now.
	return patchStatus(ctx, k.api.Resource(podKind).Namespace(pod.GetNamespace()), pod.GetName(), object{"metadata": object{"uid": string(pod.GetUID())}, "status": status})
}

func (k *kubelet) podStatus(pod *unstructured.Unstructured) object {
	now := formatTime(time.Now())
	var conditions, containers []any
	for _, kind := range []string{"PodReadyToStartContainers", "Initialized", "ContainersReady", "Ready"} {
		conditions = append(conditions, object{"type": kind, "status": "True", "lastTransitionTime": transitionTime(pod, kind, "True", now)})
	}
	list, _, _ := unstructured.NestedSlice(pod.Object, "spec", "containers")
	for _, c := range list {
		m, _ := c.(object)
		containers = append(containers, object{
			"name": m["name"], "image": m["image"], "imageID": "none", "containerID": "none://" + string(pod.GetUID()), "ready": true, "started": true,
			"restartCount": int64(0), "state": object{"running": object{"startedAt": now}},
		})
	}
	ip := podIP(pod.GetUID())
	return object{
		"phase": "Running", "hostIP": k.Address, "hostIPs": []any{object{"ip": k.Address}}, "podIP": ip, "podIPs": []any{object{"ip": ip}},
		"startTime": now, "conditions": conditions, "containerStatuses": containers,
	}
}

// podIP returns an address that nobody uses: nothing listens there.
func podIP(uid types.UID) string {
	sum := 0
	for _, c := range uid {
		sum = (sum*31 + int(c)) % 64000
	}
	return fmt.Sprintf("10.244.%d.%d", sum/250, sum%250+2)
}

// stopPod takes as long as the pod takes to stop, and then removes it.
func (k *kubelet) stopPod(ctx context.Context, pod *unstructured.Unstructured) error {
	wait := stopTime
	if d, err := time.ParseDuration(pod.GetAnnotations()[stopAnnotation]); err == nil {
		wait = d
	}
	if grace := pod.GetDeletionGracePeriodSeconds(); grace != nil {
		wait = min(wait, time.Duration(*grace)*time.Second)
	}
	if err := clock.Sleep(ctx, wait-time.Since(pod.GetDeletionTimestamp().Add(-graceOf(pod)))); err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(ctx, requestTimeout)
	defer cancel()
	uid, now := pod.GetUID(), int64(0)
	return k.api.Resource(podKind).Namespace(pod.GetNamespace()).Delete(ctx, pod.GetName(), metav1.DeleteOptions{GracePeriodSeconds: &now, Preconditions: &metav1.Preconditions{UID: &uid}})
}

func graceOf(pod *unstructured.Unstructured) time.Duration {
	if g := pod.GetDeletionGracePeriodSeconds(); g != nil {
		return time.Duration(*g) * time.Second
	}
	return 0
}
