package judge

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"regexp"
	"strings"

	"github.com/sourcegraph/conc/pool"

	"holdfast/engine/kube/judgetest"
	"holdfast/engine/kubefacts"
)

// drains has what kubectl drain printed, by pod as NAMESPACE/NAME.
type drains struct {
	goes     map[string]bool   // with --ignore-daemonsets only; a node with a refusal has none
	refusals map[string]string // of such a drain
	forced   map[string]bool   // goes with --force and --delete-emptydir-data
	evicted  map[string]bool   // kubectl asked the API server to evict it, as a dry run, with these options
	failed   map[string]bool   // and the API server refused
}

var (
	goingPod   = regexp.MustCompile(`(?m)^evicting pod (\S+) \((?:server )?dry run\)$`)
	failedPod  = regexp.MustCompile(`error when evicting pods/"([^"]+)" -n "([^"]+)"`)
	failedNode = regexp.MustCompile(`(?m)^error: unable to drain node "[^"]+" due to error: \[?(cannot delete .*?)\]?, continuing command`)
)

// drainAll drains all nodes as dry runs. kubectl sends one request after the other, and tries a refused eviction again after 5 s, so
// several processes drain side by side.
func (j *Judge) drainAll(ctx context.Context) (drains, error) {
	kinds := [][]string{
		{"--dry-run=client"},
		{"--dry-run=client", "--force", "--delete-emptydir-data"},
		{"--dry-run=server", "--force", "--delete-emptydir-data", "--timeout=4s"},
	}
	outs, errs := make([][groups]string, len(kinds)), make([][groups]string, len(kinds))
	p := pool.New().WithContext(ctx).WithCancelOnError()
	for i := range groups {
		p.Go(func(ctx context.Context) (err error) {
			for kind, args := range kinds {
				if outs[kind][i], errs[kind][i], err = j.runDrain(ctx, groupLabel+"="+j.groupOf(i), args...); err != nil {
					return err
				}
			}
			return nil
		})
	}
	if err := p.Wait(); err != nil {
		return drains{}, err
	}
	join := func(of [groups]string) string { return strings.Join(of[:], "\n") }
	d := drains{goes: findPods(join(outs[0])), forced: findPods(join(outs[1])), evicted: findPods(join(outs[2])), refusals: map[string]string{}, failed: map[string]bool{}}
	for _, m := range failedNode.FindAllStringSubmatch(join(errs[0]), -1) {
		parseRefusals(d.refusals, m[1])
	}
	if refusals := join(errs[1]); failedNode.MatchString(refusals) {
		return d, fmt.Errorf("kubectl drain --force refused: %.500s", refusals)
	}
	for _, m := range failedPod.FindAllStringSubmatch(join(errs[2]), -1) {
		d.failed[m[2]+"/"+m[1]] = true
	}
	return d, nil
}

// runDrain runs kubectl drain on the nodes that a selector matches. It returns the output even if nodes could not be drained.
func (j *Judge) runDrain(ctx context.Context, selector string, args ...string) (stdout, stderr string, err error) {
	argv := append([]string{"--kubeconfig=" + j.proxy.kubeconfig, "drain", "--selector=" + selector, "--ignore-daemonsets"}, args...)
	cmd := exec.CommandContext(ctx, j.config.Kubectl, argv...)
	cmd.Env = []string{"HOME=" + j.config.Folder, "PATH=" + os.Getenv("PATH")}
	var out, errs bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &errs
	err = cmd.Run()
	if exit := (*exec.ExitError)(nil); errors.As(err, &exit) && exit.ExitCode() == 1 && strings.Contains(errs.String(), "continuing command") {
		err = nil
	}
	if err != nil {
		err = fmt.Errorf("kubectl drain: %w: %.500s", err, errs.String())
	}
	return out.String(), errs.String(), err
}

func findPods(out string) map[string]bool {
	found := map[string]bool{}
	for _, m := range goingPod.FindAllStringSubmatch(out, -1) {
		found[m[1]] = true
	}
	return found
}

// parseRefusals reads the refusals of one node: cannot delete REASON: POD, POD, cannot delete REASON: POD.
func parseRefusals(into map[string]string, text string) {
	for part := range strings.SplitSeq(text, "cannot delete ") {
		i := strings.LastIndex(part, ": ")
		if i < 0 {
			continue
		}
		for pod := range strings.SplitSeq(part[i+2:], ", ") {
			if pod != "" {
				into[pod] = part[:i]
			}
		}
	}
}

// goesWithout reports whether a pod goes without options. If kubectl refuses to drain a node, it does not print the pods that would go.
func (d drains) goesWithout(pod string, refused bool) bool {
	if refused {
		return d.forced[pod] && d.refusals[pod] == ""
	}
	return d.goes[pod]
}

// compareForced returns how the forecast of a drain with all options differs from kubectl's.
func (d drains) compareForced(p kubefacts.Pod, f kubefacts.DrainForecast) (wrong string) {
	orphan := p.DaemonSet && strings.Contains(d.refusals[p.String()], "not found")
	if p.Terminating || orphan || d.forced[p.String()] == (f.Pods > 0) {
		return ""
	}
	return fmt.Sprintf("with all options, %d pods go; kubectl drain: %t", f.Pods, d.forced[p.String()])
}

// compareServer returns how the dry run of a drain by the server differs from the answer to the eviction.
func (d drains) compareServer(p kubefacts.Pod, v judgetest.Verdict) (wrong string) {
	pod := p.String()
	if d.evicted[pod] != d.forced[pod] {
		return "kubectl drain evicts other pods in a dry run of the server"
	}
	if d.evicted[pod] && d.failed[pod] != (v.Answer.Code != 201) {
		return fmt.Sprintf("the eviction by kubectl drain failed: %t", d.failed[pod])
	}
	return ""
}
