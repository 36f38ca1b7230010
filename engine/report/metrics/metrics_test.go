package metrics_test

import (
	"flag"
	"os"
	"os/exec"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"holdfast/engine"
	"holdfast/engine/docstest"
	"holdfast/engine/etcdfacts"
	"holdfast/engine/event"
	"holdfast/engine/report/metrics"
)

var (
	update     = flag.Bool("update", false, "write the golden file")
	updateDocs = flag.Bool("update-docs", false, "write the table of docs/metrics.md")
)

var began = time.Date(2026, 11, 21, 2, 30, 0, 0, time.UTC)

// nightly returns the figures of an apply of a site with a held host, a host whose hold cannot
// be read, and a cluster that is short of a member.
func nightlyFigures() metrics.Figures {
	point := func(fsync, commit float64) *engine.LatencyPoint {
		bucket := &engine.LatencyBucket{Observed: 100}
		return &engine.LatencyPoint{Host: "etcd-0", WALFsyncP99Seconds: fsync, WALFsyncBucket: bucket, BackendCommitP99Seconds: commit, BackendCommitBucket: bucket}
	}
	main := etcdfacts.ClusterFacts{
		Name: "main",
		Members: []etcdfacts.Member{
			{ID: "1", Name: "etcd-0", Host: "etcd-0", Healthy: true, Leader: true}, {ID: "2", Name: "etcd-1", Host: "etcd-1", Healthy: true}, {ID: "3", Name: "etcd-2", Host: "etcd-2"},
		},
		Certificates: []etcdfacts.Certificate{
			{Role: etcdfacts.ServerCertificate, Host: "etcd-0", NotAfter: began.AddDate(1, 0, 0)},
			{Role: etcdfacts.ServerCertificate, Host: "etcd-0", NotAfter: began.AddDate(0, 1, 0)},
			{Role: etcdfacts.PeerCertificate, Host: "etcd-0", NotAfter: began.AddDate(2, 0, 0)},
		},
	}
	return metrics.Figures{
		Site: "berlin", Command: "apply", Began: began, Ended: began.Add(90 * time.Minute), Exit: engine.ExitFailed, StatusAt: began.Add(89 * time.Minute),
		Status: &engine.Status{
			Pools: []engine.PoolStatus{
				{Name: "etcd", Total: 1, Counts: map[engine.HostState]int{engine.Updated: 1}, Complete: true, Since: began},
				{Name: "worker", Total: 3, Counts: map[engine.HostState]int{engine.HeldState: 2, engine.Degraded: 1}, Since: began.AddDate(0, 0, -2)},
			},
			Hosts: []engine.HostStatus{
				{Host: "etcd-0", Pool: "etcd", State: engine.Updated},
				{Host: "w-1", Pool: "worker", State: engine.HeldState, Hold: &engine.Hold{Kind: engine.MaintenanceHold, Acquired: began.Add(-time.Hour), Expires: began.Add(time.Hour)}},
				{Host: "w-2", Pool: "worker", State: engine.HeldState},
				{Host: "w-3", Pool: "worker", State: engine.Degraded, Hold: &engine.Hold{Kind: engine.RunHold, Acquired: began.Add(time.Minute)}},
			},
			Clusters:          []etcdfacts.ClusterFacts{main, {Name: "silent", Problem: "no member answers"}},
			UnhealthyClusters: []etcdfacts.UnhealthyCluster{{Cluster: "silent"}, {Cluster: "main"}},
		},
		End: &event.RunEnd{
			Latency: []event.MemberLatency{{Cluster: "main", Host: "etcd-0", Idle: point(0.002, 0.004), Worst: point(0.02, 0.04)}},
			Hosts: []event.HostTotals{
				{Host: "etcd-0", Cluster: "main", DownFor: engine.Duration(61500 * time.Millisecond), MemberDownFor: engine.Duration(75 * time.Second)},
				{Host: "w-3", FetchedBytes: 1},
			},
		},
	}
}

func encodeFile(t *testing.T, f metrics.File) string {
	t.Helper()
	text, err := f.Encode()
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// TestMetricsOfARun compares the file of a run with the golden one.
func TestMetricsOfARun(t *testing.T) {
	text := encodeFile(t, metrics.File{}.Update(nightlyFigures()))
	if *update {
		if err := os.WriteFile("testdata/nightly.prom", []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile("testdata/nightly.prom")
	if err != nil || string(want) != text {
		t.Errorf("%v; -update writes it:\n%s", err, text)
	}
	read, err := metrics.Parse([]byte(text))
	if err != nil || read.Site() != "berlin" {
		t.Fatalf("site %q: %v", read.Site(), err)
	}
	if again := encodeFile(t, read.Update(nightlyFigures())); again != text {
		t.Errorf("a second update changes the file:\n%s", again)
	}
}

// TestPromtoolAcceptsMetrics checks names, units and help texts by the conventions of Prometheus.
func TestPromtoolAcceptsMetrics(t *testing.T) {
	tool, err := exec.LookPath("promtool")
	if err != nil {
		t.Skip("promtool is missing; Debian's package prometheus has it")
	}
	check := exec.CommandContext(t.Context(), tool, "check", "metrics")
	check.Stdin = strings.NewReader(encodeFile(t, metrics.File{}.Update(nightlyFigures())))
	if out, err := check.CombinedOutput(); err != nil {
		t.Errorf("%v: %s", err, out)
	}
}

// lines returns the series of a file that match a pattern.
func findLines(t *testing.T, f metrics.File, pattern string) (found []string) {
	t.Helper()
	for line := range strings.Lines(encodeFile(t, f)) {
		if !strings.HasPrefix(line, "#") && regexp.MustCompile(pattern).MatchString(line) {
			found = append(found, strings.TrimSpace(line))
		}
	}
	return found
}

// TestUpdateKeepsOtherFigures: a status replaces the state of the site, and keeps the end of
// the last apply. A command that cannot read the inventory replaces only its own end.
func TestUpdateKeepsOtherFigures(t *testing.T) {
	file := metrics.File{}.Update(nightlyFigures())
	later := nightlyFigures()
	later.Command, later.Exit, later.End = "status", engine.ExitOK, nil
	later.Status = &engine.Status{Pools: []engine.PoolStatus{{Name: "etcd", Counts: map[engine.HostState]int{}, Complete: true}}}
	file = file.Update(later)
	want := []string{`holdfast_last_run_exit_code{site="berlin",command="apply"} 3`, `holdfast_last_run_exit_code{site="berlin",command="status"} 0`}
	if got := findLines(t, file, "exit_code"); !slices.Equal(got, want) {
		t.Error(got)
	}
	if got := findLines(t, file, `worker|quorum|certificate`); got != nil {
		t.Error("the old state is left", got)
	}
	if got := findLines(t, file, "member_away|fsync"); len(got) != 3 {
		t.Error("the figures of the apply are gone", got)
	}

	file = file.Update(metrics.Figures{Command: "apply", Began: began, Ended: began, Exit: engine.ExitUsage})
	want = []string{`holdfast_last_run_exit_code{site="berlin",command="status"} 0`, `holdfast_last_run_exit_code{site="berlin",command="apply"} 1`}
	if got := findLines(t, file, "exit_code"); !slices.Equal(got, want) {
		t.Error(got)
	}
	if got := findLines(t, file, "pool_complete"); len(got) != 1 {
		t.Error("the state is gone", got)
	}
}

// TestUpdateKeepsUnknownFigures: a command of an older version keeps the metrics of a later one, but not those of another site.
func TestUpdateKeepsUnknownFigures(t *testing.T) {
	const later = "# HELP holdfast_blessed_hosts Hosts that are blessed.\n# TYPE holdfast_blessed_hosts gauge\nholdfast_blessed_hosts{site=\"berlin\"} 3\n" +
		"# HELP holdfast_zeal_total Zeal.\n# TYPE holdfast_zeal_total counter\nholdfast_zeal_total{site=\"berlin\"} 7\n"
	file, err := metrics.Parse([]byte(encodeFile(t, metrics.File{}.Update(nightlyFigures())) + later))
	if err != nil {
		t.Fatal(err)
	}
	if text := encodeFile(t, file.Update(nightlyFigures())); !strings.HasSuffix(text, later) || !strings.Contains(text, "exit_code") {
		t.Error(text)
	}
	paris := nightlyFigures()
	paris.Site = "paris"
	if got := findLines(t, file.Update(paris), "blessed|zeal"); got != nil {
		t.Error(got)
	}
}

// TestUnknownSite: the site is empty until a command knows it, and then nothing of the empty one is left.
func TestUnknownSite(t *testing.T) {
	file := metrics.File{}.Update(metrics.Figures{Command: "apply", Began: began, Ended: began, Exit: engine.ExitUsage})
	if got := findLines(t, file, "exit_code"); !slices.Equal(got, []string{`holdfast_last_run_exit_code{site="",command="apply"} 1`}) {
		t.Error(got)
	}
	figures := nightlyFigures()
	figures.Command = "plan"
	if got := findLines(t, file.Update(figures), "exit_code|site=\"\""); len(got) != 1 || !strings.Contains(got[0], `command="plan"`) {
		t.Error(got)
	}
}

// TestParseRefusesOthers: no file of another program, and nothing that is no metrics, is taken for a file of holdfast.
func TestParseRefusesOthers(t *testing.T) {
	for _, text := range []string{"node_load1 3\n", "holdfast_hosts 3\nup 1\n", "<html>\n", "holdfast_hosts{site=\"\n"} {
		if _, err := metrics.Parse([]byte(text)); err == nil {
			t.Errorf("%q was accepted", text)
		}
	}
	if _, err := metrics.Parse(nil); err != nil {
		t.Error("an empty file:", err)
	}
}

// TestHostileTexts: texts of hosts stay within their label, and the kinds of holds are bounded.
func TestHostileTexts(t *testing.T) {
	figures := nightlyFigures()
	for i := range figures.Status.Hosts {
		figures.Status.Hosts[i].Hold = &engine.Hold{Kind: engine.HoldKind(strings.Repeat("x", i)), Acquired: began}
		figures.Status.Hosts[i].Host = "w\"}\n1\xff"
	}
	file := metrics.File{}.Update(figures)
	if _, err := metrics.Parse([]byte(encodeFile(t, file))); err != nil {
		t.Error(err)
	}
	if got := findLines(t, file, "held_hosts"); len(got) != 6 {
		t.Error(got)
	}
}

// TestMetricsAreDocumented compares the table of the page with the catalogue.
func TestMetricsAreDocumented(t *testing.T) {
	var table strings.Builder
	table.WriteString("| metric | labels | meaning |\n|---|---|---|\n")
	for _, m := range metrics.Catalogue() {
		table.WriteString("| `" + m.Name + "` | " + strings.Join(m.Labels, ", ") + " | " + m.Help + " |\n")
	}
	docstest.Page{Path: "../../../docs/metrics.md", Arguments: "./engine/report/metrics -update-docs", Update: *updateDocs}.CheckGenerated(t, table.String())
}
