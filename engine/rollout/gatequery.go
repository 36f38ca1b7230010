package rollout

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"net/url"
	"strconv"
	"strings"

	"holdfast/engine"
)

// promReply is the envelope of Prometheus's HTTP API, with the data of a query.
// Source: https://prometheus.io/docs/prometheus/latest/querying/api/
type promReply struct {
	Status    string `json:"status"` // success or error
	ErrorType string `json:"errorType"`
	Error     string `json:"error"`
	Data      struct {
		ResultType string          `json:"resultType"`
		Result     json.RawMessage `json:"result"`
	} `json:"data"`
}

// answerOfPrometheus asks for the value of a query now. What is shown has the
// query as the inventory has it, so that secrets in it are found and hidden.
func (r *Run) answerOfPrometheus(ctx context.Context, x subject, g engine.PromQLGate) answer {
	shown, query := withoutUser(g.URL), x.fill(g.Query, asIs, false)
	a := answer{command: "GET " + queryURL(shown, query)}
	status, body, err := r.Web.Get(ctx, queryURL(g.URL, url.QueryEscape(query)))
	if err != nil {
		a.what, a.detail = "no answer from "+shown, err.Error()
		return a
	}
	var reply promReply
	switch broken := json.Unmarshal(body, &reply); {
	case broken == nil && reply.Status == "error": // with a status of 4xx or 5xx
		a.what, a.detail = shown+" refuses the query: "+snippet(reply.ErrorType), reply.Error
		a.final = reply.ErrorType == "bad_data"
	case status/100 != 2:
		a.what, a.detail = fmt.Sprintf("HTTP %d from %s", status, shown), string(body)
	case broken != nil && strings.HasPrefix(strings.TrimSpace(string(body)), "{"):
		a.what, a.detail = shown+" gives an answer that is too long or broken; a query of many samples is better counted: count(…) > 0", broken.Error()
	case broken != nil || reply.Status != "success":
		a.what, a.detail = shown+" does not answer as Prometheus does", string(body)
	default:
		return a.judged(shown, reply.Data.ResultType, reply.Data.Result)
	}
	return a
}

// judged is the answer with what is wrong about a result.
func (a answer) judged(who, kind string, result json.RawMessage) answer {
	strange := who + " does not answer as Prometheus does"
	switch kind {
	case "vector":
		var samples []map[string]json.RawMessage
		err := json.Unmarshal(result, &samples)
		switch {
		case err != nil:
			a.what, a.detail = strange, err.Error()
		case len(samples) > 0:
			return a
		default:
			a.what = who + " has no sample for the query"
		}
	case "scalar":
		value, err := scalar(result)
		switch {
		case err != nil:
			a.what, a.detail = strange, err.Error()
		case value != 0 && !math.IsNaN(value):
			return a
		default:
			a.what = fmt.Sprintf("%s gives %v for the query", who, value)
		}
	case "matrix":
		a.what, a.final = "the query gives a range of samples; write one that gives an instant vector or a scalar, such as a comparison of max_over_time(…)", true
	case "string":
		a.what, a.final = "the query gives a text; write one that gives an instant vector or a scalar, such as a comparison", true
	default:
		a.what, a.detail = strange, "a result of the type "+strconv.Quote(kind)
	}
	return a
}

// scalar reads a value with its time. It is text, as JSON has no NaN.
func scalar(result json.RawMessage) (float64, error) {
	var sample []json.RawMessage
	if err := json.Unmarshal(result, &sample); err != nil || len(sample) != 2 {
		return 0, errors.New("a scalar is not a time and a value")
	}
	var text string
	if err := json.Unmarshal(sample[1], &text); err != nil {
		return 0, err
	}
	return strconv.ParseFloat(text, 64)
}

// queryURL is where a server, which may be below a path, is asked a query.
func queryURL(server, query string) string {
	return strings.TrimRight(server, "/") + "/api/v1/query?query=" + query
}
