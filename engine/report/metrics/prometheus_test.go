package metrics_test

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"holdfast/engine"
	"holdfast/engine/etcdfacts"
	"holdfast/engine/longtest"
	"holdfast/engine/report/metrics"
)

// faultySite returns figures of a site that has every fault that has a rule.
func faultySite(now time.Time) metrics.Figures {
	f := nightlyFigures()
	f.Site, f.Began, f.Ended, f.StatusAt = "faulty", now.Add(-28*time.Hour), now.Add(-27*time.Hour), now.Add(-27*time.Hour)
	for i := range f.Status.Pools {
		f.Status.Pools[i].Since = now.AddDate(0, 0, -4)
	}
	f.Status.Hosts[1].Hold.Expires = now.Add(-2 * time.Hour)
	f.Status.Clusters[0].Certificates[1].NotAfter = now.AddDate(0, 0, 10)
	return f
}

// healthySite returns figures of a site without a fault.
func healthySite(now time.Time) metrics.Figures {
	f := nightlyFigures()
	f.Site, f.Began, f.Ended, f.StatusAt, f.Exit = "healthy", now.Add(-3*time.Hour), now.Add(-2*time.Hour), now, engine.ExitOK
	f.Status = &engine.Status{
		Complete: true,
		Pools:    []engine.PoolStatus{{Name: "etcd", Total: 3, Counts: map[engine.HostState]int{engine.Updated: 3}, Complete: true}},
		Clusters: []etcdfacts.ClusterFacts{{
			Name: "main", Members: []etcdfacts.Member{{ID: "1", Host: "etcd-0", Healthy: true}, {ID: "2", Host: "etcd-1", Healthy: true}, {ID: "3", Host: "etcd-2", Healthy: true}},
			Certificates: []etcdfacts.Certificate{{Role: etcdfacts.ServerCertificate, Host: "etcd-0", NotAfter: now.AddDate(1, 0, 0)}},
		}},
	}
	return f
}

// serveEtcdMetrics serves the two histograms of an etcd member that the dashboard shows.
func serveEtcdMetrics(t *testing.T) (address string) {
	t.Helper()
	var syncs atomic.Int64
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		n := syncs.Add(100)
		for _, name := range []string{"etcd_disk_wal_fsync_duration_seconds", "etcd_disk_backend_commit_duration_seconds"} {
			fmt.Fprintf(w, "# TYPE %[1]s histogram\n%[1]s_bucket{le=\"0.008\"} %[2]d\n%[1]s_bucket{le=\"+Inf\"} %[3]d\n%[1]s_sum %[2]d\n%[1]s_count %[3]d\n", name, n*9/10, n)
		}
	}))
	t.Cleanup(s.Close)
	return strings.TrimPrefix(s.URL, "http://")
}

// startServer starts a program that serves HTTP at a free port of this machine, and
// ends it with the test.
func startServer(t *testing.T, program string, args ...string) (address string) {
	t.Helper()
	path, err := exec.LookPath(program)
	if err != nil {
		t.Skipf("%s is missing; Debian's package %s has it", program, program)
	}
	l, err := (&net.ListenConfig{}).Listen(t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	address = l.Addr().String()
	if err := l.Close(); err != nil {
		t.Fatal(err)
	}
	var output strings.Builder
	cmd := exec.CommandContext(context.WithoutCancel(t.Context()), path, append(args, "--web.listen-address="+address)...)
	cmd.Stdout, cmd.Stderr = &output, &output
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = cmd.Process.Kill()
		_ = cmd.Wait()
		if t.Failed() {
			t.Logf("%s:\n%s", program, output.String())
		}
	})
	return address
}

// awaitResult asks a server until check accepts its answer.
func awaitResult[T any](t *testing.T, address string, check func(T) bool) T {
	t.Helper()
	var value T
	var err error
	for end := time.Now().Add(2 * time.Minute); time.Now().Before(end); time.Sleep(100 * time.Millisecond) {
		if value, err = readAnswer[T](t, address); err == nil && check(value) {
			return value
		}
	}
	t.Fatalf("%s: %v, %+v", address, err, value)
	return value
}

func readAnswer[T any](t *testing.T, address string) (value T, err error) {
	t.Helper()
	request, err := http.NewRequestWithContext(t.Context(), http.MethodGet, address, nil)
	if err != nil {
		return value, err
	}
	answer, err := http.DefaultClient.Do(request)
	if err != nil {
		return value, err
	}
	defer func() { _ = answer.Body.Close() }()
	text, err := io.ReadAll(answer.Body)
	if err == nil {
		err = json.Unmarshal(text, &value)
	}
	return value, err
}

// queryResult is an answer of Prometheus to a query.
type queryResult struct {
	Status, Error string
	Data          struct {
		Result []struct{ Metric map[string]string }
	}
}

// TestInPrometheus has node_exporter read the files of two sites, and a real
// Prometheus scrape it: all rules fire for the site with faults and none for the
// other, and each query of the dashboard returns data.
func TestInPrometheus(t *testing.T) {
	longtest.SkipSlow(t)
	dir, now := t.TempDir(), time.Now()
	for _, f := range []metrics.Figures{faultySite(now), healthySite(now)} {
		if err := os.WriteFile(filepath.Join(dir, f.Site+".prom"), []byte(encodeFile(t, metrics.File{}.Update(f))), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	exporter := startServer(t, "prometheus-node-exporter", "--collector.disable-defaults", "--collector.textfile", "--collector.textfile.directory="+dir)
	prometheus := "http://" + startPrometheus(t, exporter, serveEtcdMetrics(t))
	query := func(text string) string { return prometheus + "/api/v1/query?query=" + url.QueryEscape(text) }
	awaitResult(t, query("node_textfile_scrape_error == 0"), func(r queryResult) bool { return len(r.Data.Result) == 1 })

	rules, err := os.ReadFile(rulesFile)
	if err != nil {
		t.Fatal(err)
	}
	var all []string
	for _, m := range regexp.MustCompile(`- alert: (\w+)`).FindAllStringSubmatch(string(rules), -1) {
		all = append(all, m[1])
	}
	slices.Sort(all)
	firing := func(site string) string { return query(`ALERTS{alertstate="firing",site="` + site + `"}`) }
	awaitResult(t, firing("faulty"), func(r queryResult) bool { return slices.Equal(alertNames(r), all) })
	if r, err := readAnswer[queryResult](t, firing("healthy")); err != nil || r.Status != "success" || len(r.Data.Result) != 0 {
		t.Errorf("alerts of the healthy site: %v, %+v", err, r)
	}
	for _, p := range readDashboard(t).Panels {
		for _, target := range p.Targets {
			awaitResult(t, query(strings.ReplaceAll(target.Expr, "$site", ".*")), func(r queryResult) bool { return len(r.Data.Result) > 0 })
		}
	}
}

func alertNames(r queryResult) []string {
	var names []string
	for _, s := range r.Data.Result {
		names = append(names, s.Metric["alertname"])
	}
	slices.Sort(names)
	return slices.Compact(names)
}

// startPrometheus starts a Prometheus that scrapes these addresses every second. Its
// rules are those of the examples, except that alerts fire after a second instead of minutes or an hour.
func startPrometheus(t *testing.T, addresses ...string) (address string) {
	t.Helper()
	dir := t.TempDir()
	rules, err := os.ReadFile(rulesFile)
	if err != nil {
		t.Fatal(err)
	}
	config := `global: {scrape_interval: 1s, evaluation_interval: 1s}
rule_files: [rules.yml]
scrape_configs:
  - job_name: site
    static_configs: [{targets: ["` + strings.Join(addresses, `", "`) + `"]}]
`
	for name, text := range map[string]string{"prometheus.yml": config, "rules.yml": regexp.MustCompile(`for: \d+[hm]`).ReplaceAllString(string(rules), "for: 1s")} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return startServer(t, "prometheus", "--config.file="+filepath.Join(dir, "prometheus.yml"), "--storage.tsdb.path="+filepath.Join(dir, "data"))
}
