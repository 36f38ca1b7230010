package governing_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"holdfast/engine"
	"holdfast/engine/event"
	"holdfast/engine/governor"
	"holdfast/engine/rollout/governing"
)

// counters have the p99 of the moment of their scrape.
type counters struct {
	at, window time.Duration
	p99        float64
}

func (c counters) Since(earlier governor.Counters) governor.Counters {
	c.window = c.at - earlier.(counters).at
	return c
}

func (c counters) Plus(other governor.Counters) governor.Counters {
	more := other.(counters)
	return counters{at: more.at, window: c.window + more.window, p99: max(c.p99, more.p99)}
}

func (c counters) Latency(host string, _ int) engine.LatencyPoint {
	return engine.LatencyPoint{Host: host, Window: engine.Duration(c.window), WALFsyncP99Seconds: c.p99, WALFsyncBucket: &engine.LatencyBucket{Observed: 1000}}
}

func (c counters) IdleLatency(host string, exceptional int) engine.LatencyPoint {
	return c.Latency(host, exceptional)
}

// sentPace is a pace that has arrived at the host.
type sentPace struct {
	at         time.Duration // since the start of the staging
	serial     int64
	pace, safe engine.Pace
	rate       int64 // bytes per second of the disk
	safeRate   int64
}

// recorder is the environment of a staging, and records its effects.
type recorder struct {
	members []string
	p99     func(host string, at time.Duration) float64 // negative: the member does not answer
	reply   func(at time.Duration) string               // answer of the host to a pace; nil: freeze is in force
	lost    func(at time.Duration) bool                 // whether a pace is lost; nil: none
	content bool                                        // whether the bastion serves the OS
	later   time.Duration                               // how long after the begin of time the run begins

	began  time.Time // begin of the staging itself; until then the idle latency is measured
	paces  []sentPace
	rates  []int64
	events []engine.Governor
	warned []string
}

func (r *recorder) Now() time.Time { return time.Now() }

func (r *recorder) Sleep(ctx context.Context, d time.Duration) error {
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-time.After(d):
		return nil
	}
}

func (r *recorder) scrapeMembers(context.Context, string) (all []governor.Scrape) {
	for _, host := range r.members {
		s := governor.Scrape{Host: host, Problem: "no answer"}
		at := time.Since(r.began)
		if p99 := r.p99(host, at); p99 >= 0 {
			s.Counters = counters{at: at, p99: p99}
		}
		all = append(all, s)
	}
	return all
}

func (r *recorder) send(_ context.Context, host, script string, _ time.Duration) (engine.Output, error) {
	p := sentPace{at: time.Since(r.began)}
	if r.lost != nil && r.lost(p.at) {
		return engine.Output{}, errors.New("no route to host")
	}
	_, rest, _ := strings.Cut(script, "\npace='")
	numbers, _, _ := strings.Cut(rest, "'")
	var slice, pause, safeSlice, safePause int64
	if _, err := fmt.Sscan(numbers, &p.serial, &slice, &pause, &safeSlice, &safePause, &p.rate, &p.safeRate); err != nil || host != "etcd-0" {
		return engine.Output{Code: 1}, fmt.Errorf("script for %s: %w\n%s", host, err, script)
	}
	p.pace, p.safe = paceOf(slice, pause), paceOf(safeSlice, safePause)
	r.paces = append(r.paces, p)
	if r.reply != nil {
		answer := r.reply(p.at)
		return engine.Output{Stdout: answer, Code: len(strings.TrimPrefix(answer, "error")) - len(answer)}, nil
	}
	return engine.Output{Stdout: "freeze yes\n"}, nil
}

func paceOf(slice, pause int64) engine.Pace {
	return engine.Pace{Slice: engine.Duration(slice) * engine.Duration(time.Millisecond), Pause: engine.Duration(pause) * engine.Duration(time.Millisecond)}
}

// stageFor governs a staging of etcd-0 that takes that long, or is stopped.
func (r *recorder) stageFor(t *testing.T, takes, timeout time.Duration) (failure *engine.Failure) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		time.Sleep(r.later)
		r.began = time.Now().Add(10 * time.Second)
		exec := &engine.Exec{}
		if r.content {
			exec.Content = &engine.Content{}
		}
		staging := governing.Staging{
			Plan: engine.HostPlan{Host: "etcd-0"}, Step: engine.Step{Name: "stage", Do: engine.Op{Exec: exec}, Timeout: engine.Duration(timeout)},
			Lane:    engine.Lane{Cluster: "main", Hosts: []string{"etcd-0"}, Governing: &engine.Governing{Latency: (*engine.Latency)(nil).WithDefaults()}},
			Members: 2, Began: time.Now(),
		}
		ports := governing.Ports{
			Now: r.Now, Sleep: r.Sleep, Scrape: r.scrapeMembers, Send: r.send, SetRate: func(host string, rate int64) { r.rates = append(r.rates, rate) },
			Emit: func(e event.Event) {
				if e.Type == event.Warned {
					r.warned = append(r.warned, e.Message)
				}
				if e.Governor != nil {
					r.events = append(r.events, *e.Governor)
				}
			},
		}
		stage := governing.NewStage(t.Context(), ports, staging, &governing.Idle{})
		failure = stage.Run(t.Context(), func(ctx context.Context) *engine.Failure {
			if err := r.Sleep(ctx, takes); err != nil {
				f, _ := context.Cause(ctx).(*engine.Failure)
				return f
			}
			return nil
		})
	})
	return failure
}

func newRecorder(p99 func(host string, at time.Duration) float64) *recorder {
	return &recorder{members: []string{"etcd-0", "etcd-1"}, p99: p99}
}

func constantP99(p99 float64) func(string, time.Duration) float64 {
	return func(string, time.Duration) float64 { return p99 }
}

func (r *recorder) stateNames() string {
	var all []string
	for _, e := range r.events {
		all = append(all, string(e.State))
	}
	return strings.Join(all, " ")
}

var floor = engine.FloorPace()
