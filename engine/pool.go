package engine

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"
)

// Pool is a set of hosts that share a desired state and roll-out limits.
type Pool struct {
	Name  string   `json:"name"`
	After []string `json:"after,omitempty"` // pools that must be complete before this one
	OS    *OS      `json:"os,omitempty"`

	Configs         []ConfigSource `json:"configs,omitempty"`      // documents of the configuration, merged in this order
	ConfigRoles     []string       `json:"config_roles,omitempty"` // roles of the MachineConfigs in use; none: all
	Policy          []Rule         `json:"policy,omitempty"`
	Drift           DriftMode      `json:"drift,omitempty"`
	OnActionFailure OnFailure      `json:"on_action_failure,omitempty"`

	Paused         bool           `json:"paused,omitempty"` // holdfast does not touch its hosts
	MaxUnavailable CountOrPercent `json:"max_unavailable"`
	FailureBudget  CountOrPercent `json:"failure_budget,omitzero"` // number of hosts that may fail before no other host is started; not set: none
	Order          Order          `json:"order,omitempty"`
	Canary         *Canary        `json:"canary,omitempty"`
	Windows        []Window       `json:"windows,omitempty"`         // when its hosts may be disrupted; none: at any time
	BatchTakes     Duration       `json:"batch_takes,omitempty"`     // expected duration of a batch; 0: 30 m
	MaxSkew        *int           `json:"max_skew,omitempty"`        // maximum distance in minor versions between its hosts and the hosts of the pools before it; nil: any
	VersionCommand string         `json:"version_command,omitempty"` // command on the host that prints its version for MaxSkew; "": the version of the OS counts
	VersionOf      VersionSource  `json:"version_of,omitempty"`      // where the version for MaxSkew comes from, if not from VersionCommand
	OnFailure      FailureMode    `json:"on_failure,omitempty"`
	Reboot         RebootSetting  `json:"reboot,omitzero"` // kinds of reboot that its hosts may get
	Drain          *Drain         `json:"drain,omitempty"`
	Gates          []Gate         `json:"gates,omitempty"`
	Timeouts       Timeouts       `json:"timeouts"`
	Kubernetes     string         `json:"kubernetes,omitempty"` // Kubernetes cluster of which its hosts are nodes, unless a host names another
}

// VersionSource is where the version of a host comes from that MaxSkew compares.
type VersionSource string

// KubeletVersion is the only other source. Without it, the version of the OS counts.
const (
	KubeletVersion VersionSource = "kubelet" // the version that the Kubernetes node of the host reports
)

// RunsProgramVersion reports whether max_skew compares the version of a program on the hosts, and not that of their OS.
func (p Pool) RunsProgramVersion() bool {
	return p.VersionCommand != "" || p.VersionOf == KubeletVersion
}

// Canary selects the first hosts of a pool, which are updated before the
// others. A host that matches already counts as a canary that has passed.
type Canary struct {
	Hosts CountOrPercent `json:"hosts"`          // number of canaries of the pool
	Soak  Duration       `json:"soak,omitempty"` // how long the canaries must run before other hosts follow
}

// FailureMode is the reaction to a host that fails after it was disrupted.
type FailureMode string

// The failure modes.
const (
	HoldFailed     FailureMode = ""         // the failed host stays held
	RollbackFailed FailureMode = "rollback" // the failed host boots its previous OS, once for each OS that fails
)

// Order is the order of the hosts of a pool, with names of Ansible in the spelling of holdfast.
// Hosts of one zone stay together.
type Order string

// The orders of hosts.
const (
	Sorted           Order = "sorted" // by name, zones too; the default
	ReverseSorted    Order = "reverse-sorted"
	InInventory      Order = "inventory"
	ReverseInventory Order = "reverse-inventory"
	Shuffled         Order = "shuffle" // pseudorandom; the same target always has the same order, so apply follows the plan
)

// ConfigSource is a source of documents of a desired configuration: a file or
// folder, or a text in the inventory.
type ConfigSource struct {
	Path string `json:"path,omitempty"` // file or folder on the bastion, absolute
	Name string `json:"name,omitempty"` // name of a document in the inventory; its ending tells the format
	Text string `json:"-"`              // text of that document; it may contain secrets
}

// DriftMode is the reaction to drift.
type DriftMode string

// The drift modes.
const (
	RepairDrift DriftMode = ""       // drift is a change like any other
	ReportDrift DriftMode = "report" // plan and status name the drift, and apply leaves it alone
)

// OnFailure is the reaction to an action that fails or exceeds its timeout.
type OnFailure string

// The reactions to an action that fails.
const (
	RebootOnFailure OnFailure = ""     // the host is drained and rebooted instead, once
	StopOnFailure   OnFailure = "stop" // the host stays held, and the run stops
)

// Drain moves work off a host before it is disrupted, and undrains the host
// after. The commands run on the bastion, with HOLDFAST_HOST, HOLDFAST_ADDRESS
// and HOLDFAST_POOL in their environment.
type Drain struct {
	Name    string   `json:"name"`
	Command string   `json:"command,omitempty"`
	Undo    string   `json:"undo,omitempty"`
	Timeout Duration `json:"timeout,omitempty"` // 0: 10 m

	Kubernetes *KubernetesDrain `json:"kubernetes,omitempty"` // evicts the pods of the node through the API, in place of Command; nil: Command drains
}

// Window is a weekly time in which hosts may be disrupted.
type Window struct {
	Days        []time.Weekday `json:"days,omitempty"`     // days on which the window opens; empty: every day
	FromMinutes int            `json:"from_minutes"`       // opening time, in minutes after midnight
	ToMinutes   int            `json:"to_minutes"`         // closing time, in minutes after midnight; a time that is not after From is on the next day
	Timezone    string         `json:"timezone,omitempty"` // IANA time zone; "": UTC
	Location    *time.Location `json:"-"`                  // location of Zone; nil: UTC
}

// String returns the window for people: "Fri, Sat 22:00-04:00 Europe/Berlin".
func (w Window) String() string {
	zone := w.Timezone
	if zone == "" {
		zone = "UTC"
	}
	return fmt.Sprintf("%s %02d:%02d-%02d:%02d %s", foldDays(w.Days), w.FromMinutes/60, w.FromMinutes%60, w.ToMinutes/60, w.ToMinutes%60, zone)
}

// TimeZone returns the window's zone.
func (w Window) TimeZone() *time.Location {
	if w.Location == nil {
		return time.UTC
	}
	return w.Location
}

// foldDays names days of the week, and writes three or more days in a row as
// "Mon-Fri". It begins with the first day after a gap, counted from Monday, so
// that a row of days over Sunday is not split.
func foldDays(days []time.Weekday) string {
	const week = 7
	has := func(d int) bool { return slices.Contains(days, time.Weekday(d%week)) }
	first := 0
	for d := 1; d <= week && first == 0; d++ {
		if has(d) && !has(d+week-1) {
			first = d
		}
	}
	if first == 0 {
		return "daily" // no day, or every day
	}
	var names []string
	for d := first; d < first+week; d++ {
		length := 0
		for has(d + length) {
			length++
		}
		if length >= 3 {
			names = append(names, dayName(d)+"-"+dayName(d+length-1))
			d += length
			continue
		}
		if length > 0 {
			names = append(names, dayName(d))
		}
	}
	return strings.Join(names, ", ")
}

func dayName(d int) string { return time.Weekday(d % 7).String()[:3] }

// defaultBatchTakes is the expected duration of a batch of a pool without
// batch_takes.
const defaultBatchTakes = Duration(30 * time.Minute)

// Takes returns the expected duration of a batch of the pool.
func (p Pool) Takes() Duration {
	if p.BatchTakes > 0 {
		return p.BatchTakes
	}
	return defaultBatchTakes
}

// CountOrPercent is a number of hosts: a count, or a percentage of a pool.
type CountOrPercent struct {
	Count   int  `json:"count,omitempty"`
	Percent int  `json:"percent,omitempty"`
	Set     bool `json:"set,omitempty"`
}

// ParseCountOrPercent parses a percentage such as "10%". A count is a number in
// the inventory and never a text, so "60" is an error.
func ParseCountOrPercent(s string) (CountOrPercent, error) {
	digits, ok := strings.CutSuffix(s, "%")
	if !ok {
		return CountOrPercent{}, fmt.Errorf("%q is not a percentage; write a count without quotes or a percentage such as \"10%%\"", s)
	}
	n, err := strconv.Atoi(digits)
	if err != nil || n < 1 || n > 100 || digits != strconv.Itoa(n) {
		return CountOrPercent{}, fmt.Errorf("%q is not a percentage between 1%% and 100%%, written without spaces", s)
	}
	return CountOrPercent{Percent: n, Set: true}, nil
}

// Of returns how many of n hosts the setting allows: a percentage rounds down but is at
// least 1. The default is 1, as in a MachineConfigPool.
func (l CountOrPercent) Of(n int) int {
	switch {
	case l.Percent > 0:
		return max(1, n*l.Percent/100)
	case l.Count > 0:
		return l.Count
	}
	return 1
}

// String returns the setting as an operator writes it.
func (l CountOrPercent) String() string {
	if l.Percent > 0 {
		return strconv.Itoa(l.Percent) + "%"
	}
	return strconv.Itoa(l.Of(0))
}

// Part returns how many of n hosts may fail. A percentage rounds down, also to
// 0. The default is 0.
func (l CountOrPercent) Part(n int) int {
	if l.Percent > 0 {
		return n * l.Percent / 100
	}
	return l.Count
}

// AsWritten returns the setting as the inventory has it, or "" if the setting
// is not set.
func (l CountOrPercent) AsWritten() string {
	switch {
	case !l.Set:
		return ""
	case l.Percent > 0:
		return l.String()
	}
	return fmt.Sprint(l.Count)
}
