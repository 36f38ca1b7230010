package gate_test

import (
	"context"
	"errors"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"holdfast/engine"
	"holdfast/engine/rollout/gate"
)

// world answers questions one after the other, and repeats the last answer.
type world struct {
	answers []reply
	asked   []string // commands and addresses that were asked
}

type reply struct {
	out    engine.Output
	err    error
	status int
	body   string
}

func (w *world) next(question string) reply {
	w.asked = append(w.asked, question)
	return w.answers[min(len(w.asked), len(w.answers))-1]
}

func (w *world) RunOnHost(_ context.Context, s gate.Subject, g engine.Gate) (engine.Output, error) {
	r := w.next(s.Host + ": " + g.HostCommand)
	return r.out, r.err
}

func (w *world) RunOnBastion(_ context.Context, _ gate.Subject, g engine.Gate) (engine.Output, error) {
	r := w.next(g.Command)
	return r.out, r.err
}

func (w *world) Get(_ context.Context, url string) (int, []byte, error) {
	r := w.next(url)
	return r.status, []byte(r.body), r.err
}

func (w *world) Sleep(ctx context.Context, d time.Duration) error {
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-time.After(d):
		return nil
	}
}

// askGate returns the reports of a gate, the text of its error, and its duration.
// The timeout of the gate is 58 seconds.
func askGate(t *testing.T, w *world, g engine.Gate) (reports []string, problem string, took time.Duration) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithTimeoutCause(t.Context(), 58*time.Second, errors.New("not done within 58s"))
		defer cancel()
		began := time.Now()
		about := gate.Subject{Host: "w-1", Address: "2001:db8::1", Pool: "w"}
		err := gate.Asker{Commands: w, Web: w, Sleep: w.Sleep}.AskUntilGood(ctx, about, g, func(s string) { reports = append(reports, s) })
		if took = time.Since(began); err != nil {
			problem = err.Error()
		}
	})
	return reports, problem, took
}

func repliesWithCodes(codes ...int) []reply {
	list := make([]reply, len(codes))
	for i, c := range codes {
		list[i].out = engine.Output{Code: c, Stderr: strings.Repeat("not yet\n", min(c, 1))}
	}
	return list
}

// TestAnswers checks that a gate is asked until it has enough good answers in a
// row, too many bad answers, or a timeout.
func TestAnswers(t *testing.T) {
	retries := func(n int) *int { return &n }
	lost := reply{err: errors.New("connection lost")}
	for name, c := range map[string]struct {
		gate    engine.Gate
		answers []reply
		asked   int
		took    time.Duration
		problem string
		reports []string
	}{
		"good at once":                {engine.Gate{}, repliesWithCodes(0), 1, 0, "", nil},
		"good at last":                {engine.Gate{}, repliesWithCodes(1, 1, 0), 3, 10 * time.Second, "", []string{"exit status 1: not yet"}},
		"an interval of its own":      {engine.Gate{Interval: engine.Duration(time.Second)}, repliesWithCodes(1, 0), 2, time.Second, "", []string{"exit status 1: not yet"}},
		"good answers in a row":       {engine.Gate{Successes: 2}, repliesWithCodes(0, 1, 0, 0), 4, 15 * time.Second, "", []string{"a good answer; it takes 2 in a row", "exit status 1: not yet", "a good answer; it takes 2 in a row"}},
		"another answer is news":      {engine.Gate{}, repliesWithCodes(1, 2, 2, 0), 4, 15 * time.Second, "", []string{"exit status 1: not yet", "exit status 2: not yet"}},
		"no retries":                  {engine.Gate{Retries: retries(0)}, repliesWithCodes(3, 0), 1, 0, "exit status 3: not yet", nil},
		"one retry, of bad answers":   {engine.Gate{Retries: retries(1), Successes: 2}, repliesWithCodes(3, 0, 3), 3, 10 * time.Second, "exit status 3: not yet; that is bad answer 2, and retries = 1", []string{"exit status 3: not yet", "a good answer; it takes 2 in a row"}},
		"never good":                  {engine.Gate{}, repliesWithCodes(1), 12, 58 * time.Second, "not done within 58s: exit status 1: not yet", []string{"exit status 1: not yet"}},
		"never enough":                {engine.Gate{Successes: 100}, repliesWithCodes(0), 12, 58 * time.Second, "not done within 58s: 12 of 100 good answers in a row", []string{"a good answer; it takes 100 in a row"}},
		"a command that did not run":  {engine.Gate{Retries: retries(0)}, []reply{lost}, 1, 0, "connection lost", nil},
		"a host that does not answer": {engine.Gate{HostCommand: "check", Retries: retries(0)}, []reply{lost}, 1, 0, "the host does not answer: connection lost", nil},
	} {
		t.Run(name, func(t *testing.T) {
			w := &world{answers: c.answers}
			reports, problem, took := askGate(t, w, c.gate)
			if len(w.asked) != c.asked || took != c.took || problem != c.problem || !slices.Equal(reports, c.reports) {
				t.Errorf("asked %d times in %s: %q, reports %q", len(w.asked), took, problem, reports)
			}
		})
	}
}

// TestWebAnswers checks that status and body decide, and that placeholders are
// filled in and escaped.
func TestWebAnswers(t *testing.T) {
	const url = "http://[2001:db8::1]:80/w?host=w-1"
	for name, c := range map[string]struct {
		gate    engine.HTTPGate
		status  int
		body    string
		err     error
		problem string
	}{
		"good":                {engine.HTTPGate{}, 204, "", nil, ""},
		"bad":                 {engine.HTTPGate{}, 503, "draining", nil, "HTTP 503 from " + url + ": draining"},
		"another status":      {engine.HTTPGate{Status: 418}, 200, "", nil, "HTTP 200 from " + url + ", not 418"},
		"the wanted one":      {engine.HTTPGate{Status: 418}, 418, "", nil, ""},
		"a body that matches": {engine.HTTPGate{Match: "^ok"}, 200, "ok, all", nil, ""},
	} {
		t.Run(name, func(t *testing.T) {
			w := &world{answers: []reply{{status: c.status, body: c.body, err: c.err}}}
			c.gate.URL = "http://{address}:80/{pool}?host={host}"
			none := 0
			_, problem, _ := askGate(t, w, engine.Gate{HTTP: &c.gate, Retries: &none})
			if problem != c.problem || w.asked[0] != url {
				t.Errorf("asked %s: %q, want %q", w.asked[0], problem, c.problem)
			}
		})
	}
}

// TestPrometheusAnswers checks that a query must return a sample, made from all
// data.
func TestPrometheusAnswers(t *testing.T) {
	const who = "http://prom:9090 "
	data := func(kind, result string) string {
		return `{"status":"success","data":{"resultType":"` + kind + `","result":` + result + `}}`
	}
	for name, c := range map[string]struct {
		status  int
		body    string
		problem string
	}{
		"a sample":           {200, data("vector", `[{"metric":{},"value":[1,"1"]}]`), ""},
		"a sample of 0":      {200, data("vector", `[{"metric":{},"value":[1,"0"]}]`), ""},
		"a histogram":        {200, data("vector", `[{"metric":{},"histogram":[1,{}]}]`), ""},
		"no sample":          {200, data("vector", `[]`), who + "has no sample for the query: the comparison is false, or the metric does not exist"},
		"no number":          {200, data("vector", `[{"value":[1,"NaN"]}]`), who + "returns NaN for the query"},
		"one number":         {200, data("vector", `[{"value":[1,"NaN"]},{"value":[1,"2"]}]`), ""},
		"a scalar":           {200, data("scalar", `[1,"2"]`), ""},
		"a scalar of 0":      {200, data("scalar", `[1,"0"]`), who + "returns 0 for the query"},
		"a scalar of NaN":    {200, data("scalar", `[1,"NaN"]`), who + "returns NaN for the query, as scalar(…) does unless there is just one series"},
		"a range":            {200, data("matrix", `[]`), "the query returns a range of samples; write one that returns an instant vector or a scalar, such as a comparison of max_over_time(…)"},
		"a text":             {200, data("string", `[1,"x"]`), "the query returns a text; write one that returns an instant vector or a scalar, such as a comparison"},
		"another type":       {200, data("x", `[]`), who + `does not answer as Prometheus does: a result of the type "x"`},
		"a refused query":    {400, `{"status":"error","errorType":"bad_data","error":"parse error"}`, who + "refuses the query: bad_data: parse error"},
		"a part of the data": {200, strings.Replace(data("scalar", `[1,"1"]`), `{"status"`, `{"isPartial":true,"status"`, 1), who + "has only a part of the data for the query: isPartial"},
		"a log-in page":      {200, "<html>", who + "does not answer as Prometheus does, but with a web page, such as a login"},
		"no JSON":            {200, "pong", who + "does not answer as Prometheus does: pong"},
	} {
		t.Run(name, func(t *testing.T) {
			none := 0
			w := &world{answers: []reply{{status: c.status, body: c.body}}}
			g := engine.Gate{PromQL: &engine.PromQLGate{URL: "http://prom:9090", Query: `up{instance="{host}"}`}, Retries: &none}
			_, problem, _ := askGate(t, w, g)
			if want := "http://prom:9090/api/v1/query?query=up%7Binstance%3D%22w-1%22%7D"; problem != c.problem || w.asked[0] != want {
				t.Errorf("asked %s: %q, want %q", w.asked[0], problem, c.problem)
			}
		})
	}
}

func TestAsksHosts(t *testing.T) {
	for _, c := range []struct {
		gate engine.Gate
		want bool
	}{
		{engine.Gate{Command: "ask {host}"}, false},
		{engine.Gate{HostCommand: "check"}, true},
		{engine.Gate{HTTP: &engine.HTTPGate{URL: "http://lb/{pool}"}}, false},
		{engine.Gate{HTTP: &engine.HTTPGate{URL: "http://{address}/"}}, true},
		{engine.Gate{PromQL: &engine.PromQLGate{Query: "up"}}, false},
		{engine.Gate{PromQL: &engine.PromQLGate{Query: `up{host="{host}"}`}}, true},
	} {
		if got := gate.AsksHosts(c.gate); got != c.want {
			t.Errorf("%+v: %t", c.gate, got)
		}
	}
}
