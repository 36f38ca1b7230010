package engine

import "time"

// HostTimes has the durations of the work on one host in one run. Forecasts are
// made of them.
type HostTimes struct {
	Host    string     `json:"host"`
	Play    string     `json:"play,omitempty"`    // name of the play of a playbook
	Staging Duration   `json:"staging,omitempty"` // all steps of its staging; missing: it was staged already, or its staging failed
	Batch   Duration   `json:"batch,omitempty"`   // from the first step of its batch until it matched; missing: it did not match in the end
	Reboot  RebootKind `json:"reboot,omitempty"`  // the reboot in its batch; missing: none
}

// EarlierTimes has the durations of earlier runs of a site, the newest first.
type EarlierTimes struct {
	Hosts map[string][]HostTimes // by host
	Gaps  []Duration             // between staging and batches, and between batches, without soaks
}

// Forecast says how long the work of a plan will take, from the durations of
// earlier runs.
type Forecast struct {
	Known     bool            `json:"known"`               // false: hosts have no durations of earlier runs, or their work is not planned yet, so nothing else is set but Without and Replanned
	Without   []string        `json:"without,omitempty"`   // hosts without durations of their own: those of their pool count, if it has any
	Replanned []string        `json:"replanned,omitempty"` // hosts that restart services first, so that a later plan of the run has the rest of their work: nobody knows how long it takes
	Staging   Duration        `json:"staging,omitempty"`   // until all hosts are staged
	Takes     Duration        `json:"takes,omitempty"`     // staging, batches, soaks, gates, and the gathering of facts before and after batches
	Ends      time.Time       `json:"ends,omitzero"`       // end of the run
	Batches   []BatchForecast `json:"batches,omitempty"`   // in the order of the plan
}

// BatchForecast says when a batch begins and ends.
type BatchForecast struct {
	Begins       time.Time `json:"begins"`                  // when the run comes to it, and its soak is over
	Ends         time.Time `json:"ends,omitzero"`           // missing: the run does not come to it
	MissesWindow bool      `json:"misses_window,omitempty"` // the maintenance window of one of its pools has closed by then
	Opens        time.Time `json:"opens,omitzero"`          // when that window opens next; missing with MissesWindow: no window is long enough
}
