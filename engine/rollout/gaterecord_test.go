package rollout_test

import (
	"net/http"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/rogpeppe/go-internal/txtar"

	"holdfast/engine/simulator"
)

// TestGateRecorded checks gates with recorded answers of real servers. For each
// bad answer it checks the problem, and whether the gate is asked again.
func TestGateRecorded(t *testing.T) {
	const (
		noSample = "http://prom:9090 has no sample for the query: the comparison is false, or the metric does not exist"
		lacks    = `remote_read: error sending request: Post "http://127.0.0.1:39098/read": dial tcp 127.0.0.1:39098: connect: connection refused`
		password = "HTTP 401 from http://prom:9090, and gates send no password; a command can, such as curl --netrc-file: Unauthorized"
		refuses  = "http://prom:9090 refuses the query: "
		unread   = refuses + `bad_data: invalid parameter "query": `
		noPath   = "http://prom:9090 has no /api/v1/query (HTTP 404); if Prometheus is below a path there, add that path to url: 404 page not found"
		matrix   = "the query returns a range of samples; write one that returns an instant vector or a scalar, such as a comparison of max_over_time(…)"
	)
	wants := map[string]struct {
		bad   string // "": the answer is good
		final bool
	}{
		"samples": {}, "comparison that holds": {}, "min of one job": {}, "absent": {}, "count": {}, "sum": {}, "sum of nothing, or 0": {}, "share of nothing": {},
		"bool of a vector": {}, "scalar 1": {}, "bool of scalars": {}, "scalar +Inf": {}, "sample +Inf": {}, "prefix": {},

		"comparison that does not hold":  {bad: noSample},
		"min":                            {bad: noSample},
		"min of a job that is not there": {bad: noSample},
		"absent, and there is one":       {bad: noSample},
		"count of nothing":               {bad: noSample},
		"sum of nothing":                 {bad: noSample},
		"share without data":             {bad: noSample},
		"placeholder":                    {bad: noSample},
		"NaN in a comparison":            {bad: noSample},
		"scalar 0":                       {bad: "http://prom:9090 returns 0 for the query"},
		"scalar of nothing":              {bad: "http://prom:9090 returns NaN for the query, as scalar(…) does unless there is just one series"},
		"sample NaN":                     {bad: "http://prom:9090 returns NaN for the query"},
		"NaN that is not 1":              {bad: "http://prom:9090 returns NaN for the query"},

		"scalars without bool": {unread + "1:3: parse error: comparisons between scalars must use BOOL modifier", true},
		"not closed":           {unread + "1:4: parse error: missing unit character in duration", true},
		"no function":          {unread + `1:1: parse error: unknown function with name "rates"`, true},
		"range missing":        {unread + `1:6: parse error: expected type range vector in call to function "rate", got instant vector`, true},
		"empty":                {unread + "1:1: parse error: no expression found in input", true},
		"string":               {"the query returns a text; write one that returns an instant vector or a scalar, such as a comparison", true},
		"matrix":               {matrix, true},
		"matrix of nothing":    {matrix, true},

		"execution":        {bad: refuses + `execution: found duplicate series for the match group {} on the right hand-side of the operation: [{__name__="up", instance="127.0.0.1:39099", job="node"}, {__name__="up", instance="127.0.0.1:39090", job="promet…`},
		"too many samples": {bad: refuses + "execution: query processing would load too many samples into memory in query execution"},
		"query timeout":    {bad: refuses + "timeout: query timed out in expression evaluation"},
		"agent":            {bad: refuses + "execution: unavailable with Prometheus Agent"},
		"no password":      {bad: password},
		"wrong password":   {bad: password},
		"plain to TLS":     {bad: "HTTP 400 from http://prom:9090: Client sent an HTTP request to an HTTPS server."},
		"prefix missing":   {bad: noPath},
		"page":             {bad: noPath},
		"starting":         {bad: "HTTP 503 from http://prom:9090: Service Unavailable"},

		"remote read fails":       {bad: "http://prom:9090 has only a part of the data for the query: " + lacks},
		"remote read fails, none": {bad: noSample + ": " + lacks},
	}
	paths, err := filepath.Glob("testdata/prometheus/*.txtar")
	failOnErrors(t, err)
	for _, path := range paths {
		archive, err := txtar.ParseFile(path)
		failOnErrors(t, err)
		if len(archive.Files) != len(wants) {
			t.Errorf("%s has %d answers, of which %d are expected", path, len(archive.Files), len(wants))
		}
		for _, f := range archive.Files {
			want, known := wants[f.Name]
			if !known {
				t.Errorf("%s: nothing is expected of %q", path, f.Name)
				continue
			}
			t.Run(f.Name, func(t *testing.T) {
				synctest.Test(t, func(t *testing.T) {
					s := newGateWorld(simulator.Fleet(0, 1), readRecorded(t, string(f.Data)))
					failure := s.askGate(t.Context(), promGate("up == 1"))
					took := time.Since(s.began)
					cause := want.bad
					if !want.final {
						cause = "not done within 1m0s: " + cause
					}
					switch {
					case want.bad == "" && (failure != nil || took > 0):
						t.Errorf("it is bad: %v after %s", failure, took)
					case want.bad != "" && (failure == nil || failure.Cause != cause || (took == 0) != want.final):
						t.Errorf("got %+v after %s\nnot %s", failure, took, cause)
					}
				})
			})
		}
	}
}

// readRecorded reads the recorded answer that follows its question in the text.
func readRecorded(t *testing.T, text string) reply {
	t.Helper()
	_, answer, _ := strings.Cut(text, "\n\n")
	head, body, _ := strings.Cut(answer, "\n\n")
	words := strings.Fields(head)
	if len(words) < 2 || !strings.HasPrefix(words[0], "HTTP/") {
		t.Fatalf("no answer: %q", text)
	}
	status, err := strconv.Atoi(words[1])
	if err != nil || http.StatusText(status) == "" {
		t.Fatalf("no status: %q", head)
	}
	return reply{status, body}
}
