package engine

import "holdfast/engine/resource"

// Desired is the desired state of one host.
type Desired struct {
	OS          *OS               `json:"os,omitempty"`
	Config      *resource.Config  `json:"config,omitempty"` // compact; nil: the configuration of the host is not compared. Kernel arguments change together with the OS
	Contents    map[string][]byte `json:"-"`                // contents of the files in Config, by their digest
	Policy      []Rule            `json:"policy,omitempty"`
	ReportDrift bool              `json:"report_drift,omitempty"`
	StopOnError bool              `json:"stop_on_error,omitempty"` // no reboot replaces an action that fails
	NoDocuments bool              `json:"no_documents,omitempty"`  // Config is empty because the inventory names no documents for the host

	VersionCommand string `json:"version_command,omitempty"` // its output becomes Facts.Version
}

// Desired returns the desired state of each host by name, without the
// configurations, which come from documents.
func (inv Inventory) Desired() map[string]Desired {
	desired := make(map[string]Desired, len(inv.Hosts))
	for _, h := range inv.Hosts {
		p, _ := inv.Pool(h.Pool)
		desired[h.Name] = Desired{OS: p.OS, Policy: p.Policy, ReportDrift: p.Drift == ReportDrift, StopOnError: p.OnActionFailure == StopOnFailure, VersionCommand: p.VersionCommand}
	}
	return desired
}
