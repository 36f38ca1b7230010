package main

import (
	"io"
	"os"
	"path/filepath"
	"runtime"
	"runtime/debug"
	"runtime/metrics"
	"strconv"
	"strings"
	"testing"
	"time"

	"golang.org/x/crypto/ssh"
	"golang.org/x/crypto/ssh/knownhosts"

	"holdfast/engine"
	"holdfast/engine/clock"
	"holdfast/engine/connection"
	"holdfast/engine/longtest"
	"holdfast/engine/planner"
	"holdfast/engine/remote"
	"holdfast/engine/remote/sshtest"
	"holdfast/engine/rollout"
	"holdfast/modules"
	"holdfast/modules/hostconfig/observe"
)

// floodHosts returns hosts on which every script prints without end.
func floodHosts(t *testing.T, n int) engine.Inventory {
	t.Helper()
	key := sshtest.Start(t, sshtest.Config{}) // all hosts accept the same key
	block := []byte(strings.Repeat("x", 32<<10-1) + "\n")
	endless := func(_ string, _ io.Reader, stdout, stderr io.Writer) int {
		for _, w := range []io.Writer{stdout, stderr} {
			_, _ = io.WriteString(w, "holdfast-ready\n")
		}
		for {
			if _, err := stdout.Write(block); err != nil {
				return 1
			}
		}
	}
	inv := engine.Inventory{Site: "flood", Pools: []engine.Pool{{Name: "worker"}}}
	var known strings.Builder
	for i := range n {
		s := sshtest.Start(t, sshtest.Config{Exec: endless, Authorized: []ssh.PublicKey{key.Key.PublicKey()}})
		known.WriteString(knownhosts.Line([]string{s.Addr()}, s.HostKey()) + "\n")
		inv.Hosts = append(inv.Hosts, engine.Host{Name: "worker-" + strconv.Itoa(i), Address: "127.0.0.1", Pool: "worker", SSH: engine.SSH{
			User: "core", Port: s.Port(), Identities: []string{key.Identity}, SSHConfig: "none", Become: "sudo",
			KnownHosts: []string{filepath.Join(key.Dir, "all")},
		}})
	}
	if err := os.WriteFile(filepath.Join(key.Dir, "all"), []byte(known.String()), 0o600); err != nil {
		t.Fatal(err)
	}
	t.Setenv("SSH_AUTH_SOCK", "")
	return inv
}

// peakMemory returns the peak memory of the process while f runs, minus its
// memory before.
func peakMemory(f func()) uint64 {
	defer debug.SetGCPercent(debug.SetGCPercent(100)) // as in the program; other tests collect garbage rarely
	inUse := func() uint64 {
		s := []metrics.Sample{{Name: "/memory/classes/total:bytes"}, {Name: "/memory/classes/heap/released:bytes"}, {Name: "/memory/classes/heap/free:bytes"}}
		metrics.Read(s)
		return s[0].Value.Uint64() - s[1].Value.Uint64() - s[2].Value.Uint64()
	}
	runtime.GC()
	before, peak := inUse(), uint64(0)
	ended := make(chan struct{})
	go func() { defer close(ended); f() }()
	for tick := time.NewTicker(2 * time.Millisecond); ; {
		select {
		case <-ended:
			tick.Stop()
			return peak
		case <-tick.C:
			if now := inUse(); now > before {
				peak = max(peak, now-before)
			}
		}
	}
}

// TestFloodOfHosts checks two properties of hosts that print without end. Each
// fails with its name and the limit, and many hosts need no more memory than a
// few.
func TestFloodOfHosts(t *testing.T) {
	longtest.SkipSlow(t)
	n, err := strconv.Atoi(os.Getenv("HOLDFAST_FLOOD_HOSTS"))
	if err != nil {
		n = 16
	}
	inv := floodHosts(t, n)
	hosts := connection.NewHosts(remote.Options{}, observe.ReadFileScript)
	defer hosts.Close()
	run := rollout.Run{Options: rollout.Options{Request: planner.Request{Inventory: inv, Desired: map[string]engine.Desired{}, Modules: modules.All()}}, Ports: rollout.Ports{Hosts: hosts, Sink: discard{}, Clock: clock.Real{}}}
	var facts map[string]engine.Facts
	began := time.Now()
	peak := peakMemory(func() { facts = run.GatherHosts(t.Context()) })
	t.Logf("%d hosts that print without end: %d MiB at most, %s", n, peak>>20, time.Since(began).Round(time.Millisecond))
	for name, f := range facts {
		if !strings.Contains(f.Unreachable, "printed more than 32.0 MiB") {
			t.Errorf("%s: %s", name, f.Unreachable)
		}
	}
	if most := uint64(350+6*n) << 20; peak > most {
		t.Errorf("%d MiB of memory, at most %d", peak>>20, most>>20)
	}
}
