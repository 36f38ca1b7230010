package metrics

import "slices"

// Scope decides when a metric is replaced.
type Scope string

// The scopes of metrics.
const (
	CommandScope Scope = "command" // each command replaces its own series, which have its name as a label
	StateScope   Scope = "state"   // a command that has gathered the whole site replaces all series
	ApplyScope   Scope = "apply"   // an apply that has ended replaces all series
)

// Metric describes one metric. Each is a gauge, and has the label site.
type Metric struct {
	Name   string
	Help   string
	Scope  Scope
	Labels []string // in addition to site
}

// The names of the metrics.
const (
	exitCode         = "holdfast_last_run_exit_code"
	startTime        = "holdfast_last_run_start_timestamp_seconds"
	endTime          = "holdfast_last_run_end_timestamp_seconds"
	stateTime        = "holdfast_state_timestamp_seconds"
	siteComplete     = "holdfast_complete"
	hosts            = "holdfast_hosts"
	poolComplete     = "holdfast_pool_complete"
	incompleteSince  = "holdfast_pool_incomplete_since_timestamp_seconds"
	heldHosts        = "holdfast_held_hosts"
	holdAcquired     = "holdfast_hold_acquired_timestamp_seconds"
	holdExpires      = "holdfast_hold_expires_timestamp_seconds"
	clusterHealthy   = "holdfast_etcd_healthy"
	voters           = "holdfast_etcd_voters"
	healthyVoters    = "holdfast_etcd_healthy_voters"
	quorumMargin     = "holdfast_etcd_quorum_margin"
	certificateEnd   = "holdfast_etcd_certificate_not_after_timestamp_seconds"
	walFsync         = "holdfast_etcd_wal_fsync_p99_seconds"
	backendCommit    = "holdfast_etcd_backend_commit_p99_seconds"
	memberAway       = "holdfast_etcd_member_away_seconds"
	hostDown         = "holdfast_host_down_seconds"
	siteLabel        = "site"
	commandLabel     = "command"
	namesBeginWith   = "holdfast_"
	unreadableHold   = "unreadable"
	idlePhase        = "idle"
	stagingPhase     = "staging"
	worstPhase       = "worst"
	booleanIsOneHelp = " (1: yes, 0: no)"
)

// Catalogue lists all metrics, in the order of the file.
func Catalogue() []Metric {
	return slices.Clone(catalogue)
}

var catalogue = []Metric{
	{exitCode, "Exit code of the last run of the command. docs/exit-codes.md has the meanings.", CommandScope, []string{commandLabel}},
	{startTime, "Time when the last run of the command began.", CommandScope, []string{commandLabel}},
	{endTime, "Time when the last run of the command ended.", CommandScope, []string{commandLabel}},

	{stateTime, "Time of the facts behind the states of hosts, pools and clusters.", StateScope, nil},
	{siteComplete, "Whether every host of every pool is updated, and every etcd cluster is healthy" + booleanIsOneHelp + ".", StateScope, nil},
	{hosts, "Number of hosts of the pool in the state.", StateScope, []string{"pool", "state"}},
	{poolComplete, "Whether every host of the pool is updated" + booleanIsOneHelp + ".", StateScope, []string{"pool"}},
	{incompleteSince, "Time since which the pool is not complete, as far as the runs of this bastion know. Missing for complete pools, and if the time is not known.", StateScope, []string{"pool"}},
	{heldHosts, "Number of held hosts of the pool by the kind of hold: run, maintenance or unreadable.", StateScope, []string{"pool", "kind"}},
	{holdAcquired, "Time when the hold of the host was taken, by the clock of the host.", StateScope, []string{"pool", "host", "kind"}},
	{holdExpires, "Time when the hold of the host expires, by the clock of the host. Missing for holds that never expire.", StateScope, []string{"pool", "host", "kind"}},
	{clusterHealthy, "Whether the etcd cluster answers and has no problem" + booleanIsOneHelp + ". A member on a held host does not count as one.", StateScope, []string{"cluster"}},
	{voters, "Number of voters of the etcd cluster. Missing if no member answered.", StateScope, []string{"cluster"}},
	{healthyVoters, "Number of healthy voters of the etcd cluster. Missing if no member answered.", StateScope, []string{"cluster"}},
	{quorumMargin, "Healthy voters beyond the quorum; negative if etcd accepts no writes. Missing if no member answered.", StateScope, []string{"cluster"}},
	{certificateEnd, "End of the validity of the certificate that expires first, by cluster, host and role.", StateScope, []string{"cluster", "host", "role"}},

	{walFsync, "99th percentile of the time of WAL fsyncs of the member, by phase: idle (before the last apply staged or disrupted a host), staging (the worst window while it staged hosts), worst (the worst window of all).", ApplyScope, []string{"cluster", "host", "phase"}},
	{backendCommit, "99th percentile of the time of backend commits of the member, by phase, as for holdfast_etcd_wal_fsync_p99_seconds.", ApplyScope, []string{"cluster", "host", "phase"}},
	{memberAway, "Time that the etcd cluster lacked the member in the last apply.", ApplyScope, []string{"cluster", "host"}},
	{hostDown, "Time from the order to reboot until the host answered, in the last apply.", ApplyScope, []string{"host"}},
}
