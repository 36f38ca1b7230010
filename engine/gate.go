package engine

// Gate is a question that must get a good answer before the run goes on.
// Exactly one of Command, HostCommand, HTTP and PromQL is set.
type Gate struct {
	Name        string      `json:"name"`
	Command     string      `json:"command,omitempty"`      // command on the bastion; a good answer is exit status 0
	HostCommand string      `json:"host_command,omitempty"` // command on the host, as root; for a batch, on each host of the batch
	HTTP        *HTTPGate   `json:"http,omitempty"`
	PromQL      *PromQLGate `json:"promql,omitempty"`

	When      []GateWhen `json:"when"`
	Timeout   Duration   `json:"timeout,omitempty"`   // how long to wait for a good answer; 0: 5 m
	Interval  Duration   `json:"interval,omitempty"`  // time between two questions; 0: 5 s
	Retries   *int       `json:"retries,omitempty"`   // number of bad answers that are allowed; nil: any number, until the timeout
	Successes int        `json:"successes,omitempty"` // number of good answers in a row that the gate needs; 0: 1
}

// HTTPGate asks a web server, from the bastion. In URL, {host}, {address} and {pool}
// stand for the host and its pool.
type HTTPGate struct {
	URL    string `json:"url"`
	Status int    `json:"status,omitempty"` // required status of the answer; 0: any 2xx
	Match  string `json:"match,omitempty"`  // regular expression (RE2) that must match the body of the answer
}

// PromQLGate asks Prometheus, from the bastion. The answer is good if the query
// returns at least one sample (a comparison that is true returns one), or a
// scalar that is not 0. In Query, {host}, {address} and {pool} have the meaning
// that they have in HTTPGate.
type PromQLGate struct {
	URL   string `json:"url"` // URL of the server, without /api/v1/query
	Query string `json:"query"`
}

// GateWhen is a point of a run at which gates are asked.
type GateWhen string

// The points at which gates are asked.
const (
	BeforeRun   GateWhen = "before-run" // once, before any change, if the pool has hosts with changes; hosts of an earlier run that match are released first
	BeforeBatch GateWhen = "before-batch"
	BeforeHost  GateWhen = "before-host"
	AfterHost   GateWhen = "after-host"
	AfterBatch  GateWhen = "after-batch"
)

// At reports whether the gate is asked at the point w.
func (g Gate) At(w GateWhen) bool {
	for _, x := range g.When {
		if x == w {
			return true
		}
	}
	return false
}
