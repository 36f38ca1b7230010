package gate

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"math"
	"net/http"
	"net/url"
	"strconv"
	"strings"

	"holdfast/engine"
)

// promReply is the envelope of Prometheus's HTTP API, with the data of a query. Source:
// https://prometheus.io/docs/prometheus/latest/querying/api/
type promReply struct {
	Status    string   `json:"status"` // success or error
	ErrorType string   `json:"errorType"`
	Error     string   `json:"error"`
	Warnings  []string `json:"warnings"`
	IsPartial bool     `json:"isPartial"` // VictoriaMetrics: a part of its storage did not answer
	Data      struct {
		ResultType string          `json:"resultType"`
		Result     json.RawMessage `json:"result"`
	} `json:"data"`
}

// askPrometheus evaluates a query at the current time. Messages show the query
// without URL escapes, so that its secrets can be found and hidden.
func (k Asker) askPrometheus(ctx context.Context, x Subject, g engine.PromQLGate) answer {
	shown, query := withoutUser(g.URL), x.fillText(g.Query, asIs, false)
	a := answer{command: "GET " + queryURL(shown, query)}
	status, body, err := k.Web.Get(ctx, queryURL(g.URL, url.QueryEscape(query)))
	if err != nil {
		return a.withConnectionError(shown, err)
	}
	var reply promReply
	switch broken := json.Unmarshal(body, &reply); {
	case broken == nil && reply.Status == "error": // the HTTP status is 4xx or 5xx
		a.problem, a.detail = shown+" refuses the query: "+firstPrintableLine(reply.ErrorType), reply.Error
		a.final = reply.ErrorType == "bad_data"
	case status == http.StatusNotFound:
		a.problem, a.detail = shown+" has no /api/v1/query (HTTP 404); if Prometheus is below a path there, add that path to url", string(body)
	case status/100 != 2:
		a.problem, a.detail = describeHTTPStatus(status, shown), string(body)
	case broken != nil && strings.HasPrefix(strings.TrimSpace(string(body)), "{"):
		a.problem, a.detail = shown+" returns an answer that is too long or broken; a query of many samples is better counted: count(…) > 0", broken.Error()
	case broken != nil && strings.HasPrefix(strings.TrimSpace(string(body)), "<"):
		a.problem = shown + " does not answer as Prometheus does, but with a web page, such as a login"
	case broken != nil || reply.Status != "success":
		a.problem, a.detail = shown+" does not answer as Prometheus does", string(body)
	default:
		return a.judgeReply(shown, reply)
	}
	return a
}

// missingData returns a warning if the server had only a part of the data, or
// "". It ignores warnings about the query itself, such as an odd metric name,
// which Prometheus adds since version 2.48. Source: util/annotations of
// Prometheus.
func (p promReply) missingData() string {
	for _, w := range p.Warnings {
		if !strings.HasPrefix(w, "PromQL ") {
			return cmp.Or(w, "a warning")
		}
	}
	if p.IsPartial {
		return "isPartial"
	}
	return ""
}

func (a answer) judgeReply(who string, reply promReply) answer {
	strange := who + " does not answer as Prometheus does"
	switch result := reply.Data.Result; reply.Data.ResultType {
	case "vector":
		found, number, err := parseVector(result)
		switch {
		case err != nil:
			a.problem, a.detail = strange, err.Error()
		case !found:
			a.problem = who + " has no sample for the query: the comparison is false, or the metric does not exist"
		case !number:
			a.problem = who + " returns NaN for the query"
		}
	case "scalar":
		value, err := parseScalar(result)
		switch {
		case err != nil:
			a.problem, a.detail = strange, err.Error()
		case math.IsNaN(value):
			a.problem = who + " returns NaN for the query, as scalar(…) does unless there is just one series"
		case value == 0:
			a.problem = who + " returns 0 for the query"
		}
	case "matrix":
		a.problem, a.final = "the query returns a range of samples; write one that returns an instant vector or a scalar, such as a comparison of max_over_time(…)", true
	case "string":
		a.problem, a.final = "the query returns a text; write one that returns an instant vector or a scalar, such as a comparison", true
	default:
		a.problem, a.detail = strange, "a result of the type "+strconv.Quote(reply.Data.ResultType)
	}
	if lacks := reply.missingData(); lacks != "" {
		a.problem, a.detail = cmp.Or(a.problem, who+" has only a part of the data for the query"), cmp.Or(a.detail, lacks)
	}
	return a
}

// parseVector takes a sample without a value for a number: it is a histogram.
func parseVector(result json.RawMessage) (found, number bool, err error) {
	var list []map[string]json.RawMessage
	if err := json.Unmarshal(result, &list); err != nil {
		return false, false, err
	}
	for _, s := range list {
		value := 1.0
		if text, ok := s["value"]; ok {
			if value, err = parseScalar(text); err != nil {
				return false, false, err
			}
		}
		number = number || !math.IsNaN(value)
	}
	return len(list) > 0, number, nil
}

func parseScalar(result json.RawMessage) (float64, error) {
	var sample []json.RawMessage
	if err := json.Unmarshal(result, &sample); err != nil || len(sample) != 2 {
		return 0, errors.New("a value is not a time and a number")
	}
	var text string
	if err := json.Unmarshal(sample[1], &text); err != nil {
		return 0, err
	}
	return strconv.ParseFloat(text, 64)
}

func queryURL(server, query string) string {
	return strings.TrimRight(server, "/") + "/api/v1/query?query=" + query
}
