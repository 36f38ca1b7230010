package approval

import (
	"bytes"
	"cmp"
	"encoding/json"
	"fmt"
	"strings"

	"holdfast/engine"
)

// Settings returns the settings of the inventory and the playbook that no
// change and no step of a host shows, by subject. The batches themselves are
// not compared, because the same settings can lead to other batches when hosts
// and windows change.
func Settings(inv engine.Inventory, play *engine.Play, repair []string, work []engine.HostPlan) map[string]string {
	t := map[string]string{}
	clusters := map[string]*engine.Cluster{}
	for _, c := range inv.Clusters {
		clusters[c.Name] = &c
	}
	if inv.MaxUnavailable.Set {
		t["site: max_unavailable"] = inv.MaxUnavailable.AsWritten()
	}
	if len(repair) > 0 {
		t["--repair-member"] = strings.Join(repair, ", ")
	}
	for _, hp := range work {
		t["pool "+hp.Pool+": max_unavailable"] = ""
		if c, ok := clusters[hp.Cluster]; ok {
			t["cluster "+hp.Cluster+": allow_outage"] = fmt.Sprint(c.AllowOutage)
			t["cluster "+hp.Cluster+": snapshot"] = fmt.Sprint(!c.NoSnapshot)
		}
	}
	if len(work) > 0 {
		addSites(t, inv, work)
	}
	for _, p := range inv.Pools {
		if _, ok := t["pool "+p.Name+": max_unavailable"]; ok {
			addPoolSettings(p, t)
		}
	}
	if play != nil {
		addPlaySettings(*play, t)
	}
	if len(t) == 0 {
		return nil
	}
	return t
}

func addPoolSettings(p engine.Pool, t map[string]string) {
	say := func(name, value string) {
		if value != "" {
			t["pool "+p.Name+": "+name] = value
		}
	}
	say("after", strings.Join(p.After, ", "))
	say("max_unavailable", p.MaxUnavailable.String())
	say("failure_budget", p.FailureBudget.AsWritten())
	say("order", string(p.Order))
	say("on_failure", string(p.OnFailure))
	say("reboot: soft", string(p.Reboot.Soft))
	say("reboot: kexec", string(p.Reboot.Kexec))
	say("version_command", p.VersionCommand)
	say("version_of", string(p.VersionOf))
	say("kubernetes", p.Kubernetes)
	if p.OS != nil {
		os := *p.OS
		os.Commit, os.Image = "", "" // the changes of the hosts have them
		say("os", encodeForComparison(os))
	}
	if p.Canary != nil {
		say("canary", p.Canary.Hosts.String()+" for "+p.Canary.Soak.String())
	}
	if p.MaxSkew != nil {
		say("max_skew", fmt.Sprint(*p.MaxSkew))
	}
	var windows []string
	for _, w := range p.Windows {
		windows = append(windows, w.String())
	}
	say("window", strings.Join(windows, "; "))
	if len(windows) > 0 {
		say("batch_takes", p.Takes().String())
	}
	for _, g := range p.Gates {
		if g.At(engine.BeforeRun) || g.At(engine.BeforeBatch) || g.At(engine.AfterBatch) {
			say("gate "+g.Name, encodeForComparison(g))
		}
	}
}

func addPlaySettings(p engine.Play, t map[string]string) {
	say := func(name, value string) { t["play "+cmp.Or(p.Name, p.Hosts)+": "+name] = value }
	say("hosts", p.Hosts)
	say("any_errors_fatal", fmt.Sprint(p.AnyErrorsFatal))
	if p.Order != "" {
		say("order", string(p.Order))
	}
	if p.MaxFailPercentage != nil {
		say("max_fail_percentage", p.MaxFailPercentage.AsWritten())
	}
	var serial []string
	for _, l := range p.Serial {
		serial = append(serial, l.String())
	}
	if len(serial) > 0 {
		say("serial", strings.Join(serial, ", "))
	}
	for name, list := range map[string][]engine.Task{"pre-task": p.PreTasks, "task": p.Tasks, "post-task": p.PostTasks} {
		for i, task := range list {
			task.Line = 0
			say(fmt.Sprintf("%s %d", name, i+1), encodeForComparison(task))
		}
	}
}

// encodeForComparison returns a value as JSON, for comparisons only. The JSON
// escapes no HTML characters, so that a secret in it can be found by its
// spelling.
func encodeForComparison(v any) string {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	_ = e.Encode(v) // values of an inventory always marshal
	return strings.TrimSpace(b.String())
}
