package scenario

import (
	"errors"
	"fmt"
	"path/filepath"
	"time"

	"github.com/rogpeppe/go-internal/testscript"

	"holdfast/engine/event"
	"holdfast/engine/journal"
)

// transferSlack is the number of bytes that may be counted but wait in buffers of the bastion, for each host.
const transferSlack = 1 << 20

// transfers are the transfers of a run, from the bastion to its hosts.
type transfers struct {
	hosts       map[string]*hostTransfer
	began, last time.Time // begin of the first step that fetched something; the last report
}

type hostTransfer struct {
	began, last time.Time
	bytes       int64
}

func (t *transfers) addEvent(e event.Event) {
	switch {
	case e.Type == event.StepStarted && e.Host != "" && (t.hosts[e.Host] == nil || t.hosts[e.Host].bytes == 0):
		t.hosts[e.Host] = &hostTransfer{began: e.Time}
	case e.Type == event.StepProgress && e.Progress != nil && e.Progress.Bytes > 0:
		h := t.hosts[e.Host]
		h.bytes, h.last = e.Progress.Bytes, e.Time
		if t.began.IsZero() || h.began.Before(t.began) {
			t.began = h.began
		}
		t.last = e.Time
	}
}

// checkRates returns an error if the transfers were quicker than these rates in bytes per second: in total, and of each
// host.
func (t *transfers) checkRates(total, each int64) (summary string, err error) {
	var bytes int64
	for name, h := range t.hosts {
		bytes += h.bytes
		if rate := averageRate(h.bytes-transferSlack, h.last.Sub(h.began)); rate > each {
			return "", fmt.Errorf("%s got %d bytes in %s: more than %d a second", name, h.bytes, h.last.Sub(h.began), each)
		}
	}
	took := t.last.Sub(t.began)
	if bytes == 0 {
		return "", errors.New("no host fetched anything from the bastion")
	}
	if rate := averageRate(bytes-transferSlack*int64(len(t.hosts)), took); rate > total {
		return "", fmt.Errorf("%d bytes in %s: more than %d a second", bytes, took, total)
	}
	return fmt.Sprintf("%d bytes in %s, %d a second\n", bytes, took.Round(time.Millisecond), averageRate(bytes, took)), nil
}

func averageRate(bytes int64, took time.Duration) int64 {
	if took <= 0 {
		return max(0, bytes)
	}
	return int64(float64(bytes) / took.Seconds())
}

// cmdTransfers checks that the transfers of the last run kept the rates of the bastion.
func cmdTransfers(ts *testscript.TestScript, neg bool, args []string) {
	requireArgs(ts, neg, args, "transfers TOTAL-RATE HOST-RATE")
	files, _ := filepath.Glob(ts.MkAbs("site/runs/*.jsonl")) // the pattern is well formed
	if len(files) == 0 {
		ts.Fatalf("there is no journal")
	}
	t := transfers{hosts: map[string]*hostTransfer{}}
	ts.Check(journal.Read(files[len(files)-1], func(e event.Event) error {
		t.addEvent(e)
		return nil
	}))
	summary, err := t.checkRates(int64(parseNumber(ts, args[0])), int64(parseNumber(ts, args[1])))
	ts.Check(err)
	ts.Logf("%s", summary)
}
