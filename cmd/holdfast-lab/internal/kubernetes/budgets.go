package kubernetes

import (
	"context"
	"fmt"
	"net"
	"slices"
	"strings"
	"time"

	"github.com/sourcegraph/conc"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/rest"

	"holdfast/engine/clock"
)

// BudgetWatch counts the ready pods of each PodDisruptionBudget again and again.
type BudgetWatch struct {
	api    dynamic.Interface
	cancel context.CancelFunc
	wg     conc.WaitGroup
	report BudgetReport
}

// BudgetReport has the counts of a watch.
type BudgetReport struct {
	Looks   int // that were answered
	Fewest  map[string]int64
	Desired map[string]int64  // by budget, as NAMESPACE/NAME
	Below   map[string]string // the first moment at which a budget had fewer ready pods than it needs
}

// String is one line for each budget.
func (r BudgetReport) String() string {
	var lines []string
	for name, fewest := range r.Fewest {
		lines = append(lines, fmt.Sprintf("budget %s: at least %d ready pods, %d needed; %s\n", name, fewest, r.Desired[name], r.Below[name]))
	}
	slices.Sort(lines)
	return fmt.Sprintf("%d looks\n%s", r.Looks, strings.Join(lines, ""))
}

// WatchBudgets starts a watch. dial opens connections inside the network of the lab. It counts the pods itself, and does not believe the
// status of a budget. A budget is watched from the first look on at which it has enough ready pods.
func WatchBudgets(ctx context.Context, f Folder, dial func(ctx context.Context, network, address string) (net.Conn, error)) (*BudgetWatch, error) {
	config, err := AdminConfig(f, dial)
	if err != nil {
		return nil, err
	}
	api, err := dynamic.NewForConfig(config)
	if err != nil {
		return nil, fmt.Errorf("watch budgets: %w", err)
	}
	ctx, cancel := context.WithCancel(ctx)
	w := &BudgetWatch{api: api, cancel: cancel, report: BudgetReport{Fewest: map[string]int64{}, Desired: map[string]int64{}, Below: map[string]string{}}}
	w.wg.Go(func() {
		for ; ctx.Err() == nil; _ = clock.Sleep(ctx, 100*time.Millisecond) { // the loop ends with ctx
			w.countOnce(ctx)
		}
	})
	return w, nil
}

// AdminConfig returns the configuration of a client with all rights. dial opens connections inside the network of the lab.
func AdminConfig(f Folder, dial func(ctx context.Context, network, address string) (net.Conn, error)) (*rest.Config, error) {
	config, err := clientConfig(f.Kubeconfig(Admin))
	if err != nil {
		return nil, err
	}
	config.Dial = dial
	return config, nil
}

// Stop ends the watch.
func (w *BudgetWatch) Stop() BudgetReport {
	w.cancel()
	w.wg.Wait()
	return w.report
}

// countOnce reads the budgets before the pods. If a pod ends in between, it does not count as ready, and its budget is the one that the API
// had before the end of the pod.
func (w *BudgetWatch) countOnce(ctx context.Context) {
	ctx, cancel := context.WithTimeout(ctx, requestTimeout)
	defer cancel()
	budgets, err := w.api.Resource(budgetKind).List(ctx, metav1.ListOptions{})
	if err != nil {
		return // the API is away, and no pod can be evicted
	}
	pods, err := w.api.Resource(podKind).List(ctx, metav1.ListOptions{})
	if err != nil {
		return
	}
	w.report.Looks++
	for i := range budgets.Items {
		w.countReady(&budgets.Items[i], pods.Items)
	}
}

func (w *BudgetWatch) countReady(budget *unstructured.Unstructured, pods []unstructured.Unstructured) {
	matched, _, _ := unstructured.NestedStringMap(budget.Object, "spec", "selector", "matchLabels")
	selector := labels.SelectorFromSet(matched)
	desired, _, _ := unstructured.NestedInt64(budget.Object, "status", "desiredHealthy")
	ready := int64(0)
	for i := range pods {
		p := &pods[i]
		if p.GetNamespace() == budget.GetNamespace() && len(matched) > 0 && selector.Matches(labels.Set(p.GetLabels())) && isReady(p) && p.GetDeletionTimestamp() == nil {
			ready++
		}
	}
	name := budget.GetNamespace() + "/" + budget.GetName()
	fewest, known := w.report.Fewest[name]
	if !known && ready < desired {
		return // its pods are not up yet
	}
	w.report.Desired[name] = desired
	if !known || ready < fewest {
		w.report.Fewest[name] = ready
	}
	if ready < desired && w.report.Below[name] == "" {
		w.report.Below[name] = fmt.Sprintf("%d of %d at %s", ready, desired, time.Now().Format(time.TimeOnly))
	}
}
