package etcd_test

import (
	"strings"
	"testing"
	"time"

	"holdfast/engine/etcd"
	"holdfast/engine/etcd/etcdtest"
	"holdfast/engine/etcdfacts"
)

func limitTime(limit time.Duration) func(*etcd.Config) {
	return func(c *etcd.Config) { c.Timeout = limit }
}

// checkAllClosed waits until no connection is open.
func (c *counted) checkAllClosed(t *testing.T) {
	t.Helper()
	poll := time.NewTicker(10 * time.Millisecond)
	defer poll.Stop()
	for deadline := time.Now().Add(time.Minute); c.open.Load() > 0; <-poll.C {
		if time.Now().After(deadline) {
			t.Fatalf("%d of %d connections are open", c.open.Load(), c.made.Load())
		}
	}
}

// TestSilentLoopback: where etcd does not listen on the loopback of its host, any account can, and accept connections without an answer.
// The member is healthy all the same, because its certificate proves that it answers at the address of the host.
func TestSilentLoopback(t *testing.T) {
	t.Parallel()
	cluster := etcdtest.Start(t, 3, etcdtest.Options{TLS: true, AddressOnly: true})
	var conns counted
	client := openCluster(t, newConfig(cluster, limitTime(20*time.Second), redirectTarget("etcd-2", "127.0.0.1:2379", startSilentServer(t)), conns.count))
	gatherHealthy(t, client, 3)
	if _, err := client.Scrape(t.Context(), "etcd-2"); err != nil {
		t.Error(err)
	}
	client.Close()
	conns.checkAllClosed(t)
}

// TestForgedServerCertificate: nor does a certificate of another CA there count, if the member answers. If the member does not answer,
// the certificate is the reason.
func TestForgedServerCertificate(t *testing.T) {
	t.Parallel()
	cluster := etcdtest.Start(t, 3, etcdtest.Options{TLS: true, AddressOnly: true})
	forged := redirectTarget("etcd-2", "127.0.0.1:2379", startTLSImpostor(t, "foreign CA"))
	facts := gatherHealthy(t, openCluster(t, newConfig(cluster, forged)), 3)
	if kinds := problemsOf(facts); len(kinds) > 0 {
		t.Errorf("problems %v", kinds)
	}
	frozen := redirectTarget("etcd-2", cluster.Members[2].Address+":2379", startSilentServer(t))
	gatherUntil(t, openCluster(t, newConfig(cluster, limitTime(5*time.Second), forged, frozen)), func(f etcdfacts.ClusterFacts) bool {
		return haveHealthy(2)(f) && strings.Contains(findMember(t, f, "etcd-2").Problem, "the server certificate of etcd-2 (impostor, issued by foreign CA) expired 1 day ago")
	})
}

// TestSilentStranger checks that the process that accepts connections and never answers has a name, in a cluster without TLS.
func TestSilentStranger(t *testing.T) {
	t.Parallel()
	_, cfg := fakeCluster(t, "a", "b", "c")
	for _, change := range []func(*etcd.Config){answerScripts(accountListens), redirectHost("c", startSilentServer(t)), limitTime(5 * time.Second)} {
		change(&cfg)
	}
	for _, p := range []int{0, 1} {
		cfg.Peers[p].RunScript = nil
	}
	says := func(end string) func(etcdfacts.ClusterFacts) bool {
		return func(f etcdfacts.ClusterFacts) bool {
			return haveHealthy(2)(f) && strings.HasPrefix(findMember(t, f, "c").Problem, "status: no answer in time"+end)
		}
	}
	gatherUntil(t, openCluster(t, cfg), says("; a process of the account with UID 1000 listens on port 2379"))
	answerScripts(rootListens)(&cfg)
	facts := gatherUntil(t, openCluster(t, cfg), says(""))
	if text := findMember(t, facts, "c").Problem; strings.Contains(text, "listens") {
		t.Errorf("%q", text)
	}
}

// TestScrapesOfSilentHostEnd checks that scrapes that nobody answers leave no connection behind.
func TestScrapesOfSilentHostEnd(t *testing.T) {
	t.Parallel()
	cluster := etcdtest.Start(t, 1, etcdtest.Options{TLS: true})
	var conns counted
	client := openCluster(t, newConfig(cluster, limitTime(time.Second), redirectHost("etcd-0", startSilentServer(t)), conns.count))
	for range 3 {
		if _, err := client.Scrape(t.Context(), "etcd-0"); err == nil {
			t.Error("scraped a silent host")
		}
	}
	conns.checkAllClosed(t)
}
