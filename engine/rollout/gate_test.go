package rollout_test

import (
	"cmp"
	"context"
	"crypto/x509"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"holdfast/engine"
	"holdfast/engine/event"
	"holdfast/engine/hostscript"
	"holdfast/engine/rollout"
	"holdfast/engine/simulator"
	"holdfast/engine/textutil"
)

// reply is an answer to a gate: an exit status with stderr, or an HTTP status with a body.
type reply struct {
	code int
	text string
}

// gateWorld is a site in which each server and host has a list of answers. The
// last answer of a list is repeated.
type gateWorld struct {
	site    *simulator.Site
	b       *simulator.Bastion
	run     *rollout.Run
	replies []reply

	mu    sync.Mutex
	asked map[string]int // number of questions, by server or host
	began time.Time
}

func newGateWorld(inv engine.Inventory, replies ...reply) *gateWorld {
	s := &gateWorld{site: simulator.New(inv, simulator.V1), replies: replies, asked: map[string]int{}, began: time.Now()}
	s.b = s.site.Bastion("run-1")
	s.b.Answer = func(url string) (int, string) { r := s.nextReply(url); return r.code, r.text }
	s.b.Command = func(c simulator.Command) *rollout.Reply {
		r := s.nextReply(c.Text)
		return &rollout.Reply{Code: r.code, Stderr: r.text}
	}
	s.run = s.b.Run()
	s.run.Hosts = commandHosts{s.b, s}
	return s
}

func (s *gateWorld) nextReply(who string) reply {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.asked[who]++
	return s.replies[min(s.asked[who], len(s.replies))-1]
}

// askGate asks a gate about worker-0.
func (s *gateWorld) askGate(ctx context.Context, g engine.Gate) *engine.Failure {
	return s.run.AskGate(ctx, engine.HostPlan{Host: "worker-0", Pool: "worker"}, gateStep(g))
}

func gateStep(g engine.Gate) engine.Step {
	return engine.Step{Name: "gate g", Do: engine.Op{Gate: &g}, Timeout: cmp.Or(g.Timeout, engine.Duration(time.Minute))}
}

// progressMessages returns the messages of the progress events.
func (s *gateWorld) progressMessages() []string {
	var messages []string
	for _, e := range s.b.Events() {
		if e.Took == 0 { // other progress events only report that the step continues
			messages = append(messages, e.Message)
		}
	}
	return messages
}

// commandHosts let hosts answer the commands of gates.
type commandHosts struct {
	rollout.Hosts
	s *gateWorld
}

type commandConn struct {
	rollout.Conn
	s    *gateWorld
	host string
}

func (h commandHosts) Connect(ctx context.Context, host engine.Host) (rollout.Conn, error) {
	c, err := h.Hosts.Connect(ctx, host)
	return commandConn{c, h.s, host.Name}, err
}

func (c commandConn) Run(ctx context.Context, s rollout.Script) (rollout.Reply, error) {
	if s.Op.Gate == nil {
		return c.Conn.Run(ctx, s)
	}
	r := c.s.nextReply(c.host + ": " + s.Text)
	return rollout.Reply{Code: r.code, Stderr: r.text}, nil
}

func httpGate(url string) engine.Gate { return engine.Gate{HTTP: &engine.HTTPGate{URL: url}} }

func promGate(query string) engine.Gate {
	return engine.Gate{PromQL: &engine.PromQLGate{URL: "http://prom:9090", Query: query}}
}

func promResult(kind, result string) reply {
	return reply{200, fmt.Sprintf(`{"status":"success","data":{"resultType":%q,"result":%s}}`, kind, result)}
}

const aSample = `[{"metric":{"job":"node"},"value":[1435781451.781,"0"]}]`

// TestGateAnswers checks which answers of each kind are good, and the messages
// about bad answers.
func TestGateAnswers(t *testing.T) {
	ready := httpGate("http://app:8080/healthz")
	matching, created := ready, ready
	matching.HTTP = &engine.HTTPGate{URL: ready.HTTP.URL, Match: `"ok": *true`}
	created.HTTP = &engine.HTTPGate{URL: ready.HTTP.URL, Status: 201}
	query := promGate("up == 1")
	for name, c := range map[string]struct {
		gate  engine.Gate
		reply reply
		bad   string // "": the answer is good
	}{
		"command":         {engine.Gate{Command: "ready"}, reply{0, "a warning"}, ""},
		"command, bad":    {engine.Gate{Command: "ready"}, reply{1, "not yet\nreally\n"}, "exit status 1: not yet"},
		"on the host":     {engine.Gate{HostCommand: "ready"}, reply{0, ""}, ""},
		"on the host bad": {engine.Gate{HostCommand: "ready"}, reply{hostscript.ScriptHeld, "no\n"}, fmt.Sprintf("exit status %d: no", hostscript.ScriptHeld)},
		"200":             {ready, reply{200, ""}, ""},
		"204":             {ready, reply{204, ""}, ""},
		"301":             {ready, reply{301, ""}, "HTTP 301 from http://app:8080/healthz"},
		"503":             {ready, reply{503, "overloaded\n"}, "HTTP 503 from http://app:8080/healthz: overloaded"},
		"503, a page":     {ready, reply{503, "<html><body>no"}, "HTTP 503 from http://app:8080/healthz"},
		"201":             {created, reply{201, ""}, ""},
		"200, not 201":    {created, reply{200, ""}, "HTTP 200 from http://app:8080/healthz, not 201"},
		"match":           {matching, reply{200, `{"ok":  true}`}, ""},
		"no match":        {matching, reply{200, `{"ok": false}`}, `HTTP 200 from http://app:8080/healthz, and the body does not match "\"ok\": *true": {"ok": false}`},
		"match of 500":    {matching, reply{500, `{"ok": true}`}, `HTTP 500 from http://app:8080/healthz: {"ok": true}`},
		"a sample":        {query, promResult("vector", aSample), ""},
		"no sample":       {query, promResult("vector", "[]"), "http://prom:9090 has no sample for the query: the comparison is false, or the metric does not exist"},
		"scalar":          {query, promResult("scalar", `[1435781451.781,"0.5"]`), ""},
		"scalar, endless": {query, promResult("scalar", `[1435781451.781,"-Inf"]`), ""},
		"scalar 0":        {query, promResult("scalar", `[1435781451.781,"0"]`), "http://prom:9090 returns 0 for the query"},
		"scalar NaN":      {query, promResult("scalar", `[1435781451.781,"NaN"]`), "http://prom:9090 returns NaN for the query, as scalar(…) does unless there is just one series"},
		"busy":            {query, reply{503, `{"status":"error","errorType":"timeout","error":"query timed out"}`}, "http://prom:9090 refuses the query: timeout: query timed out"},
		"no Prometheus":   {query, reply{404, "404 page not found\n"}, "http://prom:9090 has no /api/v1/query (HTTP 404); if Prometheus is below a path there, add that path to url: 404 page not found"},
		"garbage":         {query, reply{200, "welcome"}, "http://prom:9090 does not answer as Prometheus does: welcome"},
		"other JSON":      {query, reply{200, `{"ok":true}`}, `http://prom:9090 does not answer as Prometheus does: {"ok":true}`},
		"cut off":         {query, reply{200, `{"status":"success","data":{"resultType":"vector","result":[{"metric"`}, "http://prom:9090 returns an answer that is too long or broken; a query of many samples is better counted: count(…) > 0: unexpected end of JSON input"},
		"odd vector":      {query, promResult("vector", `[1]`), "http://prom:9090 does not answer as Prometheus does: json: cannot unmarshal number into Go value of type map[string]json.RawMessage"},
		"odd scalar":      {query, promResult("scalar", `["0.5"]`), "http://prom:9090 does not answer as Prometheus does: a value is not a time and a number"},
		"odd sample":      {query, promResult("vector", `[{"metric":{},"value":["1"]}]`), "http://prom:9090 does not answer as Prometheus does: a value is not a time and a number"},
		"histogram":       {query, promResult("vector", `[{"metric":{},"histogram":[1435781451.781,{"count":"0","sum":"0"}]}]`), ""},
		"NaN and another": {query, promResult("vector", `[{"metric":{"a":"1"},"value":[1,"NaN"]},{"metric":{},"value":[1,"0"]}]`), ""},
		"odd names":       {query, reply{200, `{"status":"success","data":{"resultType":"vector","result":` + aSample + `},"warnings":["PromQL info: metric might not be a counter, name does not end in _total/_sum/_count/_bucket: \"up\" (1:6)"],"infos":["x"]}`}, ""},
		"partial, Thanos": {query, reply{200, `{"status":"success","data":{"resultType":"vector","result":` + aSample + `},"warnings":["PromQL info: x","fetch series for {r=\"b\"} store-1:10901: Unavailable"]}`}, `http://prom:9090 has only a part of the data for the query: fetch series for {r="b"} store-1:10901: Unavailable`},
		"whole, Victoria": {query, reply{200, `{"status":"success","isPartial":false,"data":{"resultType":"vector","result":` + aSample + `}}`}, ""},
		"part, Victoria":  {query, reply{200, `{"status":"success","isPartial":true,"data":{"resultType":"vector","result":` + aSample + `}}`}, "http://prom:9090 has only a part of the data for the query: isPartial"},
		"login":           {query, reply{200, "<!doctype html><title>Sign in</title>"}, "http://prom:9090 does not answer as Prometheus does, but with a web page, such as a login"},
		"403":             {ready, reply{403, "no\n"}, "HTTP 403 from http://app:8080/healthz, and gates send no password; a command can, such as curl --netrc-file: no"},
		"new type":        {query, promResult("tensor", `[]`), `http://prom:9090 does not answer as Prometheus does: a result of the type "tensor"`},
		"proxy's success": {query, reply{502, promResult("vector", aSample).text}, "HTTP 502 from http://prom:9090: " + promResult("vector", aSample).text},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s := newGateWorld(simulator.Fleet(0, 1), c.reply)
				f := s.askGate(t.Context(), c.gate)
				if c.bad == "" {
					if took := time.Since(s.began); f != nil || took > 0 || len(s.progressMessages()) > 0 {
						t.Fatalf("failure %v after %s, told %q", f, took, s.progressMessages())
					}
					return
				}
				if f == nil || f.Cause != "not done within 1m0s: "+c.bad || f.Command == "" {
					t.Fatalf("got %+v", f)
				}
				if told := s.progressMessages(); len(told) != 1 || told[0] != c.bad {
					t.Fatalf("told %q", told)
				}
			})
		})
	}
}

// TestGateHopeless checks that a query is not repeated if it can never get a
// good answer.
func TestGateHopeless(t *testing.T) {
	for words, reply := range map[string]reply{
		"write one that returns an instant vector or a scalar":                       promResult("matrix", "[]"),
		"the query returns a text; write one":                                        promResult("string", `[1,"x"]`),
		`bad_data: invalid parameter "query": 1:4: parse error: unexpected end of i`: {400, `{"status":"error","errorType":"bad_data","error":"invalid parameter \"query\": 1:4: parse error: unexpected end of input"}`},
	} {
		synctest.Test(t, func(t *testing.T) {
			s := newGateWorld(simulator.Fleet(0, 1), reply)
			f := s.askGate(t.Context(), promGate("up["))
			if f == nil || !strings.Contains(f.Cause, words) || time.Since(s.began) > 0 || f.Command != "GET http://prom:9090/api/v1/query?query=up[" {
				t.Errorf("got %+v after %s", f, time.Since(s.began))
			}
		})
	}
}

// TestGateCounts checks how many answers a gate needs, how long it takes, and
// the reported messages.
func TestGateCounts(t *testing.T) {
	yes, no, other := reply{0, ""}, reply{1, "7 of 9 are down\n"}, reply{2, "no quorum\n"}
	n := func(n int) *int { return &n }
	for name, c := range map[string]struct {
		gate    engine.Gate
		replies []reply
		took    time.Duration
		cause   string
		told    []string
	}{
		"in the end": {
			engine.Gate{},
			[]reply{no, {1, "6 of 9 are down\n"}, yes},
			10 * time.Second, "",
			[]string{"exit status 1: 7 of 9 are down"},
		},
		"another reason": {
			engine.Gate{Interval: engine.Duration(time.Second)},
			[]reply{no, no, other, other, no, yes},
			5 * time.Second, "",
			[]string{"exit status 1: 7 of 9 are down", "exit status 2: no quorum", "exit status 1: 7 of 9 are down"},
		},
		"retries suffice": {
			engine.Gate{Retries: n(2)},
			[]reply{no, no, yes},
			10 * time.Second, "",
			[]string{"exit status 1: 7 of 9 are down"},
		},
		"retries used up": {
			engine.Gate{Retries: n(2)},
			[]reply{no, no, other, yes},
			10 * time.Second, "exit status 2: no quorum; that is bad answer 3, and retries = 2",
			[]string{"exit status 1: 7 of 9 are down"},
		},
		"no retries": {
			engine.Gate{Retries: n(0)},
			[]reply{no, yes},
			0, "exit status 1: 7 of 9 are down", nil,
		},
		"in a row": {
			engine.Gate{Successes: 3, Interval: engine.Duration(time.Minute), Timeout: engine.Duration(time.Hour)},
			[]reply{yes, yes, no, yes, yes, yes},
			5 * time.Minute, "",
			[]string{"a good answer; it takes 3 in a row", "exit status 1: 7 of 9 are down", "a good answer; it takes 3 in a row"},
		},
		"bad answers between good ones": {
			engine.Gate{Successes: 2, Retries: n(1)},
			[]reply{no, yes, no, yes, yes},
			10 * time.Second, "exit status 1: 7 of 9 are down; that is bad answer 2, and retries = 1",
			[]string{"exit status 1: 7 of 9 are down", "a good answer; it takes 2 in a row"},
		},
		"too late": {
			engine.Gate{Successes: 5, Timeout: engine.Duration(22 * time.Second)},
			[]reply{other, no, yes},
			22 * time.Second, "not done within 22s: exit status 1: 7 of 9 are down; 3 of 5 good answers in a row",
			[]string{"exit status 2: no quorum", "exit status 1: 7 of 9 are down", "a good answer; it takes 5 in a row"},
		},
		"too late, all good": {
			engine.Gate{Successes: 5, Timeout: engine.Duration(12 * time.Second)},
			[]reply{yes},
			12 * time.Second, "not done within 12s: 3 of 5 good answers in a row",
			[]string{"a good answer; it takes 5 in a row"},
		},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s := newGateWorld(simulator.Fleet(0, 1), c.replies...)
				c.gate.Command = "ready"
				f := s.askGate(t.Context(), c.gate)
				if took := time.Since(s.began); took != c.took {
					t.Errorf("it took %s, not %s", took, c.took)
				}
				if told := s.progressMessages(); !slices.Equal(told, c.told) {
					t.Errorf("told %q, not %q", told, c.told)
				}
				if c.cause == "" && f == nil {
					return
				}
				if f == nil || f.Cause != c.cause || f.Command != "ready" || f.Host != "worker-0" || f.Step != "gate g" {
					t.Errorf("got %+v", f)
				}
			})
		})
	}
}

// TestGateCutShort checks that an answer does not count if the timeout
// interrupts it.
func TestGateCutShort(t *testing.T) {
	for name, c := range map[string]struct {
		replies []reply
		cause   string
	}{
		"the first":  {[]reply{{1, "slow"}}, "not done within 7s: no answer until then"},
		"the second": {[]reply{{1, "too few"}, {1, "slow"}}, "not done within 7s: exit status 1: too few"},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s := newGateWorld(simulator.Fleet(0, 1), c.replies...)
				n := 0
				s.b.Takes = func(simulator.Command) time.Duration {
					if n++; n == len(c.replies) {
						return time.Hour
					}
					return time.Second
				}
				f := s.askGate(t.Context(), engine.Gate{Command: "ready", Timeout: engine.Duration(7 * time.Second)})
				if f == nil || f.Cause != c.cause || f.Command != "ready" || time.Since(s.began) != 7*time.Second {
					t.Errorf("got %+v after %s", f, time.Since(s.began))
				}
			})
		})
	}
}

// TestGateStopped checks that the operator's first Ctrl-C ends the wait at
// once, and that the second Ctrl-C does, too.
func TestGateStopped(t *testing.T) {
	for name, cut := range map[string]bool{"between": false, "meanwhile": true} {
		for _, twice := range []bool{false, true} {
			t.Run(fmt.Sprint(name, ", at once ", twice), func(t *testing.T) {
				synctest.Test(t, func(t *testing.T) {
					s := newGateWorld(simulator.Fleet(0, 2), reply{1, "no"})
					ctx, stop := context.WithCancel(context.Background())
					defer stop()
					if s.run.Soft = ctx; !twice {
						ctx = context.Background()
					}
					if cut {
						s.b.Latency = func(simulator.Call) time.Duration { return time.Hour }
					}
					time.AfterFunc(8*time.Second, stop)
					for _, g := range []engine.Gate{{Command: "ready"}, {HTTP: &engine.HTTPGate{URL: "http://{host}/"}}} {
						f := s.run.AskBatchGate(ctx, []string{"worker-0", "worker-1"}, engine.HostPlan{}, gateStep(g))
						if f == nil || f.Kind != engine.StoppedFailure || time.Since(s.began) != 8*time.Second {
							t.Fatalf("got %+v after %s", f, time.Since(s.began))
						}
					}
				})
			})
		}
	}
}

// TestGateOfBatch checks that a gate about hosts is asked in parallel for each
// host of its pool, and that all answers must be good.
func TestGateOfBatch(t *testing.T) {
	g := engine.Gate{Name: "g", HostCommand: `test "$HOLDFAST_HOST"`, Successes: 2, When: []engine.GateWhen{engine.AfterBatch}}
	inv := simulator.Fleet(1, 4)
	inv.Pools[1].Gates = []engine.Gate{g}
	batch := []string{"etcd-0", "worker-0", "worker-1", "worker-2"}
	synctest.Test(t, func(t *testing.T) {
		s := newGateWorld(inv, reply{1, "no\n"}, reply{0, ""})
		f := s.run.AskBatchGate(t.Context(), batch, engine.HostPlan{Pool: "etcd, worker"}, gateStep(g))
		if took := time.Since(s.began); f != nil || took != 10*time.Second {
			t.Fatalf("%+v after %s", f, took)
		}
		for _, h := range batch[1:] {
			asked := h + ": export HOLDFAST_HOST=" + h + " HOLDFAST_ADDRESS=" + h + " HOLDFAST_POOL=worker HOLDFAST_RUN=run-1\n" + g.HostCommand + "\n"
			if s.asked[asked] != 3 {
				t.Errorf("%s was asked %d times of %v", h, s.asked[asked], s.asked)
			}
			if !slices.Contains(s.progressMessages(), h+": exit status 1: no") {
				t.Errorf("told %q", s.progressMessages())
			}
		}
		if len(s.asked) != 3 {
			t.Errorf("asked: %v", s.asked)
		}
	})
	synctest.Test(t, func(t *testing.T) {
		s := newGateWorld(inv, reply{0, ""})
		s.site.Host("worker-1").Cut()
		s.site.Host("worker-2").Cut()
		f := s.run.AskBatchGate(t.Context(), batch, engine.HostPlan{}, gateStep(g))
		want := "worker-1: not done within 1m0s: the host does not answer: connect to worker-1: connection refused; not well either: worker-2"
		if f == nil || f.Cause != want || f.Host != "" || f.Command != g.HostCommand {
			t.Fatalf("got %+v", f)
		}
	})
	synctest.Test(t, func(t *testing.T) {
		s := newGateWorld(inv, reply{0, ""})
		s.site.Host("worker-2").Cut()
		s.site.After(8*time.Second, s.site.Host("worker-2").Heal)
		if f := s.run.AskBatchGate(t.Context(), batch, engine.HostPlan{}, gateStep(g)); f != nil || time.Since(s.began) != 15*time.Second {
			t.Fatalf("got %+v after %s", f, time.Since(s.began))
		}
	})
	synctest.Test(t, func(t *testing.T) {
		none := 0
		eager := engine.Gate{HTTP: &engine.HTTPGate{URL: "http://{address}/"}, Retries: &none}
		s := newGateWorld(inv)
		s.b.Answer = func(url string) (int, string) {
			if url == "http://worker-1/" {
				return 200, ""
			}
			return 500, ""
		}
		s.b.Latency = func(simulator.Call) time.Duration { return time.Second }
		f := s.run.AskBatchGate(t.Context(), batch[2:], engine.HostPlan{}, gateStep(eager))
		if f == nil || f.Cause != "worker-2: HTTP 500 from http://worker-2/" {
			t.Fatalf("got %+v", f)
		}
	})
}

// TestGateOfBatchAtOnce checks that a failed host ends the gate without a wait
// for the other hosts.
func TestGateOfBatchAtOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newGateWorld(simulator.Fleet(0, 3))
		s.b.Answer = func(url string) (int, string) {
			if strings.Contains(url, "worker-1") && time.Since(s.began) > 8*time.Second {
				return 200, promResult("matrix", "[]").text
			}
			return 200, promResult("vector", "[]").text
		}
		f := s.run.AskBatchGate(t.Context(), []string{"worker-0", "worker-1", "worker-2"}, engine.HostPlan{}, gateStep(promGate(`up{host="{host}"}`)))
		if f == nil || !strings.HasPrefix(f.Cause, "worker-1: the query returns a range") || strings.Contains(f.Cause, "not well") || time.Since(s.began) != 10*time.Second {
			t.Errorf("got %+v after %s", f, time.Since(s.began))
		}
	})
}

// TestGateStoppedInRun checks that no event reports a failure of the gate if
// the operator stops the wait.
func TestGateStoppedInRun(t *testing.T) {
	for _, when := range []engine.GateWhen{engine.BeforeBatch, engine.BeforeHost} {
		synctest.Test(t, func(t *testing.T) {
			inv := simulator.Fleet(0, 1)
			inv.Pools[1].After = nil
			inv.Pools[1].Gates = []engine.Gate{{Name: "web", HTTP: &engine.HTTPGate{URL: "http://app/"}, When: []engine.GateWhen{when}}}
			site := newSite(inv)
			b := site.Bastion("run-1")
			b.Answer = func(string) (int, string) { return 503, "" }
			soft, stop := context.WithCancel(context.Background())
			b.Watch = func(e event.Event) {
				if e.Type == event.StepStarted && e.Step == "gate web" {
					time.AfterFunc(8*time.Second, stop)
				}
			}
			end := applyRun(b, func(r *rollout.Run) { r.Soft = soft })
			errs := []error{checkEnd(end, engine.ExitStopped), checkUntouched(site.Host("worker-0")), checkLaws(site)}
			for _, e := range b.Events() {
				if e.Type == event.StepEnded && e.Step == "gate web" && (e.Failure == nil || e.Failure.Kind != engine.StoppedFailure || e.Took != engine.Duration(8*time.Second)) {
					errs = append(errs, fmt.Errorf("the gate ended with %+v after %s", e.Failure, e.Took))
				}
			}
			if err := errors.Join(errs...); err != nil {
				t.Errorf("%s: %v\n%s", when, err, runTranscript(b))
			}
		})
	}
}

// TestGateOfPools checks that a gate about pools is asked once for a batch,
// about the pool that has the gate. A gate about hosts is only asked if the
// batch has hosts for it.
func TestGateOfPools(t *testing.T) {
	g := engine.Gate{Name: "g", HTTP: &engine.HTTPGate{URL: "http://state/{pool}"}}
	inv := simulator.Fleet(1, 4)
	inv.Pools[1].Gates = []engine.Gate{g}
	synctest.Test(t, func(t *testing.T) {
		s := newGateWorld(inv, reply{200, ""})
		f := s.run.AskBatchGate(t.Context(), []string{"etcd-0", "worker-0", "worker-1"}, engine.HostPlan{Pool: "etcd, worker"}, gateStep(g))
		if f != nil || len(s.asked) != 1 || s.asked["http://state/worker"] != 1 {
			t.Fatalf("%+v, asked %v", f, s.asked)
		}
		for _, ask := range []func() *engine.Failure{
			func() *engine.Failure {
				return s.run.AskBatchGate(t.Context(), nil, engine.HostPlan{}, gateStep(engine.Gate{HostCommand: "true"}))
			},
			func() *engine.Failure {
				return s.run.AskGate(t.Context(), engine.HostPlan{}, gateStep(httpGate("http://{host}")))
			},
		} {
			if f := ask(); f == nil || f.Cause != "it asks hosts, and there is none to ask" {
				t.Errorf("got %+v", f)
			}
		}
	})
}

// TestGateURLs checks that host, address and pool are filled in at any place of
// a URL or a query.
func TestGateURLs(t *testing.T) {
	for name, c := range map[string]struct {
		address, pool string
		gate          engine.Gate
		url           string
	}{
		"name":            {"w0.example", "", httpGate("http://{address}:8080/healthz?name={host}"), "http://w0.example:8080/healthz?name=worker-0"},
		"IPv4":            {"10.0.0.1", "", httpGate("http://{address}/"), "http://10.0.0.1/"},
		"IPv6":            {"fd00::1", "", httpGate("http://{address}:8080/{address}?a={address}&t={address}:9100"), "http://[fd00::1]:8080/fd00::1?a=fd00%3A%3A1&t=[fd00%3A%3A1]:9100"},
		"IPv6 in bracket": {"fd00::1", "", httpGate("http://[{address}]:8080/"), "http://[fd00::1]:8080/"},
		"IPv6 with zone":  {"fe80::1%eth0", "", httpGate("http://{address}/?a={address}"), "http://[fe80::1%25eth0]/?a=fe80%3A%3A1%25eth0"},
		"odd pool":        {"", "a b/c&d", httpGate("http://x/{pool}/y?p={pool}#{pool}"), "http://x/a%20b%2Fc&d/y?p=a+b%2Fc%26d"},
		"other braces":    {"", "", httpGate("http://x/{hosts}/{"), "http://x/{hosts}/{"},
		"query":           {"fd00::1", "", promGate(`up{instance="{address}:9100",pool="{pool}"} == 1`), "http://prom:9090/api/v1/query?query=up%7Binstance%3D%22%5Bfd00%3A%3A1%5D%3A9100%22%2Cpool%3D%22worker%22%7D+%3D%3D+1"},
		"below a path":    {"", "", engine.Gate{PromQL: &engine.PromQLGate{URL: "https://m/prometheus/", Query: "a+b"}}, "https://m/prometheus/api/v1/query?query=a%2Bb"},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				inv := simulator.Fleet(0, 1)
				inv.Hosts[0].Address = c.address
				s := newGateWorld(inv, reply{404, "no"})
				_ = s.run.AskGate(t.Context(), engine.HostPlan{Host: "worker-0", Pool: cmp.Or(c.pool, "worker")}, gateStep(c.gate))
				if s.asked[c.url] == 0 {
					t.Errorf("asked %v", s.asked)
				}
			})
		})
	}
}

// TestGateUntrusted checks that texts of servers and hosts are printable and bounded in every
// event, and that no event has the password of a URL.
func TestGateUntrusted(t *testing.T) {
	evil := "\x1b]0;owned\a\u202e" + strings.Repeat("x", 1<<16) + "\x1b[2J\r"
	for name, g := range map[string]engine.Gate{
		"command": {Command: "ready"}, "host command": {HostCommand: "ready"},
		"http":   httpGate("http://ann:s3cret@app/?token=a/b+c="),
		"promql": {PromQL: &engine.PromQLGate{URL: "http://ann:s3cret@app", Query: `up{token="a/b+c="}`}},
	} {
		for _, r := range []reply{{500, evil}, {500, `{"status":"error","errorType":"\u001b[31m","error":"\u001b[31m"}`}, {200, `{"status":"success","data":{"resultType":"\u001b[31m"}}`}} {
			synctest.Test(t, func(t *testing.T) {
				s := newGateWorld(simulator.Fleet(0, 1), r)
				f := s.askGate(t.Context(), g)
				if f == nil {
					return // with status 200, any body is good
				}
				for _, text := range append(s.progressMessages(), f.Cause, f.Command, f.Stderr) {
					if text != textutil.Printable(text) || strings.Contains(text, "s3cret") || len(text) > 5000 {
						t.Errorf("%s: %.300q", name, text)
					}
				}
				if g.Command == "" && g.HostCommand == "" && !strings.Contains(f.Command, "a/b+c=") {
					t.Errorf("%s: the command is %q", name, f.Command)
				}
				if len(f.Cause) > 600 {
					t.Errorf("%s: the cause is %d bytes long", name, len(f.Cause))
				}
			})
		}
	}
}

// TestGateNoAnswer checks that an unreachable server or host counts as a bad
// answer, and may answer later.
func TestGateNoAnswer(t *testing.T) {
	refused := errors.New("connection refused")
	whole := fmt.Errorf("GET http://prom:9090/api/v1/query: dial tcp: %w", refused)
	signed := fmt.Errorf("GET https://app/: %w", x509.UnknownAuthorityError{})
	for name, c := range map[string]struct {
		gate engine.Gate
		err  error
		want string
	}{
		"http":    {httpGate("http://ann:x@app/"), refused, "no answer from http://app/: connection refused"},
		"promql":  {promGate("up"), refused, "no answer from http://prom:9090: connection refused"},
		"with it": {promGate("up"), whole, "no answer from http://prom:9090: dial tcp: connection refused"},
		"signed": {
			httpGate("https://app/"), signed,
			"no answer from https://app/, as the bastion does not know who signed its certificate; SSL_CERT_FILE can name a file of those to trust: x509: certificate signed by unknown authority",
		},
	} {
		synctest.Test(t, func(t *testing.T) {
			s := newGateWorld(simulator.Fleet(0, 1), promResult("vector", aSample))
			s.run.Web = webFunc(func(ctx context.Context, url string) (int, []byte, error) {
				if time.Since(s.began) < 20*time.Second {
					return 0, nil, c.err
				}
				return s.b.Get(ctx, url)
			})
			f := s.askGate(t.Context(), c.gate)
			if f != nil || time.Since(s.began) != 20*time.Second || !slices.Equal(s.progressMessages(), []string{c.want}) {
				t.Errorf("%s: %+v after %s, told %q", name, f, time.Since(s.began), s.progressMessages())
			}
		})
	}
}

type webFunc func(context.Context, string) (int, []byte, error)

func (f webFunc) Get(ctx context.Context, url string) (int, []byte, error) { return f(ctx, url) }

// TestGateInRun checks that a run asks gates of every kind at their points, and
// that a bad answer stops the run.
func TestGateInRun(t *testing.T) {
	inv := simulator.Fleet(0, 2)
	inv.Pools[1].After = nil
	inv.Pools[1].Gates = []engine.Gate{
		{Name: "web", HTTP: &engine.HTTPGate{URL: "http://{host}/"}, When: []engine.GateWhen{engine.BeforeHost}},
		{Name: "slo", PromQL: &engine.PromQLGate{URL: "http://prom", Query: "slo"}, When: []engine.GateWhen{engine.AfterHost}},
	}
	synctest.Test(t, func(t *testing.T) {
		site := newSite(inv)
		b := site.Bastion("run-1")
		b.Answer = func(url string) (int, string) {
			if url == "http://worker-1/" {
				return 500, "not now"
			}
			return 200, promResult("vector", aSample).text
		}
		end := applyRun(b)
		if err := errors.Join(checkEnd(end, engine.ExitFailed, "worker-1: gate web: not done within 5m0s: HTTP 500 from http://worker-1/: not now"),
			checkUpdated(site.Host("worker-0")), checkUntouched(site.Host("worker-1")), checkLaws(site)); err != nil {
			t.Fatalf("%v\n%s", err, runTranscript(b))
		}
	})
}

// The before-run gates are asked once, before anything is staged.
func TestGatesBeforeRun(t *testing.T) {
	for _, command := range []string{"true", "false"} {
		t.Run(command, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				site := newSite(workerFleet(2, func(p *engine.Pool) {
					p.Gates = []engine.Gate{{Name: "ready", Command: command, When: []engine.GateWhen{engine.BeforeRun}, Timeout: engine.Duration(time.Minute)}}
				}))
				b := site.Bastion("run-1")
				end := applyRun(b)
				if command == "true" {
					failOnErrors(t, checkEnd(end, engine.ExitOK), checkConverged(site))
					if n := len(b.Commands()); n != 1+4 { // drained and undrained twice
						t.Errorf("%d commands: %v", n, b.Commands())
					}
					return
				}
				failOnErrors(t, checkEnd(end, engine.ExitFailed, "gate ready"), checkUntouched(site.Host("worker-0")), checkUntouched(site.Host("worker-1")))
				if st := site.Host("worker-0").State(); st.Staged != "" {
					t.Errorf("worker-0 is staged: %+v", st)
				}
			})
		})
	}
}
