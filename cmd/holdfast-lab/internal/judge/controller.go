package judge

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"holdfast/engine/kube/kubetest"
)

// markers is the namespace of budgets that match no pod.
const markers = "holdfast-lab-markers"

// controlBudgets lets the disruption controller of the controller manager write the status of each budget, and stops it once it has nothing left to
// do. Then it changes the budgets that were drawn as stale, so that their status is of an earlier version.
func (j *Judge) controlBudgets(ctx context.Context) error {
	if _, err := j.resourceIn("", namespaceKind).createObject(ctx, object{"metadata": object{"name": markers}}); err != nil {
		return err
	}
	stop, err := j.startManager(ctx)
	if err != nil {
		return err
	}
	err = settleBudgets(ctx, budgetMarks{j})
	if err := errors.Join(err, stop()); err != nil {
		return err
	}
	for i, set := range j.sets {
		for _, b := range set.Budgets {
			if err := j.makeStale(ctx, j.first+i, b); err != nil {
				return err
			}
		}
	}
	return nil
}

// startManager starts a controller manager with the disruption controller only. stop kills it, and waits for its end.
func (j *Judge) startManager(ctx context.Context) (stop func() error, err error) {
	log, err := os.Create(filepath.Join(j.config.Folder, "controller-manager.log"))
	if err != nil {
		return nil, err
	}
	ctx, cancel := context.WithCancel(ctx)
	cmd := exec.CommandContext(ctx, j.config.Manager, "--kubeconfig="+j.proxy.kubeconfig, "--leader-elect=false", "--secure-port=0", "--kube-api-qps=500", "--kube-api-burst=500", "--controllers=disruption-controller")
	cmd.Env = []string{"HOME=" + j.config.Folder, "PATH=" + os.Getenv("PATH")}
	cmd.Stdout, cmd.Stderr = log, log
	if err := cmd.Start(); err != nil {
		cancel()
		return nil, errors.Join(err, log.Close())
	}
	return func() error {
		ended := ctx.Err() // of the scenario
		cancel()
		if err := cmd.Wait(); ended == nil && cmd.ProcessState.Exited() {
			return fmt.Errorf("the controller manager has ended by itself: %w; its log: %s", err, log.Name())
		}
		return log.Close()
	}, nil
}

// budgetStatus is an API whose disruption controller writes the status of budgets.
type budgetStatus interface {
	makeMarker(ctx context.Context, name string) error // makes a budget, and waits until the controller has written its status
	readVersions(ctx context.Context) (string, error)
}

// maxMarks bounds the budgets that are made until no other one changes.
const maxMarks = 20

// settleBudgets returns once the controller has nothing left to do. Its queue is served in order: a budget that was made last is looked at after all
// that were waiting. The first such budget proves that the controller runs, and has read all objects; the second one, that it has looked at
// all budgets since. If a budget has changed between two of them, the controller may look at it again, so there is another one.
func settleBudgets(ctx context.Context, api budgetStatus) error {
	before := ""
	for i := range maxMarks {
		if err := api.makeMarker(ctx, fmt.Sprint("marker-", i)); err != nil {
			return err
		}
		now, err := api.readVersions(ctx)
		if err != nil {
			return err
		}
		if i >= 2 && now == before {
			return nil
		}
		before = now
	}
	return fmt.Errorf("the status of budgets still changes after %d budgets were made, one after the other", maxMarks)
}

// budgetMarks is budgetStatus for an API server.
type budgetMarks struct{ *Judge }

func (j budgetMarks) makeMarker(ctx context.Context, name string) error {
	budgets := j.resourceIn(markers, budgetKind)
	made, err := budgets.createObject(ctx, object{"metadata": object{"name": name}, "spec": object{"minAvailable": 1, "selector": object{"matchLabels": object{"app": name}}}})
	if err != nil {
		return err
	}
	events, err := budgets.api.Watch(ctx, metav1.ListOptions{FieldSelector: "metadata.name=" + name, ResourceVersion: made.GetResourceVersion()})
	if err != nil {
		return err
	}
	defer events.Stop()
	for e := range events.ResultChan() {
		if o, ok := e.Object.(*unstructured.Unstructured); ok {
			if observed, _, _ := unstructured.NestedInt64(o.Object, "status", "observedGeneration"); observed == made.GetGeneration() {
				return nil
			}
		}
	}
	return fmt.Errorf("the controller manager has not looked at budget %s: %w", name, context.Cause(ctx))
}

// readVersions returns the versions of all budgets that are no marker.
func (j budgetMarks) readVersions(ctx context.Context) (string, error) {
	list, err := j.resourceIn("", budgetKind).api.List(ctx, metav1.ListOptions{})
	if err != nil {
		return "", err
	}
	text := ""
	for i := range list.Items {
		if b := &list.Items[i]; b.GetNamespace() != markers {
			text += fmt.Sprintf("%s/%s %s\n", b.GetNamespace(), b.GetName(), b.GetResourceVersion())
		}
	}
	return text, nil
}

// makeStale changes a budget that was drawn as one whose status is of an earlier version.
func (j *Judge) makeStale(ctx context.Context, set int, drawn kubetest.Object) error {
	meta, spec, status := partsOf(drawn)
	if status["observedGeneration"] == meta["generation"] {
		return nil
	}
	policy := "AlwaysAllow"
	if spec["unhealthyPodEvictionPolicy"] == policy {
		policy = "IfHealthyBudget"
	}
	budgets := j.resourceIn(namespaceOf(set, fmt.Sprint(meta["namespace"])), budgetKind)
	return budgets.mergePatch(ctx, fmt.Sprint(meta["name"]), object{"spec": object{"unhealthyPodEvictionPolicy": policy}})
}
