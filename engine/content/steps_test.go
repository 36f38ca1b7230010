package content_test

import (
	"io"
	"net"
	"net/http"
	"path/filepath"
	"strings"
	"testing"

	"holdfast/engine"
	"holdfast/engine/content"
	"holdfast/engine/event"
	"holdfast/engine/totals"
)

// TestProgressBeginsWithTheStep checks that the progress of a second staging of the same OS by the same host does not
// count the bytes of the first, and that an attempt after a lost connection counts those of its step. The totals are the
// bytes that were sent.
func TestProgressBeginsWithTheStep(t *testing.T) {
	t.Parallel()
	folder := t.TempDir()
	writeFiles(t, folder, map[string]string{"config": "[core]\nmode=archive\n", "objects/ab/file.filez": strings.Repeat("x", 100_000)})
	commit := writeEmptyCommit(t, folder)
	s := newServer(t, engine.Mirror{Repository: folder})
	var tally totals.Tally
	addEvent := func(kind event.Type, p *event.Progress) {
		tally.AddEvent(event.Event{Type: kind, Host: "h", Kind: engine.StageStep, Progress: p})
	}
	received := int64(0)
	fetch := func(step int64) (last event.Progress) {
		t.Helper()
		l, err := net.Listen("tcp", "127.0.0.1:0")
		if err != nil {
			t.Fatal(err)
		}
		stop := serveTransfer(t, s, l, content.Transfer{Host: "h", Step: step, Content: engine.Content{Commit: commit}, Report: func(p event.Progress) {
			last = p
			addEvent(event.StepProgress, &p)
		}})
		received += countBytesAt(t, "http://"+l.Addr().String()+"/ostree/objects/ab/file.filez")
		stop()
		return last
	}
	for _, c := range []struct {
		step         int64
		begins       bool
		bytes, again int64
	}{{1, true, 100_000, 0}, {2, true, 100_000, 0}, {2, false, 200_000, 100_000}, {3, true, 100_000, 0}} {
		if c.begins {
			addEvent(event.StepStarted, nil)
		}
		if p := fetch(c.step); p.Bytes != c.bytes || p.AgainBytes != c.again {
			t.Errorf("step %d: %d bytes, %d of them again; want %d and %d", c.step, p.Bytes, p.AgainBytes, c.bytes, c.again)
		}
	}
	var end event.RunEnd
	tally.AddTo(&end)
	if sums := end.Hosts[0]; sums.FetchedBytes != received || sums.FetchedAgainBytes != 100_000 {
		t.Errorf("the totals are %d bytes, %d of them again; %d were received", sums.FetchedBytes, sums.FetchedAgainBytes, received)
	}
}

// countBytesAt returns the number of bytes at an address.
func countBytesAt(t *testing.T, url string) int64 {
	t.Helper()
	answer, err := http.Get(url)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = answer.Body.Close() }()
	n, err := io.Copy(io.Discard, answer.Body)
	if err != nil || answer.StatusCode != http.StatusOK {
		t.Fatalf("%s: %s, %v", filepath.Base(url), answer.Status, err)
	}
	return n
}
