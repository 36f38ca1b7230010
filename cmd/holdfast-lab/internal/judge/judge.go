// Package judge compares the forecast of drains with a running API server and the kubectl beside it: it makes drawn sets of objects
// there, each with a node of its own, and asks for evictions and drains as dry runs.
package judge

import (
	"context"
	"fmt"
	"maps"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/sourcegraph/conc/pool"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/rest"

	"holdfast/engine"
	"holdfast/engine/clock"
	"holdfast/engine/kube"
	"holdfast/engine/kube/judgetest"
	"holdfast/engine/kubefacts"
)

// workers is the number of requests at once.
const workers = 8

// Config has the API server and the kubectl to ask.
type Config struct {
	API     *rest.Config // of a user who may do everything
	Kubectl string       // path
	Manager string       // path of a controller manager that writes the status of budgets; "": the status is drawn
	Folder  string       // for the kubeconfig; it exists
	Log     func(string, ...any)
}

// Judge has the objects of all sets in an API server.
type Judge struct {
	config  Config
	api     dynamic.Interface
	proxy   *proxy
	clients kube.Clusters
	first   int // number of the first set
	sets    []judgetest.Set
}

const cluster = "judge"

// New connects to the API server. The judges of one API server have different sets: the first one has the number first.
func New(ctx context.Context, c Config, first, sets int) (*Judge, error) {
	api, err := dynamic.NewForConfig(c.API)
	if err != nil {
		return nil, fmt.Errorf("judge drains: %w", err)
	}
	j := &Judge{config: c, api: api, first: first}
	if j.proxy, err = startProxy(ctx, c); err != nil {
		return nil, fmt.Errorf("judge drains: %w", err)
	}
	inv := engine.Inventory{Kubernetes: []engine.KubernetesCluster{{Name: cluster, Kubeconfig: j.proxy.kubeconfig, Timeout: engine.Duration(5 * time.Minute)}}}
	j.clients = kube.NewClusters(inv, kube.Bastion{Files: files{}, Agent: agent, Now: time.Now, Sleep: clock.Sleep})
	for seed := range sets {
		j.sets = append(j.sets, judgetest.Draw(first+seed))
	}
	return j, nil
}

// Close ends the connections to the API server.
func (j *Judge) Close() { j.proxy.stopProxy() }

// files reads files.
type files struct{}

// ReadFile is os.ReadFile.
func (files) ReadFile(path string) ([]byte, error) { return os.ReadFile(path) }

// logDuration logs the time of a part.
func (j *Judge) logDuration(name string, do func() error) error {
	began := time.Now()
	err := do()
	j.config.Log("%s: %s", name, time.Since(began).Round(time.Second/10))
	return err
}

// CompareAll compares the forecasts of all pods with the answers of the API server and the verdicts of kubectl. Nobody may change the
// objects meanwhile, but for the status of budgets: such a change is found, and the comparison begins again.
func (j *Judge) CompareAll(ctx context.Context) (judgetest.Counts, error) {
	for {
		before := j.readWorkload(ctx)
		if before.Problem != nil {
			return judgetest.Counts{}, fmt.Errorf("read the objects: %s", before.Problem.Text())
		}
		evictions := map[string]kubefacts.Eviction{}
		if err := j.logDuration("evictions", func() (err error) { evictions, err = j.evictAll(ctx, before); return err }); err != nil {
			return judgetest.Counts{}, err
		}
		var drained drains
		if err := j.logDuration("kubectl drain", func() (err error) { drained, err = j.drainAll(ctx); return err }); err != nil {
			return judgetest.Counts{}, err
		}
		if after := j.readWorkload(ctx); after.Problem == nil && describeBudgets(after) == describeBudgets(before) {
			return j.compareAnswers(before, evictions, drained)
		}
		j.config.Log("the budgets have changed meanwhile: once more")
	}
}

// FindRare returns the cases and obstacles that too few pods had. The controller manager forgets evictions that nobody has asked for, so no budget of its
// is crowded.
func (j *Judge) FindRare(counts judgetest.Counts) []string {
	if j.config.Manager != "" {
		return counts.FindRare(judgetest.Seldom, judgetest.Crowded)
	}
	return counts.FindRare(judgetest.Often)
}

// describeBudgets describes all budgets.
func describeBudgets(w kubefacts.Workload) string {
	type plain kubefacts.Budget // has no String
	text := ""
	for _, namespace := range slices.Sorted(maps.Keys(w.Budgets)) {
		for _, b := range w.Budgets[namespace] {
			text += fmt.Sprintf("%+v\n", plain(b))
		}
	}
	return text
}

func (j *Judge) readWorkload(ctx context.Context) kubefacts.Workload {
	var nodes []string
	for i := range j.sets {
		nodes = append(nodes, nodeOf(j.first+i))
	}
	return j.clients.ReadWorkloads(ctx, map[string][]string{cluster: nodes})[cluster]
}

// evictAll asks for the eviction of each pod, as a dry run.
func (j *Judge) evictAll(ctx context.Context, w kubefacts.Workload) (map[string]kubefacts.Eviction, error) {
	var pods []kubefacts.Pod
	for _, node := range slices.Sorted(maps.Keys(w.Pods)) {
		pods = append(pods, w.Pods[node]...)
	}
	answers := make([]kubefacts.Eviction, len(pods))
	p := pool.New().WithContext(ctx).WithMaxGoroutines(workers).WithCancelOnError()
	for i := range pods {
		p.Go(func(ctx context.Context) error {
			answers[i] = j.clients.Evict(ctx, cluster, kubefacts.EvictionRequest{Pod: pods[i]})
			return ctx.Err()
		})
	}
	err := p.Wait()
	found := map[string]kubefacts.Eviction{}
	for i := range pods {
		found[pods[i].String()] = answers[i]
	}
	return found, err
}

func (j *Judge) compareAnswers(w kubefacts.Workload, evictions map[string]kubefacts.Eviction, d drains) (judgetest.Counts, error) {
	counts := judgetest.NewCounts()
	var wrong []string
	for i, set := range j.sets {
		node := nodeOf(j.first + i)
		if len(w.Pods[node]) != len(set.Pods) {
			return counts, fmt.Errorf("node %s has %d pods, not %d", node, len(w.Pods[node]), len(set.Pods))
		}
		refused := slices.ContainsFunc(w.Pods[node], func(p kubefacts.Pod) bool { return d.refusals[p.String()] != "" })
		for _, p := range w.Pods[node] {
			answer := j.proxy.answerOf(p)
			v := judgetest.Verdict{Pod: p.String(), Refusal: d.refusals[p.String()], Answer: answer, Text: answer.Text()}
			v.Goes = d.goesWithout(p.String(), refused)
			f := j.forecastDrain(w, node, p, kubefacts.DrainOptions{})
			for _, text := range []string{
				counts.Compare(v, p, f), judgetest.CompareEviction(v, evictions[p.String()]),
				d.compareForced(p, j.forecastDrain(w, node, p, kubefacts.DrainOptions{Force: true, DeleteEmptyDirData: true})),
				d.compareServer(p, v),
			} {
				if text != "" {
					wrong = append(wrong, fmt.Sprintf("%s: %s\n  Kubernetes: %+v\n  forecast: %+v\n  pod: %+v\n  budgets: %+v", p, text, v, f, p, describeBudgets(kubefacts.Workload{Budgets: map[string][]kubefacts.Budget{"": w.Budgets[p.Namespace]}})))
				}
			}
		}
	}
	if len(wrong) > 0 {
		return counts, fmt.Errorf("%d differences:\n%s", len(wrong), strings.Join(wrong[:min(len(wrong), 20)], "\n"))
	}
	return counts, nil
}

// forecastDrain returns the forecast of a drain of a node that has only one pod.
func (j *Judge) forecastDrain(w kubefacts.Workload, node string, p kubefacts.Pod, o kubefacts.DrainOptions) kubefacts.DrainForecast {
	w.Pods = map[string][]kubefacts.Pod{node: {p}}
	return w.Forecast("h", kubefacts.NodeState{Node: node}, o)
}
