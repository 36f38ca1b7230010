package summary_test

import (
	"testing"
	"time"

	"holdfast/engine"
	"holdfast/engine/event"
	"holdfast/engine/report/reporttest"
)

// TestSummaryOfConfigs checks that the last column of the summary stays short
// for any number of changes.
func TestSummaryOfConfigs(t *testing.T) {
	image := reporttest.OSPlan("w-1", "worker", "", "").Changes[0]
	group, dir, link := reporttest.ConfigChange("create", "group wheel", reporttest.NoRule, reporttest.None), reporttest.ConfigChange("create", "directory /srv/a", reporttest.NoRule, reporttest.None), reporttest.ConfigChange("delete", "link /etc/localtime", reporttest.NoRule, reporttest.None)
	files := reporttest.InDirectory("create", "/etc/containers/registries.d", 480)
	var s reporttest.Script
	s.StartRun()
	p := engine.Plan{Hosts: []engine.HostPlan{
		reporttest.HostWithChanges("w-1", reporttest.Reboot, image, files[0]), reporttest.HostWithChanges("w-2", reporttest.ReloadCrio, append(files, group, dir, dir, link, reporttest.UserChange("core"), reporttest.UserChange("ann"))...),
		reporttest.HostWithChanges("w-3", reporttest.ReloadCrio, reporttest.AsDrift(files[0])), reporttest.HostWithChanges("w-4", reporttest.ReloadCrio, files[0], reporttest.AsDrift(files[1]), reporttest.AsDrift(reporttest.UserChange("core"))),
		reporttest.HostWithChanges("w-5", reporttest.None, reporttest.ConfigChange("update", engine.RecordResource, "built-in: a record changes nothing else", reporttest.None)),
	}}
	s.AddEvent(event.Event{Type: event.Planned, Plan: &p})
	s.HoldHost("w-1", "write", "reboot", "wait for boot")
	for _, hp := range p.Hosts[1:] {
		s.RunStep(hp.Host, "write", s.At, time.Second)
		s.AddEvent(event.Event{Type: event.HostDone, Host: hp.Host})
	}
	s.EndRun(engine.Findings{}, event.RunEnd{})
	reporttest.CompareGolden(t, "end-configs", s.PrintEnding(t))
}
