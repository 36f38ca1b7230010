package engine

// Gate is a question that must be answered well for the run to go on. Exactly
// one of Command, HostCommand, HTTP and PromQL says which.
type Gate struct {
	Name        string      `json:"name"`
	Command     string      `json:"command,omitempty"`      // on the bastion; it must exit 0
	HostCommand string      `json:"host_command,omitempty"` // on the host, as root; of a batch, on each of its hosts
	HTTP        *HTTPGate   `json:"http,omitempty"`
	PromQL      *PromQLGate `json:"promql,omitempty"`

	When      []GateWhen `json:"when"`
	Timeout   Duration   `json:"timeout,omitempty"`   // 0: 5 m; it is asked until then
	Interval  Duration   `json:"interval,omitempty"`  // 0: 5 s; between two times of asking
	Retries   *int       `json:"retries,omitempty"`   // answers that may be bad; nil: any number, until the timeout
	Successes int        `json:"successes,omitempty"` // good answers in a row that it takes; 0: 1
}

// HTTPGate asks a web server, from the bastion. In URL, {host}, {address} and {pool}
// stand for the host and its pool.
type HTTPGate struct {
	URL    string `json:"url"`
	Status int    `json:"status,omitempty"` // of the answer; 0: any 2xx
	Match  string `json:"match,omitempty"`  // regular expression (RE2) that the answer's body must match
}

// PromQLGate asks Prometheus, from the bastion. The answer is good if the query returns
// at least one sample, as a true comparison does, or a scalar that is not 0. In Query,
// {host}, {address} and {pool} are as in HTTPGate.
type PromQLGate struct {
	URL   string `json:"url"` // of the server, without /api/v1/query
	Query string `json:"query"`
}

// GateWhen is a point of a run at which gates are asked.
type GateWhen string

// The points at which gates are asked.
const (
	BeforeRun   GateWhen = "before_run" // once, if the pool has hosts to disrupt, before anything is touched
	BeforeBatch GateWhen = "before_batch"
	BeforeHost  GateWhen = "before_host"
	AfterHost   GateWhen = "after_host"
	AfterBatch  GateWhen = "after_batch"
)

// At reports whether the gate is asked at w.
func (g Gate) At(w GateWhen) bool {
	for _, x := range g.When {
		if x == w {
			return true
		}
	}
	return false
}
